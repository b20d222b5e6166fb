# 3C-lists-watch.t - acl_list_watch: a list file that has changed is read again by itself; reading under load
# loses nothing; an exchange that waits is ruled by one state of the lists; what cannot be read says so.
use Bobtail::Test;
use POSIX ();

my $origin = origin('*' => { body => 'ok' });
my $port = $origin->port;

sub put
{
    my ($proxy, $name, $how, $text) = @_;
    open my $file, $how, $proxy->file($name) or die "$name: $!";
    print $file $text;
    close $file or die "$name: $!";
    return;
}
sub ask { my ($proxy, $host, %how) = @_; return get($proxy, "http://$host:$port/", %how)->status }

# --- by itself ------------------------------------------------------------------------------------

my $rules = <<'CONF';
hosts_file @DIR@/hosts
acl names dstdomain "@DIR@/names.list"
acl same dstdomain "@DIR@/names.list"
http_access deny names
http_access deny same
http_access allow all
CONF
my %files = (hosts => "127.0.0.1 a.test b.test c.test\n", 'names.list' => "a.test\n");
for my $workers (0, 2) {
    my $proxy = proxy(($workers ? "workers $workers\n" : '') . "acl_list_watch on\n$rules", files => \%files, workers => $workers);
    is ask($proxy, 'a.test'), 403, 'a list' . ($workers ? '' : ' (-N)');
    is ask($proxy, 'b.test'), 200, 'that does not have all';
    put($proxy, 'names.list', '>', "b.test\n");
    ok wait_for(sub { ask($proxy, 'b.test') == 403 }), 'it is read when it has changed';
    is ask($proxy, 'a.test'), 200, 'as it is now';
    ok wait_for(sub { stat($proxy, 'lists.reloads') == 1 }), 'once';
    # Somebody writes to it second by second: it is not read before that ends.
    for my $n (1 .. 3) {
        put($proxy, 'names.list', $n == 1 ? '>' : '>>', $n == 3 ? "c.test\n" : "# $n\n");
        select undef, undef, undef, 0.6;
    }
    ok wait_for(sub { ask($proxy, 'c.test') == 403 }), 'a file that was written bit by bit';
    cmp_ok stat($proxy, 'lists.reloads'), '<=', 3, 'is not read at each of them';
    $proxy->expect_log(qr{names\.list: error: cannot be read});
    unlink $proxy->file('names.list') or die $!;
    ok wait_for(sub { stat($proxy, 'lists.missing') == 1 }), 'one that goes is missed';
    is ask($proxy, 'c.test'), 403, '... and stays in force';
    select undef, undef, undef, 2.2;
    is stat($proxy, 'lists.missing'), 1, 'that is said once';
    put($proxy, 'names.list', '>', "a.test\n");
    ok wait_for(sub { ask($proxy, 'a.test') == 403 }), 'and it may come back';
}

# --- off ----------------------------------------------------------------------------------------

my $off = proxy("acl_list_watch off\n$rules", files => \%files);
put($off, 'names.list', '>', "b.test\n");
select undef, undef, undef, 2.5;
is ask($off, 'b.test'), 200, 'without it nothing is read by itself';
is ctl($off, 'reload-lists', 'now')->{status}, 1, 'reload-lists takes no words';
is ctl($off, 'reload-lists')->{status}, 0, 'but when it is told to';
is ask($off, 'b.test'), 403, '... it is';

my $none = proxy("acl a dstdomain a.test\nhttp_access deny a\nhttp_access allow all\n");
my $said = ctl($none, 'reload-lists');
is $said->{status}, 1, 'a configuration without lists';
like $said->{output}, qr/no ACL has a list file/, '... says so';

# --- what cannot be read at the start, or ever ------------------------------------------------------

$said = parse("acl a src \"\@DIR\@/none.list\"\nhttp_access deny a\nhttp_port 127.0.0.1:0\n");
is $said->{status}, 1, 'a list that is missing at the start is a fault';
like $said->{output}, qr/none\.list/, '... of that name';
$said = parse("acl a src \"\@DIR\@/l\"\nhttp_access deny a\nhttp_access allow all\nhttp_port 127.0.0.1:0\n",
    files => { l => "10.0.0.1\n10.0.0.0/99\n" });
is $said->{status}, 0, 'a bad line is left out at the start as well';
like $said->{output}, qr{/l:2:1: warning: prefix /99 .*; this line is left out$}m, '... and told of';

put($off, 'names.list', '>', "\xff\xfea\0.\0");
$off->expect_log(qr{error: the list file .*/names\.list' cannot be read: it is not a text file}, qr{names\.list: error: cannot be read: it is not}, qr{lists: the lists were not taken});
$said = ctl($off, 'reload-lists');
is $said->{status}, 1, 'a file in another coding, written over the old one';
like $said->{output}, qr/the lists were not taken; the old ones stay in use/, 'is refused, with all that came with it';
like $said->{output}, qr/not a text file/, '... for that reason';
is ask($off, 'b.test'), 403, 'and the old list stays';
unlink $off->file('names.list');
put($off, 'names.list', '>', "a.test\n");
is ctl($off, 'reload-lists')->{status}, 0, 'a good one is taken again';
rename $off->file('names.list'), $off->file('old.list');
put($off, 'names.list', '>', "\xff\xfea\0.\0");
is ctl($off, 'reload-lists')->{status}, 1, 'in another coding, beside the old one';
is ask($off, 'a.test'), 403, 'leaves that in force';
is stat($off, 'lists.failed'), 1, 'one was refused whole';

# --- under load ---------------------------------------------------------------------------------

my $busy = proxy("workers 2\n$rules", files => \%files, workers => 2);
pipe my $report, my $reporter or die "pipe: $!";
pipe my $stop, my $stopper or die "pipe: $!";
my $pid = fork // die "fork: $!";
if (!$pid) {
    close $stopper;
    my ($good, $wrong) = (0, '');
    my $kept = client($busy);
    until (readable($stop, 0)) {
        my $answer = eval { request($busy, GET => "http://c.test:$port/", on => $kept) };
        $wrong .= !$answer ? $@ : $answer->status == 200 ? '' : 'kept: ' . $answer->status . "\n";
        # One of the two is listed in each state, and never both or none.
        my @said = map { my $host = $_; eval { ask($busy, $host) } // $@ } 'x.a.test', 'a.test';
        $wrong .= "own: @said\n" if grep { !/^(?:200|403|503)$/ } @said;
        $good += 3;
    }
    syswrite $reporter, "$good $wrong";
    POSIX::_exit(0);
}
close $stop;
close $reporter;
my $padding = join '', map { "host$_.pad.example\n" } 1 .. 20_000;
for my $n (1 .. 12) {
    put($busy, 'names.list', '>', ($n % 2 ? "a.test\n" : ".a.test\n") . $padding);
    is ctl($busy, 'reload-lists')->{status}, 0, "read under load ($n)";
}
close $stopper;
waitpid $pid, 0;
sysread $report, my $text, 65536;
my ($good, $wrong) = split / /, $text, 2;
is $wrong, '', "no request was lost of $good";
cmp_ok $good, '>', 10, 'and there were some';
counters($busy, 'lists.reloads' => 12, 'lists.values' => 12 * 20_001, 'proc.respawns' => 0, 'proc.panics' => 0);

# --- an exchange that waits -----------------------------------------------------------------------

# Before and after a change it is refused, by the first rule or by the second; were it asked the first of
# what was and the second of what is, it would pass.
my $helper = <<'HELPER';
#!/bin/sh
read -r line
: > "$1.asked"
while ! test -e "$1"; do sleep 0.05; done
echo OK
while read -r line; do echo OK; done
HELPER
my $proxy = proxy(<<'CONF', files => { %files, helper => $helper, early => "x.test\n", late => "127.0.0.1\n" });
hosts_file @DIR@/hosts
external_acl_type wait ttl=0 negative_ttl=0 children-max=1 children-startup=1 %DST /bin/sh @DIR@/helper @DIR@/go
acl early dstdomain "@DIR@/early"
acl waits external wait
acl late src "@DIR@/late"
http_access deny early
http_access deny waits late
http_access allow all
CONF
my $client = client($proxy);
$client->send("GET http://c.test:$port/ HTTP/1.1\r\nHost: c.test:$port\r\n\r\n");
ok wait_for(sub { -e $proxy->file('go.asked') }), 'an exchange waits for a helper, between two lists';
put($proxy, 'early', '>', "c.test\n");
put($proxy, 'late', '>', "10.0.0.1\n");
is ctl($proxy, 'reload-lists')->{status}, 0, 'both change';
put($proxy, 'go', '>', '');
is $client->response(to => 'GET')->status, 403, 'it is ruled by one state of the lists, not by half of each';
$client->close;
done;

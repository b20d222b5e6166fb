# 3C-lists-live.t - list files are read again while clients are served: what was let through is refused a
# moment later, nothing that is under way is touched, bad lines are left out, a missing file changes nothing.
use Bobtail::Test;
use POSIX ();

my $origin = origin('*' => { body => 'ok' }, '/held' => { body => 'late', hold => 1 });
my $port = $origin->port;

# A file as those write it who do it right: another one in its place.
sub put
{
    my ($proxy, $name, @lines) = @_;
    my $path = $proxy->file($name);
    open my $file, '>', "$path.new" or die "$path.new: $!";
    print $file map { "$_\n" } @lines;
    close $file or die "$path.new: $!";
    rename "$path.new", $path or die "$path: $!";
    return;
}
sub reload_lists { my ($proxy) = @_; return ctl($proxy, 'reload-lists') }
sub ask { my ($proxy, $host, $path, %how) = @_; return get($proxy, "http://$host:$port$path", %how)->status }

my $conf = <<'CONF';
hosts_file @DIR@/hosts
acl names dstdomain "@DIR@/names.list" kept.test
acl nets src "@DIR@/nets.list"
acl patterns url_regex -i "@DIR@/patterns.list"
acl texts urlpath_regex "@DIR@/texts.list"
acl verbs method "@DIR@/verbs.list"
acl ports port "@DIR@/ports.list"
acl sites dst -n "@DIR@/sites.list"
acl agents browser "@DIR@/agents.list"
acl heads req_header X-Kind "@DIR@/heads.list"
acl hosts dstdom_regex "@DIR@/hosts.list"
acl any any-of names nets
http_access deny any
http_access deny patterns
http_access deny texts
http_access deny verbs
http_access deny ports
http_access deny sites
http_access deny agents
http_access deny heads
http_access deny hosts
http_access allow all
CONF
my @names = map { "$_.test" } qw(a b c kept sub.a w.blocked x y z1 z2);
my %files = (
    hosts => "127.0.0.1 @names\n",
    'names.list' => ".blocked.test\n", 'nets.list' => "127.50.0.0/16\n", 'patterns.list' => "/ads?/[0-9]+\n",
    'texts.list' => "banner\n", 'verbs.list' => "TRACE\n", 'ports.list' => "1\n", 'sites.list' => "10.0.0.1\n",
    'agents.list' => "^bad\n", 'heads.list' => "^no\n", 'hosts.list' => "^q[0-9]\n",
);

my $held_hits = 0;
for my $workers (0, 1, 3) {
    $held_hits++;
    my $how = $workers ? "$workers worker" . ($workers > 1 ? 's' : '') : 'one process (-N)';
    my $proxy = proxy(($workers ? "workers $workers\n" : '') . $conf, files => \%files, workers => $workers);
    my $many = $workers > 1 ? 9 : 1;    # whichever worker is met

    my $kept = client($proxy);
    is request($proxy, GET => "http://a.test:$port/1", on => $kept)->status, 200, "$how: allowed before";
    my $tunnel = tunnel($proxy, "a.test:$port");
    is $tunnel->response->status, 200, 'a tunnel stands';
    my $held = client($proxy);
    $held->send("GET http://a.test:$port/held HTTP/1.1\r\nHost: a.test:$port\r\n\r\n");
    ok wait_for(sub { $origin->hits('/held') == $held_hits }), 'an exchange is under way';
    is ask($proxy, 'w.blocked.test', '/'), 403, 'the list of the start';
    is ask($proxy, 'kept.test', '/'), 403, 'and a value beside it';
    is ask($proxy, 'b.test', '/AD/12'), 403, 'a pattern of the start';

    put($proxy, 'names.list', '.a.test', '# a comment', '', 'B.test  # and one more');
    put($proxy, 'nets.list', '127.60.0.0/16', '2001:db8::/32');
    put($proxy, 'patterns.list', '/(pop|up)[0-9]{2}', 'plain', '^http://z[12]\.test');
    put($proxy, 'texts.list', 'Banner', 'x.*y$');
    put($proxy, 'verbs.list', 'OPTIONS');
    put($proxy, 'ports.list', '2', '7-9');
    put($proxy, 'sites.list', '127.0.0.9');
    put($proxy, 'agents.list', '^(evil|worse)[0-9]*');
    put($proxy, 'heads.list', 'never$');
    put($proxy, 'hosts.list', '^y+\.test$');
    my $said = reload_lists($proxy);
    is $said->{status}, 0, 'the lists are read anew' or diag $said->{output};
    like $said->{output}, qr{^\Q@{[$proxy->file('names.list')]}\E: 2 values$}m, 'each file is told of';
    for (1 .. $many) {
        is ask($proxy, 'a.test', '/1'), 403, 'refused after, by name';
        is ask($proxy, 'b.test', '/1'), 403, 'case is ignored';
        is ask($proxy, 'sub.a.test', '/1'), 403, 'below it';
        is ask($proxy, 'kept.test', '/'), 403, 'the value of the configuration stays';
        is ask($proxy, 'w.blocked.test', '/'), 200, 'what is not listed any more passes';
        is ask($proxy, 'c.test', '/', from => '127.60.0.1'), 403, 'by address';
        is ask($proxy, 'c.test', '/', from => '127.50.0.1'), 200, 'the old one passes';
        is ask($proxy, 'c.test', '/POP77'), 403, 'by pattern';
        is ask($proxy, 'c.test', '/PlAin'), 403, 'by plain text, case ignored as the line says';
        is ask($proxy, 'z2.test', '/'), 403, 'by a pattern without a rare text';
        is ask($proxy, 'c.test', '/ad/12'), 200, 'the old one passes';
        is ask($proxy, 'c.test', '/banner'), 200, 'patterns that know case';
        is ask($proxy, 'c.test', '/Banner'), 403, '... of the path';
        is ask($proxy, 'c.test', '/x-y'), 403, '... that must be run';
        is request($proxy, OPTIONS => "http://c.test:$port/")->status, 403, 'by method';
        is get($proxy, 'http://c.test:8/')->status, 403, 'by port';
        is get($proxy, 'http://127.0.0.9:1/')->status, 403, 'by the address that is asked for';
        is ask($proxy, 'c.test', '/', headers => [ 'User-Agent' => 'evil7' ]), 403, 'by browser';
        is ask($proxy, 'c.test', '/', headers => [ 'User-Agent' => 'bad' ]), 200, 'the old one passes';
        is ask($proxy, 'c.test', '/', headers => [ 'X-Kind' => 'now or never' ]), 403, 'by header';
        is ask($proxy, 'y.test', '/'), 403, 'by host';
        is ask($proxy, 'c.test', '/1'), 200, 'all others pass';
    }
    is request($proxy, GET => "http://a.test:$port/1", on => $kept)->status, 403, 'a kept connection hears of it';
    is request($proxy, GET => "http://c.test:$port/1", on => $kept)->status, 200, '... and goes on';
    $tunnel->send("GET /in HTTP/1.1\r\nHost: x\r\n\r\n");
    delete $tunnel->{response};
    is $tunnel->response(to => 'GET')->body, 'ok', 'the tunnel goes on';
    $origin->release('/held');
    is $held->response(to => 'GET')->body, 'late', 'the exchange that was under way has its answer';
    $_->close for $kept, $tunnel, $held;

    # Bad lines are left out, the others stand.
    put($proxy, 'nets.list', '127.60.0.0/16', 'nonsense/7', '127.70.0.0/16', '127.80.0.0/40');
    put($proxy, 'patterns.list', '(open', 'shut[0-9]', 'a{2', '[[:what:]]');
    $said = reload_lists($proxy);
    is $said->{status}, 1, 'bad lines';
    my $nets = $proxy->file('nets.list');
    like $said->{output}, qr{^\Q$nets\E: 2 values, 2 lines left out$}m, 'are counted';
    like $said->{output}, qr{^\Q$nets\E:2:1: warning: 'nonsense' .*; this line is left out$}m, 'told with their place';
    like $said->{output}, qr{^\Q$nets\E:4:1: warning: prefix /40 of}m, '... each of them';
    like $said->{output}, qr{patterns\.list:1:1: warning: '\(open'}, '... patterns, too';
    ok $proxy->log =~ qr{warning: lists: \Q$nets\E:2:1: }, 'and logged';
    for (1 .. $many) {
        is ask($proxy, 'c.test', '/', from => '127.70.0.1'), 403, 'a line behind a bad one stands';
        is ask($proxy, 'c.test', '/SHUT5'), 403, 'a pattern behind a bad one stands';
        is ask($proxy, 'c.test', '/', from => '127.80.0.1'), 200, 'a bad one matches nothing';
    }

    # A file that is missing: what it held before stands, and the others are taken.
    unlink $nets or die "$nets: $!";
    put($proxy, 'patterns.list', 'newest[0-9]');
    $proxy->expect_log(qr{lists: \Q$nets\E: error: cannot be read: No such file}) if $workers != 3;
    $said = reload_lists($proxy) if $workers != 3;
    if ($workers != 3) {
        is $said->{status}, 1, 'a file is missing';
        like $said->{output}, qr{^\Q$nets\E: error: cannot be read: No such file or directory; its 2 values stay}m, 'which is told';
        is ask($proxy, 'c.test', '/', from => '127.70.0.1'), 403, 'the old list stays';
        is ask($proxy, 'c.test', '/newest3'), 403, 'the others are new';
        is reload_lists($proxy)->{status}, 1, 'still missing';
        is ask($proxy, 'c.test', '/', from => '127.70.0.1'), 403, 'and still in force';
    }
    put($proxy, 'nets.list');    # empty
    is reload_lists($proxy)->{status}, 0, 'an empty list is a list';
    is ask($proxy, 'c.test', '/', from => '127.70.0.1'), 200, '... that holds nobody';
    put($proxy, 'nets.list', '127.90.0.1');
    is reload_lists($proxy)->{status}, 0, 'and can be filled';
    is ask($proxy, 'c.test', '/', from => '127.90.0.1'), 403, '... again';

    # A worker that comes later has the newest lists.
    if ($workers) {
        my @before = $proxy->workers;
        kill KILL => $_ for @before;
        ok wait_for(sub {
            my %now = map { $_ => 1 } $proxy->workers;
            keys %now == $workers && !grep { $now{$_} } @before;
        }), 'the workers are killed, and others come';
        ok wait_for(sub { (eval { ask($proxy, 'c.test', '/1') } // 0) == 200 }), 'which serve';
        for (1 .. $many) {
            is ask($proxy, 'c.test', '/', from => '127.90.0.1'), 403, 'the list of before';
            is ask($proxy, 'c.test', '/Newest3'), 403, 'the patterns of before';
            is ask($proxy, 'a.test', '/'), 403, 'the names of before';
        }
        put($proxy, 'names.list', '.x.test');
        is reload_lists($proxy)->{status}, 0, 'they hear of the next';
        is ask($proxy, 'x.test', '/'), 403, '... which is in force' for 1 .. $many;
        $proxy->{dies} = 1;    # descriptors and gauges are those of workers that are gone
    }
    my $n = stat($proxy, 'lists.reloads');
    cmp_ok $n, '>=', 4, "$n reloads were counted";
    cmp_ok stat($proxy, 'lists.values'), '>', 10, 'and values';
    cmp_ok stat($proxy, 'lists.bad_lines'), '>=', 5, 'and bad lines';
    is stat($proxy, 'lists.missing'), $workers == 3 ? 0 : 2, 'and missing files';
    is stat($proxy, 'lists.failed'), 0, 'none has failed';
}
done;

# 32-external.t - external_acl_type: formats, answers, memory, grace; helpers that die, hang or lie.
# ext_user, ext_user_regex and tag look at what the helpers said, and so do fields of logs
# (external.message).
use Bobtail::Test;

my $origin = origin('*' => { body => 'ok' });
my $url = $origin->url('/');

# All processes are there from the start, so that none counts as left over at the end.
my $one = 'children-startup=1 children-max=1 children-idle=0';
sub status { my ($proxy, %how) = @_; return get($proxy, $how{url} // $url, %how)->status }
sub sh { my ($body, $read) = @_; $read //= 'line'; return "while read -r $read; do $body\ndone\n" }

# --- what a helper is told ------------------------------------------------------------------------

my $told = proxy(<<"CONF", files => { words => "c d\n", 'tell.sh' => sh('echo "$line" >> $0.told; echo OK') });
external_acl_type tell ttl=0 $one %SRC %METHOD %DST %PORT %PATH %PROTO %>{X-A} %{X-B} %URI %ACL %>ha{X-A} "%>a/%{X-A}>h" /bin/sh \@DIR\@/tell.sh
external_acl_type data ttl=0 $one %SRC %DATA %METHOD /bin/sh \@DIR\@/tell.sh
external_acl_type quoted ttl=0 protocol=2.5 $one %>{X-A} %EXT_USER /bin/sh \@DIR\@/tell.sh
acl Tell external tell
acl data external data a b% "\@DIR\@/words"
acl quoted external quoted x
http_access allow Tell data quoted
CONF
is status($told, url => $origin->url('/a%20b?c=%zz'), headers => ['X-A', 'one "two" 3%']), 200, 'OK is a match';
my $port = $origin->port;
is_deeply [split /\n/, $told->text('tell.sh.told')], [
    "127.0.0.1 GET 127.0.0.1 $port /a%20b?c=%zz http one%20%22two%22%203%25 - http://127.0.0.1:$port/a%20b?c=%zz"
        . ' Tell one%20%22two%22%203%25 127.0.0.1/one%20%22two%22%203% -',
    '127.0.0.1 a b%25 c%20d GET',
    '"one \"two\" 3%" - x'], 'the line, percent-encoded once, the words of the ACL at %DATA or the end';

# --- answers --------------------------------------------------------------------------------------

my %says = (yes => 'OK', no => 'ERR', bh => 'BH message="backend is down"', empty => '', word => 'OKAY');
my $cases = join ' ', map { "$_) echo '$says{$_}' ;;" } sort keys %says;
my $answers = proxy(<<"CONF", files => { 'h.sh' => sh("case \$what in $cases esac", 'what rest') });
external_acl_type h ttl=0 negative_ttl=0 $one %>{X-Say} /bin/sh \@DIR\@/h.sh
acl h external h
http_access deny h
http_access allow all
CONF
is status($answers, headers => ['X-Say', 'yes']), 403, 'OK matches';
is status($answers, headers => ['X-Say', 'no']), 200, 'ERR does not';
is status($answers, headers => ['X-Say', 'empty']), 200, 'an empty line is ERR';
is status($answers, headers => ['X-Say', 'bh']), 403, 'BH cannot be told, and denies, though the rule denies matches only';
is status($answers, headers => ['X-Say', 'word']), 403, 'so does an answer that is none';
counters($answers, 'external.questions' => 5, 'external.broken' => 2, 'helper.external_h.requests' => 5);
like $answers->log, qr/external_acl_type h: a helper could not answer: backend is down/, 'and its reason is in the log';

# --- keys -----------------------------------------------------------------------------------------

my $keys = proxy(<<"CONF", files => { users => "Joe Doe\n", 'k.sh' => sh('echo "OK user=\"Joe Doe\" tag=vip log=seen level_=7 message=hello password=x clt_conn_tag=c1"', 'a') });
external_acl_type k ttl=60 $one %SRC /bin/sh \@DIR\@/k.sh
acl k external k
acl joe ext_user "\@DIR\@/users"
acl anybody ext_user REQUIRED
acl re ext_user_regex ^Joe
acl re_i ext_user_regex -i ^joe
acl re_no ext_user_regex ^joe
acl vip tag vip
acl other tag vip2
acl seven note level_ 7
acl any note level_
acl eight note level_ 8
acl conn note clt_conn_tag c1
http_access deny anybody
http_access deny !k
http_access deny re_no
http_access deny other
http_access deny eight
http_access allow joe anybody re re_i vip seven any conn
http_access deny all
logformat t %un|%ul|%ue|%et|%ea|%{level_}note|%{nothing}note|%external.message
access_log stdio:\@DIR\@/access.log logformat=t
CONF
is status($keys), 200, 'user=, tag= and pairs are there for ACLs further on';
is status($keys), 200, 'also when the answer is remembered';
counters($keys, 'external.cached' => 1, 'external.questions' => 1);
wait_for(sub { $keys->text('access.log') =~ /\n.*\n/ });
is((split /\n/, $keys->text('access.log'))[0], 'Joe Doe|-|Joe Doe|vip|seen|7|-|hello', '... and for logs');

# --- memory ---------------------------------------------------------------------------------------

my $count = sh('n=$((n+1)); case $what in *-no*) echo "ERR n_=$n" ;; *) echo "OK n_=$n" ;; esac', 'what rest');
my $memory = proxy(<<"CONF", files => { 'm.sh' => $count });
external_acl_type m ttl=100 negative_ttl=10 grace=20 $one %PATH /bin/sh \@DIR\@/m.sh
acl m external m
acl again external m
http_access deny !m
http_access allow again
CONF
sub path { my ($path) = @_; return status($memory, url => $origin->url($path)) }
is path('/a'), 200, 'asked';
is path('/a'), 200, 'remembered';
counters($memory, 'external.questions' => 1, 'external.cached' => 3);
is path('/b'), 200, 'another line is another question';
is path('/a-no'), 403, 'ERR';
is path('/a-no'), 403, '... is remembered';
counters($memory, 'external.questions' => 3);
later($memory, 11);
is path('/a-no'), 403, '... for negative_ttl';
counters($memory, 'external.questions' => 4);
later($memory, 70);
is path('/a'), 200, 'in the last part of ttl';
counters($memory, 'external.questions' => 5, 'external.refreshed' => 1);
later($memory, 30);
is path('/a'), 200, 'the new answer is there when the old one is too old';
counters($memory, 'external.questions' => 5);
later($memory, 101);
is path('/a'), 200, 'too old';
counters($memory, 'external.questions' => 6);

# --- one answer for many, channels -----------------------------------------------------------------

my $slow = sh('sleep 0.3; echo "$id OK"', 'id what rest');
my $many = proxy(<<"CONF", files => { 's.sh' => $slow });
external_acl_type s ttl=60 concurrency=10 $one %PATH /bin/sh \@DIR\@/s.sh
acl s external s
http_access allow s
CONF
my @clients = map { client($many) } 1 .. 4;
$_->send("GET $url HTTP/1.1\r\nHost: x\r\n\r\n") for @clients;
is $_->response(to => 'GET')->status, 200, 'waited for the same answer' for @clients;
counters($many, 'external.questions' => 1, 'external.shared' => 3);
$_->close for @clients;
my $gone = client($many);
$gone->send('GET ' . $origin->url('/gone') . " HTTP/1.1\r\nHost: x\r\n\r\n");
wait_for(sub { stat($many, 'helper.external_s.requests') == 2 });
$gone->reset;
wait_for(sub { stat($many, 'client.active') == 0 });
is stat($many, 'client.active'), 0, 'a client that leaves does not wait';
is status($many, url => $origin->url('/gone')), 200, 'and the answer serves the next';

# --- bad ones -------------------------------------------------------------------------------------

my %bad = (
    dies => 'read -r a; exit 3',
    garbage => 'echo hello; ' . sh('echo OK'),
    twice => sh('echo OK; echo OK'),
    flood => 'read -r a; exec cat /dev/zero',
    hangs => 'read -r a; exec sleep 1000',
);
for my $how (sort keys %bad) {
    my $bad = proxy(<<"CONF", files => { 'b.sh' => $bad{$how} . "\n" });
external_acl_type b ttl=0 timeout=5 $one %SRC /bin/sh \@DIR\@/b.sh
acl b external b
http_access allow b
CONF
    delete $bad->{gauges}{'helper.external_b.processes'};   # it may well be gone at the end
    $bad->{descriptors} = {};
    my $conn = client($bad);
    $conn->send("GET $url HTTP/1.1\r\nHost: x\r\n\r\n");
    if ($how eq 'hangs') {
        wait_for(sub { stat($bad, 'client.active') == 1 });
        later($bad, 6);
    }
    my $status = $conn->response(to => 'GET')->status;
    $how eq 'twice' ? like($status, qr/^(?:200|403)$/, 'two answers to one question')
        : is($status, 403, "a helper that $how: denied");
    $conn->close;
    my %counts = map { $_ => stat($bad, "helper.external_b.$_") } qw(restarts garbage timeouts lost down starts);
    cmp_ok $counts{ { dies => 'lost', hangs => 'timeouts' }->{$how} // 'garbage' }, '>', 0, "$how: counted";
    cmp_ok $counts{starts}, '<=', 6, "$how: not started without end";
}

my $channel = proxy(<<"CONF", files => { 'c.sh' => sh('echo "5 OK"', 'id rest') });
external_acl_type c ttl=0 concurrency=8 $one %SRC /bin/sh \@DIR\@/c.sh
acl c external c
http_access allow c
CONF
delete $channel->{gauges}{'helper.external_c.processes'};
$channel->{descriptors} = {};
is status($channel), 403, 'the answer on a wrong channel is not taken for another';
cmp_ok stat($channel, 'helper.external_c.garbage'), '>', 0, '... and ends the process';

my $full = proxy(<<"CONF", files => { 'f.sh' => sh('sleep 0.4; echo OK', 'what rest') });
external_acl_type f ttl=0 queue-size=1 $one %PATH /bin/sh \@DIR\@/f.sh
acl f external f
http_access allow f
CONF
my @crowd = map { client($full) } 1 .. 5;
$crowd[$_]->send('GET ' . $origin->url("/$_") . " HTTP/1.1\r\nHost: x\r\n\r\n") for 0 .. 4;
my %got;
$got{ $_->response(to => 'GET')->status }++ for @crowd;
$_->close for @crowd;
is_deeply \%got, { 200 => 2, 403 => 3 }, 'one is asked, one waits, the others are refused at once';
counters($full, 'helper.external_f.overload' => 3);

# --- lines that are wrong ---------------------------------------------------------------------------

for (['external_acl_type x %SRC /nowhere/helper', 1, 26, 'cannot be used'],
    ['external_acl_type x %NOSUCH /bin/true', 1, 21, 'NOSUCH'],
    ['external_acl_type x ttl=soon %SRC /bin/true', 1, 25, 'soon'],
    ["external_acl_type plan %SRC /bin/true\nacl x external plam", 2, 16, "did you mean 'plan'"],
    ["external_acl_type x %SRC /bin/true\nexternal_acl_type x %SRC /bin/true", 2, 19, 'already'],
    ["external_acl_type x %<{Server} /bin/true\nacl x external x", 2, 16, 'response'],
    ["external_acl_type x %SRC /bin/true\nacl x external x\nfollow_x_forwarded_for allow x", 3, 30, 'cannot wait'],
    ["acl x ext_user_regex a(", 1, 22, "a("]) {
    my ($text, $line, $column, $mention) = @$_;
    my $said = parse("$text\n");
    isnt $said->{status}, 0, "refused: $text";
    like $said->{output}, qr/bobtail\.conf:$line:$column: error: .*\Q$mention\E/, '... with place and reason'
        or diag $said->{output};
}

# --- Squid's own, where it is -----------------------------------------------------------------------

my $session = '/usr/lib/squid/ext_file_userip_acl';
if (-x $session) {
    my $own = proxy(<<"CONF", files => { 'users' => "127.0.0.1 joe\n" });
external_acl_type ip ttl=0 $one %SRC %>{X-User} $session -f \@DIR\@/users
acl ip external ip
http_access allow ip
CONF
    is status($own, headers => ['X-User', 'joe']), 200, "$session: allows";
    is status($own, headers => ['X-User', 'jim']), 403, '... and refuses';
}
done;

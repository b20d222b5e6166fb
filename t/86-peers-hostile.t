# 86-peers-hostile.t - parents that die, hang, reset, say garbage or 407 for ever: what becomes of requests.
#
# Each outcome is stated, counted and safe: another parent's answer where a request can be sent twice without
# harm, else an error of our own; never somebody else's answer, and never a loop.
use Bobtail::Test;
use IO::Socket::IP;

sub peer { my ($port, $more) = @_; return "cache_peer 127.0.0.1 parent $port 0 no-query $more\n" }

# A port that nobody listens on as long as the test runs: bound, and not listening.
sub dead_port
{
    my $socket = IO::Socket::IP->new(LocalHost => '127.0.0.1', LocalPort => 0, Proto => 'tcp', Type => SOCK_STREAM)
        or die "no socket: $@";
    return ($socket->sockport, $socket);
}

my %odd = (
    hangs   => { hold => 1 },
    resets  => { raw => '', reset => 1 },
    ends    => { raw => '', close => 1 },
    garbage => { raw => "SSH-2.0-OpenSSH_9.2\r\n\r\n", close => 1 },
    half    => { raw => "HTTP/1.1 200 OK\r\nContent-Le", close => 1 },
    twice   => { raw => "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabcde" },
    who     => { status => 407, body => 'x', 'Proxy-Authenticate' => 'Basic realm="x"' },
    huge    => { raw => "HTTP/1.1 200 OK\r\nX: " . ('x' x 100_000) . "\r\n\r\n" },
);
my $good = origin('*' => sub { return if $_[0]{method} eq 'CONNECT'; return { body => 'good' } });

for my $kind (sort keys %odd) {
    my $bad = origin('*' => $odd{$kind});
    my $both = proxy("read_timeout 1 second\nconnect_timeout 1 second\n" . peer($bad->port, 'name=bad') . peer($good->port, 'name=good') . "never_direct allow all\n");
    is get($both, 'http://www.example.com/')->body, 'good', "$kind: the next parent is asked";
    my $answer = tunnel($both, 'www.example.com:443');
    is $answer->response->status, 200, "$kind: a CONNECT, too";
    counters($both, 'origin.other_way' => 2, $kind eq 'who' ? ('peer.refused' => 2) : ('peer.failed' => 2));

    my $alone = proxy("read_timeout 1 second\n" . peer($bad->port, 'name=bad') . "never_direct allow all\n");
    $answer = get($alone, 'http://www.example.com/');
    is $answer->status, $kind eq 'hangs' ? 504 : 502, "$kind: alone it is an error";
    isnt $answer->header('X-Squid-Error'), undef, '... of ours';
    is $answer->header('Proxy-Authenticate'), undef, '... that asks the client for no login';

    my $posted = post($both, 'http://www.example.com/', 'once');
    is $posted->status, $kind eq 'hangs' ? 504 : 502, "$kind: a POST was perhaps acted upon, and is not sent again";
}

my $interim = origin('*' => { raw => "HTTP/1.1 100 Continue\r\n\r\n" x 40 });
my $endless = proxy(peer($interim->port, 'name=bad') . peer($good->port, 'name=good') . "never_direct allow all\n");
is get($endless, 'http://www.example.com/')->status, 502, 'interim answers that the client has seen already: no other is asked';

# ---- who is down is left out, and comes back

my ($port, $socket) = dead_port();
my $down = proxy(peer($port, 'name=down connect-fail-limit=3') . peer($good->port, 'name=good') . "never_direct allow all\n", workers => 2);
is get($down, "http://www.example.com/$_")->body, 'good', 'nobody listens: the next parent is asked' for 1 .. 6;
counters($down, 'peer.failed' => 3, 'peer.died' => 1, 'origin.other_way' => 3);
like ctl($down, 'peers', 'down')->{output}, qr/dead for \d+ s\n.*silent 3/, 'dead for all workers after connect-fail-limit failures';
$socket->listen(5) or die;
wait_for(sub { later($down, 11); ctl($down, 'peers', 'down')->{output} =~ / up\n/ });
like ctl($down, 'peers', 'down')->{output}, qr/ up\n/, 'it is probed, and is back';
counters($down, 'peer.revived' => 1);
cmp_ok stats($down)->{'peer.probes'}, '>=', 1, '... by probes';
close $socket;

my ($lone, $keep) = dead_port();
my $nobody = proxy(peer($lone, 'name=lone connect-fail-limit=1') . "never_direct allow all\n");
is get($nobody, 'http://www.example.com/')->status, 503, 'the only one is down';
my $answer = get($nobody, 'http://www.example.com/');
is $answer->status, 503, '... and known to be';
like $answer->header('X-Squid-Error'), qr/^ERR_CANNOT_FORWARD 0/, '... so nobody waits for it';
is tunnel($nobody, 'www.example.com:443')->response->status, 503, '... with a CONNECT neither';

my $open = origin('/a' => { body => 'direct' });
my $fallback = proxy(peer($lone, 'name=lone connect-fail-limit=1'));
is get($fallback, $open->url('/a'))->body, 'direct', 'where that is allowed the request goes directly' for 1, 2;
is get(proxy(peer(1, 'name=no.such.host.invalid originserver') =~ s/127\.0\.0\.1/no.such.host.invalid/r . "never_direct allow all\n"), 'http://www.example.com/')->status, 503, 'a parent without an address';

# ---- a kept connection that ends is nobody's fault

my $closes = origin('*' => { body => 'x' });
my $kept = proxy(peer($closes->port, 'name=closes connect-fail-limit=1') . "never_direct allow all\n");
get($kept, 'http://www.example.com/');
$closes->drop;
is get($kept, 'http://www.example.com/')->body, 'x', 'a connection that was kept has ended: asked again';
like ctl($kept, 'peers')->{output}, qr/ up\n.*silent 0/, '... and held against nobody';

# ---- health

my $sick = origin('/health' => { body => 'fine' }, '*' => { body => 'sick' });
my $healthy = proxy(peer($sick->port, 'name=sick health-url=http://sick.example.com/health health-interval=5')
    . peer($good->port, 'name=good') . "never_direct allow all\n", workers => 2);
wait_for(sub { $sick->hits('/health') });
like $sick->seen('/health'), qr{^GET http://sick\.example\.com/health HTTP/1\.1\r\nHost: sick\.example\.com\r$}m, 'health-url is fetched through the parent';
is get($healthy, 'http://www.example.com/')->body, 'sick', 'it is well, and asked';
$sick->set('/health' => { status => 500, body => 'ill' });
wait_for(sub { later($healthy, 6); ctl($healthy, 'peers', 'sick')->{output} =~ /unwell/ });
like ctl($healthy, 'peers', 'sick')->{output}, qr/unwell for \d+ s, status 500/, 'two bad answers, and it is left out';
is get($healthy, 'http://www.example.com/')->body, 'good', '... for all workers' for 1 .. 4;
$sick->set('/health' => { body => 'fine' });
wait_for(sub { later($healthy, 6); ctl($healthy, 'peers', 'sick')->{output} =~ / up\n/ });
is get($healthy, 'http://www.example.com/')->body, 'sick', 'one good answer, and it is asked';
counters($healthy, 'peer.died' => 0);
cmp_ok stats($healthy)->{'peer.health_checks'}, '>=', 4, '... all of it counted';
cmp_ok stats($healthy)->{'peer.health_failed'}, '>=', 2, '... the bad ones, too';

# ---- max-conn

my $slow = origin('/held' => { hold => 1, body => 'held' }, '*' => { body => 'slow' });
my $most = proxy("cache_mem 0\n" . peer($slow->port, 'name=slow max-conn=2') . peer($good->port, 'name=good') . "never_direct allow all\n", workers => 2);
my @waiting = map { my $c = client($most); $c->send("GET http://www.example.com/held HTTP/1.1\r\nHost: www.example.com\r\n\r\n"); $c } 1, 2;
wait_for(sub { $slow->hits('/held') == 2 });
is get($most, 'http://www.example.com/')->body, 'good', 'max-conn: the next one is asked' for 1, 2;
counters($most, 'peer.full' => 2);
$slow->release('/held');
is $_->response->body, 'held', '... and whoever had a connection has his answer' for @waiting;
$_->close for @waiting;
like ctl($most, 'peers', 'slow')->{output}, qr/open [0-2] of 2/, '... as bobtailctl peers says';

my $few = origin('*' => { body => 'few' });
my $lonely = proxy("cache_mem 0\n" . peer($few->port, 'name=few max-conn=1') . "never_direct allow all\n");
is get($lonely, 'http://www.example.com/')->body, 'few', 'max-conn=1: one connection, which is kept';
is post($lonely, 'http://www.example.com/', 'x')->body, 'few', '... and makes room for a request that cannot use it';
my $shared = proxy("cache_mem 0\n" . peer($few->port, 'name=few max-conn=1') . "never_direct allow all\n", workers => 3);
my $got = 0;
for (1 .. 60) {
    $got++ if wait_for(sub { post($shared, 'http://www.example.com/', 'x')->status == 200 }, 5);
}
is $got, 60, '... of another worker, too';

# ---- connections in advance

my $ready = origin('*' => { body => 'ready' });
my $standby = proxy(peer($ready->port, 'name=ready standby=3') . "never_direct allow all\n");
wait_for(sub { $ready->open == 3 });
is $ready->open, 3, 'standby: connections before any request';
is get($standby, 'http://www.example.com/')->body, 'ready', '... one is used';
counters($standby, 'origin.reused' => 1);
cmp_ok stats($standby)->{'peer.standby'}, '>=', 3, '... counted';
cmp_ok $ready->connections, '<=', 4, '... and no other was needed';

done;

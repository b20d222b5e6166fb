# 22-http-keepalive.t - connections are kept on both sides, used again, and closed when they must.
use Bobtail::Test;

my $origin = origin(
    '/a' => { body => 'one' },
    '/b' => { body => 'two' },
    '/chunks' => { chunks => [ 'x', 'y' ] },
    '/bye' => { body => 'bye', close => 1 },
    '/slow' => { body => 'slow', hold => 1 },
    '/surplus' => { raw => "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n" },
    '/cut' => { body => 'x' x 1000, cut => 500 },
);
my $proxy = proxy('');

my $conn = client($proxy);
my @bodies = map { get($proxy, $origin->url($_), on => $conn)->body } qw(/a /b /chunks /a);
is "@bodies", 'one two xy one', 'four requests on one client connection';
is $origin->connections, 1, 'and one to the origin';
counters($proxy, 'client.connections' => 1, 'client.requests' => 4, 'origin.dials' => 1,
    'origin.reused' => 3, 'origin.idle' => 1, 'client.open' => 1);

my $other = client($proxy);
get($proxy, $origin->url('/a'), on => $other);
is $origin->connections, 1, 'another client shares the kept connection';
$other->close;

# Pipelined requests are answered in order, also when the first takes its time.
$conn->send(join '', map { 'GET ' . $origin->url($_) . " HTTP/1.1\r\nHost: x\r\n\r\n" } qw(/slow /b /a));
$origin->release('/slow');
is join(' ', map { $conn->response(to => 'GET')->body } 1 .. 3), 'slow two one', 'pipelined in order';

my $answer = get($proxy, $origin->url('/a'), headers => { Connection => 'close' }, on => $conn);
is $answer->header('Connection'), 'close', 'a client that asks to close is told so';
ok $conn->closed, 'and closed';

my $old = client($proxy);
$answer = get($proxy, $origin->url('/a'), version => '1.0', on => $old);
is $answer->body, 'one', 'HTTP/1.0 is answered';
ok $old->closed, 'and closed';
$old = client($proxy);
$answer = get($proxy, $origin->url('/a'), version => '1.0', on => $old,
    headers => { Connection => 'keep-alive' });
is $answer->header('Connection'), 'keep-alive', 'unless it asks to be kept';
is get($proxy, $origin->url('/b'), version => '1.0', on => $old)->body, 'two', 'then it is';
$old->close;

$conn = client($proxy);
is get($proxy, $origin->url('/bye'), on => $conn)->body, 'bye', 'an origin that closes';
is get($proxy, $origin->url('/a'), on => $conn)->body, 'one', 'costs the client nothing';

# A kept connection that went stale: asked again on a new one, without a word to the client.
$origin->drop;
is get($proxy, $origin->url('/a'), on => $conn)->body, 'one', 'a stale connection is no fault';

is get($proxy, $origin->url('/surplus'), on => $conn)->body, 'ok', 'bytes behind an answer';
my $connections = $origin->connections;
is get($proxy, $origin->url('/a'), on => $conn)->body, 'one', 'are not taken for the next one';
is $origin->connections, $connections + 1, 'which goes on another connection';
counters($proxy, 'origin.surplus' => 1);

$answer = get($proxy, $origin->url('/cut'), on => $conn);
ok !$answer->whole, 'a body that the origin cuts arrives cut';
ok !$conn->open, 'on a connection that is over';
counters($proxy, 'origin.aborted' => 1);

# Idle connections end in their time.
$conn = client($proxy);
get($proxy, $origin->url('/a'), on => $conn);
later($proxy, 61);
counters($proxy, 'origin.idle' => 0);
ok $conn->open, 'the client may stay longer than the origin';
later($proxy, 61);
ok $conn->closed, 'but not for ever';
counters($proxy, 'client.idle_closed' => 1);

# A request that never becomes whole.
$conn = client($proxy);
$conn->send('GET http://x/ HT');
wait_for(sub { stat($proxy, 'client.open') >= 1 });
later($proxy, 301);
is $conn->response(to => 'GET')->status, 408, 'a head that does not come is not waited for';
$conn->close;
counters($proxy, 'client.head_timeouts' => 1);
done;

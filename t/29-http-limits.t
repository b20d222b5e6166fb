# 29-http-limits.t - limits of time and size: each is kept, and says what happened.
use Bobtail::Test;
use Socket qw(SOL_SOCKET SO_RCVBUF);

my $origin = origin(
    '/hold' => { body => 'late', hold => 1 },
    '/wait' => { body => 'late', hold => 1 },
    '/big' => { body => 'x' x 8_000_000 },
    '/long' => { raw => "HTTP/1.1 200 OK\r\nX: " . 'x' x 3000 . "\r\nContent-Length: 0\r\n\r\n" },
    '/interim' => { interim => [ ("HTTP/1.1 103 Early Hints\r\nX: " . 'x' x 900_000 . "\r\n\r\n") x 6 ],
        body => 'at last' },
    '*' => { body => 'ok' },
);
sub ask { my ($path) = @_; return 'GET ' . $origin->url($path) . " HTTP/1.1\r\nHost: x\r\n\r\n" }

my $proxy = proxy(<<'CONF');
ascii_port 127.0.0.1:0
request_start_timeout 10 seconds
request_timeout 20 seconds
persistent_request_timeout 30 seconds
pconn_timeout 40 seconds
read_timeout 50 seconds
write_timeout 45 seconds
client_lifetime 70 seconds
request_header_max_size 2 KB
reply_header_max_size 2 KB
forward_max_tries 3
forward_timeout 1 minute
connect_timeout 5 seconds
CONF

my $silent = client($proxy);
wait_for(sub { stat($proxy, 'client.open') == 1 });
later($proxy, 11);
ok $silent->closed, 'request_start_timeout: a connection without a byte';
my $slow = client($proxy);
$slow->send('GET http://x/');
wait_for(sub { stat($proxy, 'client.open') == 1 });
later($proxy, 11);
$slow->send('y');
ok $slow->open, 'request_timeout: a head may take longer';
later($proxy, 11);
is $slow->response(to => 'GET')->status, 408, 'but bytes that trickle in do not make it longer still';
ok $slow->closed, 'and that is the end of it';
counters($proxy, 'client.head_timeouts' => 2);

my $kept = client($proxy);
get($proxy, $origin->url('/'), on => $kept);
later($proxy, 31);
ok $kept->closed, 'persistent_request_timeout, the old name of client_idle_pconn_timeout';
counters($proxy, 'origin.idle' => 1);
later($proxy, 10);
counters($proxy, 'origin.idle' => 0);
pass 'pconn_timeout, the old name of server_idle_pconn_timeout';

my $waiting = client($proxy);
$waiting->send(ask('/hold'));
wait_for(sub { $origin->hits('/hold') == 1 });
later($proxy, 51);
is $waiting->response(to => 'GET')->status, 504, 'read_timeout';
$origin->release('/hold');
$waiting->close;

# A client that takes nothing of a large answer.
my $stalled = client($proxy);
setsockopt $stalled->socket, SOL_SOCKET, SO_RCVBUF, 65536; # else the system takes it all
$stalled->send(ask('/big'));
wait_for(sub { $origin->hits('/big') == 1 && stat($proxy, 'client.active') == 1 });
my $passed = 0;
# What the system takes meanwhile gives it more time: the clock goes on only when it has taken all it will.
select undef, undef, undef, 0.5;
wait_for(sub { stat($proxy, 'client.active') == 0 || ($passed += 5, later($proxy, 5), 0)[2] });
cmp_ok $passed, '<', 65, 'write_timeout, and not client_lifetime';
ok length $stalled->bytes(8_000_000) < 8_000_000, 'write_timeout: a client that takes nothing';
$stalled->close;

my $tunnel = tunnel($proxy, $origin->addr);
is $tunnel->response->status, 200, 'a tunnel';
later($proxy, 71);
ok $tunnel->closed, 'ends after client_lifetime';
$tunnel->close;

is raw($proxy, 'GET http://x/' . 'y' x 2500)->status, 414, 'request_header_max_size: a long URL';
is raw($proxy, "GET http://x/ HTTP/1.1\r\nHost: x\r\nX: " . 'y' x 2500 . "\r\n\r\n")->status, 431,
    'request_header_max_size: a long field';
my $long = get($proxy, $origin->url('/long'));
is $long->status, 502, 'reply_header_max_size';
like $long->header('X-Squid-Error'), qr/^ERR_TOO_BIG/, 'says so';

my $roomy = proxy("reply_header_max_size 1 MB\n");
is get($roomy, $origin->url('/interim'))->status, 502, 'interim heads without end';
counters($roomy, 'limits.exchange_memory' => 1);

# Connections that are not to be kept.
my $single = proxy(<<'CONF');
client_persistent_connections off
server_persistent_connections off
client_idle_pconn_timeout 1 minute
server_idle_pconn_timeout 1 minute
CONF
my $conn = client($single);
is get($single, $origin->url('/once'), on => $conn)->header('Connection'), 'close',
    'client_persistent_connections off';
ok $conn->closed, 'closes';
is $origin->seen_header('/once', 'Connection'), 'close', 'server_persistent_connections off';
counters($single, 'origin.idle' => 0, 'origin.reused' => 0);

# A client that leaves: by reset while it waits.
my $leaver = client($single);
$leaver->send(ask('/wait'));
wait_for(sub { $origin->hits('/wait') == 1 });
$leaver->reset;
counters($single, 'client.aborted' => 1, 'client.active' => 0, 'origin.open' => 0);
$origin->release('/wait');
done;

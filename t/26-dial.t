# 26-dial.t - connecting: the next address when one fails, overtaking, limits of time, kept ones.
use Bobtail::Test;
need('dnsmasq');

# A port that does not answer: its queue is full, so the kernel drops what comes.
my @guests;
sub hole
{
    my ($ip, $its_port) = @_;
    my $listener = IO::Socket::IP->new(LocalHost => $ip, LocalPort => $its_port, Listen => 1) or die "hole: $@";
    listen $listener, 0;
    push @guests, map {
        IO::Socket::IP->new(PeerHost => $ip, PeerPort => $listener->sockport, Blocking => 0)
    } 1 .. 4;
    return $listener;
}

my $origin = origin('/a' => { body => 'one' });
my $port = $origin->port;
my $hole = hole('127.0.0.7', $port);
my $dns = dnsmasq(
    'second.test' => ['127.0.0.9', '127.0.0.1'],       # refused, and well
    (map { ("slow$_.test" => ['127.0.0.7', '127.0.0.1']) } 1, 2),    # silent, and well
    (map { ("slow$_.test" => ['127.0.0.1', '127.0.0.7']) } 3, 4),
    'six.test' => ['::1', '127.0.0.1'],
    'silent.test' => '127.0.0.7',
    'dead.test' => ['127.0.0.9', '127.0.0.10'],
);
my $proxy = proxy(<<"CONF");
dns_nameservers @{[ $dns->addr ]}
connect_timeout 20 seconds
server_idle_pconn_timeout 30 seconds
CONF

is get($proxy, "http://second.test:$port/a")->body, 'one', 'the second address, when the first refuses';
is get($proxy, "http://six.test:$port/a")->body, 'one', 'the other family likewise';
mark($proxy);
my $answer = get($proxy, "http://dead.test:$port/a");
is $answer->status, 503, 'all refuse';
is $answer->header('X-Squid-Error'), 'ERR_CONNECT_FAIL 111', 'which is said';
counters($proxy, 'origin.dials' => 2, 'origin.dial_failed' => 2);
like ctl($proxy, 'stats', 'origin.connect_time')->{output}, qr/ 1 times/, 'origin.connect_time: one stood, and was used twice';

# dnsmasq may turn the list round, but of four names the silent address comes first for some.
ctl($proxy, 'idle', 'close');
for (1 .. 4) {
    is get($proxy, "http://slow$_.test:$port/a")->body, 'one', 'a silent address is overtaken';
    ctl($proxy, 'idle', 'close');
}

my $conn = client($proxy);
$conn->send("GET http://silent.test:$port/a HTTP/1.1\r\nHost: x\r\n\r\n");
ok wait_for(sub { stat($proxy, 'client.active') == 1 }), 'nobody answers';
later($proxy, 15);
is stat($proxy, 'client.active'), 1, 'for some time';
later($proxy, 6);
$answer = $conn->response(to => 'GET');
is $answer->status, 504, 'connect_timeout ends it';
like $answer->header('X-Squid-Error'), qr/^ERR_CONNECT_FAIL/, 'with the page for it';
$conn->close;

# What passes through a tunnel is counted as it passes.
mark($proxy);
my $ask = "GET /a HTTP/1.0\r\n\r\n";
$conn = tunnel($proxy, "six.test:$port");
is $conn->response->status, 200, 'a tunnel';
$conn->send($ask);
my $said = $conn->rest;
like $said, qr/one$/, 'and what comes out of it';
counters($proxy, 'tunnel.bytes' => length($ask) + length $said);
$conn->close;

# Kept connections end with their time, and with their origin.
mark($proxy);
get($proxy, $origin->url('/a'));
get($proxy, $origin->url('/a'));
counters($proxy, 'origin.dials' => 1, 'origin.reused' => 1, 'origin.idle' => 1);
later($proxy, 29);
is $origin->open, 1, 'it is kept';
later($proxy, 2);
ok wait_for(sub { $origin->open == 0 }), 'for server_idle_pconn_timeout';
get($proxy, $origin->url('/a'));
$origin->drop;
ok wait_for(sub { stat($proxy, 'origin.idle') == 0 }), 'one that its origin ends is not kept';
get($proxy, $origin->url('/a'));
counters($proxy, 'origin.dials' => 3, 'origin.retries' => 0);
done;

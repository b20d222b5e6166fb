# 28-http-upgrade.t - Upgrade passes where a tunnel would; TRACE and OPTIONS end where they should.
use Bobtail::Test;

my $origin = origin(
    '/ws' => { raw => "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
            . "Connection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\nframe" },
    '/x' => { body => 'inside' },
    '*' => { body => 'plain' },
);
my $upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n";
sub ask { my ($path) = @_; return 'GET ' . $origin->url($path) . " HTTP/1.1\r\nHost: x\r\n$upgrade\r\n" }

my $open = proxy('');
my $conn = client($open);
$conn->send(ask('/ws'));
my $head = $conn->upto("\r\n\r\n");
like $head, qr{^HTTP/1\.1 101 }, 'a switch that was asked for';
like $head, qr{^Upgrade: websocket\r$}m, 'names the protocol';
like $head, qr{^Connection: upgrade\r$}m, 'for this connection';
is $conn->bytes(5), 'frame', 'what came with the switch is not lost';
$conn->send("GET /x HTTP/1.1\r\nHost: y\r\n\r\n");
is $conn->response(to => 'GET')->body, 'inside', 'and then bytes pass both ways';
$conn->close;
is $origin->seen_header('/ws', 'Upgrade'), 'websocket', 'the origin was asked';
is $origin->seen_header('/ws', 'Sec-WebSocket-Version'), 13, 'with all that belongs to it';
is raw($open, ask('/no'))->body, 'plain', 'an origin may decline';

# Where a tunnel to that port is refused, the offer is left out and the request goes on.
my $shut = proxy(<<'CONF');
acl SSL_ports port 443
http_access deny CONNECT !SSL_ports
http_access allow all
CONF
is raw($shut, ask('/quiet'))->body, 'plain', 'no tunnel there: an ordinary request';
is $origin->seen_header('/quiet', 'Upgrade'), undef, 'without the offer';
is raw($shut, ask('/ws'))->status, 502, 'and a switch nobody asked for is an error';

my $listed = proxy(<<'CONF');
http_upgrade_request_protocols WebSocket allow all
http_upgrade_request_protocols OTHER deny all
CONF
is raw($listed, ask('/listed') =~ s/Upgrade: websocket/Upgrade: h2c, websocket/r)->body, 'plain',
    'by the list';
is $origin->seen_header('/listed', 'Upgrade'), 'websocket', 'only what it allows is offered';

my $trace = request($open, TRACE => $origin->url('/t'),
    headers => [ 'Max-Forwards' => 0, 'X-A' => 'b', Authorization => 'secret', Cookie => 'secret' ]);
is $trace->header('Content-Type'), 'message/http', 'TRACE ends at 0';
like $trace->body, qr{^TRACE http://\S+/t HTTP/1\.1\r\n.*^X-A: b\r$}ms, 'with what we saw';
unlike $trace->body, qr/secret/, 'less what is secret';
is $origin->hits('/t'), 0, 'and goes no further';
is request($open, OPTIONS => $origin->url('/o'), headers => { 'Max-Forwards' => 3 })->status, 200,
    'OPTIONS travels on';
is $origin->seen_header('/o', 'Max-Forwards'), 2, 'with one less';
is request($open, PURGE => $origin->url('/p'))->status, 403, 'PURGE is for this proxy alone';
is $origin->hits('/p'), 0, 'and travels no further';
my $options = request($open, OPTIONS => '*', host => 'x');
is $options->status, 200, 'OPTIONS *';
like $options->header('Allow'), qr/CONNECT/, 'is answered from here';
is request($open, GET => $origin->url('/e'), headers => { Expect => 'the-unexpected' })->status, 417,
    'an expectation that nobody can meet';
ok get($open, $origin->url('/date'))->header('Date'), 'an answer without a date gets one';
done;

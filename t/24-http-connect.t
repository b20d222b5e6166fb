# 24-http-connect.t - tunnels: both directions, half-close kept, early bytes, refusals.
use Bobtail::Test;

my $echo = origin('*' => { body => 'inside' });
my $proxy = proxy('');

my $conn = tunnel($proxy, $echo->addr);
is $conn->response->status, 200, 'a tunnel stands';
$conn->send("GET /x HTTP/1.1\r\nHost: inside\r\n\r\n");
delete $conn->{response};
is $conn->response(to => 'GET')->body, 'inside', 'bytes pass both ways';
$conn->close;

# Bytes that come with the CONNECT go up once the tunnel stands.
$conn = client($proxy);
$conn->send('CONNECT ' . $echo->addr . " HTTP/1.1\r\nHost: x\r\n\r\nGET /early HTTP/1.1\r\nHost: y\r\n\r\n");
is $conn->response(to => 'CONNECT')->status, 200, 'early bytes are no fault';
is $conn->response(to => 'GET')->body, 'inside', 'and are not lost';
$conn->close;

# Half-close: the client says that it is done, and the answer still comes.
$conn = tunnel($proxy, $echo->addr);
$conn->send("GET /half HTTP/1.0\r\n\r\n");
$conn->shut;
delete $conn->{response};
like $conn->rest, qr/inside$/, 'a half-closed tunnel still answers';
counters($proxy, 'tunnel.opened' => 3, 'tunnel.open' => 0);

my $answer = tunnel($proxy, '127.0.0.1:1')->response;
is $answer->status, 503, 'nobody listens there';
is $answer->header('X-Squid-Error'), 'ERR_CONNECT_FAIL 111', 'and the page says so';
is request($proxy, CONNECT => '127.0.0.1', host => 'x')->status, 400, 'CONNECT without a port';
is request($proxy, CONNECT => 'http://127.0.0.1:80/', host => 'x')->status, 400, 'CONNECT to a URL';

# A megabyte through one tunnel, checked byte for byte.
my $data = join '', map { pack 'N', $_ } 1 .. 262_144;
my $mega = origin('/mega' => { body => $data });
$conn = tunnel($proxy, $mega->addr);
$conn->send("GET /mega HTTP/1.0\r\n\r\n");
delete $conn->{response};
my $got = $conn->rest;
ok substr($got, -length $data) eq $data, 'a megabyte comes through';
$conn->close;

# Refused by the shipped rules: a port that is not for TLS.
my $shipped = proxy(<<'CONF');
acl SSL_ports port 443
http_access deny CONNECT !SSL_ports
http_access allow localhost
http_access deny all
CONF
$answer = tunnel($shipped, $echo->addr)->response;
is $answer->status, 403, 'a tunnel to another port is refused';
like $answer->header('X-Squid-Error'), qr/^ERR_ACCESS_DENIED/, 'by the access rules';
counters($shipped, 'client.denied' => 1);
done;

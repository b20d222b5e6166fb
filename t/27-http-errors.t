# 27-http-errors.t - what cannot be done is said in an HTTP answer, with Squid's names.
use Bobtail::Test;

my $origin = origin(
    '/silent' => { raw => '', close => 1 },
    '/garbage' => { raw => "this is not HTTP\r\n\r\n", close => 1 },
    '/twice' => { raw => "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", close => 1 },
    '/both' => { raw => "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", close => 1 },
    '/half' => { raw => "HTTP/1.1 200 OK\r\nContent-", close => 1 },
    '/huge' => { raw => "HTTP/1.1 200 OK\r\nX: " . 'x' x 70_000 . "\r\n\r\n", close => 1 },
    '/101' => { raw => "HTTP/1.1 101 Switching Protocols\r\n\r\n", close => 1 },
    '/never' => { hold => 1, body => 'late' },
    '*' => { body => 'ok' },
);
my $proxy = proxy(<<'CONF', files => { hosts => "127.0.0.1 known.test\n" });
hosts_file @DIR@/hosts
dns_nameservers 127.255.255.53
dns_timeout 1 second
cache_mgr someone@example.com
CONF

sub refused
{
    my ($url, $status, $error, $what) = @_;
    my $answer = get($proxy, $url);
    is $answer->status, $status, $what;
    like $answer->header('X-Squid-Error') // '', qr/^$error \d+$/, "... $error";
    return $answer;
}

my $nobody = refused('http://127.0.0.1:1/x', 503, 'ERR_CONNECT_FAIL', 'nobody listens');
like $nobody->header('Content-Type'), qr{^text/html}, 'the page is HTML';
like $nobody->body, qr/someone\@example\.com/, 'and says whom to ask';
unlike $nobody->body, qr/Host:|User-Agent/i, 'and echoes no header';
is get($proxy, 'http://known.test:' . $origin->port . '/')->status, 200, 'a name of the hosts file';
refused('http://unknown.test/', 503, 'ERR_DNS_FAIL', 'a name that is not found');
refused('ftp://127.0.0.1/x', 501, 'ERR_UNSUP_REQ', 'another scheme');
refused($origin->url('/silent'), 502, 'ERR_ZERO_SIZE_OBJECT', 'an origin that says nothing');
refused($origin->url('/garbage'), 502, 'ERR_INVALID_RESP', 'an origin that does not speak HTTP');
refused($origin->url('/twice'), 502, 'ERR_INVALID_RESP', 'two lengths');
refused($origin->url('/both'), 502, 'ERR_INVALID_RESP', 'two framings');
refused($origin->url('/half'), 502, 'ERR_INVALID_RESP', 'half a head');
refused($origin->url('/huge'), 502, 'ERR_TOO_BIG', 'a head that is too large');
refused($origin->url('/101'), 502, 'ERR_INVALID_RESP', 'a switch that nobody asked for');
refused('/x', 400, 'ERR_INVALID_URL', 'a request to the proxy itself');

my $raw = raw($proxy, "GET http://x/\r\n\r\n");
is $raw->status, 400, 'no version';
$raw = raw($proxy, "GET http://x/ HTTP/2.0\r\nHost: x\r\n\r\n");
is $raw->status, 505, 'a version of tomorrow';
like $raw->header('X-Squid-Error'), qr/^ERR_UNSUP_HTTPVERSION/, '... by its name';
$raw = raw($proxy, 'GET http://x/' . 'y' x 20_000 . " HTTP/1.1\r\nHost: x\r\n\r\n");
is $raw->status, 414, 'a URL that is too long';
$raw = raw($proxy, "GET http://x/ HTTP/1.1\r\nHost: x\r\nX: " . 'y' x 70_000);
is $raw->status, 431, 'a head that is too large';
$raw = raw($proxy, "GET http://x/ HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n"
    . "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
is $raw->status, 400, 'two framings';
is raw($proxy, "GET http://x/ HTTP/1.1\r\nHost: x\r\nBad Name: y\r\n\r\n")->status, 400, 'a blank in a name';
my $half = client($proxy);
$half->send("HEAD http://x/\x01");
like $half->rest, qr{^HTTP/1\.1 400 .*\r\n\r\n\z}s, 'half of a HEAD is refused without a body';
$half->close;
counters($proxy, 'parse.field' => 1, 'parse.version' => 2, 'parse.long_target' => 1, 'parse.too_large' => 1,
    'parse.coding' => 1, 'parse.target' => 1, 'client.bad_requests' => 8);

my $conn = client($proxy);
$conn->send('GET ' . $origin->url('/never') . " HTTP/1.1\r\nHost: x\r\n\r\n");
wait_for(sub { $origin->hits('/never') });
later($proxy, 901);
my $late = $conn->response(to => 'GET');
is $late->status, 504, 'an origin that does not answer';
like $late->header('X-Squid-Error'), qr/^ERR_READ_TIMEOUT/, '... by its name';
counters($proxy, 'origin.timeouts' => 1);
$origin->release('/never');
$conn->close;

# A page is harmless whatever the URL says.
my $odd = get($proxy, 'http://127.0.0.1:1/%3Cb%3E&"\'');
like $odd->body, qr{/%3Cb%3E&amp;&quot;&#39;}, 'a URL in a page is quoted';
done;

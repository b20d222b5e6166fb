# 80-abuse-heads.t - heads that were made to hurt: refused at once, at little cost, and counted.
use Bobtail::Test;
use Time::HiRes qw(time);

my $origin = origin('*' => { body => 'ok' });
my $proxy = proxy('');
my $url = $origin->url('/');
my $get = "GET $url HTTP/1.1\r\nHost: x\r\n";

# Refused without waiting for more: nothing here has the end of a head.
sub at_once
{
    my ($bytes, $status, $what) = @_;
    my $conn = client($proxy);
    my $began = time;
    $conn->send($bytes);
    is $conn->response(to => 'GET')->status, $status, $what;
    cmp_ok time - $began, '<', patience() / 2, '... at once';
    ok $conn->closed, '... and over';
    $conn->close;
    return;
}

at_once("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, 'TLS on a plain port');
at_once("\x05\x01\x00", 400, 'SOCKS');
at_once("\0" x 10, 400, 'zeros');
at_once('A' x 100, 400, 'a method without end');
at_once("GET /\x01", 400, 'a control byte in the first line');
at_once("GET $url HTTP/1.1\n", 400, 'a first line that ends in LF');
at_once("\n", 400, 'LF alone');
at_once("{\"json\": 1}", 400, 'something else altogether');
at_once("GET http://x/" . 'y' x 20_000, 414, 'a URL without end');
at_once($get . 'X: ' . 'y' x 70_000, 431, 'a line without end');
at_once($get . "X: y\r\n" x 12_000, 431, 'lines without end');
counters($proxy, 'client.bad_requests' => 11, 'parse.request_line' => 5, 'parse.line_ends' => 3,
    'parse.long_target' => 1, 'parse.too_large' => 2);

# Just within the limits, and just beyond.
is raw($proxy, $get . join('', map { "X-$_: y\r\n" } 1 .. 199) . "\r\n")->status, 200, '200 lines';
is raw($proxy, $get . join('', map { "X-$_: y\r\n" } 1 .. 200) . "\r\n")->status, 431, '201 lines';
is raw($proxy, $get . 'X: ' . 'y' x 60_000 . "\r\n\r\n")->status, 200, '60 KB in one line';
is raw($proxy, $get . 'Connection: ' . join(',', map { "x$_" } 1 .. 64) . "\r\n\r\n")->status, 200,
    '64 names in Connection';
is raw($proxy, $get . 'Connection: ' . join(',', map { "x$_" } 1 .. 65) . "\r\n\r\n")->status, 400,
    '65 are too many';
my $long = 'http://' . $origin->addr . '/' . 'y' x (16_384 - length($origin->url('/')));
is raw($proxy, "GET $long HTTP/1.1\r\nHost: x\r\n\r\n")->status, 200, 'a URL of 16 KB';
is raw($proxy, "GET ${long}y HTTP/1.1\r\nHost: x\r\n\r\n")->status, 414, 'one byte more';

# Lists that grow at each hop are cut, the newest stay.
is raw($proxy, $get . 'X-Forwarded-For: ' . join(', ', map { "10.0.0.$_" } 1 .. 2_000) . "\r\n\r\n")->status, 200,
    '2,000 hops in X-Forwarded-For';
my @hops = split /, /, $origin->seen_header('/', 'X-Forwarded-For');
is scalar @hops, 64, '64 of them go on';
is "$hops[-2] $hops[-1]", '10.0.0.2000 127.0.0.1', 'the last ones';
is raw($proxy, $get . 'Via: ' . join(', ', map { "1.1 p$_" } 1 .. 2_000) . "\r\n\r\n")->status, 200,
    '2,000 hops in Via';
is scalar(split /, /, $origin->seen_header('/', 'Via')), 64, '64 of them go on';
is raw($proxy, $get . "Via: 1.1 x \"open, 1.1 proxy.test\r\n\r\n")->status, 508,
    'a stray quote does not hide a loop';

# Chunks that are all framing.
my $post = "POST $url HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
my $mostly = '1;' . 'x' x 50 . "\r\ny\r\n";
for (['an extension without end', '1;' . 'x' x 5_000], ['extensions and nothing else', $mostly x 1_000],
    ['trailers without end', "0\r\n" . "A: b\r\n" x 5_000], ['a size without end', '0' x 5_000]) {
    my ($what, $body) = @$_;
    my $conn = client($proxy);
    $conn->send($post . $body);
    my $answer = $conn->response(to => 'POST');
    ok $answer->status == 400 || $answer->status == 0, $what;
    ok $conn->closed, '... ends the connection';
    $conn->close;
}
counters($proxy, 'parse.chunk' => 4);
my $heart = client($proxy);
$heart->send($post . "1\r\nx\r\n" x 20_000 . "0\r\n\r\n");
is $heart->response(to => 'POST')->status, 200, '20,000 chunks of one byte are honest';
is length $origin->body('/'), 20_000, 'and arrive';
$heart->close;

# A head that comes byte by byte must be whole in its time, however lively it is.
my $slow = client($proxy);
$slow->drip($get);
later($proxy, 200);
$slow->drip("X: y\r\n");
later($proxy, 200);
is $slow->response(to => 'GET')->status, 408, 'a head that trickles is not waited for';
$slow->close;
counters($proxy, 'client.head_timeouts' => 1);

# Heads of answers.
my @heads = (
    ['300 lines', "HTTP/1.1 200 OK\r\n" . join('', map { "X-$_: y\r\n" } 1 .. 300) . "\r\n"],
    ['70 KB', "HTTP/1.1 200 OK\r\nX: " . 'y' x 70_000 . "\r\n\r\n"],
    ['no HTTP', "SSH-2.0-OpenSSH_9\r\n"],
    ['NUL', "HTTP/1.1 200 OK\r\nX: \0\r\n\r\n"],
    ['a control byte', "HTTP/1.1 200 OK\r\nX: \e[2J\r\n\r\n"],
    ['a status of 999', "HTTP/1.1 999 OK\r\n\r\n"],
    ['a status of 5', "HTTP/1.1 5 OK\r\n\r\n"],
    ['interim ones without end', "HTTP/1.1 100 Continue\r\n\r\n" x 100],
);
mark($proxy);
for (@heads) {
    my ($what, $bytes) = @$_;
    $origin->set('/bad' => { raw => $bytes, close => 1 });
    is get($proxy, $origin->url('/bad'))->status, 502, "an answer with $what";
}
counters($proxy, 'origin.bad_responses' => scalar @heads);
is get($proxy, $url)->body, 'ok', 'and all is well after it';
done;

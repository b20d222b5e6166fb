# 21-http-framing.t - one message has one meaning: lengths, chunks, and every trick with them.
use Bobtail::Test;

# What an origin would be told to do if a trick worked.
my $origin = origin(
    '/echo' => sub { my ($req) = @_; return { body => "$req->{method} $req->{body}" } },
    '/smuggled' => { body => 'smuggled' },
    '/ok' => { body => 'ok' },
);
my $proxy = proxy('');
my $host = 'Host: ' . $origin->addr . "\r\n";
my $echo = $origin->url('/echo');
my $next = 'GET ' . $origin->url('/smuggled') . " HTTP/1.1\r\n$host\r\n";

sub post_of { my ($fields, $body) = @_; return "POST $echo HTTP/1.1\r\n$host$fields\r\n" . ($body // '') }

# A refusal: this status, and whatever else was sent is not looked at.
sub refused
{
    my ($bytes, $status, $what) = @_;
    my $conn = client($proxy);
    $conn->send($bytes . $next);
    my $answer = $conn->response(to => 'POST');
    is $answer->status, $status, $what;
    is $answer->header('Connection'), 'close', '... and the connection is over' if $status;
    is $conn->rest, '', '... without a second answer';
    $conn->close;
    return;
}

# --- requests with two meanings ---------------------------------------------------------------

my @tricks = (
    ['length and coding', "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\nG"],
    ['coding and length', "Transfer-Encoding: chunked\r\nContent-Length: 6\r\n", "0\r\n\r\nG"],
    ['two lengths', "Content-Length: 0\r\nContent-Length: 5\r\n", 'hello'],
    ['two lengths in one line', "Content-Length: 0, 5\r\n", 'hello'],
    ['a length with a sign', "Content-Length: +5\r\n", 'hello'],
    ['less than nothing', "Content-Length: -1\r\n", ''],
    ['a length in hex', "Content-Length: 0x5\r\n", 'hello'],
    ['two numbers', "Content-Length: 5 0\r\n", 'hello'],
    ['no number', "Content-Length:\r\n", ''],
    ['a length beyond all numbers', "Content-Length: 18446744073709551621\r\n", 'hello'],
    ['a blank before the colon', "Content-Length : 5\r\n", 'hello'],
    ['a blank before the colon of the coding', "Transfer-Encoding : chunked\r\n", "0\r\n\r\n"],
    ['a length with a vertical tab', "Content-Length:\x0b5\r\n", 'hello'],
    ['a fold', "Content-Length:\r\n 5\r\n", 'hello'],
    ['a fold with a tab', "X: a\r\n\tContent-Length: 5\r\n", 'hello'],
    ['a coding that is not chunked', "Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"],
    ['identity', "Transfer-Encoding: identity\r\n", ''],
    ['chunked in quotes', "Transfer-Encoding: \"chunked\"\r\n", "0\r\n\r\n"],
    ['chunked not last', "Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n"],
    ['chunked twice', "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"],
    ['chunked with a control byte', "Transfer-Encoding: chunked\x01\r\n", "0\r\n\r\n"],
    ['bare LF', "X: y\nContent-Length: 5\r\n", 'hello'],
    ['bare CR', "X: y\rContent-Length: 5\r\n", 'hello'],
    ['NUL', "X: y\0\r\n", ''],
    ['a name with a blank', "Content Length: 5\r\n", 'hello'],
    ['a line without a colon', "Content-Length\r\n", ''],
    ['a second Host', "Host: other.test\r\n", ''],
);
for (@tricks) {
    my ($what, $fields, $body) = @$_;
    refused(post_of($fields, $body), 400, $what);
}
refused(post_of("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), 501, 'a coding that nobody here speaks');
refused("POST $echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, 'chunked in HTTP/1.0');
refused("POST $echo HTTP/1.1\r\n\r\n", 400, 'no Host');
refused("POST $echo HTTP/1.1\r\nHost: a b\r\n\r\n", 400, 'no proper Host');
refused("POST $echo  HTTP/1.1\r\n$host\r\n", 400, 'two blanks in the first line');
refused("POST $echo\tHTTP/1.1\r\n$host\r\n", 400, 'a tab in the first line');
refused("POST $echo#x HTTP/1.1\r\n$host\r\n", 400, 'a fragment');
refused("POST $echo\r\n$host\r\n", 400, 'no version');
refused("POST $echo HTTP/1.1\n$host\r\n", 400, 'a first line that ends in LF');
refused("\r\n\r\nPOST $echo HTTP/1.1\r\n$host\r\n", 400, 'two empty lines in front');
refused("CONNECT 127.0.0.1:443 HTTP/1.1\r\n${host}Content-Length: 5\r\n\r\nhello", 400, 'CONNECT with a body');

my $bad = @tricks + 11;
is $origin->hits('/echo'), 0, 'none of it reached the origin';
is $origin->hits('/smuggled'), 0, 'nor what was hidden in it';
counters($proxy, 'client.bad_requests' => $bad, 'client.requests' => 0, 'parse.length' => 8,
    'parse.coding' => 9, 'parse.host' => 3, 'parse.line_ends' => 4);

# --- bodies -----------------------------------------------------------------------------------

# A chunked body that is none: no answer of the origin, and nothing behind it is a request.
my $chunked = post_of("Transfer-Encoding: chunked\r\n");
my @bodies = (
    ['a size with a sign', "+5\r\nhello\r\n0\r\n\r\n"],
    ['a size with a prefix', "0x5\r\nhello\r\n0\r\n\r\n"],
    ['a size with an underscore', "1_0\r\nhello\r\n0\r\n\r\n"],
    ['a size beyond all numbers', "10000000000000005\r\nhello\r\n0\r\n\r\n"],
    ['a size that ends in LF', "5\nhello\r\n0\r\n\r\n"],
    ['a size that ends in CR', "5\rxhello\r\n0\r\n\r\n"],
    ['a size and a blank', "5 \r\nhello\r\n0\r\n\r\n"],
    ['an extension that ends in LF', "5;x\nhello\r\n0\r\n\r\n"],
    ['an extension with a CR', "5;x\ry\r\nhello\r\n0\r\n\r\n"],
    ['more than was said', "5\r\nhello!\r\n0\r\n\r\n"],
    ['a chunk that ends in LF', "5\r\nhello\n0\r\n\r\n"],
    ['a chunk without an end', "5\r\nhello0\r\n\r\n"],
    ['an empty line of LF', "5\r\nhello\r\n0\r\n\n"],
    ['a trailer that is a request', "0\r\nGET /smuggled HTTP/1.1\r\n\r\n"],
    ['a trailer with a fold', "0\r\nA: b\r\n c\r\n\r\n"],
);
for (@bodies) {
    my ($what, $body) = @$_;
    my $conn = client($proxy);
    $conn->send($chunked . $body . $next);
    my $answer = $conn->response(to => 'POST');
    ok $answer->status == 0 || $answer->status == 400, "$what is no body (" . $answer->status . ')';
    is $conn->rest, '', '... and there is no second answer';
    $conn->close;
}
is $origin->hits('/echo'), 0, 'the origin never saw a whole request';
is $origin->hits('/smuggled'), 0, 'nor a second one';
counters($proxy, 'parse.chunk' => scalar @bodies);

# What has one meaning passes, written anew.
my $conn = client($proxy);
$conn->send("\r\n" . post_of("Content-Length: 5, 5\r\nCONTENT-LENGTH:\t5\r\n", 'hello'));
is $conn->response(to => 'POST')->body, 'POST hello', 'a length that is said three times alike';
is $origin->seen_header('/echo', 'Content-Length'), '5', 'is written once';
$conn->send(post_of("Transfer-Encoding:\tCHUNKED \r\n",
    "5;a=b;c=\"d\"\r\nhello\r\n00006 ;x\r\n world\r\n0;last\r\nContent-Length: 1\r\nHost: x\r\n\r\n"));
is $conn->response(to => 'POST')->body, 'POST hello world', 'chunks with extensions and trailers';
is $origin->seen_header('/echo', 'Transfer-Encoding'), 'chunked', 'have one spelling';
is $origin->seen_header('/echo', 'Content-Length'), undef, 'and a trailer says nothing of length';
$conn->send($chunked . "3\r\n\r\n0\r\n0\r\n\r\n" . post_of("Content-Length: 2\r\n", "0\r"));
is $conn->response(to => 'POST')->body, "POST \r\n0", 'payload that looks like framing';
is $conn->response(to => 'POST')->body, "POST 0\r", 'and the next request behind it';
$conn->close;

# The same bytes one by one.
$conn = client($proxy);
$conn->drip(post_of("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n1;x=y\r\n!\r\n0\r\nA: b\r\n\r\n"));
is $conn->response(to => 'POST')->body, 'POST hello!', 'byte by byte, in chunks';
$conn->drip(post_of("Content-Length: 5\r\n", 'hello'));
is $conn->response(to => 'POST')->body, 'POST hello', 'byte by byte, by length';
$conn->close;

# --- answers with two meanings ----------------------------------------------------------------

sub reply { my ($fields, $body) = @_; return { raw => "HTTP/1.1 200 OK\r\n$fields\r\n" . ($body // '') } }
my @answers = (
    ['length and coding', "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"],
    ['two lengths', "Content-Length: 5\r\nContent-Length: 6\r\n", 'hello'],
    ['a length with a sign', "Content-Length: +5\r\n", 'hello'],
    ['a blank before the colon', "Content-Length : 5\r\n", 'hello'],
    ['a folded length', "Content-Length: 5\r\n 0\r\n", 'hello'],
    ['a folded coding', "Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n"],
    ['a coding that is not chunked', "Transfer-Encoding: identity\r\n", 'hello'],
    ['codings', "Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"],
    ['bare LF', "X: y\nContent-Length: 5\r\n", 'hello'],
    ['bare CR', "X: y\rContent-Length: 5\r\n", 'hello'],
    ['NUL', "X: \0\r\nContent-Length: 5\r\n", 'hello'],
);
mark($proxy);
for (@answers) {
    my ($what, $fields, $body) = @$_;
    $origin->set('/bad' => reply($fields, $body));
    ctl($proxy, 'idle', 'close');
    my $before = $origin->connections;
    is get($proxy, $origin->url('/bad'))->status, 502, "an answer with $what";
    get($proxy, $origin->url('/ok'));
    is $origin->connections, $before + 2, '... costs the origin its connection';
}
counters($proxy, 'origin.bad_responses' => scalar @answers);

$origin->set('/mended' => reply("X-Fold: a\r\n b\r\nX-Blank : c\r\nContent-Length: 2\r\n", 'ok'));
my $mended = get($proxy, $origin->url('/mended'));
is $mended->header('X-Fold'), 'a   b', 'a fold elsewhere is undone';
is $mended->header('X-Blank'), 'c', 'a blank before the colon is taken away';
is $mended->body, 'ok', 'and the answer passes';

# A body that an answer may not have is not taken for the next answer.
for ([204, ''], [304, "ETag: \"x\"\r\n"]) {
    my ($status, $fields) = @$_;
    $origin->set('/none' => { raw => "HTTP/1.1 $status X\r\n${fields}Content-Length: 5\r\n\r\n"
            . "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil" });
    my $client = client($proxy);
    is get($proxy, $origin->url('/none'), on => $client)->status, $status, "$status with bytes behind it";
    is get($proxy, $origin->url('/ok'), on => $client)->body, 'ok', 'which nobody gets';
    $client->close;
}
$origin->set('/head' => { raw => "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello" });
my $client = client($proxy);
is request($proxy, HEAD => $origin->url('/head'), on => $client)->status, 200, 'HEAD answered with a body';
is get($proxy, $origin->url('/ok'), on => $client)->body, 'ok', 'which nobody gets';
$client->close;

# Chunks that go wrong beside the head are told in time; under way, the answer ends short, and so that
# it shows.
for ("5\r\nhello\r\nx\r\n", "5\r\nhello!!0\r\n\r\n", "5;\n\r\nhello\r\n0\r\n\r\n", "5\r\nhello\r\n0\r\nA : b\r\n\r\n") {
    $origin->set('/chunks' => reply("Transfer-Encoding: chunked\r\n", $_));
    my $answer = get($proxy, $origin->url('/chunks'));
    is $answer->status . ' ' . ($answer->header('X-Squid-Error') // ''), '502 ERR_INVALID_RESP 0',
        'chunks that go wrong beside the head: 502';
    $origin->set('/chunks' => reply("Transfer-Encoding: chunked\r\n", sprintf("%x\r\n", 1e6) . 'x' x 1e6 . "\r\n$_"));
    $answer = get($proxy, $origin->url('/chunks'));
    ok $answer->status == 200 && !$answer->whole, 'that go wrong under way: not whole';
}
done;

# 20-http-methods.t - the ordinary exchanges: methods, bodies of every framing, both ways.
use Bobtail::Test;

my $big = join '', map { chr 33 + $_ % 90 } 0 .. 299_999;
my $origin = origin(
    '/a' => { body => 'one', 'Content-Type' => 'text/plain', 'X-Answer' => 'yes' },
    '/chunks' => { chunks => [ 'one', 'two', 'three' ] },
    '/close' => { until_close => 1, body => 'until the end' },
    '/empty' => { body => '' },
    '/204' => { status => 204, reason => 'No Content', 'Content-Length' => undef },
    '/304' => { status => 304, reason => 'Not Modified', ETag => '"x"' },
    '/404' => { status => 404, reason => 'Nope', body => 'not there' },
    '/big' => { body => $big },
    '/bigchunks' => { chunks => [ unpack '(a70000)*', $big ] },
    '/drip' => { body => 'slowly', drip => 1 },
    '/echo' => sub { my ($req) = @_; return { body => "$req->{method} $req->{body}" } },
    '/early' => { unread => 1, status => 413, reason => 'Too Much', body => 'stop', close => 1 },
    '*' => { body => 'any' },
);
my $proxy = proxy(<<"CONF");
connect_timeout 5 seconds
CONF

my $answer = get($proxy, $origin->url('/a'));
is $answer->status, 200, 'a GET is answered';
is $answer->body, 'one', 'with the body of the origin';
is $answer->header('X-Answer'), 'yes', 'and its fields';
is $answer->version, '1.1', 'as HTTP/1.1';
like $origin->seen('/a'), qr{^GET /a HTTP/1\.1\r\n}, 'the origin sees the path alone';
is $origin->seen_header('/a', 'Host'), $origin->addr, 'and its own name as Host';

is get($proxy, $origin->url('/chunks'))->body, 'onetwothree', 'a chunked answer';
is get($proxy, $origin->url('/chunks'), version => '1.0')->body, 'onetwothree',
    'a chunked answer to HTTP/1.0 ends with the connection';
is get($proxy, $origin->url('/close'))->body, 'until the end', 'an answer that ends by close';
ok get($proxy, $origin->url('/close'))->chunks, 'becomes chunks for HTTP/1.1';
is get($proxy, $origin->url('/empty'))->body, '', 'an empty body';
is get($proxy, $origin->url('/204'))->status, 204, 'status 204';
is get($proxy, $origin->url('/304'))->header('ETag'), '"x"', '304 with its fields';
my $missing = get($proxy, $origin->url('/404'));
is $missing->status . ' ' . $missing->reason, '404 Nope', 'status and reason pass unchanged';
is get($proxy, $origin->url('/drip'))->body, 'slowly', 'a body in single bytes';
ok get($proxy, $origin->url('/big'))->body eq $big, '300 KB by length';
ok get($proxy, $origin->url('/bigchunks'))->body eq $big, '300 KB in chunks';

my $conn = client($proxy);
my $head = request($proxy, HEAD => $origin->url('/a'), on => $conn);
is $head->status, 200, 'HEAD';
is $head->header('Content-Length'), 3, 'says the length of what GET would bring';
is $head->body, '', 'and brings nothing';
is get($proxy, $origin->url('/a'), on => $conn)->body, 'one', 'nor is anything waited for';
$conn->close;

for my $method (qw(POST PUT PATCH DELETE REPORT)) {
    is request($proxy, $method => $origin->url('/echo'), body => 'hello')->body, "$method hello",
        "$method with a length";
    is request($proxy, $method => $origin->url('/echo'), chunked => [ 'hel', 'lo' ])->body,
        "$method hello", "$method in chunks";
}
is request($proxy, POST => $origin->url('/echo'), body => '')->body, 'POST ', 'POST of nothing';
is $origin->seen_header('/echo', 'Content-Length'), 0, 'says that there is nothing';
is post($proxy, $origin->url('/echo'), $big)->body, "POST $big", '300 KB up and down';
is request($proxy, POST => $origin->url('/echo'), chunked => [ unpack '(a50000)*', $big ])->body,
    "POST $big", '300 KB up in chunks';
is request($proxy, OPTIONS => $origin->url('/a'))->body, 'one', 'OPTIONS';

my $early = post($proxy, $origin->url('/early'), $big);
is $early->status, 413, 'an origin may answer before the body is over';
is $early->body, 'stop', 'and its answer arrives whole';

# Bytes are counted as they pass: this answer's payload is the same on both sides.
mark($proxy);
my %before = %{ $proxy->{counted_from} };
get($proxy, $origin->url('/big'));
my %after;
wait_for(sub { %after = %{ Bobtail::Stat::stats($proxy) }; $after{'client.bytes_out'} > $before{'client.bytes_out'} });
my %grown = map { $_ => $after{$_} - $before{$_} } qw(client.bytes_in client.bytes_out origin.bytes_in origin.bytes_out);
cmp_ok $grown{$_}, '>', 300_000, "$_ has the payload" for qw(client.bytes_out origin.bytes_in);
cmp_ok $grown{$_}, '<', 1000, "$_ has the request alone" for qw(client.bytes_in origin.bytes_out);
$proxy->{counted_from} = { map { $_ => 0 } keys %before };

counters($proxy, 'client.requests' => 30, 'client.denied' => 0, 'client.bad_requests' => 0,
    'response.2xx' => 27, 'response.3xx' => 1, 'response.4xx' => 2, 'response.5xx' => 0);
done;

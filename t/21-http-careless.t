# 21-http-careless.t - heads that are not written as they should be: what is taken when that is asked for.
use Bobtail::Test;

my $origin = origin('*' => sub { my ($r) = @_; return { body => $r->{target} } });
my $host = $origin->addr;
sub ask { my ($proxy, $line, %how) = @_; return raw($proxy, "$line\r\nHost: x\r\n\r\n", %how) }
sub url { return $origin->url($_[0]) }

my %blanks = (strip => '/ab', deny => 400, allow => '/a%20b', encode => '/a%20b', chop => '/a');
for my $word (sort keys %blanks) {
    my $proxy = proxy("uri_whitespace $word\n");
    my $answer = ask($proxy, 'GET ' . url('/a b') . ' HTTP/1.1');
    is $answer->status == 200 ? $answer->body : $answer->status, $blanks{$word}, "uri_whitespace $word";
    counters($proxy, 'parse.mended' => $word eq 'deny' ? 0 : 1);
    is ask($proxy, 'GET http://exa mple.test/ HTTP/1.1')->status, 400, 'not in the host';
    is ask($proxy, 'GET ' . url('/a b') . ' HTTP/1.1 HTTP/1.1')->status, 400, 'not with two versions';
    is ask($proxy, 'GET ' . url('/a b'))->status, 400, 'not without a version';
    is ask($proxy, 'GET  ' . url('/a') . ' HTTP/1.1')->status, 400, 'not between the parts';
    is ask($proxy, "CONNECT $host b HTTP/1.1")->status, 400, 'not with CONNECT';
}

my $off = proxy('');
my $on = proxy("relaxed_header_parser on\n");
my $warn = proxy("relaxed_header_parser warn\n");
my @careless = (
    ['blanks', 'GET   ' . url('/x') . " \t HTTP/1.1\r\nHost: x\r\n\r\n"],
    ['a tab', "GET\t" . url('/x') . "\tHTTP/1.1\r\nHost: x\r\n\r\n"],
    ['blanks behind the line', 'GET ' . url('/x') . " HTTP/1.1 \r\nHost: x\r\n\r\n"],
    ['bare LF throughout', 'GET ' . url('/x') . " HTTP/1.1\nHost: x\nX-A: b\n\n"],
);
for (@careless) {
    my ($name, $bytes) = @$_;
    is raw($off, $bytes)->status, 400, "$name: off";
    is raw($on, $bytes)->body, '/x', 'on';
    is raw($warn, $bytes)->body, '/x', 'warn';
    my $slow = client($on);
    $slow->drip($bytes, 3);
    is $slow->response->body, '/x', 'in small pieces';
    $slow->close;
}
counters($on, 'parse.mended' => 8);
ok $warn->wait_log(qr/carelessly written/), 'the log says so';
unlike $on->log, qr/carelessly/, 'only with warn';

# What could mean two things to two readers is refused however relaxed.
my @never = (
    ['LF and CRLF mixed', 'GET ' . url('/x') . " HTTP/1.1\nHost: x\r\n\r\n"],
    ['mixed the other way', 'GET ' . url('/x') . " HTTP/1.1\r\nHost: x\nX: y\r\n\r\n"],
    ['bare LF with a length', 'POST ' . url('/x') . " HTTP/1.1\nHost: x\nContent-Length: 1\n\nx"],
    ['bare LF with chunks', 'POST ' . url('/x') . " HTTP/1.1\nHost: x\nTransfer-Encoding: chunked\n\n0\r\n\r\n"],
    ['bare LF and a blank before the colon', 'POST ' . url('/x') . " HTTP/1.1\nHost: x\nContent-Length : 1\n\nx"],
    ['a bare CR', 'GET ' . url('/x') . " HTTP/1.1\rHost: x\r\n\r\n"],
    ['a fold', 'GET ' . url('/x') . " HTTP/1.1\nHost: x\nX: a\n b\n\n"],
    ['a blank before the method', ' GET ' . url('/x') . " HTTP/1.1\r\nHost: x\r\n\r\n"],
    ['a blank before the colon', 'GET  ' . url('/x') . " HTTP/1.1\r\nHost : x\r\n\r\n"],
    ['both framings', 'POST  ' . url('/x') . " HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
    ['a vertical tab', "GET\x0b" . url('/x') . " HTTP/1.1\r\nHost: x\r\n\r\n"],
    ['a blank in the URL', 'GET ' . url('/x y') . " HTTP/1.1\r\nHost: x\r\n\r\n"],
);
is raw($on, $_->[1])->status, 400, "never: $_->[0]" for @never;

# Behind a head with bare LF nothing is read.
my $hits = $origin->hits('/second');
my $said = raw($on, 'GET ' . url('/x') . " HTTP/1.1\nHost: x\n\nGET " . url('/second') . " HTTP/1.1\nHost: x\n\n", all => 1);
like $said, qr{\AHTTP/1\.1 200 .*Connection: close\r\n}s, 'bare LF: the connection is not kept';
is $origin->hits('/second'), $hits, 'and no second request is taken from it';
done;

# 23-http-hop.t - what travels on and what does not: Connection, Via, X-Forwarded-For.
use Bobtail::Test;

my $origin = origin('*' => { body => 'ok', 'Keep-Alive' => 'timeout=5', 'X-Private' => 'p',
        Connection => 'X-Private', 'Proxy-Authenticate' => 'Basic', Via => '1.0 before' });
my $proxy = proxy("visible_hostname proxy.test\n");
sub sent { my ($path, %headers) = @_; get($proxy, $origin->url($path), headers => \%headers); return }

sent('/hop', Connection => 'X-Mine, Host', 'X-Mine' => '1', 'X-Other' => '2', TE => 'trailers',
    'Proxy-Connection' => 'keep-alive', 'Keep-Alive' => '5', Upgrade => 'h2c',
    'Proxy-Authorization' => 'Basic eDp5');
for my $name (qw(Connection X-Mine TE Proxy-Connection Keep-Alive Upgrade Proxy-Authorization)) {
    is $origin->seen_header('/hop', $name), undef, "$name does not travel on";
}
is $origin->seen_header('/hop', 'X-Other'), 2, 'others do';
is $origin->seen_header('/hop', 'Host'), $origin->addr, 'and Host cannot be taken away';
like $origin->seen_header('/hop', 'Via'), qr{^1\.1 proxy\.test \(bobtail/}, 'Via says who we are';
is $origin->seen_header('/hop', 'X-Forwarded-For'), '127.0.0.1', 'X-Forwarded-For says for whom';

sent('/cdn', 'CDN-Loop' => 'edge.test');
is $origin->seen_header('/cdn', 'CDN-Loop'), 'edge.test', 'CDN-Loop is for those behind us, too';

sent('/more', Via => '1.0 first', 'X-Forwarded-For' => '10.1.1.1');
like $origin->seen_header('/more', 'Via'), qr{^1\.0 first, 1\.1 proxy\.test}, 'Via grows';
is $origin->seen_header('/more', 'X-Forwarded-For'), '10.1.1.1, 127.0.0.1', 'so does the other';

my $answer = get($proxy, $origin->url('/answer'));
is $answer->header($_), undef, "$_ of an answer does not travel on"
    for qw(Keep-Alive X-Private Proxy-Authenticate);
like $answer->header('Via'), qr{^1\.0 before, 1\.1 proxy\.test}, 'an answer says who passed it';

is get($proxy, $origin->url('/loop'), headers => { Via => '1.1 proxy.test (bobtail)' })->status, 508,
    'what has been here before is not sent round again';
is $origin->hits('/loop'), 0, 'and does not reach the origin';

# The URL decides, not what Host says.
is get($proxy, $origin->url('/host'), headers => { Host => 'evil.test' })->status, 200, 'another Host';
is $origin->seen_header('/host', 'Host'), $origin->addr, 'is replaced by that of the URL';

for ([off => 'unknown'], [transparent => undef], [delete => undef], [truncate => '127.0.0.1']) {
    my ($how, $alone) = @$_;
    my $other = proxy("forwarded_for $how\nvia off\nhttpd_suppress_version_string on\n");
    get($other, $origin->url("/$how"));
    is $origin->seen_header("/$how", 'X-Forwarded-For'), $alone, "forwarded_for $how";
    is $origin->seen_header("/$how", 'Via'), undef, 'via off';
    get($other, $origin->url("/$how"), headers => { 'X-Forwarded-For' => '10.1.1.1' });
    my %then = (off => '10.1.1.1, unknown', transparent => '10.1.1.1', delete => undef,
        truncate => '127.0.0.1');
    is $origin->seen_header("/$how", 'X-Forwarded-For'), $then{$how}, "forwarded_for $how, one came";
}

my $expect = client($proxy);
$expect->send('POST ' . $origin->url('/continue') . " HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
    . "Content-Length: 4\r\n\r\nbody");
is $expect->response(to => 'POST')->status, 200, 'Expect does no harm';
is $origin->body('/continue'), 'body', 'and the body arrives';
$expect->close;
done;

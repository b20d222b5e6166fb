# 4B-fetch.t - what a module fetches by itself (bt_fetch.h), driven by t/lib/tfetch.c.
use Bobtail::Test;
use File::Temp ();

need('cc');
my $top = $ENV{BT_SRCDIR};
my $module = File::Temp::tempdir(CLEANUP => 1) . '/tfetch.so';
chmod 0755, $module =~ s{/[^/]+$}{}r;
system('cc', '-std=c11', '-D_GNU_SOURCE', '-fvisibility=hidden', '-fPIC', '-shared', '-g', "-I$top/server/api",
    '-o', $module, "$top/t/lib/tfetch.c") == 0 or die "cannot compile tfetch\n";

my $origin = origin(
    '/a' => { body => 'one', 'X-Seen' => 'yes', Connection => 'X-Hop', 'X-Hop' => 'gone', 'Cache-Control' => 'max-age=60' },
    '/echo' => sub { { body => "$_[0]{method} $_[0]{body}", 'X-Seen' => $_[0]{head} =~ /^X-Own: (\w+)/m ? $1 : 'none' } },
    '/chunks' => { chunks => ['one', 'two', 'three'] }, '/close' => { body => 'until the end', until_close => 1 },
    '/404' => { status => 404, body => 'none' }, '/204' => { status => 204 }, '/302' => { status => 302, Location => '/a' },
    '/large' => { body => 'x' x 70_000 }, '/max' => { body => 'y' x 50_000 }, '/endless' => { body => 'z' x 3_000_000, until_close => 1 },
    '/cut' => { body => 'x' x 1000, cut => 600 }, '/nothing' => { raw => '', close => 1 }, '/bad' => { raw => "nonsense\r\n\r\n", close => 1 },
    '/hold' => { body => 'held', hold => 1 }, '/leave' => { body => 'held', hold => 1 }, '/half' => { raw => "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx" },
);
my $conf = <<"CONF";
module $module on
acl script transaction_initiator script
acl certificates transaction_initiator certificate-fetching
acl internal transaction_initiator internal
acl client transaction_initiator client
acl from src all
acl here src 0.0.0.0/0 ::/0
acl port localport 1-65535
acl own myportname own
acl secret urlpath_regex ^/secret
logformat fetch %>a %ui %Ss/%>Hs %rm %ru %Sh %<a
access_log stdio:\@DIR\@/access.log logformat=fetch
http_port 127.0.0.1:0 name=own
CONF
my $proxy = proxy("${conf}http_access deny script secret\nhttp_access deny certificates\nhttp_access allow client\nhttp_access allow internal\n");
sub fetched
{
    my ($url, %fields) = @_;
    my $to = delete $fields{to} // $proxy;
    $url = $origin->url($url) if !ref $url && $url =~ m{^/};
    return get($to, 'http://asks.test/', headers => { 'X-Fetch' => $url, %fields })->body;
}

is fetched('/a'), "200 yes one\n", 'status, a field and the body';
is $origin->seen_header('/a', 'X-Forwarded-For'), undef, 'for nobody';
like $origin->seen_header('/a', 'Via'), qr/proxy\.test/, '... by this proxy';
is $origin->seen_header('/a', 'Host'), $origin->addr, '... of that host';
is fetched('/a'), "200 yes one\n", 'once more';
is $origin->hits('/a'), 1, '... out of the cache';
ok wait_for(sub { $proxy->text('access.log') =~ m{^- - TCP_MEM_HIT/200 GET \S+/a HIER_NONE -$}m }), 'logged without a client';
like $proxy->text('access.log'), qr{^- - TCP_MISS/200 GET \S+/a HIER_DIRECT 127\.0\.0\.1$}m, '... each of them';
counters($proxy, 'fetch.begun' => 2, 'client.requests' => 2, 'background.begun' => 0);
is fetched('/echo', 'X-Method' => 'POST', 'X-Body' => 'twelve bytes', 'X-Field' => 'X-Own: mine'), "200 mine POST twelve bytes\n", 'method, body, field';
is fetched('/echo', 'X-Method' => 'PUT', 'X-Body' => ''), "200 none PUT \n", 'an empty body';
is fetched('/chunks'), "200 - onetwothree\n", 'chunks';
is fetched('/close'), "200 - until the end\n", 'until the end';
is fetched('/404'), "404 - none\n", 'any status is an answer';
is fetched('/204'), "204 - \n", 'without a body';
is fetched('/302'), "302 - \n", 'redirects are not followed';
is fetched('/a', 'X-Method' => 'HEAD'), "200 yes \n", 'HEAD';
is length fetched('/large'), 70_007, 'a larger body';
is fetched('/large', 'X-Max' => 50_000), "large: its body is larger than it may be\n", 'one that is too large';
is length fetched('/max', 'X-Max' => 50_000), 50_007, 'one that is just right';
like fetched('/endless'), qr/^large/, 'a megabyte unless it is said';
counters($proxy, 'fetch.large' => 2);
like fetched('/cut'), qr/^cut: /, 'cut off';
like fetched('/nothing'), qr/^invalid: /, 'no answer';
like fetched('/bad'), qr/^invalid: /, 'not HTTP';
like fetched('http://none.invalid/'), qr/^dns: /, 'no such host';
like fetched('http://127.0.0.1:1/'), qr/^connect: /, 'nobody there';
like fetched('/hold', 'X-Timeout' => 200), qr/^timeout: /, 'no answer in time';
like fetched('/half', 'X-Timeout' => 200), qr/^timeout: /, 'half of one in time';
counters($proxy, 'fetch.failed' => 9);
my @many = map { $origin->url($_) } qw(/404 /204 /a);
is fetched(\@many), "404 - none\n204 - \n200 yes one\n", 'several at once';

like fetched('/secret', 'X-By' => 2), qr/^denied: the access rules/, 'by the rules, and who asks';
unlike fetched('/secret'), qr/^denied/, '... not others';
like fetched('/a', 'X-By' => 1), qr/^denied/, 'certificates';
is $origin->hits('/secret'), 1, '... before anybody is asked';
like fetched("http://127.0.0.1:@{[$proxy->port]}/"), qr/^denied: this is a port of the proxy/, 'our own port';
like fetched('/404', 'X-Public' => 1), qr/^denied: it is at a private address/, 'only public addresses';
like fetched("http://$_/", 'X-Public' => 1), qr/^denied: it is at a private/, "... $_"
    for qw(10.0.0.1 169.254.169.254 [::1] [::ffff:10.1.1.1] [fe80::1] 0x7f000001 192.168.255.255);
counters($proxy, 'fetch.private' => 8);

for my $rule (qw(all:404 from:denied here:denied port:denied own:denied)) {
    my ($acl, $want) = split /:/, $rule;
    my $other = proxy("${conf}http_access allow client\nhttp_access allow $acl\nhttp_access deny all\n");
    like fetched('/404', to => $other), qr/^$want/, "a rule about $acl";
    $other->stop;
}

like fetched('ftp://127.0.0.1/'), qr/^no: only http and https/, 'no ftp';
like fetched('127.0.0.1:80'), qr/^no: /, 'no URL';
like fetched('http://127.0.0.1/ x'), qr/^no: there is a blank/, 'a blank';
like fetched('/a', 'X-Method' => 'CONNECT'), qr/^no: /, 'no CONNECT';
like fetched('/a', 'X-Field' => "$_: x"), qr/^no: it has a field that only/, "not $_" for qw(Host content-length Transfer-Encoding Connection Proxy-Authorization Expect);
like fetched('/a', 'X-Field' => "X Y: x"), qr/^no: /, 'no such name';
like fetched('/a', 'X-Field' => "X-One: lines"), qr/^no: there is a colon or/, 'no line ends';

my $leaver = client($proxy);
$leaver->send("GET http://asks.test/ HTTP/1.1\r\nHost: x\r\nX-Fetch: @{[$origin->url('/leave')]}\r\n\r\n");
ok wait_for(sub { stat($proxy, 'fetch.open') == 1 && $origin->hits('/leave') }), 'one under way';
$leaver->close;
ok wait_for(sub { stat($proxy, 'tfetch.cancelled') == 1 && stat($proxy, 'fetch.open') == 0 }), 'whose client leaves is given up';
ok wait_for(sub { stat($proxy, 'origin.open') == 0 }), '... with its connection';

# A name server that says nothing: all wait for one name, and need no descriptors.
use IO::Socket::IP;
my $silent = IO::Socket::IP->new(LocalHost => '127.0.0.1', LocalPort => 0, Proto => 'udp') or die $@;
my $crowd = proxy("${conf}http_access allow all\ndns_nameservers 127.0.0.1:@{[$silent->sockport]}\n");
my $asks = client($crowd);
$asks->send("GET http://asks.test/ HTTP/1.1\r\nHost: x\r\nX-Fetch: http://slow.test/\r\nX-Times: 1030\r\n\r\n");
ok wait_for(sub { stat($crowd, 'fetch.open') == 1024 }), 'there is a limit';
counters($crowd, 'fetch.too_many' => 6, 'fetch.begun' => 1024);
$asks->close;
ok wait_for(sub { stat($crowd, 'fetch.open') == 0 }), 'all are given up';
$silent->close;
later($crowd, 120);    # the resolver gives up, too
done;

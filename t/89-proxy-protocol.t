# 89-proxy-protocol.t - the PROXY protocol: who is believed, what the header changes (field proxy.header), and
# what is refused.
use Bobtail::Test;
use Socket qw(inet_aton inet_pton AF_INET6);

my $signature = "\r\n\r\n\0\r\nQUIT\n";
my %seen;
my $origin = origin('*' => sub { { body => ($_[0]{head} =~ /^X-Forwarded-For: (.*?)\r$/mi)[0] // 'none' } });

# A header of version 2: client address and port, TLVs as [type, value].
sub v2
{
    my ($from, $port, @tlvs) = @_;
    my $v6 = $from =~ /:/;
    my $pack = sub { $v6 ? inet_pton(AF_INET6, $_[0]) : inet_aton($_[0]) };
    my $body = $pack->($from) . $pack->($v6 ? '2001:db8::80' : '192.0.2.80') . pack 'nn', $port, 8080;
    $body .= join '', map { pack 'Cn/a*', @$_ } @tlvs;
    return $signature . pack 'CCn/a*', 0x21, $v6 ? 0x21 : 0x11, $body;
}
sub counted { counters(@_); mark($_[0]); return }
sub ask { my ($path) = @_; return 'GET ' . $origin->url($path) . " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" }

my $proxy = proxy(<<'CONF');
http_port 127.0.0.1:0 require-proxy-header name=behind
http_port 127.0.0.1:0 name=plain
acl balancer src 127.0.0.1
acl second src 127.0.0.2
acl listed src 192.0.2.66 2001:db8::66
acl behind myportname behind
proxy_protocol_access allow balancer
proxy_protocol_access deny all
logformat said %>a %>p %>la %>lp %{:src_addr}proxy_protocol::>h %{:version}proxy_protocol::>h %{:command}proxy_protocol::>h %{224}proxy_protocol::>h %{1}proxy_protocol::>h
access_log stdio:@DIR@/said.log said
logformat all %proxy_protocol::>h
access_log stdio:@DIR@/all.log all
http_access deny listed
http_access allow all
CONF
my $port = '127.0.0.1:' . $proxy->port_of('behind');
my $read = 0;
sub line
{
    my $line;
    wait_for(sub { ($line) = substr($proxy->text('said.log'), $read) =~ /^(.*)\n/ });
    $read += length($line // '') + 1;
    return $line;
}
sub speak { my ($header, %how) = @_; return raw($port, $header . ask('/a'), %how) }

# ---- who is believed ----

my $answer = speak("PROXY TCP4 192.0.2.33 192.0.2.80 56001 8080\r\n");
is $answer->body, '192.0.2.33', 'the client of a header of version 1 is the client';
is line(), '192.0.2.33 56001 192.0.2.80 8080 192.0.2.33 1.0 1 - -', 'in logs, too';
$answer = speak(v2('192.0.2.7', 12345, [224 => 'hello!'], [1 => 'h2']));
is $answer->body, '192.0.2.7', 'of version 2';
is line(), '192.0.2.7 12345 192.0.2.80 8080 192.0.2.7 2.0 1 hello! h2', 'with its TLVs';
is speak(v2('2001:db8::1', 7))->body, '2001:db8::1', 'of IPv6';
is line(), '2001:db8::1 7 2001:db8::80 8080 2001:db8::1 2.0 1 - -', 'in logs';
is speak(v2('192.0.2.66', 1))->status, 403, 'rules judge the client of the header';
is line(), '192.0.2.66 1 192.0.2.80 8080 192.0.2.66 2.0 1 - -', 'and not the balancer';
is speak("PROXY TCP6 2001:db8::66 2001:db8::80 1 2\r\n")->status, 403, 'of either family';
line();
like $proxy->text('all.log'), qr/^:version:%202\.0%0D%0A:command:%201%0D%0A:src_addr:%20192\.0\.2\.7%0D%0A:dst_addr:%20192\.0\.2\.80%0D%0A:src_port:%2012345%0D%0A:dst_port:%208080%0D%0A224:%20hello!%0D%0A1:%20h2%0D%0A$/m,
    'all of it, as Squid prints it';
counted($proxy, 'proxied.headers' => 5, 'proxied.local' => 0, 'proxied.strangers' => 0, 'proxied.bad' => 0,
    'client.denied' => 2);

# More than one request, byte by byte, and a header that is longer than the first read.
my $conn = client($port);
$conn->drip("PROXY TCP4 192.0.2.34 192.0.2.80 1 2\r\n");
is request(undef, GET => $origin->url('/1'), on => $conn)->body, '192.0.2.34', "dripped ($_)" for 1, 2;
$conn->close;
line(), line();
is speak(v2('192.0.2.8', 1, [224 => 'x' x 12_000]))->body, '192.0.2.8', '12 KB of values';
like line(), qr/^192\.0\.2\.8 1 .* x+ -$/, 'are there';
counted($proxy, 'proxied.headers' => 2);

# ---- a balancer asks for itself ----

is speak($signature . "\x20\0\0\0")->body, '127.0.0.1', 'LOCAL: the connection is what it is';
like line(), qr/^127\.0\.0\.1 \d+ 127\.0\.0\.1 \d+ - 2\.0 0 - -$/, 'so says the log';
is speak("PROXY UNKNOWN\r\n")->body, '127.0.0.1', 'UNKNOWN, too';
line();
for my $probe ('', $signature . "\x20\0\0\0", "PROXY UNKNOWN\r\n") {
    my $conn = client($port);
    $conn->send($probe);
    $conn->shut;
    ok $conn->closed, 'a probe that says no more is let go';
}
counted($proxy, 'proxied.headers' => 4, 'proxied.local' => 2, 'proxied.bad' => 0);

# ---- refused ----

my @bad = (
    ['a request without a header', ask('/no')],
    ['TLS', "\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03"],
    ['a lower-case line', "proxy TCP4 192.0.2.1 192.0.2.2 1 2\r\n" . ask('/no')],
    ['an address that is none', "PROXY TCP4 192.0.2.300 192.0.2.2 1 2\r\n" . ask('/no')],
    ['a line without end', 'PROXY UNKNOWN ' . 'x' x 200],
    ['version 3', $signature . "\x31\x11\0\0" . ask('/no')],
    ['a value that is longer than the header', $signature . "\x21\x11\0\x0f" . "\1\2\3\4" x 3 . "\xe0\xff\xff" . ask('/no')],
    ['64 KB of values', v2('192.0.2.9', 1, [224 => 'x' x 60_000], [225 => 'y' x 5_000]) . ask('/no')],
);
for (@bad) {
    my ($what, $bytes) = @$_;
    my $conn = client($port);
    $conn->send($bytes);
    ok $conn->closed, "$what: closed without a word";
}
counted($proxy, 'proxied.headers' => 0, 'proxied.bad' => scalar @bad, 'client.requests' => 0);

for my $cut ('PROXY TC', $signature, $signature . "\x21\x11\0\x0c\1\2") {
    my $conn = client($port);
    $conn->send($cut);
    $conn->shut;
    ok $conn->closed, 'a header that is cut in the middle: closed';
}
counted($proxy, 'proxied.bad' => 3);
$conn = client($port);
$conn->send('PROXY TC');
stat($proxy, 'client.open') > 0 or wait_for(sub { stat($proxy, 'client.open') > 0 });
later($proxy, 301);
ok $conn->closed, 'a header that does not come in request_start_timeout: closed';
counted($proxy, 'client.head_timeouts' => 1);

# A stranger is not even listened to.
$conn = client($port, from => '127.0.0.2');
$conn->send("PROXY TCP4 192.0.2.33 192.0.2.80 56001 8080\r\n" . ask('/no'));
is $conn->rest, '', 'a header of a stranger: closed';
counted($proxy, 'proxied.strangers' => 1, 'proxied.headers' => 0, 'client.requests' => 0);
is $origin->hits('/no'), 0, 'and nothing went out';

# A port without the option takes none.
is raw('127.0.0.1:' . $proxy->port_of('plain'), "PROXY TCP4 192.0.2.33 192.0.2.80 1 2\r\n" . ask('/no'))->status, 400,
    'a port that does not want it refuses it';

# ---- how many connections one client has ----

my $counted = proxy(<<'CONF', workers => 2);
http_port 127.0.0.1:0 require-proxy-header
proxy_protocol_access allow all
client_ip_max_connections 2
CONF
my @held = map { my $c = client($counted); $c->send("PROXY TCP4 192.0.2.$_ 192.0.2.80 1 2\r\n"); $c } 1, 2, 3, 4, 4;
is request(undef, GET => $origin->url('/b'), on => $_)->status, 200, 'clients behind one balancer' for @held;
$conn = client($counted);
$conn->send("PROXY TCP4 192.0.2.4 192.0.2.80 1 2\r\n");
ok $conn->closed, 'are counted each for itself';
counters($counted, 'client.too_many' => 1, 'proxied.headers' => 6);
$_->close for @held;

# A balancer that connects ahead of need does not hold a server back that ends.
my $ending = proxy("http_port 127.0.0.1:0 require-proxy-header\nproxy_protocol_access allow all\nshutdown_lifetime 60 seconds\n");
$conn = client($ending);
wait_for(sub { stat($ending, 'client.open') == 1 });
my $since = time;
$ending->signal('TERM');
ok $conn->closed(20), 'a connection without a header is closed when the server ends';
cmp_ok time - $since, '<', 20, 'soon';
wait_for(sub { waitpid($ending->pid, 1) != 0 }); # WNOHANG
delete $ending->{pid};

# ---- in front of TLS ----

SKIP: {
    skip('built without OpenSSL', 3) unless -e "$ENV{BT_BUILDDIR}/modules/built/tls.so" && eval { require IO::Socket::SSL };
    require Bobtail::Tls;
    Bobtail::Tls->import;
    my $cert = Bobtail::Tls::server_certificate('proxy.test');
    my $tls = proxy(<<"CONF");
https_port 127.0.0.1:0 require-proxy-header tls-cert=$cert->{cert} tls-key=$cert->{key}
proxy_protocol_access allow localhost
CONF
    my $conn = client($tls);
    $conn->send(v2('192.0.2.44', 1));
    Bobtail::Tls::start_tls($conn, 'proxy.test');
    is request(undef, GET => $origin->url('/tls'), on => $conn)->body, '192.0.2.44', 'TLS comes behind the header';
    $conn->close;
    # In one packet with the hello, which is not lost.
    $conn = client($tls);
    send $conn->socket, "PROXY TCP4 192.0.2.45 192.0.2.80 1 2\r\n", 0x8000; # MSG_MORE
    Bobtail::Tls::start_tls($conn, 'proxy.test');
    is request(undef, GET => $origin->url('/tls'), on => $conn)->body, '192.0.2.45', 'at once';
    counters($tls, 'proxied.headers' => 2, 'tls.client_handshakes' => 2);
}

# ---- towards a parent ----

# A child that says to its parent, a server like it, who its clients are.
my $parent = proxy(<<'CONF', workers => 2);
http_port 127.0.0.1:0 require-proxy-header
proxy_protocol_access allow localhost
forwarded_for delete
acl listed src 127.0.0.66
http_access deny listed
logformat said %>a %>p %>la %>lp %{:command}proxy_protocol::>h %rm
access_log stdio:@DIR@/said.log said
CONF
my $child = proxy(<<"CONF");
http_port 127.0.0.1:0
cache_peer 127.0.0.1 parent @{[ $parent->port ]} 0 no-query proxy-protocol=v2 name=p
never_direct allow all
cache deny all
visible_hostname child.test
CONF
my @clients = map { client($child, from => "127.0.0.$_") } 41, 42;
my $said = '';
for my $turn (1, 2) {
    for my $c (@clients) {
        is request(undef, GET => $origin->url("/p$turn"), on => $c)->status, 200, 'through the parent';
        $said .= sprintf "%s %d 127.0.0.1 %d 1 GET\n", $c->socket->sockhost, $c->port, $child->port;
    }
}
wait_for(sub { length $parent->text('said.log') >= length $said });
is join('', sort split /^/, $parent->text('said.log')), join('', sort split /^/, $said), 'which knows each client, also on kept connections';
counters($child, 'origin.dials' => 2, 'origin.reused' => 2);
counters($parent, 'proxied.headers' => 2);
$_->close for @clients;
my $through = tunnel($child, $origin->addr);
is $through->response->status, 200, 'CONNECT, too';
$through->close;
is get($child, $origin->url('/p3'), from => '127.0.0.66')->status, 403, 'and judges them by its own rules';
$child->stop; # its kept connections are the parent's clients

# ---- configuration ----

like parse("http_port 3128 require-proxy-header\n")->{output}, qr/:1:11: .*proxy_protocol_access/,
    'a port that nobody may use is told of';
like parse("http_port 3128 intercept require-proxy-header\n")->{output}, qr/:1:11: error: require-proxy-header is for clients that a load balancer/,
    'the firewall sends no header';
done;

# 87-intercept-tls.t - redirected TLS: by address, by the name of the hello, what of it is looked into, and what
# is told of it.
use Bobtail::Test;
plan(skip_all => 'built without OpenSSL') unless -e "$ENV{BT_BUILDDIR}/modules/built/tls.so";
BEGIN { need('nft', 'ip', 'IO::Socket::SSL') }
use Bobtail::Net;
use Bobtail::Tls;
use File::Temp ();
use IO::Socket::IP;
use IO::Socket::SSL::Utils qw(CERT_asHash);
{ my $why = Bobtail::Net::make(); plan(skip_all => $why) if $why }

my $dir = File::Temp->newdir('bobtail-net-XXXXXXXX', TMPDIR => 1);
chmod 0755, "$dir";
my ($ca, $crt) = ("$dir/ca.pem", "$dir/ca.crt");
run_program($ENV{BOBTAILCTL}, 'ca', 'init', $ca, '--name', 'The CA');
chmod 0644, $ca;

my $cert = server_certificate('*.x.test', '198.51.100.1');
sub site { my ($addr) = @_; return at('internet', sub { origin(listen => $addr, '*' => sub { { 'Cache-Control' => 'max-age=60', body => "$addr asked by $_[0]{from}" } }, tls => $cert) }) }
my ($one, $six) = (site('198.51.100.1'), site('2001:db8::1'));
my ($port, $port6) = ($one->port, $six->port);
my $greeter = at('internet', sub { IO::Socket::IP->new(LocalHost => '198.51.100.5', LocalPort => $port, Listen => 9) }) or die "listen: $@";

my $proxy = proxy(<<"CONF", workers => 2);
https_port 0 intercept ssl-bump tls-cert=$ca name=nat
tls_outgoing_options cafile=@{[ca_file()]} default-ca=off
acl step1 at_step SslBump1
acl by_address dst 198.51.100.2
acl away dst 198.51.100.9
acl CONNECT method CONNECT
acl splice ssl::server_name splice.x.test
acl first dst 198.51.100.3
acl end ssl::server_name end.x.test
acl secret dstdomain secret.x.test
acl page url_regex /forbidden
acl silent squid_error ERR_REQUEST_START_TIMEOUT ERR_PROTOCOL_UNKNOWN
on_unsupported_protocol tunnel silent
request_start_timeout 3 seconds
logformat seen %>a %>la %Ss/%03>Hs %rm %ru %Sh/%<a %ssl::bump_mode %ssl::>sni
access_log stdio:\@DIR\@/seen.log seen
http_access deny away
http_access deny secret
http_access deny page
http_access allow all
ssl_bump splice by_address
ssl_bump bump first
ssl_bump peek step1
ssl_bump splice splice
ssl_bump terminate end
ssl_bump bump all
CONF
my $nat = $proxy->port_of('nat');
firewall(<<"NFT");
table inet web {
    chain web {
        type nat hook prerouting priority dstnat
        iifname "to-client" ip daddr 198.51.100.0/24 tcp dport $port redirect to :$nat
        iifname "to-client" ip6 daddr 2001:db8::/64 tcp dport $port6 redirect to :$nat
    }
}
NFT

my $read = 0;
sub lines
{
    my ($want) = @_;
    my @lines;
    wait_for(sub { @lines = split /\n/, substr $proxy->text('seen.log'), $read; @lines >= $want });
    $read += length join '', map { "$_\n" } @lines;
    return join "\n", map { s/^10\.9\.0\.2 //r } @lines;
}
# TLS from the client's machine, and a request within: who signed, and what came.
sub visit
{
    my ($addr, $name, %how) = @_;
    my $tunnel = at('client', sub { client($addr) });
    my $conn = eval { start_tls($tunnel, $name // '', SSL_verify_mode => 0) } or do { $tunnel->close; return 'no TLS' };
    my $signer = CERT_asHash($conn->socket->peer_certificate)->{issuer}{commonName} // '';
    my $answer = request(undef, GET => $how{path} // '/page', headers => { Host => ($how{host} // $name // $addr) . ($addr =~ /(:\d+)$/)[0] }, on => $conn);
    $conn->close;
    return join ' ', $signer eq 'The CA' ? 'bumped' : $signer eq 'Bobtail test authority' ? 'through' : $signer, $answer->status,
        $answer->status == 200 ? $answer->body : ();
}
sub to { my ($n) = @_; return "198.51.100.$n:$port" }

# ---- each way ----

is visit(to(1), 'a.x.test'), 'bumped 200 198.51.100.1 asked by 10.9.1.1', 'bumped: it goes to where the client went';
is lines(2), "198.51.100.1 NONE_NONE/200 CONNECT 198.51.100.1:$port ORIGINAL_DST/198.51.100.1 bump a.x.test\n"
    . "198.51.100.1 TCP_MISS/200 GET https://a.x.test:$port/page ORIGINAL_DST/198.51.100.1 bump a.x.test", 'a CONNECT by address, a request by name';
is visit(to(1), 'a.x.test'), 'bumped 200 198.51.100.1 asked by 10.9.1.1', 'again';
like lines(2), qr{TCP_MEM_HIT/200 GET https://a\.x\.test:$port/page HIER_NONE/- }, 'from the cache: the certificate has proven who it is';
is visit(to(1), 'splice.x.test'), 'through 200 198.51.100.1 asked by 10.9.1.1', 'spliced by the name of the hello';
is lines(1), "198.51.100.1 TCP_TUNNEL/200 CONNECT splice.x.test:$port ORIGINAL_DST/198.51.100.1 splice splice.x.test", 'one line, by name';
is visit(to(2), 'a.x.test'), 'no TLS', 'spliced by address, where nobody listens';
like lines(1), qr{^198\.51\.100\.2 TCP_TUNNEL/000 CONNECT 198\.51\.100\.2:$port ORIGINAL_DST/198\.51\.100\.2 splice -$}, 'before the hello was seen';
is visit(to(1), 'end.x.test'), 'no TLS', 'terminated';
is lines(1), "198.51.100.1 NONE_NONE/200 CONNECT 198.51.100.1:$port HIER_NONE/- terminate end.x.test", 'as the log says';
is visit("[2001:db8::1]:$port6", 'a.x.test', path => '/6'), 'bumped 200 2001:db8::1 asked by fd19::1', 'IPv6';
is $six->hits('/6'), 1, 'which goes to its own address';
like lines(2), qr{^fd09::2 2001:db8::1 NONE_NONE/200 CONNECT \[2001:db8::1\]:$port6 ORIGINAL_DST/2001:db8::1 bump a\.x\.test}m, 'in the log';
is visit(to(1), undef, host => '198.51.100.1', path => '/ip'), 'bumped 200 198.51.100.1 asked by 10.9.1.1', 'without a name the address is the host';
like lines(2), qr{GET https://198\.51\.100\.1:$port/ip ORIGINAL_DST}, 'of its URLs';
counters($proxy, 'intercept.connections' => 7, 'intercept.lost' => 0, 'intercept.forged' => 0);
mark($proxy);

# ---- who is refused ----

is visit(to(9), 'a.x.test'), 'bumped 403', 'an address that the rules forbid: told over TLS';
is lines(2), "198.51.100.9 TCP_DENIED/200 CONNECT 198.51.100.9:$port HIER_NONE/- - a.x.test\n"
    . "198.51.100.9 NONE_NONE/403 GET https://a.x.test:$port/page HIER_NONE/- - a.x.test", 'as Squid logs it';
is visit(to(1), 'secret.x.test'), 'no TLS', 'a name that they forbid, when it was only peeked at';
is lines(1), "198.51.100.1 TCP_DENIED/200 CONNECT 198.51.100.1:$port HIER_NONE/- peek secret.x.test", 'in the log';
is visit(to(3), 'secret.x.test'), 'bumped 403', 'told over TLS where that was decided before';
like lines(2), qr{ NONE_NONE/200 CONNECT 198\.51\.100\.3:$port HIER_NONE/- .*\n.* TCP_DENIED/403 GET https://secret\.x\.test:$port/page HIER_NONE/-}, 'in the log';
is visit(to(1), 'a.x.test', path => '/forbidden'), 'bumped 403', 'a page within';
lines(2);
is visit(to(1), 'a.x.test', host => 'b.x.test'), 'bumped 200 198.51.100.1 asked by 10.9.1.1', 'another host that the certificate is for';
lines(2);
is visit(to(1), 'a.x.test', host => 'b.y.test'), 'bumped 421', 'and one that it is not for';
lines(2);
is visit(to(4), 'a.x.test'), 'bumped 503', 'nobody listens: told over TLS';
lines(2);
is $one->hits('/forbidden'), 0, 'nothing went out';
my $evil = at('internet', sub { origin(listen => '198.51.100.6', '*' => { body => 'evil', 'Cache-Control' => 'max-age=60' }, tls => server_certificate('evil.test')) });
firewall("add rule inet web web iifname \"to-client\" ip daddr 198.51.100.6 tcp dport @{[ $evil->port ]} redirect to :$nat\n");
is visit($evil->addr, 'a.x.test'), 'bumped 503', 'a name that the one whom the client went to has no certificate for';
lines(2);
counters($proxy, 'intercept.connections' => 8, 'client.denied' => 4);
mark($proxy);

# ---- no TLS ----

my $conn = at('client', sub { client(to(5)) });
$conn->send("SSH-2.0-client\r\n");
my $server = $greeter->accept;
sysread $server, my $got, 100;
is $got, "SSH-2.0-client\r\n", 'what is no TLS is tunnelled, where on_unsupported_protocol says so';
syswrite $server, 'welcome';
is $conn->bytes(7), 'welcome', 'both ways';
close $server;
$conn->close;
is lines(1), "198.51.100.5 TCP_TUNNEL/200 CONNECT 198.51.100.5:$port ORIGINAL_DST/198.51.100.5 peek -", 'logged as a CONNECT';
$conn = at('client', sub { client(to(5)) });
wait_for(sub { stat($proxy, 'client.open') == 1 });
later($proxy, 4);
$server = $greeter->accept;
syswrite $server, 'hello';
is $conn->bytes(5), 'hello', 'so is who waits for the server to speak';
close $server;
$conn->close;
$conn = at('client', sub { client(to(9)) });
$conn->send("SSH-2.0-client\r\n");
is $conn->rest, '', 'but not to where the rules forbid it';
counters($proxy, 'tls.hellos_missing' => 2, 'tunnel.opened' => 2);
$conn = at('client', sub { client("10.9.0.1:$nat") });
is eval { start_tls($conn, 'a.x.test', SSL_verify_mode => 0); 1 } // 0, 1, 'who comes to the port himself';
is request(undef, GET => '/', headers => { Host => 'a.x.test' }, on => $conn)->status, 403, 'gets no further';
$conn->close;

# ---- tproxy ----

my $tp = proxy(<<"CONF", workers => 2);
https_port 0 tproxy ssl-bump tls-cert=$ca name=tp
tls_outgoing_options cafile=@{[ca_file()]} default-ca=off
cache deny all
acl step1 at_step SslBump1
acl splice ssl::server_name splice.x.test
ssl_bump peek step1
ssl_bump splice splice
ssl_bump bump all
CONF
my $to = $tp->port_of('tp');
firewall(<<"NFT");
delete table inet web
table inet web {
    chain web {
        type filter hook prerouting priority mangle
        meta l4proto tcp socket transparent 1 meta mark set 1 accept
        iifname "to-client" ip daddr 198.51.100.0/24 meta l4proto tcp tproxy ip to :$to meta mark set 1 accept
        iifname "to-client" ip6 daddr 2001:db8::/64 meta l4proto tcp tproxy ip6 to :$to meta mark set 1 accept
    }
}
NFT
Bobtail::Net::ip('rule add fwmark 1 lookup 100', 'route add local 0.0.0.0/0 dev lo table 100', '-6 rule add fwmark 1 lookup 100',
    '-6 route add local ::/0 dev lo table 100');
is visit(to(1), 'a.x.test'), 'bumped 200 198.51.100.1 asked by 10.9.0.2', 'tproxy: the origin sees the client';
is visit(to(1), 'splice.x.test'), 'through 200 198.51.100.1 asked by 10.9.0.2', 'of a tunnel, too';
is visit("[2001:db8::1]:$port6", 'a.x.test'), 'bumped 200 2001:db8::1 asked by fd09::2', 'of IPv6, too';
$evil->stop;

# ---- configuration ----

like parse("https_port 3129 ssl-bump tls-cert=$ca\n")->{output}, qr/:1:12: error: ssl-bump on an https_port is for connections that the firewall redirects/,
    'ssl-bump of whom nobody redirects';
like parse("https_port 3129 intercept tls-cert=$ca\n")->{output}, qr/:1:12: error: TLS of connections that the firewall redirects is between client and origin/,
    'TLS of who does not speak it with us';
done;

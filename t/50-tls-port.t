# 50-tls-port.t - https_port: clients speak TLS to the proxy itself.
use Bobtail::Test;
plan(skip_all => 'built without OpenSSL') unless -e "$ENV{BT_BUILDDIR}/modules/built/tls.so";
BEGIN { need('IO::Socket::SSL') }
use Bobtail::Tls;
use IO::Socket::SSL ();

my $cert = server_certificate('proxy.test', '127.0.0.1');
my $own = "tls-cert=$cert->{cert} tls-key=$cert->{key}";
my $big = join '', map { sprintf '%08d', $_ } 1 .. 125_000;
my $origin = origin('/a' => { body => 'one' }, '/big' => { body => $big },
    '/post' => sub { { body => length $_[0]{body} } }, '/end' => { body => 'two', until_close => 1 });

sub via_tls { my ($proxy, %how) = @_; return start_tls(client($proxy), 'proxy.test', %how) }
sub refused { my ($proxy, %how) = @_; return eval { via_tls($proxy, %how); '' } // $@ }
sub fetch { my ($conn, $path) = @_; return request(undef, GET => $origin->url($path), on => $conn) }

# ---- one port ----

my $proxy = proxy("https_port 127.0.0.1:0 $own\n");
my $conn = via_tls($proxy, SSL_alpn_protocols => ['h2', 'http/1.1']);
is $conn->socket->get_sslversion, 'TLSv1_3', 'the newest version is spoken';
is $conn->socket->alpn_selected, 'http/1.1', 'http/1.1 is what is offered and spoken';
is fetch($conn, '/a')->body, 'one', 'a request';
is fetch($conn, '/a')->body, 'one', 'another one on the same connection';
ok fetch($conn, '/big')->body eq $big, 'a large answer';
my $answer = request(undef, POST => $origin->url('/post'), on => $conn, body => $big);
is $answer->body, length $big, 'a large request';
is fetch($conn, '/end')->body, 'two', 'an answer without a length';
$conn->close;
counters($proxy, 'tls.client_handshakes' => 1, 'tls.client_resumed' => 0, 'tls.client_failed' => 0,
    'tls.clients' => 0, 'client.requests' => 5);
like ctl($proxy, 'stats', 'tls.client_handshake_time')->{output}, qr/tls\.client_handshake_time/,
    'how long a handshake takes is told';

is via_tls($proxy, SSL_version => 'TLSv1_2')->socket->get_sslversion, 'TLSv1_2', 'TLS 1.2';
like refused($proxy, SSL_version => 'TLSv1_1', SSL_cipher_list => 'ALL:@SECLEVEL=0'),
    qr/protocol version/, 'TLS 1.1 is refused by an alert';
$conn = via_tls($proxy, SSL_alpn_protocols => ['h2']);
is $conn->socket->alpn_selected, undef, 'who offers something else gets no promise';
$conn->close;

# Anything but TLS ends the connection; the port goes on.
mark($proxy);
my $plain = client($proxy);
$plain->send("GET / HTTP/1.1\r\nHost: proxy.test\r\n\r\n");
is $plain->rest, '', 'plain HTTP ends the connection';
$plain = client($proxy);
$plain->send("\x16\x03\x01\x40\x00" . ("\xff" x 3000));
$plain->shut;
$plain->rest;
counters($proxy, 'tls.client_failed' => 2, 'tls.client_handshakes' => 0);
is fetch(via_tls($proxy), '/a')->body, 'one', 'others are served';

# A client that is silent in the handshake does not stay.
$plain = client($proxy);
$plain->send("\x16\x03\x01");
wait_for(sub { stats($proxy)->{'client.open'} }, 2);
later($proxy, 400);
ok $plain->closed, 'a handshake has a limit of time';

if (eval { need('curl'); 1 }) {
    my $said = Bobtail::Stat::run_program('curl', '-sS', '-x', 'https://' . $proxy->addr,
        '--proxy-cacert', ca_file(), $origin->url('/a'));
    is $said->{output}, 'one', 'curl speaks TLS to the proxy';
}

# ---- what the port line says ----

sub port_with
{
    my ($options) = @_;
    return proxy("https_port 127.0.0.1:0 $own $options\n");
}
$proxy = port_with('options=NO_TLSv1_3,CIPHER_SERVER_PREFERENCE cipher=ECDHE-RSA-AES256-GCM-SHA384');
$conn = via_tls($proxy);
is $conn->socket->get_sslversion, 'TLSv1_2', 'options=NO_TLSv1_3';
is $conn->socket->get_cipher, 'ECDHE-RSA-AES256-GCM-SHA384', 'cipher=';
$conn->close;
$proxy = port_with('tls-min-version=1.3 cipher=TLS_CHACHA20_POLY1305_SHA256');
is via_tls($proxy)->socket->get_cipher, 'TLS_CHACHA20_POLY1305_SHA256', 'a cipher of TLS 1.3';
like refused($proxy, SSL_version => 'TLSv1_2'), qr/protocol version/, 'tls-min-version=1.3';
$proxy = port_with('tls-min-version=1.1');
is via_tls($proxy, SSL_version => 'TLSv1_1', SSL_cipher_list => 'ALL:@SECLEVEL=0')
    ->socket->get_sslversion, 'TLSv1_1', 'tls-min-version=1.1';
like $proxy->output . $proxy->log, qr/warning: .*TLS 1.0 and 1.1 are broken/, 'with a warning';

# ---- certificates of clients ----

my $user = server_certificate('user.test', { purpose => 'client' });
my %show = (SSL_cert_file => $user->{cert}, SSL_key_file => $user->{key});
# In TLS 1.3 a client learns that it was refused by its first read only.
sub served
{
    my ($to, %how) = @_;
    my $got = eval { fetch(via_tls($to, %how), '/a')->body };
    return $got // '';
}
my $stranger = do {
    my ($strange, $key) = IO::Socket::SSL::Utils::CERT_create(
        subject => { commonName => 'stranger.test' }, purpose => 'client');
    my $file = $proxy->file('stranger');
    IO::Socket::SSL::Utils::PEM_cert2file($strange, "$file.pem");
    IO::Socket::SSL::Utils::PEM_key2file($key, "$file.key");
    { SSL_cert_file => "$file.pem", SSL_key_file => "$file.key" };
};
my $ca = ca_file();
for my $version ('TLSv1_2', 'TLSv1_3') {
    my %v = (SSL_version => $version);
    $proxy = port_with("clientca=$ca");
    is served($proxy, %v, %show), 'one', "$version, clientca=: who has a certificate is served";
    is served($proxy, %v), '', 'who has none is not';
    is served($proxy, %v, %$stranger), '', 'nor who has one of somebody else';
    $proxy = port_with("clientca=$ca sslflags=CONDITIONAL_AUTH");
    is served($proxy, %v, %show), 'one', 'CONDITIONAL_AUTH: with one';
    is served($proxy, %v), 'one', 'and without';
    is served($proxy, %v, %$stranger), '', 'and not with a wrong one';
}
$proxy = port_with("clientca=$ca sslflags=VERIFY_CRL");
is served($proxy, %show), '', 'VERIFY_CRL: an authority without a list is not enough';

# ---- mistakes ----

sub mistaken
{
    my ($options, $text, $level) = @_;
    my $kind = $level // 'error';
    my $said = parse("https_port 127.0.0.1:0 $options\nhttp_access allow all\n");
    is $said->{status}, $level ? 0 : 1, "$options: " . ($level ? 'taken' : 'refused');
    like $said->{output}, qr/:1:\d+: $kind: .*$text/, 'with a sentence'
        or diag $said->{output};
    return;
}
mistaken('', 'needs a certificate: add tls-cert=FILE');
mistaken('tls-cert=/no/such.pem', '/no/such.pem: No such file or directory');
mistaken("tls-cert=$cert->{cert}", 'there is no private key beside the certificate');
mistaken("tls-cert=$ca tls-key=$cert->{key}", 'belongs to none of the');
mistaken("$own options=NO_TLSv1_4", "option 'NO_TLSv1_4' is not known, and ignored; did you mean 'NO_TLSv1_", 'warning');
mistaken("$own options=0xzz", "option '0xzz' is not known", 'warning');
mistaken("$own cipher=NONSENSE", "knows no cipher of 'NONSENSE'");
mistaken("$own tls-min-version=1.4", "'1.4' is no version of TLS");
mistaken("$own sslflags=VERIFY_CLR", "flag 'VERIFY_CLR' is not known here; did you mean 'VERIFY_CRL'");
mistaken("$own sslflags=DONT_VERIFY_PEER", "flag 'DONT_VERIFY_PEER' is not known here");
mistaken("$own clientca=/no/such.pem", 'no certificate of an authority');
mistaken("$own clientca=$ca crlfile=$ca", 'no revocation list');
mistaken("$own clientca=$ca capath=/no/such", 'no folder that can be read');
mistaken("$own tls-dh=/no/such.pem", 'no Diffie-Hellman parameters', 'warning');
mistaken("$own tls-dh=prime256v1", 'no Diffie-Hellman parameters', 'warning');
mistaken("$own tls-dh=nocurve:/no/such.pem", "no curve 'nocurve'");
mistaken("$own sslflags=CONDITIONAL_AUTH", 'which are not asked for', 'warning');
mistaken("$own clientca=$ca sslflags=DELAYED_AUTH", 'never asked for a certificate', 'warning');
mistaken("$own ssl-bump", 'write http_port');
my $expired = server_certificate('proxy.test', { not_before => time - 2e6, not_after => time - 1e6 });
mistaken("tls-cert=$expired->{cert} tls-key=$expired->{key}", 'the certificate has expired', 'warning');
my $early = server_certificate('proxy.test', { not_before => time + 1e6 });
mistaken("tls-cert=$early->{cert} tls-key=$early->{key}", 'not valid yet', 'warning');
my $crowd = $proxy->file('crowd.pem');
Bobtail::Proxy::write_file($crowd, join '', map { open my $in, '<', $_ or die $!; local $/; <$in> }
    $expired->{cert}, $ca, $cert->{key}, $cert->{cert}, $early->{cert});
mistaken("tls-cert=$crowd", '2 certificates in it have nothing to do', 'warning');
my $said = parse("https_port 127.0.0.1:0 $own options=NO_SSLv2:NO_SSLv3:SINGLE_DH_USE,ALL|-ALL,NO_TICKET "
    . "tls-dh=prime256v1: sslcontext=x tls-default-ca\nhttp_access allow all\n");
is $said->{status}, 0, 'what is right is taken' or diag $said->{output};
unlike $said->{output}, qr/(?:warning|error):/, 'in silence' or diag $said->{output};
done;

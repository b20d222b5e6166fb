# 54-tls-acl.t - ACL types and fields of TLS: without TLS, of clients with certificates, of hellos.
use Bobtail::Test;
BEGIN { need('IO::Socket::SSL') }
use Bobtail::Tls;
use MIME::Base64 ();

sub said { return parse("http_port 127.0.0.1:0\npid_filename none\nhttp_access allow all\n$_[0]") }

# ---- values ----

my $good = said(<<'CONF');
acl name ssl::server_name .example.com www.example.org
acl client ssl::server_name --client-requested www.example.org
acl server ssl::server_name --server-provided www.example.org
acl both ssl::server_name --consensus www.example.org
acl pattern ssl::server_name_regex -i ^www\.
acl step at_step SslBump1 sslbump2 SSLBUMP3 GeneratingCONNECT
acl fault ssl_error X509_V_ERR_CERT_HAS_EXPIRED SQUID_X509_V_ERR_DOMAIN_MISMATCH
acl print server_cert_fingerprint 00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33
acl print2 server_cert_fingerprint -sha256 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff
acl who user_cert CN kim lee
acl house ca_cert O Example
ssl_bump peek step
ssl_bump splice name client server both
ssl_bump stare pattern
ssl_bump bump !fault !print !print2
ssl_bump terminate who house
on_unsupported_protocol tunnel name
on_unsupported_protocol respond all
sslproxy_cert_error allow ssl::certHasExpired name
sslproxy_cert_error allow ssl::certNotYetValid
sslproxy_cert_error allow ssl::certDomainMismatch
sslproxy_cert_error allow ssl::certUntrusted
sslproxy_cert_error allow ssl::certSelfSigned
sslproxy_cert_error deny all
CONF
is $good->{status}, 0, 'all types, all actions' or diag $good->{output};
is $good->{output}, '', 'no line is taken to hide another one, and nothing is unknown';

my %bad = (
    'acl a ssl::server_name --server a.example' => "'--server' is no flag",
    'acl a at_step SslBump4' => "'SslBump4' is no step",
    'acl a ssl_error X509_V_ERR_NOTHING' => "'X509_V_ERR_NOTHING' is no fault",
    'acl a server_cert_fingerprint 00:11' => "'00:11' is no fingerprint: 20 pairs",
    'acl a user_cert COLOUR red' => "'COLOUR' is no attribute",
    'acl a ssl::server_name_regex a[' => "'a\\['",
    'ssl_bump look all' => "'look'",
    'ssl_bump bump' => 'needs the name of an ACL',
);
for (sort keys %bad) {
    my $said = said("$_\nhttp_access deny a\n");
    like $said->{output}, qr/error: .*$bad{$_}/, "$_: refused at its word" or diag $said->{output};
    is $said->{status}, 1, "$_: no start";
}

# ---- without TLS ----

my $origin = origin('/a' => { body => 'one' });
my @field = qw(tls.bump_mode tls.sni tls.client_subject tls.client_issuer tls.origin_subject
    tls.origin_issuer tls.origin_cert tls.origin_errors tls.client_version tls.origin_version
    tls.client_cipher tls.origin_cipher tls.client_hello_version tls.origin_hello_version
    tls.client_supported_version tls.origin_supported_version tls.ja3 tls.ja4 tls.alpn tls.ech
    tls.handshake >handshake);
my @code = map { ("ssl::$_", "tls::$_") } qw(bump_mode >sni >cert_subject >cert_issuer <cert_subject
    <cert_issuer <cert <cert_errors >negotiated_version <negotiated_version >negotiated_cipher
    <negotiated_cipher >received_hello_version <received_hello_version >received_supported_version
    <received_supported_version);
my $fields = join ' ', map "%$_", @field, @code;
my $proxy = proxy(<<"CONF");
logformat all $fields
access_log stdio:\@DIR\@/fields.log all
acl name ssl::server_name localhost 127.0.0.1
acl other ssl::server_name other.example none
acl first at_step SslBump1
acl later at_step SslBump2 SslBump3 GeneratingCONNECT
acl fault ssl_error X509_V_ERR_CERT_HAS_EXPIRED
acl print server_cert_fingerprint 00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33
acl who user_cert CN kim
acl house ca_cert O Example
acl pattern ssl::server_name_regex -i ^LOCAL ^127
http_access deny later
http_access deny other
http_access deny fault
http_access deny print
http_access deny who
http_access deny house
http_access deny !name
http_access deny !pattern
http_access deny !first
http_access allow all
CONF
is get($proxy, $origin->url('/a'))->status, 200, 'without TLS the host of the URL is the name, and it is step 1';
ok wait_for(sub { $proxy->text('fields.log') =~ /\n/ }), 'logged';
is $proxy->text('fields.log'), join(' ', ('-') x (@field + @code)) . "\n", 'no field of TLS has a value';

# ---- clients with certificates ----

my $own = server_certificate('proxy.test');
my $user = server_certificate('kim.test', { purpose => 'client', subject => { commonName => 'Kim', organizationName => 'Lab' } });
$proxy = proxy(<<"CONF", files => { authority => "Bobtail test authority\n" });
https_port 127.0.0.1:0 name=safe tls-cert=$own->{cert} tls-key=$own->{key} clientca=@{[ca_file()]} sslflags=CONDITIONAL_AUTH
http_port 127.0.0.1:0 name=open
acl kim user_cert CN Kim Lee
acl lab user_cert O Lab
acl dn user_cert DN /O=Lab/CN=Kim /CN=Kim/O=Lab
acl lee user_cert CN Lee
acl house ca_cert CN "\@DIR\@/authority"
acl other ca_cert CN Kim
acl tls connections_encrypted
acl open urlpath_regex ^/open
acl both urlpath_regex ^/both
http_reply_access deny both tls
http_access allow open
http_access allow both
http_access deny !tls
http_access deny lee
http_access deny other
http_access allow kim lab dn house
http_access deny all
logformat who %>Hs %ssl::>cert_subject %ssl::>cert_issuer %ssl::>negotiated_version %ssl::<negotiated_version %ssl::bump_mode
access_log stdio:\@DIR\@/who.log who
CONF
sub through
{
    my ($name, $path, %how) = @_;
    my $conn = client($proxy->addr($name));
    start_tls($conn, 'proxy.test', %how) if $name eq 'safe';
    return request(undef, GET => $origin->url($path), on => $conn)->status;
}
$origin->set($_ => { body => 'x' }) for '/open', '/both';
is through('open', '/a'), 403, 'a connection that is not encrypted';
is through('open', '/open'), 200, 'which the rules can tell';
is through('safe', '/a'), 403, 'TLS without a certificate';
is through('safe', '/a', SSL_cert_file => $user->{cert}, SSL_key_file => $user->{key}), 200, 'with one';
is through('safe', '/both'), 200, 'an answer from an origin without TLS is not encrypted all the way';
ok wait_for(sub { (() = $proxy->text('who.log') =~ /\n/g) == 5 }), 'logged';
my @who = split /\n/, $proxy->text('who.log');
is $who[0], '403 - - - - -', 'no TLS';
is $who[2], '403 - - TLS/1.3 - -', 'TLS';
like $who[3], qr{^200 (/O=Lab/CN=Kim|/CN=Kim/O=Lab) /CN=Bobtail%20test%20authority TLS/1\.3 - -$|^200 \S+ /CN=Bobtail test authority TLS/1\.3 - -$}, 'the certificate';

# ---- hellos ----

run_program($ENV{BOBTAILCTL}, 'ca', 'init', $proxy->file('ca.pem'));
my $hello = do { local (@ARGV, $/) = "$ENV{BT_SRCDIR}/t/fuzz/corpus/hello/chrome"; <> };
# With an extension more: an encrypted hello.
sub with_ech
{
    my ($record) = @_;
    my $at = 5 + 4 + 2 + 32;
    $at += 1 + ord substr $record, $at, 1;
    $at += 2 + unpack 'n', substr $record, $at, 2;
    $at += 1 + ord substr $record, $at, 1;
    my $more = pack 'n n/a*', 0xfe0d, "\0\0\1\0\1\1\0\x20" . 'k' x 32 . "\0\x20" . 'p' x 32;
    substr $record, $at, 2, pack 'n', length($more) + unpack 'n', substr $record, $at, 2;
    $record .= $more;
    substr $record, 3, 2, pack 'n', length($record) - 5;
    substr $record, 6, 3, substr pack('N', length($record) - 9), 1;
    return $record;
}
my $looked = proxy(<<"CONF");
http_port 127.0.0.1:0 ssl-bump tls-cert=@{[$proxy->file('ca.pem')]}
ssl_bump peek all
ssl_bump splice all
logformat hello %tls.ja3 %tls.ja4 %tls.alpn %tls.ech %ssl::>received_hello_version %ssl::>received_supported_version %>handshake
access_log stdio:\@DIR\@/hello.log hello
http_access allow all
CONF
$hello = with_ech($hello);
my $tunnel = tunnel($looked, $origin->addr);
is $tunnel->response->status, 200, 'CONNECT';
$tunnel->drip($hello);
$tunnel->shut;
$tunnel->rest;
$tunnel->close;
ok wait_for(sub { $looked->text('hello.log') =~ /\n/ }), 'logged';
my @hello = split ' ', $looked->text('hello.log');
like $hello[0], qr/^[0-9a-f]{32}$/, 'JA3';
like $hello[1], qr/^t13d\d{4}h2_[0-9a-f]{12}_[0-9a-f]{12}$/, 'JA4';
is $hello[2], 'h2,http/1.1', 'ALPN';
is $hello[3], 'yes', 'ECH, or what looks like it';
is "@hello[4, 5]", 'TLS/1.2 TLS/1.3', 'versions';
is MIME::Base64::decode_base64($hello[6]), $hello, 'and all of it';
counters($looked, 'tls.hellos_encrypted' => 1);
done;

# 54-tls-acl.t - ACL types and fields of TLS: their values, their names, and what they are without TLS.
use Bobtail::Test;

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
done;

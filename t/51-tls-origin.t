# 51-tls-origin.t - origins over TLS: who they are, what is wrong with their certificates, what is forgiven.
use Bobtail::Test;
plan(skip_all => 'built without OpenSSL') unless -e "$ENV{BT_BUILDDIR}/modules/built/tls.so";
BEGIN { need('IO::Socket::SSL', 'openssl') }
use Bobtail::Tls;
use File::Temp ();
use IO::Socket::SSL::Utils qw(CERT_create PEM_cert2string PEM_file2cert PEM_file2key PEM_key2string);
use MIME::Base64 qw(decode_base64 encode_base64);

my $dir = File::Temp->newdir('bobtail-tls-XXXXXXXX', TMPDIR => 1);
chmod 0755, "$dir";
sub put { my ($name, $text) = @_; Bobtail::Proxy::write_file("$dir/$name", $text); return "$dir/$name" }
sub text { my ($file) = @_; open my $in, '<', $file or die "$file: $!"; local $/; return <$in> }
sub openssl
{
    my $said = Bobtail::Stat::run_program('openssl', @_);
    $said->{status} eq '0' or die "openssl @_: $said->{output}";
    return $said->{output};
}

# ---- certificates ----

openssl('genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256', '-out', "$dir/key");
my $key = PEM_file2key("$dir/key");
my $day = 86_400;

# Signed by the authority of Bobtail::Tls, unless said otherwise: { cert, key } for an origin.
my $number = 0;
sub made
{
    my (%how) = @_;
    my $names = delete $how{names} // ['a.test'];
    my $file = server_certificate('a.test', { key => $key,
        subjectAltNames => [map { [/^[\d.]+$/ ? 'IP' : 'DNS', $_] } @$names], %how });
    return { cert => $file->{cert}, key => "$dir/key" };
}

# An authority, or what stands between one and an origin: { name, cert, key } in PEM files.
sub authority
{
    my ($name, $ext, $by, $lasts) = @_;
    put("$name.ext", "$ext\n");
    openssl('req', '-new', '-key', "$dir/key", '-subj', "/CN=$name", '-out', "$dir/$name.csr");
    openssl('x509', '-req', '-in', "$dir/$name.csr", '-days', $lasts // 30, '-extfile', "$dir/$name.ext",
        '-set_serial', ++$number, '-out', "$dir/$name.pem",
        $by ? ('-CA', $by->{cert}, '-CAkey', $by->{key}) : ('-signkey', "$dir/key"));
    return { name => $name, cert => "$dir/$name.pem", key => "$dir/key" };
}
# A server's, by openssl, with these extensions, and the certificates that it sends along.
sub issued
{
    my ($ext, $by, @along) = @_;
    my $of = authority('leaf' . ++$number, $ext, $by);
    put("chain$number", join '', map { text($_->{cert}) } $of, @along);
    return { cert => "$dir/chain$number", key => "$dir/key" };
}
my $is_ca = "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\nsubjectKeyIdentifier=hash";
my $is_server = "basicConstraints=critical,CA:FALSE\nsubjectAltName=DNS:a.test";
my $ca = authority('root', $is_ca);
my $between = authority('between', $is_ca, $ca);
my $unknown = authority('unknown', $is_ca);
my $unsigned = authority('unsigned', 'basicConstraints=critical,CA:FALSE', $ca);
my $short = authority('short', "$is_ca\n" =~ s/CA:TRUE/CA:TRUE,pathlen:0/r, $ca);
my $below = authority('below', $is_ca, $short);
my $named = authority('named', "$is_ca\nnameConstraints=critical,permitted;DNS:good.test", $ca);

# Bytes of a certificate in other ones' place.
sub changed
{
    my ($of, $from, $to) = @_;
    my ($base64) = text($of->{cert}) =~ /-----BEGIN CERTIFICATE-----\n(.*?)-----END/s;
    my $der = decode_base64($base64);
    $der =~ s/$from/$to/s or die 'no such bytes';
    my $file = put('changed' . ++$number, "-----BEGIN CERTIFICATE-----\n" . encode_base64($der) . "-----END CERTIFICATE-----\n");
    return { cert => $file, key => $of->{key} };
}

my ($weak, $weak_key) = CERT_create(subject => { commonName => 'a.test' }, subjectAltNames => [['DNS', 'a.test']],
    purpose => 'server', key => IO::Socket::SSL::Utils::KEY_create_rsa(1024),
    issuer => [PEM_file2cert($ca->{cert}), $key]);
my $long = $ca;
my @long = map { $long = authority("long$_", $is_ca, $long) } 1 .. 18;

# What is wrong => [the origin's certificate, how it is told, names of all faults].
my %bad = (
    'expired' => [made(not_before => time - 3 * $day, not_after => time - $day),
        'certificate has expired', 'CERT_HAS_EXPIRED'],
    'not valid yet' => [made(not_before => time + $day), 'certificate is not yet valid', 'CERT_NOT_YET_VALID'],
    'for another host' => [made(names => ['b.test', '*.a.test', '192.0.2.1']),
        'the certificate is for another host', 'SQUID_X509_V_ERR_DOMAIN_MISMATCH'],
    'only its common name is right' => [made(names => ['b.test']),
        'the certificate is for another host', 'SQUID_X509_V_ERR_DOMAIN_MISMATCH'],
    'a wildcard for a whole domain' => [made(names => ['*.test', '*']),
        'the certificate is for another host', 'SQUID_X509_V_ERR_DOMAIN_MISMATCH'],
    'NUL in its name' => [issued("basicConstraints=critical,CA:FALSE\nsubjectAltName=DER:30:0F:82:0D:"
            . join(':', map { sprintf '%02X', ord } split //, "a.test\0b.test"), $ca),
        'the certificate is for another host', 'SQUID_X509_V_ERR_DOMAIN_MISMATCH'],
    'self-signed' => [issued($is_server), 'self-signed certificate', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    'by an unknown authority' => [issued($is_server, $unknown),
        'unable to get local issuer certificate', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'],
    'by one that it sends along' => [issued($is_server, $unknown, $unknown),
        'self-signed certificate in certificate chain', 'SELF_SIGNED_CERT_IN_CHAIN'],
    'without what is between' => [issued($is_server, $between),
        'unable to get local issuer certificate', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'],
    'by somebody who is no authority' => [issued($is_server, $unsigned, $unsigned),
        'invalid CA certificate', 'INVALID_CA', 'INVALID_PURPOSE'],
    'by too long a chain' => [issued($is_server, $below, $below, $short),
        'path length constraint exceeded', 'PATH_LENGTH_EXCEEDED'],
    'against constraints of names' => [issued($is_server, $named, $named),
        'permitted subtree violation', 'PERMITTED_VIOLATION'],
    'for clients' => [made(purpose => 'client'), 'unsuitable certificate purpose', 'INVALID_PURPOSE'],
    'an extension that nobody knows' => [issued("$is_server\nnsComment=critical,ASN1:UTF8String:x", $ca),
        'unhandled critical extension', 'UNHANDLED_CRITICAL_EXTENSION'],
    'alternative names that are none' => [issued("basicConstraints=critical,CA:FALSE\nsubjectAltName=DER:30:7F:82:06:61:62", $ca),
        'unable to get local issuer certificate', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
        'SQUID_X509_V_ERR_DOMAIN_MISMATCH'],
    'a signature that is broken' => [changed(made(), '.\z', "\x55"), 'certificate signature failure', 'CERT_SIGNATURE_FAILURE'],
    'a date that is none' => [changed(made(), '\x17\x0d\d{12}Z\x17\x0d\d{12}Z', "\x17\x0d990101000000Z\x17\x0dxxxxxxxxxxxxZ"),
        'certificate signature failure', qw(CERT_SIGNATURE_FAILURE ERROR_IN_CERT_NOT_AFTER_FIELD)],
    'a weak key' => [{ cert => put('weak', PEM_cert2string($weak)), key => put('weak.key', PEM_key2string($weak_key)), rsa => 1 },
        'EE certificate key too weak', 'EE_KEY_TOO_SMALL'],
    'a weak digest' => [made(digest => 'sha1'), 'CA signature digest algorithm too weak', 'CA_MD_TOO_WEAK'],
    'too many certificates' => [issued($is_server, $long, reverse @long), 'certificate chain too long',
        'CERT_CHAIN_TOO_LONG'],
    'expired, and for another host' => [made(not_before => time - 3 * $day, not_after => time - $day, names => ['b.test']),
        'certificate has expired', 'CERT_HAS_EXPIRED', 'SQUID_X509_V_ERR_DOMAIN_MISMATCH'],
);
my %good = (
    'one name' => made(),
    'a name and an address' => made(names => ['b.test', 'a.test', '127.0.0.1']),
    'what is between is sent' => issued($is_server, $between, $between),
    'in the wrong order, with a stranger' => issued($is_server, $between, $unknown, $ca, $between),
    'a thousand names' => made(names => [(map { "host-$_.test" } 1 .. 1000), 'a.test']),
);

# OpenSSL does not like to show some of these, either: a good one gives way to it.
my $rsa = server_certificate('a.test');
sub served_with
{
    my ($file) = @_;
    my $show = sub {
        my ($context) = @_;
        Net::SSLeay::CTX_set_security_level($context, 0);
        Net::SSLeay::CTX_use_certificate_chain_file($context, $file->{cert})
            && Net::SSLeay::CTX_use_PrivateKey_file($context, $file->{key}, 1)
            or die "$file->{cert}: ", Net::SSLeay::ERR_error_string(Net::SSLeay::ERR_get_error());
    };
    my $first = $file->{rsa} ? $rsa : made();
    return origin('/a' => { body => 'one' }, name => 'a.test',
        tls => { %$first, how => { SSL_create_ctx_callback => $show } });
}

# ---- proxies ----

my $trust = put('trust', text(ca_file()) . text($ca->{cert}));
my %files = (files => { hosts => "127.0.0.1 a.test b.test\n" });
sub with
{
    my ($options, $more) = @_;
    return proxy(<<"CONF", %files);
hosts_file \@DIR\@/hosts
cache deny all
tls_outgoing_options cafile=$trust default-ca=off $options
logformat faults %ru %ssl::<cert_errors
access_log stdio:\@DIR\@/access.log logformat=faults
@{[$more // '']}
CONF
}
my $strict = with('');
my $lax = with('', 'sslproxy_cert_error allow all');
my $blind = with('flags=DONT_VERIFY_PEER');

sub full { my ($name) = @_; return $name =~ /^SQUID/ ? $name : "X509_V_ERR_$name" }
# Its status, and its body or why there is none.
sub got
{
    my ($proxy, $url, %how) = @_;
    my $answer = get($proxy, $url, %how);
    my ($page) = $answer->body =~ /<body id="(\w+)"/;
    my ($why) = $answer->body =~ /^<p>Reason: (.*)\.<\/p>/m;
    return $page ? $answer->status . " $page: " . ($why // '') : $answer->status . ' ' . $answer->body;
}

for my $name (sort keys %good) {
    my $origin = served_with($good{$name});
    is got($strict, $origin->url('/a')), '200 one', "good: $name";
    $origin->stop;
}
# Two more proxies: one forgives each origin exactly its faults, the other all but these.
my (%origin, $exact, $other);
for my $name (sort keys %bad) {
    my ($file, undef, @codes) = @{ $bad{$name} };
    my $id = keys %origin;
    $origin{$name} = served_with($file);
    my $acls = "acl port$id port " . $origin{$name}->port . "\nacl faults$id ssl_error "
        . join(' ', map { full($_) } @codes) . "\n";
    $exact .= "${acls}sslproxy_cert_error allow port$id faults$id\n";
    $other .= "${acls}sslproxy_cert_error deny port$id faults$id\n";
}
$exact = with('', $exact);
$other = with('', $other . "sslproxy_cert_error allow all\n");
for my $name (sort keys %bad) {
    my (undef, $why, @codes) = @{ $bad{$name} };
    my $url = $origin{$name}->url('/a');
    like got($strict, $url), qr/^503 ERR_SECURE_CONNECT_FAIL: $why$/, "$name: refused";
    is got($lax, $url), '200 one', 'sslproxy_cert_error allow all: served';
    is got($blind, $url), '200 one', 'DONT_VERIFY_PEER: served';
    is got($exact, $url), '200 one', 'served when just its faults are forgiven';
    like got($other, $url), qr/^503 ERR_SECURE_CONNECT_FAIL: /, 'refused when all others are';
    my $told = wait_for(sub { $blind->text('access.log') =~ /^\Q$url\E (\S+)$/m && $1 });
    is $told =~ s/\@depth=\d//gr, join(':', map { full($_) } @codes), 'and the log has them';
}
my %all = map { $_ => 0 } qw(tls.errors_expired tls.errors_not_yet_valid tls.errors_wrong_host
    tls.errors_self_signed tls.errors_untrusted tls.errors_revoked tls.errors_weak tls.errors_other);
my %counter = (CERT_HAS_EXPIRED => 'expired', CERT_NOT_YET_VALID => 'not_yet_valid',
    SQUID_X509_V_ERR_DOMAIN_MISMATCH => 'wrong_host', DEPTH_ZERO_SELF_SIGNED_CERT => 'self_signed',
    UNABLE_TO_GET_ISSUER_CERT_LOCALLY => 'untrusted', SELF_SIGNED_CERT_IN_CHAIN => 'untrusted',
    EE_KEY_TOO_SMALL => 'weak', CA_MD_TOO_WEAK => 'weak');
for my $row (values %bad) {
    my (undef, undef, @codes) = @$row;
    $all{ 'tls.errors_' . ($counter{$_} // 'other') }++ for @codes;
}
counters($strict, 'tls.origins_refused' => scalar keys %bad, 'tls.origins_forgiven' => 0,
    'tls.origin_failed' => scalar keys %bad, %all);
counters($lax, 'tls.origins_refused' => 0, 'tls.origins_forgiven' => scalar keys %bad,
    'tls.origin_handshakes' => scalar keys %bad, 'tls.origin_failed' => 0);
done;

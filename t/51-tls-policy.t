# 51-tls-policy.t - TLS with origins: what tls_outgoing_options says, who forgives what, what is kept.
use Bobtail::Test;
plan(skip_all => 'built without OpenSSL') unless -e "$ENV{BT_BUILDDIR}/modules/built/tls.so";
BEGIN { need('IO::Socket::SSL', 'openssl') }
use Bobtail::Tls;
use File::Temp ();

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

my %answers = ('/a' => { body => 'one' }, '/end' => { body => 'cut short?', until_close => 1 },
    '/close' => { body => 'one', close => 1 }, '/big' => { body => 'x' x 1_000_000 });
sub served_with
{
    my ($file, %how) = @_;
    return origin(%answers, name => $how{name} // 'a.test', tls => { %$file, how => $how{tls} // {} });
}
# One context for all its connections: what one of them gives, another one takes.
sub resumable
{
    my ($file, $version) = @_;
    my $context = IO::Socket::SSL::SSL_Context->new(SSL_server => 1, SSL_version => $version,
        SSL_cert_file => $file->{cert}, SSL_key_file => $file->{key});
    return served_with($file, tls => { SSL_reuse_ctx => $context });
}
sub with
{
    my ($conf) = @_;
    return proxy("hosts_file \@DIR\@/hosts\ncache deny all\n$conf",
        files => { hosts => "127.0.0.1 a.test b.test\n" });
}
sub got
{
    my ($proxy, $url, %how) = @_;
    my $answer = get($proxy, $url, %how);
    my ($page) = $answer->body =~ /<body id="(\w+)"/;
    my ($why) = $answer->body =~ /^<p>Reason: (.*)\.<\/p>/m;
    return $page ? $answer->status . " $page: " . ($why // '') : $answer->status . ' ' . $answer->body;
}
my $good = server_certificate('a.test', '127.0.0.1');
my $trust = 'tls_outgoing_options cafile=' . ca_file();
my $origin = served_with($good);

# ---- whom to trust ----

my $proxy = with("$trust\n");
is got($proxy, $origin->url('/a')), '200 one', 'an authority of cafile=';
is got($proxy, 'https://127.0.0.1:' . $origin->port . '/a'), '200 one', 'by its address';
like got($proxy, 'https://b.test:' . $origin->port . '/a'),
    qr/^503 ERR_SECURE_CONNECT_FAIL: the certificate is for another host$/, 'by another name: refused';
is got(with(''), $origin->url('/a')),
    '503 ERR_SECURE_CONNECT_FAIL: unable to get local issuer certificate', 'nobody else trusts it';
is got(with("$trust flags=DONT_VERIFY_DOMAIN\n"), 'https://b.test:' . $origin->port . '/a'), '200 one',
    'DONT_VERIFY_DOMAIN: the name does not matter';
is got(with("$trust domain=a.test\n"), 'https://b.test:' . $origin->port . '/a'), '200 one',
    'domain=: the name that must stand in all of them';
my $folder = "$dir/folder";
mkdir $folder;
put('folder/ca.pem', text(ca_file()));
openssl('rehash', $folder);
is got(with("tls_outgoing_options capath=$folder default-ca=off\n"), $origin->url('/a')), '200 one',
    'an authority of capath=';
$proxy = proxy("hosts_file \@DIR\@/hosts\n", env => { SSL_CERT_FILE => ca_file() },
    files => { hosts => '127.0.0.1 a.test' });
is got($proxy, $origin->url('/a')), '200 one', 'an authority of the system';
for my $line ('default-ca=off', 'tls-default-ca=off', 'flags=NO_DEFAULT_CA') {
    $proxy = proxy("hosts_file \@DIR\@/hosts\ntls_outgoing_options $line\n",
        env => { SSL_CERT_FILE => ca_file() }, files => { hosts => '127.0.0.1 a.test' });
    like got($proxy, $origin->url('/a')), qr/^503 .*local issuer/, "$line: they do not count";
}
# Old names, one option each.
$proxy = with('sslproxy_cafile ' . ca_file() . "\nsslproxy_flags DONT_VERIFY_DOMAIN\nsslproxy_options NO_TLSv1_3\n"
    . "sslproxy_cipher ECDHE-RSA-AES128-GCM-SHA256\nsslproxy_version 1\nsslproxy_capath $folder\n"
    . "sslproxy_client_certificate $good->{cert}\nsslproxy_client_key $good->{key}\n");
is got($proxy, 'https://b.test:' . $origin->port . '/a'), '200 one', 'old names of options work';
is scalar(() = $proxy->output . $proxy->log =~ /warning: .*old name; write tls_outgoing_options/g) >= 1, 1,
    'with a warning';
is got(with("tls_outgoing_options disable\n"), $origin->url('/a')),
    '503 ERR_SECURE_CONNECT_FAIL: TLS towards origins is switched off (tls_outgoing_options disable)',
    'disable';

# ---- versions, ciphers, certificates that are asked for ----

my $old = served_with($good, tls => { SSL_version => 'TLSv1_1', SSL_cipher_list => 'ALL:@SECLEVEL=0' });
like got(with("$trust\n"), $old->url('/a')), qr/^503 ERR_SECURE_CONNECT_FAIL: .*(?:protocol|refused)/,
    'TLS 1.1 is not spoken';
is got(with("$trust min-version=1.0\n"), $old->url('/a')), '200 one', 'min-version=1.0: it is';
is got(with("$trust version=5\n"), $old->url('/a')), '200 one', 'version=5: only that';
like got(with("$trust version=5\n"), $origin->url('/a')), qr/^503/, 'and no other';
my $twelve = served_with($good, tls => { SSL_version => 'TLSv1_2' });
is got(with("$trust\n"), $twelve->url('/a')), '200 one', 'TLS 1.2 is';
like got(with("$trust min-version=1.3\n"), $twelve->url('/a')), qr/^503/, 'not with min-version=1.3';
like got(with("$trust options=NO_TLSv1_2\n"), $twelve->url('/a')), qr/^503/, 'nor with options=NO_TLSv1_2';
my $one_cipher = served_with($good, tls => { SSL_version => 'TLSv1_2', SSL_cipher_list => 'ECDHE-RSA-AES256-SHA384' });
is got(with("$trust\n"), $one_cipher->url('/a')), '200 one', 'a cipher that both have';
like got(with("$trust cipher=ECDHE-RSA-AES128-GCM-SHA256\n"), $one_cipher->url('/a')),
    qr/^503 ERR_SECURE_CONNECT_FAIL: the other side refused it: handshake failure$/, 'and not the only one here';
my $asks = served_with($good, tls => { SSL_ca_file => ca_file(), SSL_verify_mode => 3, SSL_version => 'TLSv1_2' });
like got(with("$trust\n"), $asks->url('/a')), qr/^503/, 'an origin that asks for a certificate';
my $mine = server_certificate('proxy.test', { purpose => 'client' });
is got(with("$trust cert=$mine->{cert} key=$mine->{key}\n"), $asks->url('/a')), '200 one', 'gets cert=';

# ---- revoked ----

my $ca_key = put('revoker.key', '');
openssl('genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256', '-out', "$dir/k");
openssl('req', '-x509', '-new', '-key', "$dir/k", '-subj', '/CN=revoker', '-days', 9, '-out', "$dir/revoker.pem");
for my $name ('fine', 'revoked') {
    put("$name.ext", "basicConstraints=critical,CA:FALSE\nsubjectAltName=DNS:a.test\n");
    openssl('req', '-new', '-key', "$dir/k", '-subj', "/CN=$name", '-out', "$dir/$name.csr");
    openssl('x509', '-req', '-in', "$dir/$name.csr", '-CA', "$dir/revoker.pem", '-CAkey', "$dir/k", '-days', 5,
        '-set_serial', $name eq 'fine' ? 1 : 2, '-extfile', "$dir/$name.ext", '-out', "$dir/$name.pem");
}
put('index', "R\t351231000000Z\t250101000000Z\t02\tunknown\t/CN=revoked\n");
put('ca.cnf', "[ca]\ndefault_ca=c\n[c]\ndatabase=$dir/index\ndefault_md=sha256\ndefault_crl_days=5\n");
openssl('ca', '-config', "$dir/ca.cnf", '-gencrl', '-keyfile', "$dir/k", '-cert', "$dir/revoker.pem", '-out', "$dir/crl.pem");
my ($fine, $revoked) = map { served_with({ cert => "$dir/$_.pem", key => "$dir/k" }) } 'fine', 'revoked';
$proxy = with("tls_outgoing_options cafile=$dir/revoker.pem crlfile=$dir/crl.pem\n");
is got($proxy, $fine->url('/a')), '200 one', 'crlfile=: a certificate that is not in it';
is got($proxy, $revoked->url('/a')), '503 ERR_SECURE_CONNECT_FAIL: certificate revoked', 'one that is';
counters($proxy, 'tls.errors_revoked' => 1);
is got(with("tls_outgoing_options cafile=$dir/revoker.pem\n"), $revoked->url('/a')), '200 one', 'nobody looks without it';
like got(with("tls_outgoing_options cafile=$dir/revoker.pem flags=VERIFY_CRL\n"), $fine->url('/a')),
    qr/^503 .*unable to get certificate CRL/, 'VERIFY_CRL without a list';

# ---- what is between ----

put('between.ext', "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n");
openssl('req', '-new', '-key', "$dir/k", '-subj', '/CN=between', '-out', "$dir/between.csr");
openssl('x509', '-req', '-in', "$dir/between.csr", '-CA', "$dir/revoker.pem", '-CAkey', "$dir/k", '-days', 5,
    '-set_serial', 3, '-extfile', "$dir/between.ext", '-out', "$dir/between.pem");
openssl('req', '-new', '-key', "$dir/k", '-subj', '/CN=below', '-out', "$dir/below.csr");
openssl('x509', '-req', '-in', "$dir/below.csr", '-CA', "$dir/between.pem", '-CAkey', "$dir/k", '-days', 5,
    '-set_serial', 4, '-extfile', "$dir/fine.ext", '-out', "$dir/below.pem");
my $below = served_with({ cert => "$dir/below.pem", key => "$dir/k" });
my $root = "tls_outgoing_options cafile=$dir/revoker.pem default-ca=off\n";
like got(with($root), $below->url('/a')), qr/^503 .*local issuer/, 'what is between is missing';
my $foreign = put('foreign', text($good->{cert}) . text("$dir/between.pem"));
is got(with("${root}sslproxy_foreign_intermediate_certs $foreign\n"), $below->url('/a')), '200 one',
    'sslproxy_foreign_intermediate_certs has it';
like got(with("tls_outgoing_options default-ca=off\nsslproxy_foreign_intermediate_certs $foreign\n"), $below->url('/a')),
    qr/^503/, 'but it is not trusted by itself';
is got(with("tls_outgoing_options cafile=$dir/between.pem default-ca=off\n"), $below->url('/a')), '200 one',
    'unless cafile= says so';

# ---- too much ----

my $huge = server_certificate('a.test', { subjectAltNames => [map { ['DNS', "host-number-$_.a-long-name.test"] } 1 .. 4000] });
like got(with("$trust flags=DONT_VERIFY_PEER\n"), served_with($huge)->url('/a')),
    qr/^503 ERR_SECURE_CONNECT_FAIL: excessive message size$/, 'more than 100 KB of certificates are too many';

# ---- ends ----

# An origin that says `$answer` and cuts the connection, with a close-notify or without.
sub cutting
{
    my ($answer, $politely) = @_;
    my $listener = IO::Socket::SSL->new(LocalAddr => '127.0.0.1', LocalPort => 0, Listen => 5,
        SSL_cert_file => $good->{cert}, SSL_key_file => $good->{key}) or die $IO::Socket::SSL::SSL_ERROR;
    my $pid = fork // die "fork: $!";
    return ($pid, $listener->sockport) if $pid;
    alarm 60;
    while (my $conn = $listener->accept) {
        sysread $conn, my $request, 10_000;
        syswrite $conn, $answer;
        $conn->close(SSL_no_shutdown => !$politely);
    }
    POSIX::_exit(0);
}
for my $politely (1, 0) {
    my ($pid, $port) = cutting("HTTP/1.1 200 OK\r\n\r\nsome of it", $politely);
    $proxy = with("$trust\n");
    my $conn = client($proxy);
    $conn->send("GET https://a.test:$port/ HTTP/1.1\r\nHost: a.test:$port\r\nConnection: close\r\n\r\n");
    my $all = $conn->rest;
    like $all, qr/some of it/, $politely ? 'an end by a close-notify' : 'an end without one';
    is $all =~ /\r\n0\r\n\r\n\z/ ? 'whole' : 'cut short', $politely ? 'whole' : 'cut short', 'the client is told';
    counters($proxy, 'tls.truncated' => $politely ? 0 : 1);
    $proxy = with("$trust options=IGNORE_UNEXPECTED_EOF\n");
    $conn = client($proxy);
    $conn->send("GET https://a.test:$port/ HTTP/1.1\r\nHost: a.test:$port\r\nConnection: close\r\n\r\n");
    like $conn->rest, qr/\r\n0\r\n\r\n\z/, 'IGNORE_UNEXPECTED_EOF: whole';
    counters($proxy, 'tls.truncated' => 0);
    kill KILL => $pid;
    waitpid $pid, 0;
}

# ---- who forgives what ----

my $expired = server_certificate('a.test', { not_before => time - 9e5, not_after => time - 8e5 });
for my $version ('TLSv1_2', 'TLSv1_3') {
    my $stale = resumable($expired, $version);
    $proxy = with(<<"CONF");
$trust
acl staff req_header X-Who staff
acl expired ssl_error X509_V_ERR_CERT_HAS_EXPIRED
sslproxy_cert_error allow staff expired
CONF
    my @staff = (headers => { 'X-Who' => 'staff' });
    my $refused = qr/^503 ERR_SECURE_CONNECT_FAIL: certificate has expired$/;
    like got($proxy, $stale->url('/a')), $refused, "$version: refused to all";
    is got($proxy, $stale->url('/a'), @staff), '200 one', 'but not to these';
    is got($proxy, $stale->url('/a'), @staff), '200 one', 'again';
    is stat($proxy, 'origin.reused'), 1, 'on the kept connection';
    like got($proxy, $stale->url('/a')), $refused, 'which is not for others';
    is got($proxy, $stale->url('/close'), @staff), '200 one', 'nor is';
    like got($proxy, $stale->url('/a')), $refused, 'a session that could be resumed';
    is got($proxy, $stale->url('/close'), @staff), '200 one', 'which goes on' for 1 .. 2;
    cmp_ok stat($proxy, 'tls.origin_resumed'), '>=', 1, 'for those who may';
    $stale->stop;
}

# ---- sessions ----

for my $version ('TLSv1_2', 'TLSv1_3') {
    my $kept = resumable($good, $version);
    $proxy = with("$trust\n");
    is got($proxy, $kept->url('/close')), '200 one', $version for 1 .. 5;
    counters($proxy, 'tls.origin_handshakes' => 5, 'tls.origin_resumed' => 4, 'tls.origins' => 0);
    later($proxy, 400 * 24 * 3600);
    like got($proxy, $kept->url('/close')), qr/^503 .*expired/, 'not when the certificate has expired since';
    $proxy = with("$trust flags=NO_SESSION_REUSE\n");
    is got($proxy, $kept->url('/close')), '200 one', 'NO_SESSION_REUSE' for 1 .. 2;
    counters($proxy, 'tls.origin_resumed' => 0);
    $kept->stop;
}
like ctl($proxy, 'stats', 'tls.origin_handshake_time')->{output}, qr/tls\.origin_handshake_time/,
    'how long a handshake takes is told';

# ---- mistakes ----

sub mistaken
{
    my ($line, $text) = @_;
    my $said = parse("http_port 127.0.0.1:0\nhttp_access allow all\n$line\n");
    is $said->{status}, 1, "$line: refused";
    like $said->{output}, qr/error: .*$text/, 'with a sentence' or diag $said->{output};
    return;
}
mistaken('tls_outgoing_options cafile=/no/such.pem', 'no certificate of an authority');
mistaken('tls_outgoing_options capath=/no/such', 'no folder that can be read');
mistaken('tls_outgoing_options crlfile=/no/such', 'no revocation list');
mistaken('tls_outgoing_options cert=/no/such', 'No such file or directory');
mistaken("tls_outgoing_options key=$good->{key}", 'a key without a certificate');
mistaken('tls_outgoing_options flags=DONT_VERIFY_PEERS', "did you mean 'DONT_VERIFY_PEER'");
mistaken('tls_outgoing_options flags=CONDITIONAL_AUTH', 'not known here');
like parse("http_port 127.0.0.1:0\ntls_outgoing_options options=NO_TLSv1_5\n")->{output},
    qr/warning: .*not known, and ignored; did you mean 'NO_TLSv1_/, 'an option that OpenSSL does not have';
mistaken('tls_outgoing_options version=3', 'nobody speaks any more');
mistaken('tls_outgoing_options min-version=2.0', '1.0, 1.1, 1.2');
mistaken('sslproxy_version 2', 'nobody speaks any more');
mistaken('sslproxy_foreign_intermediate_certs /no/such', 'no certificate');
mistaken('sslproxy_cert_error allow all all2', 'all2');
mistaken("acl a dstdomain x\nacl b ident REQUIRED\nsslproxy_cert_error allow b", 'b');
mistaken("acl e ssl_error X509_V_ERR_CERT_HAS_EXPIRE\nsslproxy_cert_error allow e", 'no fault of a certificate');
done;

# 51-tls-staple.t - what origins show of their certificates' standing (OCSP stapling) counts.
use Bobtail::Test;
plan(skip_all => 'built without OpenSSL') unless -e "$ENV{BT_BUILDDIR}/modules/built/tls.so";
BEGIN { need('openssl') }
use File::Temp ();
use POSIX ();

my $dir = File::Temp->newdir('bobtail-tls-XXXXXXXX', TMPDIR => 1);
chmod 0755, "$dir";
sub put { my ($name, $text) = @_; Bobtail::Proxy::write_file("$dir/$name", $text); return "$dir/$name" }
sub openssl
{
    my $said = Bobtail::Stat::run_program('openssl', @_);
    $said->{status} eq '0' or die "openssl @_: $said->{output}";
    return $said->{output};
}
openssl('genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256', '-out', "$dir/$_") for 'k', 'k2';
openssl('req', '-x509', '-new', '-key', "$dir/k", '-subj', '/CN=root', '-days', 9, '-out', "$dir/root.pem");
openssl('req', '-x509', '-new', '-key', "$dir/k2", '-subj', '/CN=root', '-days', 9, '-out', "$dir/other.pem");
put('ext', "basicConstraints=critical,CA:FALSE\nsubjectAltName=DNS:a.test\n");
put('index', "R\t351231000000Z\t250101000000Z\t02\tunknown\t/CN=revoked\nV\t351231000000Z\t\t01\tunknown\t/CN=fine\n");
my @servers;
END { local $?; for (@servers) { kill KILL => $_->[0]; waitpid $_->[0], 0 } }

# An origin that shows what `root` or `other` (of the same name) say of it.
sub stapling
{
    my ($name, $by, $key) = @_;
    my $id = "$name-$by";
    openssl('req', '-new', '-key', "$dir/k", '-subj', "/CN=$name", '-out', "$dir/$id.csr");
    openssl('x509', '-req', '-in', "$dir/$id.csr", '-CA', "$dir/root.pem", '-CAkey', "$dir/k", '-days', 5,
        '-set_serial', $name eq 'fine' ? 1 : 2, '-extfile', "$dir/ext", '-out', "$dir/$id.pem");
    openssl('ocsp', '-issuer', "$dir/root.pem", '-cert', "$dir/$id.pem", '-reqout', "$dir/$id.req", '-no_nonce');
    openssl('ocsp', '-index', "$dir/index", '-CA', "$dir/root.pem", '-rsigner', "$dir/$by.pem", '-rkey', "$dir/$key",
        '-reqin', "$dir/$id.req", '-respout', "$dir/$id.der", '-ndays', 3);
    put("$id.der", 'no response at all') if $key eq 'garbage';
    my $pid = CORE::open(my $out, '-|') // die "fork: $!";
    if (!$pid) {
        CORE::open STDERR, '>&', \*STDOUT;
        alarm 60;
        exec 'openssl', 's_server', '-accept', '127.0.0.1:0', '-www', '-cert', "$dir/$id.pem", '-key', "$dir/k",
            '-status_file', "$dir/$id.der" or POSIX::_exit(127);
    }
    push @servers, [$pid, $out];
    while (my $line = <$out>) {
        return "https://a.test:$1/" if $line =~ /^ACCEPT .*:(\d+)/;
    }
    die 's_server did not start';
}
my ($fine, $revoked, $lie) = (stapling('fine', 'root', 'k'), stapling('revoked', 'root', 'k'),
    stapling('revoked', 'other', 'k2'));

sub with
{
    my ($conf) = @_;
    return proxy("hosts_file \@DIR\@/hosts\ncache deny all\ntls_outgoing_options cafile=$dir/root.pem\n$conf",
        files => { hosts => '127.0.0.1 a.test' });
}
my $proxy = with('');
is get($proxy, $fine)->status, 200, 'what stands well is fetched';
my $answer = get($proxy, $revoked);
is $answer->status, 503, 'what was revoked is not';
like $answer->body, qr/Reason: certificate revoked/, 'and why';
counters($proxy, 'tls.errors_revoked' => 1, 'tls.origins_refused' => 1);
is get($proxy, $lie)->status, 200, 'somebody else cannot revoke it';
$proxy = with("acl revoked ssl_error X509_V_ERR_CERT_REVOKED\nsslproxy_cert_error allow revoked\n");
is get($proxy, $revoked)->status, 200, 'unless it is forgiven';
counters($proxy, 'tls.origins_forgiven' => 1);
done;

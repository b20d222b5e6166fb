# 52-tls-leaf.t - forged certificates: who gets which one, from which store, made how often.
use Bobtail::Test;
BEGIN { need('IO::Socket::SSL', 'openssl') }
use Bobtail::Tls;
use IO::Socket::SSL ();
use IO::Socket::SSL::Utils qw(CERT_asHash CERT_create CERT_free KEY_free PEM_cert2file PEM_key2file);
use File::Temp ();

plan(skip_all => 'built without OpenSSL') unless -e "$ENV{BT_BUILDDIR}/modules/built/tls.so";
my $base = "http_port 127.0.0.1:0\nhttp_access allow all\n";

# Lines of Squid's helper are taken, with one friendly sentence for all of them.
my $said = parse($base . <<'CONF');
sslcrtd_program /no/such/security_file_certgen -s /var/lib/ssl_db -M 4MB
sslcrtd_children 32 startup=5 idle=1
CONF
is $said->{status}, 0, 'sslcrtd_program and sslcrtd_children are taken';
is scalar(() = $said->{output} =~ /warning:/g), 1, 'with one sentence' or diag $said->{output};
like $said->{output}, qr/:3:1: warning: no sslcrtd_program is needed: .* can go$/m, 'that says why';

# Mistakes are told at their place; ACLs that hold for none but all are asked for.
sub mistaken
{
    my ($line, $column, $text) = @_;
    my $told = parse($base . "$line\n");
    is $told->{status}, 1, "$line: refused";
    like $told->{output}, qr/:3:$column: error: .*$text/, 'and told why' or diag $told->{output};
    return;
}
mistaken('sslproxy_cert_sign signtrust all', 20, "did you mean 'signTrusted'");
mistaken('sslproxy_cert_sign signSelf', 1, 'name of an ACL');
mistaken('sslproxy_cert_adapt setValidAfte all', 21, "did you mean 'setValidAfter'");
mistaken('sslproxy_cert_adapt setValidAfter{x} all', 21, 'takes no value in braces');
mistaken('sslproxy_cert_adapt setCommonName{a..b} all', 21, 'neither a host name nor an address');
mistaken('sslproxy_cert_sign_hash sha1', 25, 'sha256');
mistaken('sslproxy_leaf_key dsa', 19, 'ecdsa');

$said = parse($base . <<'CONF');
sslproxy_cert_sign signTrusted all
sslproxy_cert_sign signUntrusted all
sslproxy_cert_adapt setCommonName all
sslproxy_cert_adapt setCommonName{www.example.org} all
sslproxy_cert_sign_hash sha384
sslproxy_leaf_key rsa
CONF
is $said->{status}, 0, 'all that there is' or diag $said->{output};


# --- the stage --------------------------------------------------------------------------------------

my $dir = File::Temp->newdir('bobtail-leaf-XXXXXXXX', TMPDIR => 1);
my ($ca, $crt) = ("$dir/ca.pem", "$dir/ca.crt");
run_program($ENV{BOBTAILCTL}, 'ca', 'init', $ca, '--name', 'The CA');
Bobtail::Proxy::write_file($crt, run_program($ENV{BOBTAILCTL}, 'ca', 'export', $ca)->{output});
my $hosts = "127.0.0.1 a.test b.test c.test d.test e.test other.test\n";
my $day = 24 * 3600;

sub bumping
{
    my ($conf, %how) = @_;
    my $options = delete $how{port} // '';
    return proxy("http_port 127.0.0.1:0 ssl-bump tls-cert=$ca $options\nhosts_file \@DIR\@/hosts\n"
        . "tls_outgoing_options cafile=" . ca_file() . " default-ca=off\n${conf}ssl_bump stare all\nssl_bump bump all\n",
        files => { hosts => $hosts }, %how);
}

# An origin with such a certificate: more of CERT_create.
sub site { my ($name, %more) = @_; return origin('*' => { body => 'inside' }, tls => server_certificate($name, \%more)) }

# A CONNECT and a handshake; the client trusts the CA, or looks at nothing.
sub bumped
{
    my ($proxy, $origin, $name, %how) = @_;
    my $tunnel = tunnel($proxy, "$name:" . $origin->port);
    $tunnel->response;
    return start_tls($tunnel, $name, SSL_ca_file => $crt, %how);
}
sub whatever { return bumped(@_, SSL_verify_mode => 0) }

# What the client was shown: serial, issuer, dates, names ...; and its print.
sub shown
{
    my ($conn) = @_;
    my $hash = CERT_asHash($conn->socket->peer_certificate);
    my $print = $conn->socket->get_fingerprint('sha256');
    $conn->close;
    return { %$hash, print => $print };
}
sub refused { my @args = @_; return eval { bumped(@args)->close; '' } // $@ }
sub names_of { my ($shown) = @_; return join ' ', map { $_->[1] } @{ $shown->{subjectAltNames} // [] } }
sub fetch
{
    my ($proxy, $origin, $name, %how) = @_;
    my $conn = bumped($proxy, $origin, $name, %how);
    return request(undef, GET => "https://$name:" . $origin->port . '/', on => $conn);
}

# --- one certificate for all workers, and after a reload ------------------------------------------

my $a = site('a.test');
my $proxy = bumping('', workers => 4);
my %seen;
my $clients = 0;
for (1 .. 40) {
    $seen{ shown(bumped($proxy, $a, 'a.test'))->{print} }++;
    $clients++;
}
is scalar keys %seen, 1, 'forty clients of four workers see one certificate';
my ($print) = keys %seen;
my $now = stats($proxy);
cmp_ok $now->{'tls.leaves_forged'}, '<=', 4, 'each worker makes it once at most';
is $now->{'tls.leaves_forged'} + $now->{'tls.leaves_ready'} + $now->{'tls.leaves_from_shared'}
    + $now->{'tls.leaves_joined'}, $clients, 'and each client is counted';
cmp_ok $now->{'tls.leaves'}, '>', 0, 'it is ready';
cmp_ok $now->{'tls.leaf_bytes'}, '>', 2000, 'bytes are counted';
ok wait_for(sub { stat($proxy, 'tls.shared_leaves') == 1 }), 'one is shared';
cmp_ok stat($proxy, 'tls.shared_leaf_bytes'), '>', 500, 'that costs';
cmp_ok stat($proxy, 'tls.shared_leaf_room'), '>', 3e6, 'out of some four megabytes';
ok wait_for(sub { my $days = stat($proxy, 'tls.ca_days'); $days > 3640 && $days < 3653 }),
    'one worker tells when the CA expires';

my @old = $proxy->workers;
$proxy->signal('HUP');
ok wait_for(sub { my @new = $proxy->workers; @new == 4 && !grep { my $p = $_; grep { $_ == $p } @new } @old }),
    'a reload';
mark($proxy);
is shown(bumped($proxy, $a, 'a.test'))->{print}, $print, 'the same certificate after it' for 1 .. 8;
counters($proxy, 'tls.leaves_forged' => 0);

# --- once for all who come at once -----------------------------------------------------------------

$proxy = bumping("sslproxy_cert_error allow all\n");
my @tunnels = map { tunnel($proxy, 'a.test:' . $a->port) } 1 .. 20;
$_->response for @tunnels;
my @pids = map {
    my $tunnel = $_;
    my $pid = fork // die "fork: $!";
    if (!$pid) {
        my $fine = eval { start_tls($tunnel, 'a.test', SSL_ca_file => $crt); 1 };
        POSIX::_exit($fine ? 0 : 1);
    }
    $pid;
} @tunnels;
my $fine = grep { waitpid($_, 0); $? == 0 } @pids;
$_->close for @tunnels;
is $fine, 20, 'twenty clients at once get one';
$now = stats($proxy);
is $now->{'tls.leaves_forged'}, 1, 'that was made once';
is $now->{'tls.leaves_joined'} + $now->{'tls.leaves_ready'}, 19, 'the others waited for it, or found it';
is $now->{'tls.leaves_from_shared'}, 0, 'in this worker';
like ctl($proxy, 'stats', 'tls.leaf_time')->{output}, qr/tls\.leaf_time +1 times/, 'how long it took is told';

# --- what is wrong with an origin stays wrong --------------------------------------------------------

my $leaf = shown(bumped($proxy, $a, 'a.test'));
is $leaf->{issuer}{commonName}, 'The CA', 'a good one is signed by the CA';
is names_of($leaf), 'a.test', 'for the same names';
is fetch($proxy, $a, 'a.test')->body, 'inside', 'and the answer comes through';

my $self = origin('*' => { body => 'inside' }, tls => do {
    my ($cert, $key) = CERT_create(subject => { commonName => 'b.test' }, subjectAltNames => [[DNS => 'b.test']]);
    PEM_cert2file($cert, "$dir/self.pem");
    PEM_key2file($key, "$dir/self.key");
    { cert => "$dir/self.pem", key => "$dir/self.key" };
});
$leaf = shown(whatever($proxy, $self, 'b.test'));
is $leaf->{issuer}{commonName}, 'b.test', 'who signed itself does so here';
like refused($proxy, $self, 'b.test'), qr/certificate verify failed/, 'and no client trusts it';

my ($other_ca, $other_key) = CERT_create(CA => 1, subject => { commonName => 'Somebody' });
my $unknown = site('c.test', issuer => [$other_ca, $other_key]);
$leaf = shown(whatever($proxy, $unknown, 'c.test'));
is $leaf->{issuer}{commonName}, 'Not trusted by "The CA"', 'whose authority nobody knows is signed by nobody';
like refused($proxy, $unknown, 'c.test'), qr/certificate verify failed/, 'whom no client trusts';

my $past = time - 3 * $day;
my $expired = site('d.test', not_before => $past - 10 * $day, not_after => $past);
$leaf = shown(whatever($proxy, $expired, 'd.test'));
is $leaf->{issuer}{commonName}, 'The CA', 'an expired one is signed by the CA';
is $leaf->{not_after}, $past, 'and has expired';
like refused($proxy, $expired, 'd.test'), qr/certificate verify failed/, 'as clients see';

$leaf = shown(whatever($proxy, $a, 'other.test'));
is names_of($leaf), 'a.test', 'one for another host is for that host';

# --- unless the configuration says otherwise ---------------------------------------------------------

$proxy = bumping(<<'CONF');
sslproxy_cert_error allow all
sslproxy_cert_sign signTrusted ssl::certSelfSigned
sslproxy_cert_sign signSelf ssl::certUntrusted
sslproxy_cert_sign signUntrusted ssl::certHasExpired
sslproxy_cert_adapt setValidAfter ssl::certHasExpired
sslproxy_cert_adapt setCommonName ssl::certDomainMismatch
CONF
is refused($proxy, $self, 'b.test'), '', 'signTrusted';
$leaf = shown(whatever($proxy, $unknown, 'c.test'));
is $leaf->{issuer}{commonName}, 'c.test', 'signSelf';
$leaf = shown(whatever($proxy, $expired, 'd.test'));
is $leaf->{issuer}{commonName}, 'Not trusted by "The CA"', 'signUntrusted';
cmp_ok $leaf->{not_after}, '>', time + 3000 * $day, 'setValidAfter: lives as long as the CA';
is refused($proxy, $a, 'other.test'), '', 'setCommonName: good for the host that was asked for';
is refused($proxy, $a, 'a.test'), '', 'one without a fault is as it was';
is names_of(shown(bumped($proxy, $a, 'a.test'))), 'a.test', 'by its own name';

# --- no origin, or none that can be copied: a page, under the name that was asked for ------------------

my $dead = origin('*' => {});
my $port = $dead->port;
$dead->stop;
mark($proxy);
my $tunnel = tunnel($proxy, "e.test:$port");
$tunnel->response;
my $conn = start_tls($tunnel, 'e.test', SSL_ca_file => $crt);
is names_of(shown($conn)), 'e.test', 'nobody listens: one for the name alone, that clients trust';

my $many = site('a.test', subjectAltNames => [map { [DNS => $_] } 'a.test', map { "h$_.a.test" } 1 .. 1000]);
my $answer = fetch($proxy, $many, 'a.test');
is $answer->status, 503, 'more than a thousand names: an error page';
like $answer->body, qr/too many or too long names/, 'that says why';

# a.test and b.test<NUL>c, as nobody but a forger writes them
run_program('openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout',
    "$dir/nul.key", '-out', "$dir/nul.pem", '-subj', '/CN=a.test', '-addext',
    '2.5.29.17=DER:30:12:82:06:61:2e:74:65:73:74:82:08:62:2e:74:65:73:74:00:63');
my $nul = origin('*' => { body => 'inside' }, tls => { cert => "$dir/nul.pem", key => "$dir/nul.key" });
$answer = fetch($proxy, $nul, 'a.test');
is $answer->status, 503, 'NUL in a name: an error page';
like $answer->body, qr/malformed part/, 'that says why';
counters($proxy, 'tls.leaves_refused_too_big' => 1, 'tls.leaves_refused_malformed' => 1,
    'tls.leaves_refused_nameless' => 0, 'tls.leaves_failed' => 0, 'tls.leaves_made_in_loop' => 0);

# --- keys --------------------------------------------------------------------------------------------

# Two clients of one host, one of which takes no ECDSA.
sub key_of
{
    my ($proxy_, %how) = @_;
    my $conn_ = bumped($proxy_, $a, 'a.test', %how);
    my $kind = Net::SSLeay::OBJ_obj2txt(Net::SSLeay::P_X509_get_pubkey_alg($conn_->socket->peer_certificate), 0);
    $conn_->close;
    return $kind;
}
my %old_client = (SSL_version => 'TLSv1_2', SSL_cipher_list => 'ECDHE-RSA-AES128-GCM-SHA256');
is key_of($proxy), 'id-ecPublicKey', 'ECDSA for who takes it';
is key_of($proxy, %old_client), 'rsaEncryption', 'RSA for who takes nothing else';
is key_of($proxy, %old_client), 'rsaEncryption', 'again';
$proxy = bumping("sslproxy_leaf_key rsa\nsslproxy_cert_sign_hash sha512\n");
is key_of($proxy), 'rsaEncryption', 'sslproxy_leaf_key rsa: for all';

# --- port options ------------------------------------------------------------------------------------

$proxy = bumping('', port => 'dynamic_cert_mem_cache_size=0');
$leaf = shown(bumped($proxy, $a, 'a.test'));
my $again = shown(bumped($proxy, $a, 'a.test'));
isnt $again->{serial}, $leaf->{serial}, 'nothing is kept: another one, under another number';
counters($proxy, 'tls.leaves_forged' => 2, 'tls.leaves' => 0, 'tls.shared_leaves' => 0);

$proxy = bumping('', port => 'generate-host-certificates=off');
$leaf = shown(whatever($proxy, $a, 'a.test'));
is $leaf->{subject}{commonName}, 'The CA', "generate-host-certificates=off: the port's own is shown";
counters($proxy, 'tls.leaves_forged' => 0);
CERT_free($other_ca);
KEY_free($other_key);
done;

# 53-tls-ca.t - bobtailctl ca: makes an authority for ssl-bump in one command, shows and exports it.
use Bobtail::Test;
use File::Temp ();
use IO::Socket::SSL::Utils ();

need('openssl');
plan(skip_all => 'built without OpenSSL') unless -e "$ENV{BT_BUILDDIR}/modules/built/tls.so";
my $dir = File::Temp->newdir('bobtail-ca-XXXXXXXX', TMPDIR => 1);

sub ca { return run_program($ENV{BOBTAILCTL}, 'ca', @_) }

# What the openssl program reads out of a file.
sub seen
{
    my ($file, @words) = @_;
    return run_program('openssl', 'x509', '-noout', '-in', $file, @words)->{output};
}

# --- init -------------------------------------------------------------------------------------

my $file = "$dir/ca.pem";
{
    my $before = umask 0;
    my $said = ca('init', $file);
    umask $before;
    is $said->{status}, 0, 'bobtailctl ca init makes one' or diag $said->{output};
    like $said->{output}, qr/http_port 3128 ssl-bump tls-cert=\Q$file\E$/m, 'and tells the line to write';
    like $said->{output}, qr/bobtailctl ca export \Q$file\E > /, 'how clients get it';
    like $said->{output}, qr/update-ca-certificates/, 'and where it goes there';
    like $said->{output}, qr/expires +\d{4}-\d\d-\d\d, in 365[12] days$/m, 'it lasts for ten years';
    is sprintf('%o', (CORE::stat $file)[2] & 07777), '600', 'only its owner may read it, whatever the umask';
}
my $whole = slurp($file);
is scalar(() = $whole =~ /-----BEGIN CERTIFICATE-----/g), 1, 'one file: a certificate';
is scalar(() = $whole =~ /-----BEGIN PRIVATE KEY-----/g), 1, 'and its key';
is run_program('openssl', 'verify', '-x509_strict', '-CAfile', $file, $file)->{status}, 0, 'openssl takes it';
like seen($file, '-text'), qr/CA:TRUE, pathlen:0.*Certificate Sign, CRL Sign/s, 'it is an authority';
like seen($file, '-text'), qr/prime256v1/, 'ECDSA on P-256';
like seen($file, '-subject'), qr/CN ?= ?Bobtail CA of \S/, 'named after the machine';
is run_program('openssl', 'x509', '-noout', '-checkend', 3651 * 86400, '-in', $file)->{status}, 0,
    'not expired after 3651 days';
isnt run_program('openssl', 'x509', '-noout', '-checkend', 3653 * 86400, '-in', $file)->{status}, 0,
    'but after 3653';

my $said = ca('init', $file);
is $said->{status}, 2, 'what is there is not written over';
like $said->{output}, qr/is there already/, 'but told';
is slurp($file), $whole, 'and stays as it is';
$said = ca('init', "$dir/no/ca.pem");
is $said->{status}, 2, 'no folder';
like $said->{output}, qr/No such file or directory/, 'is told';

$said = ca('init', "$dir/rsa.pem", '--rsa', '--name', 'Müller & Co', '--days', 29);
is $said->{status}, 0, '--rsa --name --days' or diag $said->{output};
like $said->{output}, qr/key +RSA, 2048 bits/, 'an RSA key of 2048 bits';
like $said->{output}, qr/subject +CN=Müller & Co$/m, 'any name';
like $said->{output}, qr/expires .*, in (?:28|29) days$/m, 'any time';
is run_program('openssl', 'verify', '-CAfile', "$dir/rsa.pem", "$dir/rsa.pem")->{status}, 0, 'it is sound';

# --- show -------------------------------------------------------------------------------------

$said = ca('show', $file);
is $said->{status}, 0, 'bobtailctl ca show' or diag $said->{output};
my ($print) = seen($file, '-fingerprint', '-sha256') =~ /=(\S+)/;
like $said->{output}, qr/SHA-256 +\Q$print\E$/m, 'the fingerprint that others show';
unlike $said->{output}, qr/PRIVATE|chmod/, 'nothing of the key';
chmod 0640, $file;
like ca('show', $file)->{output}, qr/others than its owner may read the key \(mode 640\); chmod 600 it/,
    'a key that others may read is told';
chmod 0600, $file;

# --- export -----------------------------------------------------------------------------------

$said = ca('export', $file);
is $said->{status}, 0, 'bobtailctl ca export';
like $said->{output}, qr/\A-----BEGIN CERTIFICATE-----\n[^-]+-----END CERTIFICATE-----\n\z/, 'the certificate alone';
like $whole, qr/\Q$said->{output}\E/, 'it is that of the file';
$said = ca('export', '--der', $file);
is $said->{status}, 0, '--der';
Bobtail::Proxy::write_file("$dir/ca.cer", $said->{output});
like run_program('openssl', 'x509', '-inform', 'DER', '-noout', '-fingerprint', '-sha256', '-in', "$dir/ca.cer")
    ->{output}, qr/\Q$print\E/, 'the same, not as text';

# --- mistakes ---------------------------------------------------------------------------------

for ([2, qr/ca has no command "shwo"/, 'shwo', $file], [2, qr/takes one file/, 'show', $file, $file],
    [2, qr/--days: a number from 1 to/, 'init', "$dir/x.pem", '--days', 'x'],
    [2, qr/--rsa: 2048 to 8192 bits/, 'init', "$dir/x.pem", '--rsa=512'],
    [2, qr/1 to 64 bytes/, 'init', "$dir/x.pem", '--name', 'x' x 65],
    [2, qr/'--foo' is no option/, 'show', '--foo'], [2, qr/No such file/, 'show', "$dir/none"],
    [0, qr/init \[FILE\].*show \[FILE\].*export \[FILE\]/s, 'help'], [0, qr/init \[FILE\]/])
{
    my ($status, $pattern, @words) = @$_;
    my $told = ca(@words);
    is $told->{status}, $status, "ca @words: status $status";
    like $told->{output}, $pattern, 'and a sentence';
}
ok !-e "$dir/x.pem", 'what is refused makes no file';
like run_program($ENV{BOBTAILCTL}, 'help')->{output}, qr/^  ca init\|show\|export/m, 'help names it';

# What is no authority: told, with status 1, and no reason for a server to start.
run_program('openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout',
    "$dir/leaf.key", '-out', "$dir/leaf.crt", '-subj', '/CN=leaf', '-addext', 'basicConstraints=CA:FALSE');
Bobtail::Proxy::write_file("$dir/leaf.pem", slurp("$dir/leaf.crt") . slurp("$dir/leaf.key"));
$said = ca('show', "$dir/leaf.pem");
is $said->{status}, 1, 'what is no authority';
like $said->{output}, qr/no certificate of a CA/, 'is told';

# --- a server takes what was made ---------------------------------------------------------------

my $conf = "http_port 127.0.0.1:0 ssl-bump tls-cert=%s\nssl_bump stare all\nssl_bump bump all\n"
    . "http_access allow all\n";
$said = parse(sprintf $conf, $file);
is $said->{status}, 0, 'a server takes it' or diag $said->{output};
unlike $said->{output}, qr/warning:/, 'without a word';
like parse(sprintf $conf, "$dir/rsa.pem")->{output}, qr/^\@DIR\@\/bobtail.conf:1:\d+: warning: the CA expires in/m,
    'one that expires within 30 days is taken with a warning';
$said = parse(sprintf $conf, "$dir/leaf.pem");
is $said->{status}, 1, 'what is no authority is refused';
like $said->{output}, qr/:1:\d+: error: .*no certificate of a CA/, 'with a sentence';
$said = parse(sprintf $conf, "$dir/leaf.crt");
is $said->{status}, 1, 'an authority without its key is refused';
like $said->{output}, qr/:1:\d+: error: .*no private key/, 'with a sentence';
my ($old, $old_key) = IO::Socket::SSL::Utils::CERT_create(
    CA => 1, subject => { commonName => 'old' }, not_before => time - 9e5, not_after => time - 8e5);
IO::Socket::SSL::Utils::PEM_cert2file($old, "$dir/old.crt");
IO::Socket::SSL::Utils::PEM_key2file($old_key, "$dir/old.key");
Bobtail::Proxy::write_file("$dir/old.pem", slurp("$dir/old.crt") . slurp("$dir/old.key"));
$said = parse(sprintf $conf, "$dir/old.pem");
is $said->{status}, 1, 'one that has expired is refused';
like $said->{output}, qr/:1:\d+: error: .*the CA expired at/, 'with a sentence';
done;

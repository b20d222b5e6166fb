# 55-tls-keylog.t - tls_key_log: secrets of connections in a file, of those that are asked for.
use Bobtail::Test;
plan(skip_all => 'built without OpenSSL') unless -e "$ENV{BT_BUILDDIR}/modules/built/tls.so";
BEGIN { need('IO::Socket::SSL', 'curl') }
use Bobtail::Tls;

my $cert = server_certificate('proxy.test', '127.0.0.1', 'a.test');
my ($origin, $another) = map { origin('/a' => { body => 'one' }, tls => $cert, name => 'a.test') } 1 .. 2;
my $conf = "https_port 127.0.0.1:0 tls-cert=$cert->{cert} tls-key=$cert->{key} name=tls\n"
    . "http_port 127.0.0.1:0 name=plain\nhosts_file \@DIR\@/hosts\ntls_outgoing_options cafile=" . ca_file() . "\n";
my %files = (files => { hosts => '127.0.0.1 a.test' });
sub lines { my ($proxy) = @_; return split /\n/, $proxy->text('keys') }

# Both sides; what the client writes down is what stands here.
my $proxy = proxy("${conf}tls_key_log \@DIR\@/keys\n", %files);
my $theirs = $proxy->file('theirs');
my $said = do {
    local $ENV{SSLKEYLOGFILE} = $theirs;
    Bobtail::Stat::run_program('curl', '-sS', '-x', 'https://127.0.0.1:' . $proxy->port_of('tls'),
        '--proxy-cacert', ca_file(), '-o', '/dev/null', '-w', '%{http_code}', 'http://127.0.0.1:' . $origin->port . '/');
};
my %mine = map { $_ => 1 } lines($proxy);
my @missing = grep { !$mine{$_} } grep { /^(?:CLIENT|SERVER)_/ } split /\n/, $proxy->text('theirs');
cmp_ok scalar(keys %mine), '>=', 4, 'there are some lines';
is "@missing", '', 'and among them all that the client knows';
my $before = lines($proxy);
is get('127.0.0.1:' . $proxy->port_of('plain'), $origin->url('/a'))->body, 'one', 'an origin';
cmp_ok scalar(lines($proxy)), '>', $before, 'has its lines, too';
is grep({ !/^[A-Z_0-9]+ [0-9a-f]{64} [0-9a-f]{64,96}$/ } lines($proxy)), 0, 'all well formed';
is +(CORE::stat $proxy->file('keys'))[2] & 07777, 0600, 'in a file that is for its owner';
like $proxy->output . $proxy->log, qr/warning: .*whoever can read .*keys can read/, 'with a warning';

# Only what the ACLs hold for; nothing is known of a client of https_port.
$proxy = proxy("${conf}acl this req_header X-Log this\ntls_key_log stdio:\@DIR\@/keys this\n", %files);
start_tls(client('127.0.0.1:' . $proxy->port_of('tls')), 'proxy.test')->close;
get('127.0.0.1:' . $proxy->port_of('plain'), $origin->url('/a'));
is scalar(lines($proxy)), 0, 'not of others';
get('127.0.0.1:' . $proxy->port_of('plain'), $another->url('/a'), headers => { 'X-Log' => 'this' });
cmp_ok scalar(lines($proxy)), '>', 0, 'of these';

for (['keys', "'keys' is no file with its whole path"], ['/no/such/keys', 'No such file or directory']) {
    my ($file, $why) = @$_;
    my $told = parse("http_port 127.0.0.1:0\nhttp_access allow all\ntls_key_log $file\n");
    is $told->{status}, 1, "$file: refused";
    like $told->{output}, qr/:3:13: error: .*\Q$why\E/, 'and why' or diag $told->{output};
}
is parse("http_port 127.0.0.1:0\nhttp_access allow all\ntls_key_log none\n")->{status}, 0, 'none';
done;

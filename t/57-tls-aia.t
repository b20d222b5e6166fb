# 57-tls-aia.t - certificates that an origin does not send are fetched from where its certificate says.
use Bobtail::Test;
plan(skip_all => 'built without OpenSSL') unless -e "$ENV{BT_BUILDDIR}/modules/built/tls.so";
BEGIN { need('IO::Socket::SSL', 'openssl') }
use Bobtail::Tls;
use IO::Socket::SSL::Utils qw(CERT_create KEY_create_ec PEM_cert2file PEM_key2file PEM_cert2string);
use File::Temp ();

my $dir = File::Temp->newdir('bobtail-tls-XXXXXXXX', TMPDIR => 1);
chmod 0755, "$dir";
sub text { my ($file) = @_; open my $in, '<:raw', $file or die "$file: $!"; local $/; return <$in> }
sub openssl
{
    my $said = Bobtail::Stat::run_program('openssl', @_);
    $said->{status} eq '0' or die "openssl @_: $said->{output}";
    return;
}

# ---- a root, and chains below it: each certificate says where its issuer's is ----

my $shelf = origin();
my $serial = 1;
my $key = KEY_create_ec();    # of all of them: it is names that are looked for
my @root = CERT_create(key => $key, CA => 1, subject => { commonName => 'root' }, serial => 1);
PEM_cert2file($root[0], "$dir/root.pem");
sub says { return map { { sn => 'authorityInfoAccess', data => join ',', map { "caIssuers;URI:$_" } @_ } } @_ ? 1 : () }
sub between
{
    my ($name, $by, @urls) = @_;
    return [CERT_create(key => $key, CA => 1, subject => { commonName => $name }, serial => ++$serial, issuer => $by, ext => [says(@urls)])];
}
sub below
{
    my ($by, @urls) = @_;
    my ($cert) = CERT_create(key => $key, subject => { commonName => 'a.test' }, serial => ++$serial, purpose => 'server', issuer => $by,
        subjectAltNames => [['DNS', 'a.test']], ext => [says(@urls)]);
    PEM_cert2file($cert, "$dir/$serial.pem");
    PEM_key2file($key, "$dir/$serial.key");
    return origin('/a' => { body => 'one' }, '/close' => { body => 'one', close => 1 }, name => 'a.test',
        tls => { cert => "$dir/$serial.pem", key => "$dir/$serial.key" });
}
sub der
{
    my ($cert) = @_;
    PEM_cert2file($cert, "$dir/cert.pem");
    openssl('x509', '-in', "$dir/cert.pem", '-outform', 'DER', '-out', "$dir/cert.der");
    return text("$dir/cert.der");
}
sub bag
{
    my ($form, @certs) = @_;
    my @file;
    PEM_cert2file($certs[$_], "$dir/bag$_.pem"), push @file, '-certfile', "$dir/bag$_.pem" for 0 .. $#certs;
    openssl('crl2pkcs7', '-nocrl', @file, '-outform', $form, '-out', "$dir/bag");
    return text("$dir/bag");
}
sub put { my ($path, $body, %how) = @_; $shelf->set($path, { body => $body, 'Cache-Control' => 'no-store', %how }); return $shelf->url($path) }

sub with
{
    my ($conf, %how) = @_;
    return proxy(<<"CONF" . $conf, files => { hosts => "127.0.0.1 a.test\n" }, %how);
hosts_file \@DIR\@/hosts
tls_outgoing_options cafile=$dir/root.pem default-ca=off
acl fetching transaction_initiator certificate-fetching
logformat who %>a %Ss/%>Hs %ru
access_log stdio:\@DIR\@/access.log logformat=who
CONF
}
sub got
{
    my ($proxy, $url) = @_;
    my $answer = get($proxy, $url);
    my ($why) = $answer->body =~ /^<p>Reason: (.*)\.<\/p>/m;
    return $answer->status == 200 ? $answer->body : $answer->status . ' ' . ($why // '');
}
my $missing = '503 unable to get local issuer certificate';

my $first = between('first', \@root);
my %form = (der => der($first->[0]), pem => PEM_cert2string($first->[0]), bag => bag('DER', $first->[0]), 'bag.pem' => bag('PEM', $first->[0]));
my $proxy = with("sslproxy_fetch_intermediates any\n");
for my $form (sort keys %form) {
    my $origin = below($first, put("/first.$form", $form{$form}));
    is got($proxy, $origin->url('/close')), 'one', "$form: fetched";
    is got($proxy, $origin->url('/a')), 'one', '... and remembered';
    is $shelf->hits("/first.$form"), 1, '... so that it is fetched once';
}
counters($proxy, 'tls.aia_fetched' => 4, 'tls.aia_completed' => 8, 'tls.aia_failed' => 0, 'tls.errors_untrusted' => 0, 'fetch.begun' => 4);
ok wait_for(sub { $proxy->text('access.log') =~ m{^- TCP_MISS/200 http://\S+/first\.der$}m }), 'logged, without a client';
is $shelf->seen_header('/first.der', 'X-Forwarded-For'), undef, 'asked for nobody';

# ---- more than one ----

my $second = between('second', $first, put('/deep-first', $form{der}));
my $third = between('third', $second, put('/deep-second', der($second->[0])));
is got($proxy, below($third, put('/deep-third', der($third->[0])))->url('/a')), 'one', 'three, one after the other';
is got($proxy, below($third, put('/bag', bag('DER', map { $_->[0] } $first, $second, $third)))->url('/a')), 'one', 'three in a bag';
is got($proxy, below($first, put('/none', 'x', status => 404), put('/second-url', $form{der}))->url('/a')), 'one', 'the second URL, when the first has nothing';
my $by = $first;
my $url = put('/long0', $form{der});
for my $i (1 .. 5) { $by = between("long$i", $by, $url); $url = put("/long$i", der($by->[0])) }
is got($proxy, below($by, $url)->url('/a')), $missing, 'six are too many';
is $shelf->hits('/long2') . $shelf->hits('/long1'), '10', '... the fifth is not asked for';

# ---- what is no use ----

my ($other) = CERT_create(CA => 1, subject => { commonName => 'other' }, serial => 1);
my %bad = (
    garbage => ['not a certificate'], empty => [''], large => [$form{pem} . '#' x 66_000], teapot => [$form{der}, status => 418],
    cut => [$form{der}, cut => 100], half => [substr $form{der}, 0, 300], other => [der($other)],
    head => ["-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n"], moved => ['', status => 302, Location => '/first.der'],
    key => [text("$dir/$serial.key")],
);
for my $what (sort keys %bad) {
    is got($proxy, below($first, put("/bad-$what", @{ $bad{$what} }))->url('/a')), $missing, "$what: refused as before";
    is $shelf->hits("/bad-$what"), 1, '... and asked for once';
}
my $origin = below($first, map { put("/again$_", 'nothing') } 1, 2);
is got($proxy, $origin->url('/a')), $missing, 'nothing at both URLs';
is got($proxy, $origin->url('/a')), $missing, '... nor later';
is $shelf->hits('/again1') . $shelf->hits('/again2'), '11', '... who is not asked at once again';
put('/again1', $form{der});
later($proxy, 301);
is got($proxy, $origin->url('/a')), 'one', '... but in five minutes';
my $loop = between('loop', $first, $shelf->url('/loop'));
is got($proxy, below($loop, put('/loop', der($loop->[0])))->url('/a')), $missing, 'a certificate that names itself';
my $self = between('self', \@root);
my @fake = CERT_create(CA => 1, subject => { commonName => 'self' }, serial => 9);
unlike got($proxy, below(\@fake, put('/self', der($fake[0])))->url('/a')), qr/^one/, 'one that is signed by itself is not trusted';
is got($proxy, below($first, 'https://127.0.0.1:1/x', 'ftp://127.0.0.1/x', 'ldap:///x', 'http://' . 'x' x 3000)->url('/a')), $missing, 'other URLs are none';
is got($proxy, below($first, 'http://127.0.0.1:' . $proxy->port . '/')->url('/a')), $missing, 'nor are our own ports';
is got($proxy, below($first, "http://bad host/")->url('/a')), $missing, 'nor what is no URL';
is got($proxy, below($first)->url('/a')), $missing, 'a certificate that says nothing';

# ---- at the same time; slowly ----

my $never = below($first, put('/never', $form{der}, hold => 1));    # before the clients: it would have their sockets, too
my @slow = map { below($first, put('/slow', $form{der}, hold => 1)) } 1 .. 5;
my @waiting = map { my $c = client($proxy); $c->send('GET ' . $_->url('/a') . " HTTP/1.1\r\nHost: a.test\r\n\r\n"); $c } @slow;
ok wait_for(sub { $shelf->hits('/slow') == 1 && stat($proxy, 'tls.origins') == 5 + stat($proxy, 'origin.idle') }), 'five handshakes wait for one';
(shift @waiting)->close;
ok wait_for(sub { stat($proxy, 'tls.origins') == 4 + stat($proxy, 'origin.idle') }), '... one gives up';
$shelf->release('/slow');
is $_->response->body, 'one', '... the others go on' for @waiting;
is $shelf->hits('/slow'), 1, '... of one fetch';
my $waits = client($proxy);
$waits->send('GET ' . $never->url('/a') . " HTTP/1.1\r\nHost: a.test\r\n\r\n");
ok wait_for(sub { $shelf->hits('/never') }), 'a fetch that takes too long';
later($proxy, 11);
is $waits->response->status, 503, '... is given up';
$_->close for @waiting, $waits;
is join(', ', $proxy->stop), '', 'it ends clean';

# ---- who may be asked ----

my $plain = with('');
$origin = below($first, put('/plain', $form{der}));
is got($plain, $origin->url('/a')), $missing, 'a private address is not asked';
is $shelf->hits('/plain'), 0, '... at all';
counters($plain, 'fetch.private' => 1, 'tls.aia_failed' => 1);
ok $plain->wait_log(qr/could not be had from \S+plain: denied: it is at a private address/), '... which the log says';
my $off = with("sslproxy_fetch_intermediates off\n");
is got($off, $origin->url('/a')), $missing, 'sslproxy_fetch_intermediates off';
counters($off, 'fetch.begun' => 0);
my $denied = with("sslproxy_fetch_intermediates any\nhttp_access deny fetching\nhttp_access allow all\n");
is got($denied, $origin->url('/a')), $missing, 'http_access is asked';
ok $denied->wait_log(qr/could not be had .* transaction_initiator certificate-fetching/), '... and the log tells how it is';
is $shelf->hits('/plain'), 0, '... and nobody else';
my $careless = with("sslproxy_fetch_intermediates any\ntls_outgoing_options cafile=$dir/root.pem flags=DONT_VERIFY_PEER\n");
is got($careless, $origin->url('/a')), 'one', 'who does not verify';
is $shelf->hits('/plain'), 0, '... needs none';
my $bump = server_certificate('ca.test', { CA => 1, purpose => 'ca' });
my $bumping = with(<<"CONF");
sslproxy_fetch_intermediates any
http_port 127.0.0.1:0 ssl-bump tls-cert=$bump->{cert} tls-key=$bump->{key}
ssl_bump stare all
ssl_bump bump all
CONF
my $within = start_tls(tunnel($bumping, 'a.test:' . $origin->port), 'a.test', SSL_verify_mode => 0);
$within->send("GET /a HTTP/1.1\r\nHost: a.test:@{[$origin->port]}\r\n\r\n");
is $within->response->body, 'one', 'bumped';
is $shelf->hits('/plain'), 1, '... with what was fetched';
$within->close;
done;

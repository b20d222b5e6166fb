# 56-tls-hostile.t - TLS with those who mean ill: origins that are cut off, or pose as others.
use Bobtail::Test;
plan(skip_all => 'built without OpenSSL') unless -e "$ENV{BT_BUILDDIR}/modules/built/tls.so";
BEGIN { need('IO::Socket::SSL') }
use Bobtail::Tls;
use File::Temp ();

my $dir = File::Temp->newdir('bobtail-hostile-XXXXXXXX', TMPDIR => 1);
my $ca = "$dir/ca.pem";
run_program($ENV{BOBTAILCTL}, 'ca', 'init', $ca, '--name', 'The CA');

my $bumps = "http_port 127.0.0.1:0 ssl-bump tls-cert=$ca\nssl_bump stare all\nssl_bump bump all\n"
    . 'tls_outgoing_options cafile=' . ca_file() . "\nhosts_file \@DIR\@/hosts\n";
my %hosts = (files => { hosts => "127.0.0.1 a.test b.test\n" });
sub bumped
{
    my ($proxy, $origin) = @_;
    return start_tls(tunnel($proxy, 'a.test:' . $origin->port), 'a.test', SSL_verify_mode => 0);
}

# ---- origins that are cut off ----

my $begun = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello";
my $chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\nhe";
my $proxy = proxy($bumps, %hosts);
for my $version (qw(TLSv1_2 TLSv1_3)) {
    my $origin = origin('/reset' => { raw => $begun, reset => 1 }, '/end' => { raw => $chunks, close => 1 },
        tls => { %{ server_certificate('a.test') }, how => { SSL_version => $version } }, name => 'a.test');

    # A reset behind the bytes makes no event of its own.
    my @ends = map { my $answer = eval { get($proxy, $origin->url('/reset')) }; $answer ? $answer->status : 'silence' } 1 .. 8;
    is scalar(grep { $_ eq 'silence' } @ends), 0, "a reset right behind the answer is noticed, $version (@ends)";

    # To HTTP/1.0 an answer lasts until the connection ends, and TLS says whether that is the end.
    my $conn = bumped($proxy, $origin);
    $conn->send("GET /end HTTP/1.0\r\nHost: a.test:" . $origin->port . "\r\n\r\n");
    my $said = eval { $conn->rest } // '';
    my $ended = Net::SSLeay::get_shutdown($conn->socket->_get_ssl_object) & 2;
    is "$said $ended" =~ s/.*\r\n//sr, 'hellohe 0', "what was cut off does not end with a close-notify, $version";
    $conn->close;
}

# ---- a handshake without end ----

# Messages that OpenSSL overlooks (HelloRequest), for as long as they are taken, or some seconds.
my $flood = IO::Socket::IP->new(LocalHost => '127.0.0.1', LocalPort => 0, Listen => 5) or die $@;
my $flooder = fork // die "fork: $!";
if (!$flooder) {
    local $SIG{PIPE} = 'IGNORE';
    my $conn = $flood->accept;
    sysread $conn, my $hello, 65536;
    syswrite $conn, pack('H*', '16030300310200002d0303') . 'r' x 32 . pack('H*', '00c02f000005ff01000100');
    my $end = time + 10;
    1 while time < $end && syswrite $conn, ("\x16\x03\x03\x40\x00" . "\0" x 16384) x 16;
    POSIX::_exit(0);
}
like get($proxy, 'https://a.test:' . $flood->sockport . '/')->body, qr/^<p>Reason: a handshake without end\.<\/p>/m,
    'an origin that never ends its handshake does not keep all others waiting';
waitpid $flooder, 0;

# ---- clients that leave ----

my $silent = origin('*' => { body => 'never', hold => 1 }, tls => server_certificate('a.test'), name => 'a.test');
for my $way (qw(reset close)) {
    my $conn = bumped($proxy, $silent);
    $conn->send("GET /$way HTTP/1.1\r\nHost: a.test:" . $silent->port . "\r\n\r\n");
    wait_for(sub { $silent->hits("/$way") });
    is stat($proxy, 'client.active'), 1, "$way: the exchange waits for its origin";
    $conn->$way;
    ok wait_for(sub { stat($proxy, 'client.active') == 0 }), 'and ends when its client leaves';
}

# ---- what is forgiven to one ----

my $lax = proxy($bumps . <<'CONF', %hosts);
cache_mem 16 MB
acl lax req_header X-Lax .
sslproxy_cert_error allow lax
CONF
my $poser = origin('/kept' => { body => 'evil', 'Cache-Control' => 'max-age=600' },
    tls => server_certificate('b.test'), name => 'a.test');
my @forgives = (headers => { 'X-Lax' => 'yes' });
is get($lax, $poser->url('/kept'), @forgives)->body, 'evil', 'a certificate for another host is forgiven to some';
is get($lax, $poser->url('/kept'))->status, 503, 'what they got is not kept for others';
is get($lax, $poser->url('/kept'), @forgives)->body, 'evil', 'they themselves get it again';
is $poser->hits('/kept'), 2, 'from the origin';
my $honest = origin('/kept' => { body => 'fine', 'Cache-Control' => 'max-age=600' },
    tls => server_certificate('a.test'), name => 'a.test');
get($lax, $honest->url('/kept')) for 1 .. 2;
is $honest->hits('/kept'), 1, 'what has proven to be who it must be is kept';

my $blind = proxy($bumps =~ s/^(tls_outgoing_options.*)/$1 flags=DONT_VERIFY_DOMAIN/mr . "cache_mem 16 MB\n", %hosts);
is get($blind, $poser->url('/kept'))->body, 'evil', 'DONT_VERIFY_DOMAIN: anybody will do';
get($blind, $poser->url('/kept'));
is $poser->hits('/kept'), 4, 'and nothing of him is kept';
get($blind, $honest->url('/kept')) for 1 .. 2;
is $honest->hits('/kept'), 2, 'of the right one it is';
done;

# 7F-log-tls.t - access logs over TCP with TLS: to whoever has a certificate for the host, and nobody else.
use Bobtail::Test;
need('IO::Socket::SSL');
use Bobtail::Tls;
use IO::Socket::INET;

my $origin = origin('*' => { body => 'any' });
my $good = server_certificate('127.0.0.1');
my $other = server_certificate('other.test');

sub listen_on
{
    my ($port) = @_;
    return IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $port, Listen => 5, ReuseAddr => 1) || die "listen: $@";
}

# The next connection, with its handshake done; undef: there was none.
sub secure
{
    my ($listener, $cert) = @_;
    readable($listener) or return;
    my $conn = $listener->accept or return;
    return Bobtail::Tls::server_side($conn, $cert);
}

sub text_until
{
    my ($conn, $fits) = @_;
    my $text = '';
    local $SIG{ALRM} = sub { die "nothing comes\n" };
    alarm patience();
    eval { while ($text !~ $fits) { sysread $conn, $text, 65536, length $text or last } };
    alarm 0;
    return $text;
}

my ($lines, $octets) = (listen_on(0), listen_on(0));
my $proxy = proxy(<<"CONF");
logformat path %>rp
tls_outgoing_options cafile=${\ca_file()}
access_log tcp://127.0.0.1:${\$lines->sockport}?tls path
access_log tcp://127.0.0.1:${\$octets->sockport}?tls&framing=octets logformat=path
CONF
get($proxy, $origin->url("/s$_")) for 1 .. 3;
my @conn = map { secure($_, $good) } $lines, $octets;
ok $conn[0] && $conn[1], 'both have spoken TLS';
is text_until($conn[0], qr{/s3\n}), "/s1\n/s2\n/s3\n", 'lines';
is text_until($conn[1], qr{/s3}), '3 /s13 /s23 /s3', 'lines behind their length';
is stat($proxy, 'log.lost'), 0, 'none is lost';

# Many, more than a socket takes at once.
my $client = client($proxy);
my $long = 'l' x 3000;
for my $n (1 .. 300) {
    $client->send('GET ' . $origin->url("/$long/$n") . " HTTP/1.1\r\nHost: x\r\n\r\n");
    $client->response;
}
$client->close;
my @numbers = text_until($conn[0], qr{/300\n}) =~ m{^/l+/(\d+)$}mg;
is join(' ', @numbers), join(' ', 1 .. 300), 'many, whole and in order';

# The receiver ends; another one with a certificate for somebody else gets nothing.
my $port = $lines->sockport;
$_->close for $conn[0], $lines;
get($proxy, $origin->url('/waits'));
$proxy->expect_log(qr/cannot be reached/);
ok wait_for(sub { $proxy->log =~ /cannot be reached/ }), 'one that is away is told of';
my $strange = listen_on(0);
my $is = proxy("logformat path %>rp\ntls_outgoing_options cafile=${\ca_file()}\naccess_log tcp://127.0.0.1:${\$strange->sockport}?tls path\n");
$is->expect_log(qr/cannot be reached/, qr/not taken by their receiver/);
my $fake = secure($strange, $other);
ok !$fake || text_until($fake, qr{/}) eq '', 'who is not the host gets no line';
get($is, $origin->url('/secret'));
ok wait_for(sub { $is->log =~ /tcp:\S+ cannot be reached \([^)]*certificate[^)]*\)/ }), 'and why is said' or diag $is->log;
ok !$fake || text_until($fake, qr{/}) eq '', 'still none';
$is->stop;

# The right one gets what has waited.
$lines = listen_on($port);
my $real;
wait_for(sub { $real = secure($lines, $good) });
like text_until($real, qr{/waits\n}), qr{^/waits\n}m, 'the right one gets what has waited';

like parse("http_port 127.0.0.1:0\naccess_log tcp://127.0.0.1:1?tls&nothing squid\n")->{output}, qr/'nothing' is nothing that a log can have/, 'an option that is none';
like parse("http_port 127.0.0.1:0\nmodule tls off\naccess_log tcp://127.0.0.1:1?tls squid\n")->{output}, qr/the module tls must be there/, 'without TLS there is none';
like parse("http_port 127.0.0.1:0\naccess_log udp://127.0.0.1:1?tls squid\n")->{output}, qr/nothing that a log can have/, 'UDP has none';
done;

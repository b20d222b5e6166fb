# 78-log-writers.t - access logs to syslog, UDP and TCP: what arrives, and receivers that are slow, away
# or come back.
use Bobtail::Test;
use IO::Socket::INET;
use IO::Socket::UNIX;
use Socket qw(SOCK_DGRAM SOCK_STREAM SOL_SOCKET SO_RCVBUF);

my $origin = origin('*' => { body => 'any', 'Content-Type' => 'text/plain' });

# The packets that come until there are `n`.
sub packets
{
    my ($socket, $n) = @_;
    my @got;

    while (@got < $n && readable($socket)) {
        last unless defined $socket->recv(my $packet, 65536);
        push @got, $packet;
    }
    return @got;
}

# Text of a connection, until it fits.
sub text_until
{
    my ($socket, $fits) = @_;
    my $text = '';

    while ($text !~ $fits && readable($socket)) {
        last unless sysread $socket, $text, 65536, length $text;
    }
    return $text;
}

sub listen_on
{
    my ($port) = @_;
    return IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $port, Listen => 5, ReuseAddr => 1) || die "listen: $@";
}

# --- syslog ----------------------------------------------------------------------------------------

my $dir = File::Temp::tempdir('bobtail-XXXXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $dir;
my $path = "$dir/log";
my $daemon = IO::Socket::UNIX->new(Local => $path, Type => SOCK_DGRAM) || die "$path: $!";
chmod 0777, $path;
my $proxy = proxy(<<"CONF");
logformat path %>rp
access_log syslog:local0.notice\@$path path
access_log syslog:daemon\@$path squid
CONF
get($proxy, $origin->url('/one'));
my @got = sort(packets($daemon, 2));
like $got[0], qr{^<133>\w{3} [ \d]\d \d\d:\d\d:\d\d bobtail\[\d+\]: /one$}, 'facility and priority, time, who, and the line';
like $got[1], qr{^<30>.* TCP_MISS/200 \d+ GET \S+ - HIER_DIRECT/127\.0\.0\.1 text/plain$}, 'info where nothing else is said';
get($proxy, $origin->url("/$_")) for 1 .. 100;
@got = grep { /^<133>/ } packets($daemon, 200);
is join(' ', map { m{/(\d+)$} } @got), join(' ', 1 .. 100), 'many lines come, in order, a packet each';
is stat($proxy, 'log.lost'), 0, 'none is lost';

# It goes away, and lines wait for it.
$daemon->close;
unlink $path;
get($proxy, $origin->url('/away'));
ok wait_for(sub { $proxy->log =~ /syslog:local0\.notice\S* cannot be reached/ }), 'a daemon that is away is told of';
$proxy->expect_log(qr/cannot be reached/);
$daemon = IO::Socket::UNIX->new(Local => $path, Type => SOCK_DGRAM) || die "$path: $!";
chmod 0777, $path;
is scalar(grep { m{/away} } packets($daemon, 2)), 2, 'and gets what waited when it is back';

# --- a daemon that reads nothing: traffic does not wait, what is lost is counted ---------------------------

my $deaf_path = "$dir/deaf";
my $deaf = IO::Socket::UNIX->new(Local => $deaf_path, Type => SOCK_DGRAM) || die "$deaf_path: $!";
chmod 0777, $deaf_path;
my $stalled = proxy(<<"CONF");
logformat fat %>rp %{X-Fat}>h
access_log syslog:local0.info\@$deaf_path fat
CONF
my $fat = 'f' x 12000;
my $client = client($stalled);
for my $n (1 .. 400) {
    $client->send('GET ' . $origin->url("/$n") . " HTTP/1.1\r\nHost: x\r\nX-Fat: $fat\r\n\r\n");
    last unless $client->response->status == 200;
    is 1, 1, 'all requests are answered' if $n == 400;
}
ok wait_for(sub { stat($stalled, 'log.lost') > 0 && stat($stalled, 'log.lost') + stat($stalled, 'log.lines') == 400 }),
    'lines that no queue takes are counted as lost, the others as written';
my $lost = stat($stalled, 'log.lost');
$client->close;
$stalled->expect_log(qr/were not taken by their receiver/);
is scalar(() = $stalled->log =~ /were not taken/g), 1, 'said once';
@got = packets($deaf, 400 - $lost);
is scalar @got, 400 - $lost, 'what was not lost comes when it reads';
my @numbers = map { m{: /(\d+) } } @got;
is join(' ', @numbers), join(' ', sort { $a <=> $b } @numbers), 'in order';

# --- UDP ---------------------------------------------------------------------------------------------------

my $udp = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Proto => 'udp') || die "udp: $@";
my $to_udp = proxy("logformat path %>rp\naccess_log udp://127.0.0.1:" . $udp->sockport . " path\n");
get($to_udp, $origin->url("/u$_")) for 1 .. 3;
is join(',', packets($udp, 3)), '/u1,/u2,/u3', 'udp: a packet a line';
my $udp_port = $udp->sockport;
$udp->close;
get($to_udp, $origin->url("/x$_")) for 1 .. 3;
wait_for(sub { stat($to_udp, 'log.lines') >= 6 });
$udp = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $udp_port, Proto => 'udp') || die "udp: $@";
get($to_udp, $origin->url('/back'));
is((grep { m{^/back$} } packets($udp, 1), packets($udp, 0))[0] // (packets($udp, 3))[-1], '/back', 'udp: nobody there is no end of it');

# --- TCP ---------------------------------------------------------------------------------------------------

my $tcp = listen_on(0);
my $port = $tcp->sockport;
my $to_tcp = proxy(<<"CONF");
logformat path %>rp
access_log tcp://127.0.0.1:$port path
access_log tcp://127.0.0.1:$port?framing=octets logformat=path
CONF
get($to_tcp, $origin->url("/t$_")) for 1 .. 3;
my %side;
for (1, 2) {
    readable($tcp);
    my $conn = $tcp->accept;
    my $text = text_until($conn, qr{/t3});
    $side{ $text =~ /^\d/ ? 'octets' : 'lines' } = [ $conn, $text ];
}
is $side{lines}[1], "/t1\n/t2\n/t3\n", 'tcp: lines';
is $side{octets}[1], '3 /t13 /t23 /t3', 'tcp: lines behind their length';

# The receiver ends, and comes back: lines wait.
$_->[0]->close for values %side;
$tcp->close;
get($to_tcp, $origin->url('/gone'));
ok wait_for(sub { $to_tcp->log =~ /tcp:\S+ cannot be reached/ }), 'tcp: a receiver that is away is told of';
$to_tcp->expect_log(qr/cannot be reached/);
$tcp = listen_on($port);
my (@texts, @conns);
for (1, 2) {
    readable($tcp);
    push @conns, scalar $tcp->accept;
    push @texts, text_until($conns[-1], qr{/gone});
}
is join('|', sort @texts), "/gone\n|5 /gone", 'tcp: it gets what waited when it is back';

# What is still there when the server ends is sent.
get($to_tcp, $origin->url('/last'));
$to_tcp->stop;
like text_until($conns[0], qr{/last}), qr{/last}, 'tcp: a server that ends sends what it has';

# --- a configuration of 2011 -----------------------------------------------------------------------------------

my $of_2011 = proxy(<<'CONF');
icp_port 0
visible_hostname old.test
cache_effective_user nobody
cache_effective_group nogroup
append_domain .example.test
pid_filename @DIR@/pid
cache_dir null /tmp
client_db off
cache_access_log syslog squid
cache_log @DIR@/cache.log
cache_store_log none
coredump_dir none
no_cache deny all
CONF
is get($of_2011, $origin->url('/2011'))->status, 200, 'a configuration of 2011 runs';
$of_2011->expect_log(qr/syslog: cannot be reached|not taken by their receiver/);
done();

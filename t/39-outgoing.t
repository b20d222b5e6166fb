# 39-outgoing.t - the address that connections to origins come from; which family is tried first.
use Bobtail::Test;
need('dnsmasq');

my $tell = sub { my ($request) = @_; return { body => "$request->{from} $request->{conn}" } };
my $origin = origin('*' => $tell);
my $six = eval { origin('*' => $tell, listen => '::1') };
my $proxy = proxy(<<'CONF');
acl red src 127.1.0.1
acl blue src 127.1.0.2
acl lost src 127.1.0.3
acl get method GET
tcp_outgoing_address 127.2.0.1 red get
tcp_outgoing_address ::1 blue
tcp_outgoing_address 127.2.0.9 red
tcp_outgoing_address 127.2.0.2 blue
tcp_outgoing_address 192.0.2.1 lost
CONF
sub from { my ($client, %how) = @_; return get($proxy, $origin->url('/'), from => $client, %how)->body }

is from('127.1.0.1'), '127.2.0.1 1', 'the first line that matches';
is from('127.1.0.2'), '127.2.0.2 2', 'of the family of the origin; no kept connection of another address is used';
is from('127.1.0.4'), '127.0.0.1 3', 'without a line the kernel chooses, and again no kept one of others is used';
is request($proxy, POST => $origin->url('/'), from => '127.1.0.1', body => 'x')->body, '127.2.0.9 4',
    'ACLs about the request count';
is from('127.1.0.1'), '127.2.0.1 1', 'a kept connection of the same address is used';
is from('127.1.0.2'), '127.2.0.2 2', 'for each';
is from('127.1.0.4'), '127.0.0.1 3', 'of them';
counters($proxy, 'origin.dials' => 4, 'origin.reused' => 3);
my $lost = get($proxy, $origin->url('/'), from => '127.1.0.3');
is $lost->status, 503, 'an address that is none of ours';
like $lost->header('X-Squid-Error'), qr/^ERR_CONNECT_FAIL/, 'says so';
ok $proxy->wait_log(qr/cannot connect from 192\.0\.2\.1.*tcp_outgoing_address/), 'and the log, why';
my $tunnel = tunnel($proxy, $origin->addr, from => '127.1.0.1');
$tunnel->send("GET /t HTTP/1.0\r\n\r\n");
like $tunnel->rest, qr/127\.2\.0\.9 5$/, 'tunnels too';
$tunnel->close;
SKIP: {
    skip('no IPv6 here', 1) unless $six;
    is get($proxy, $six->url('/'), from => '127.1.0.1')->body, '::1 1', 'another family is left to the kernel';
}

my $said = parse("http_port 3128\nacl lan src 10.0.0.0/8\ntcp_outgoing_address 127.0.0.256 lan\n");
is $said->{status}, 1, 'no address';
like $said->{output}, qr/bobtail\.conf:3:22: .*127\.0\.0\.256/, 'is refused at its place';

# Which family first, and how long until the other one is tried. A silent address of each family.
my $dns = dnsmasq('both.test' => ['::1', '127.0.0.1']);
SKIP: {
    skip('no IPv6 here', 5) unless $six;
    for my $first (qw(on off)) {
        my $port = $six->port;
        my $server = proxy(<<"CONF");
dns_nameservers @{[ $dns->addr ]}
dns_v4_first $first
access_log stdio:\@DIR\@/access.log logformat=to
logformat to %<a
CONF
        like $server->log . $server->output, qr/dns_v4_first is obsolete/, "dns_v4_first $first: a warning";
        is get($server, "http://both.test:$port/")->status, 200, 'both families are tried';
        # Nobody listens on 127.0.0.1 there, so the number of dials tells which was first.
        counters($server, 'origin.dials' => $first eq 'on' ? 2 : 1);
    }
}

# The next address is tried when the first one has been silent for happy_eyeballs_connect_timeout.
sub hole
{
    my ($ip, $its_port) = @_;
    my $listener = IO::Socket::IP->new(LocalHost => $ip, LocalPort => $its_port, Listen => 1) or die "hole: $@";
    listen $listener, 0;
    return $listener, map { IO::Socket::IP->new(PeerHost => $ip, PeerPort => $its_port, Blocking => 0) } 1 .. 4;
}
my @hole = hole('127.0.0.7', $origin->port);
my @both = ('127.0.0.7', '127.0.0.1');
my $slow = dnsmasq(map { ("slow$_.test" => $_ % 2 ? [@both] : [reverse @both]) } 1 .. 8);
my $patient = proxy(<<"CONF");
dns_nameservers @{[ $slow->addr ]}
happy_eyeballs_connect_timeout 20000
connect_timeout 60 seconds
CONF
my @waiting;
for (1 .. 8) {                    # the name server may turn a list round
    my $conn = client($patient);
    $conn->send("GET http://slow$_.test:@{[ $origin->port ]}/ HTTP/1.1\r\nHost: x\r\n\r\n");
    ctl($patient, 'idle', 'close') if wait_for(sub { $conn->fill(0) }, 0.3);
    push @waiting, $conn if $conn->{buffer} eq '';
    $conn->close if $conn->{buffer} ne '';
    last if @waiting;
}
is @waiting, 1, 'a silent address came first, and its exchange waits';
later($patient, 15);
is stat($patient, 'client.active'), 1, 'for long';
later($patient, 6);
is $waiting[0] && $waiting[0]->response(to => 'GET')->status, 200, 'and then the next one is tried';
$_->close for @waiting;
done;

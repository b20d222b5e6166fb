# 39-marks.t - what packets say to the network: class of service and firewall mark, to origins and to
# clients; looked at on the server's own sockets.
use Bobtail::Test;
use Socket qw(IPPROTO_IP SOL_SOCKET unpack_sockaddr_in);

use constant { IP_TOS => 1, SO_MARK => 36, PIDFD_OPEN => 434, PIDFD_GETFD => 438 };

my $origin = origin('*' => { body => 'x', 'Cache-Control' => 'no-store' },
    '/kept' => { body => 'x', 'Cache-Control' => 'max-age=60' });
my $url = $origin->url('');

# The sockets of the proxy: class of service and mark, by the port of the other side.
sub sockets
{
    my ($proxy) = @_;
    my $pidfd = syscall PIDFD_OPEN, $proxy->pid, 0;
    my %of;
    $pidfd >= 0 or die "pidfd_open: $!";
    for my $fd (map { m{/(\d+)$} } grep { (readlink($_) // '') =~ /^socket:/ } glob '/proc/' . $proxy->pid . '/fd/*') {
        my $copy = syscall PIDFD_GETFD, $pidfd, $fd + 0, 0;
        next if $copy < 0;
        open my $socket, '+<&=', $copy or next;
        my $peer = getpeername $socket or next;
        next unless length $peer == 16;
        my ($port) = unpack_sockaddr_in($peer);
        $of{$port} = sprintf '%x/%x', unpack('I', getsockopt $socket, IPPROTO_IP, IP_TOS),
            unpack('I', getsockopt $socket, SOL_SOCKET, SO_MARK);
    }
    open my $gone, '+<&=', $pidfd;
    return \%of;
}

# Marks need a right that only root has.
my $root = $> == 0;
sub m_ { my ($mark) = @_; return $root ? $mark : 0 }

my $proxy = proxy(<<"CONF");
acl a urlpath_regex ^/a
acl b urlpath_regex ^/b
acl c urlpath_regex ^/c
tcp_outgoing_tos 0x20 a
tcp_outgoing_dscp 64 b
tcp_outgoing_mark 0x123 a
clientside_tos 0x40 a
clientside_tos 0x60 b
mark_client_packet 0x1f7/0xff b
qos_flows local-hit=0x80 miss=0xa0 disable-preserve-miss
qos_flows mark local-hit=9
logformat marks %rp %<qos %<nfmark %>qos %>nfmark %origin.tos %origin.mark %client.tos %client.mark
access_log stdio:\@DIR\@/log logformat=marks
cache_effective_user @{[scalar getpwuid $>]}
CONF
my $client = client($proxy);
my $port = $client->port;
is request($client, GET => "$url/a", on => $client)->status, 200, 'tos and mark';
my $of = sockets($proxy);
is $of->{$origin->port}, sprintf('20/%x', m_(0x123)), 'towards the origin';
is $of->{$port}, 'a0/0', 'qos_flows towards the client';
is request($client, GET => "$url/b", on => $client)->status, 200, 'others';
is sockets($proxy)->{$port}, sprintf('a0/%x', m_(0xf7)), 'the client has another mark, in its mask';
is $origin->connections, 2, 'a connection is used again with its own marks alone';
is request($client, GET => "$url/a", on => $client)->status, 200, 'the first, once more';
is $origin->connections, 2, '... goes over the first connection';
is request($client, GET => "$url/c", on => $client)->status, 200, 'none';
is sockets($proxy)->{$port}, 'a0/0', 'the mark is taken off again';
is request($client, GET => "$url/kept", on => $client)->status, 200, 'fetched';
is request($client, GET => "$url/kept", on => $client)->status, 200, 'and out of the cache';
is sockets($proxy)->{$port}, sprintf('80/%x', m_(9)), 'local-hit';
$client->close;
ok wait_for(sub { $proxy->text('log') =~ m{^/a 0x20 0x123 0xa0 0x0 0x20 0x123 0xa0 0x0$}m }), 'logged' or diag $proxy->text('log');
counters($proxy, 'marks.failed' => 0) if $root;
cmp_ok stat($proxy, 'marks.failed'), '>', 0, 'who may not is told' unless $root;

my $script = proxy("tcp_outgoing_mark 3\nlua_script \@DIR\@/mark.lua\n", files => { 'mark.lua' => <<'LUA' });
function on_request(txn)
  if txn.path == "/own" then txn:mark(0x77) end
end
LUA
is get($script, "$url/own")->status, 200, 'txn:mark()';
is sockets($script)->{$origin->port}, sprintf('0/%x', m_(0x77)), '... goes before tcp_outgoing_mark';

my $plain = proxy("clientside_tos 32\n");
$client = client($plain);
is request($client, GET => "$url/a", on => $client)->status, 200, 'without qos_flows';
is sockets($plain)->{$client->port}, '20/0', 'clientside_tos stands';
$client->close;

sub complains { my ($text, $like, $what) = @_; my $said = parse("http_port 127.0.0.1:0\n$text\n"); like $said->{output}, $like, $what; return }
complains('tcp_outgoing_tos 256', qr/:2:18: error: a number from 0 to 255 expected/, 'too large');
complains('tcp_outgoing_tos 0x21', qr/:2:18: warning: the last two bits are the network's \(ECN\): 0x20 is taken/, 'ECN');
complains('tcp_outgoing_mark lan', qr/:2:19: error: MARK or MARK\/MASK expected/, 'no mark');
complains('qos_flows mark miss=x', qr/:2:1: error: MARK or MARK\/MASK expected/, 'no mark of a flow');
complains('qos_flows tos local-hits=3', qr/did you mean 'local-hit'/, 'no flow');
done;

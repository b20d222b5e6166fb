# 7H-peers-told.t - what metrics and the cache manager tell of parents.
use Bobtail::Test;

my $origin = origin('*' => { body => 'x', 'Cache-Control' => 'no-store' });
my $parent = proxy('');
my $proxy = proxy(<<"CONF");
admin_port 127.0.0.1:0
cache_peer 127.0.0.1 parent ${\$parent->port} 0 no-query default name=near
cache_peer 127.0.0.1 parent 1 0 no-query name=far"away
never_direct allow all
CONF
get($proxy, $origin->url("/$_")) for 1 .. 3;

my $list = get($proxy, '/squid-internal-mgr/server_list')->body;
like $list, qr{^Parent     : near\nHost       : 127\.0\.0\.1/${\$parent->port}/0\nFlags      :.*\nStatus     : Up\nFETCHES    : 3\nOPEN CONNS : \d+\nAVG RTT    : \d+ msec\nkeep-alive ratio: \d+%$}m,
    'server_list';
like $list, qr{^Parent     : far}m, 'with all of them';
my $page = get($proxy->addr('admin'), '/metrics')->body;
like $page, qr/^bobtail_peer_up\{peer="near"\} 1$/m, 'a parent that is up';
like $page, qr/^bobtail_peer_requests_total\{peer="near",result="answered"\} 3$/m, 'and has answered';
like $page, qr/^bobtail_peer_up\{peer="far\\"away"\} [01]$/m, 'a name with a quotation mark';
like $page, qr/^bobtail_peer_connections\{peer="near"\} \d+$/m, 'connections';
unlike get($parent, '/squid-internal-mgr/server_list')->body, qr/^Parent/m, 'where there is none, none is told';
ctl($proxy, 'idle', 'close');    # what it keeps open are clients of its parent
done;

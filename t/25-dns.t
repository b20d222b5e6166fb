# 25-dns.t - names: asked once and remembered, hosts file, domain, long answers, servers that fail.
use Bobtail::Test;
need('dnsmasq');

my $origin = origin('/a' => { body => 'one' }, '/b' => { body => 'two' });
my $port = $origin->port;
my $dns = dnsmasq(
    'one.test' => '127.0.0.1',
    'alias.corp.test' => '127.0.0.1',
    'moved.test' => '127.0.0.9',                       # nobody listens there; see the hosts file
    'many.test' => [map { "127.0.0.$_" } 1 .. 100],    # does not fit a datagram
    -ttl => 100,
);
my $proxy = proxy(<<"CONF", files => { hosts => "127.0.0.1 file.test other\n" });
dns_nameservers @{[ $dns->addr ]}
hosts_file \@DIR\@/hosts
append_domain .corp.test
CONF

my $conn = client($proxy);
is get($proxy, "http://one.test:$port/a", on => $conn)->body, 'one', 'a name leads to the origin';
is get($proxy, "http://ONE.Test.:$port/b", on => $conn)->body, 'two', 'in whatever spelling';
is $dns->queries('one.test', 'A'), 1, 'it was asked for once';
is $dns->queries('one.test', 'AAAA'), 1, 'for both families';
counters($proxy, 'dns.queries' => 1, 'dns.cached' => 1, 'dns.failed' => 0, 'origin.dials' => 1);
like ctl($proxy, 'stats', 'dns.time')->{output}, qr/ 1 times/, 'dns.time: of one question';
later($proxy, 99);
get($proxy, "http://one.test:$port/a");
is $dns->queries('one.test', 'A'), 1, 'it is remembered while it lives';
later($proxy, 2);
get($proxy, "http://one.test:$port/a");
is $dns->queries('one.test', 'A'), 2, 'and no longer';

my $answer = get($proxy, "http://none.test:$port/a");
is $answer->status, 503, 'a name that is not';
like $answer->header('X-Squid-Error'), qr/^ERR_DNS_FAIL/, 'says so';
get($proxy, "http://none.test:$port/a");
is $dns->queries('none.test', 'A'), 1, 'that is remembered, too';
later($proxy, 61);
get($proxy, "http://none.test:$port/a");
is $dns->queries('none.test', 'A'), 2, 'for negative_dns_ttl';
is get($proxy, "http://-bad-.test:$port/a")->status, 503, 'what can be no name';
is $dns->queries('-bad-.test'), 0, 'is not asked for';

# The hosts file comes first, and is read again when it changes.
is get($proxy, "http://file.test:$port/a")->body, 'one', 'the hosts file';
is $dns->queries('file.test'), 0, 'comes before any server';
is get($proxy, "http://other:$port/a")->body, 'one', 'names without a dot, too';
is get($proxy, "http://alias:$port/a")->body, 'one', 'others get append_domain';
is get($proxy, "http://moved.test:$port/a")->status, 503, 'an address where nobody listens';
Bobtail::Proxy::write_file($proxy->file('hosts'), "127.0.0.1 moved.test # now here, and longer\n");
later($proxy, 2);
is get($proxy, "http://moved.test:$port/a")->body, 'one', 'the hosts file is read when it changes';
is get($proxy, "http://localhost:$port/a")->body, 'one', 'localhost';
is $dns->queries('localhost'), 0, 'is nobody\'s business';

# More addresses than fit: over TCP. Only the first of them has a listener.
is get($proxy, "http://many.test:$port/a")->body, 'one', 'a long answer comes over TCP';

# A tunnel finds its way likewise.
$conn = tunnel($proxy, "one.test:$port");
is $conn->response->status, 200, 'CONNECT to a name';
$conn->close;

# A server that does not answer: the second one is asked; and when there is none, time ends it.
my $deaf = IO::Socket::IP->new(LocalHost => '127.0.0.1', LocalPort => 0, Proto => 'udp');
my $deaf_addr = '127.0.0.1:' . $deaf->sockport;
my $second = proxy(<<"CONF");
dns_nameservers $deaf_addr @{[ $dns->addr ]}
dns_retransmit_interval 1 second
CONF
is get($second, "http://one.test:$port/a")->body, 'one', 'the second server answers';
my $none = proxy(<<"CONF");
dns_nameservers $deaf_addr
CONF
$conn = client($none);
$conn->send("GET http://one.test:$port/a HTTP/1.1\r\nHost: x\r\n\r\n");
ok wait_for(sub { (stat($none, 'dns.queries') // 0) == 1 }), 'a question that nobody answers';
later($none, 31);
$answer = $conn->response(to => 'GET');
is $answer->status, 503, 'ends after dns_timeout';
like $answer->body, qr/name servers do not answer/, 'and says why';
$conn->close;

# The search list of the machine completes short names, when it shall.
my $search = proxy(<<"CONF", env => { LOCALDOMAIN => 'test' });
dns_nameservers @{[ $dns->addr ]}
dns_defnames on
CONF
is get($search, "http://one:$port/a")->body, 'one', 'dns_defnames: a short name is completed';
is get($second, "http://one:$port/a")->status, 503, 'but not of itself';

done;

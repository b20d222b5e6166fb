# 87-intercept.t - redirected connections: where they go, whose Host is believed, and what is no HTTP.
use Bobtail::Test;
BEGIN { need('nft', 'ip') }
use Bobtail::Net;
use IO::Socket::IP;
{ my $why = Bobtail::Net::make(); plan(skip_all => $why) if $why }

my @net = map { my $n = $_; at('internet', sub { origin(listen => $n, '*' => sub { { 'Cache-Control' => 'max-age=600', body => "$n asked by $_[0]{from}" } }) }) }
    qw(198.51.100.1 198.51.100.2 2001:db8::1);
my ($one, $two, $six) = @net;
my $port = $one->port;

my $conf = <<'CONF';
http_port 0 intercept name=nat
http_port 127.0.0.1:0 name=told
hosts_file @DIR@/hosts
cache_mem 8 MB
acl nat myportname nat
acl forbidden dst 198.51.100.9
acl secret dstdomain secret.test
logformat seen %>a %>la %>lp %Ss/%03>Hs %rm %ru %Sh/%<a
logformat own %la %lp
access_log stdio:@DIR@/own.log own
access_log stdio:@DIR@/seen.log seen
http_access deny forbidden
http_access deny secret
http_access allow all
CONF
sub hosts { return join '', map { "$_\n" } '198.51.100.1 one.test both.test rot.test', '198.51.100.2 two.test both.test', '2001:db8::1 six.test',
    '198.51.100.3 secret.test', @_ }
my $proxy = proxy($conf, files => { hosts => hosts() }, workers => 2);

# The firewall of the proxy: web traffic of clients goes to its port.
sub redirect
{
    my ($to) = @_;
    firewall(<<"NFT");
table inet web
delete table inet web
table inet web {
    chain first {
        type filter hook prerouting priority raw
        ip saddr 10.9.0.3 notrack
    }
    chain back {
        type filter hook output priority raw
        ip daddr 10.9.0.3 notrack
    }
    chain web {
        type nat hook prerouting priority dstnat
        iifname "to-client" ip daddr 198.51.100.0/24 tcp dport { $port, @{[ $two->port ]} } redirect to :$to
        iifname "to-client" ip6 daddr 2001:db8::/64 tcp dport @{[ $six->port ]} redirect to :$to
    }
}
NFT
    return;
}
redirect($proxy->port_of('nat'));

my $read = 0;
sub line
{
    my $line;
    wait_for(sub { ($line) = substr($proxy->text('seen.log'), $read) =~ /^(.*)\n/ });
    $read += length($line // '') + 1;
    return $line;
}
sub counted { counters(@_); mark($_[0]); return }
# From the client's machine, to that address, a request in the form that an origin gets.
sub visit
{
    my ($to, $path, %how) = @_;
    my $conn = $how{on} // at('client', sub { client($to, %how) });
    my $answer = request(undef, $how{method} // 'GET', $path, %how, on => $conn);
    $conn->close unless $how{on};
    return $answer;
}
sub body { my $answer = visit(@_); return $answer->status . ' ' . $answer->body }

# ---- where it goes ----

is body($one, '/a', host => "one.test:$port"), '200 198.51.100.1 asked by 10.9.1.1', 'it goes to where the client went';
is line(), "10.9.0.2 198.51.100.1 $port TCP_MISS/200 GET http://one.test:$port/a ORIGINAL_DST/198.51.100.1", 'as the log says';
is $one->seen_header('/a', 'Host'), "one.test:$port", 'Host is kept';
is +(split /\n/, $proxy->text('own.log'))[0], '10.9.0.1 ' . $proxy->port_of('nat'), 'and where it came to, as %la and %lp';
like $one->seen_header('/a', 'Via'), qr/^1\.1 proxy\.test/, 'with Via';
is $one->seen_header('/a', 'X-Forwarded-For'), '10.9.0.2', 'and the client';
is body($one, '/a', host => "one.test:$port"), '200 198.51.100.1 asked by 10.9.1.1', 'it is kept in the cache';
like line(), qr/ TCP_MEM_HIT\/200 /, 'since the host is true';
is body($six, '/6', host => 'six.test:' . $six->port), '200 2001:db8::1 asked by fd19::1', 'IPv6, on the same port';
is line(), 'fd09::2 2001:db8::1 ' . $six->port . ' TCP_MISS/200 GET http://six.test:' . $six->port . '/6 ORIGINAL_DST/2001:db8::1', 'in the log';
is body($one, '/ip', host => "198.51.100.1:$port"), '200 198.51.100.1 asked by 10.9.1.1', 'an address in Host';
is body($one, '/10', version => '1.0', headers => [Host => undef], host => undef), '200 198.51.100.1 asked by 10.9.1.1', 'no Host'
    or diag "HTTP/1.0";
line();
like line(), qr{ TCP_MISS/200 GET http://198\.51\.100\.1:$port/10 }, 'the address is the host then';
is body($one, "http://one.test:$port/abs"), '200 198.51.100.1 asked by 10.9.1.1', 'a whole URL';
line();
counted($proxy, 'intercept.connections' => 6, 'intercept.forged' => 0, 'intercept.lost' => 0, 'client.requests' => 6, 'cache.hits' => 1);

my $conn = at('client', sub { client($one) });
visit($one, "/k$_", host => "one.test:$port", on => $conn) for 1 .. 3;
$conn->close;
line() for 1 .. 3;
is visit($one, '/no', host => "secret.test:$port")->status, 403, 'rules judge the host';
like line(), qr{ TCP_DENIED/403 GET http://secret\.test:$port/no HIER_NONE/-$}, 'with an error page';
is visit("198.51.100.9:$port", '/no', host => "one.test:$port")->status, 403, 'and the address that it goes to, whatever Host says';
like line(), qr{ TCP_DENIED/403 GET http://one\.test}, 'in the log';
is visit($one, "198.51.100.1:$port", method => 'CONNECT', host => "198.51.100.1:$port")->status, 405, 'CONNECT is for proxies';
line();
is visit($one, '*', method => 'OPTIONS', host => "one.test:$port")->status, 200, 'OPTIONS of the whole server';
is $one->seen('*') =~ /^OPTIONS \* / ? 1 : 0, 1, 'reaches it';
line();
like visit($one, '/x', headers => ['Content-Length' => 'x'], host => 'one.test')->status, qr/^400$/, 'HTTP with a fault is refused';
line();
counted($proxy, 'intercept.connections' => 6, 'intercept.forged' => 2, 'client.denied' => 2, 'parse.target' => 1, 'parse.length' => 1);

# ---- who lies about its host ----

# The page of one.test is asked of another address: neither kept, nor answered by what is kept.
is body($two, '/a', host => "one.test:$port"), '200 198.51.100.2 asked by 10.9.1.1', 'a forged Host goes to where the client went';
is line(), "10.9.0.2 198.51.100.2 @{[ $two->port ]} TCP_MISS/200 GET http://one.test:$port/a ORIGINAL_DST/198.51.100.2", 'so says the log';
is body($two, '/a', host => "one.test:$port"), '200 198.51.100.2 asked by 10.9.1.1', 'each time';
is $two->hits('/a'), 2, 'since it is not kept';
is body($one, '/a', host => "one.test:$port"), '200 198.51.100.1 asked by 10.9.1.1', 'nor is what was kept before lost';
is $one->hits('/a'), 1, 'which is still there';
visit($two, '/a', method => 'POST', body => 'x', host => "one.test:$port");
visit($two, '/a', method => 'PURGE', host => "one.test:$port");
is body($one, '/a', host => "one.test:$port"), '200 198.51.100.1 asked by 10.9.1.1', 'a forged POST or PURGE changes nothing';
is $one->hits('/a'), 1, 'of what is kept';
is body($one, '/f', host => 'nowhere.test'), '200 198.51.100.1 asked by 10.9.1.1', 'a name that does not exist';
is body($one, '/f', host => 'one.test'), '200 198.51.100.1 asked by 10.9.1.1', 'another port';
is body($one, '/f', host => '127.0.0.1:' . $proxy->port_of('told')), '200 198.51.100.1 asked by 10.9.1.1', 'an address of the proxy itself';
counted($proxy, 'intercept.forged' => 7, 'cache.hits' => 2, 'cache.bypassed' => 6);
ok $proxy->wait_log(qr/Host says \S+:$port, and the client went to 198\.51\.100\.\d:\d+, which is none of its addresses/), 'it is said in the log';

# Names have other addresses in each answer.
sub rotating { return visit($one, '/rot', host => "rot.test:$port")->status }
my $lone = proxy($conf, files => { hosts => hosts() });
redirect($lone->port_of('nat'));
rotating();
Bobtail::Proxy::write_file($lone->file('hosts'), hosts() =~ s/ rot\.test//r . "198.51.100.7 rot.test\n");
later($lone, 10);
rotating();
counted($lone, 'intercept.forged' => 0, 'client.requests' => 2, 'cache.hits' => 1);
later($lone, 3700);
rotating();
counters($lone, 'intercept.forged' => 1);

# ---- what else is no ordinary request ----

is get('127.0.0.1:' . $proxy->port_of('told'), "http://198.51.100.1:$port/told")->body, '198.51.100.1 asked by 10.9.1.1', 'who is told of the proxy is served as ever';
$conn = at('client', sub { client('10.9.0.1:' . $lone->port_of('nat')) });
is request(undef, GET => '/direct', on => $conn, host => 'one.test')->status, 403, 'who comes to the port himself would go round and round';
$conn->close;
counters($lone, 'access.own_port' => 1);
$conn = at('client', sub { client('10.9.0.1:' . $lone->port_of('nat'), from => '10.9.0.3') });
$conn->send("GET / HTTP/1.1\r\nHost: one.test\r\n\r\n");
is $conn->rest, '', 'where the firewall knows nothing of a connection it is closed';
counters($lone, 'intercept.lost' => 1);
ok $lone->wait_log(qr/a redirected connection was closed: where it was to go is not known/), "which is said in the log";

# Who knows of no proxy cannot log in there, and is not asked for a password.
my $login = proxy(<<"CONF", files => { hosts => hosts(), passwd => "kim:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n" });
http_port 0 intercept name=nat
http_port 127.0.0.1:0 name=told
hosts_file \@DIR\@/hosts
auth_param basic program /usr/lib/squid/basic_ncsa_auth \@DIR\@/passwd
acl users proxy_auth REQUIRED
http_access allow users
http_access deny all
CONF
redirect($login->port_of('nat'));
for my $field ('X', 'Proxy-Authorization', 'Authorization') {
    my $answer = visit($one, '/l', host => "one.test:$port", headers => { $field => 'Basic a2ltOnNlY3JldA==' });
    is $answer->status, 403, "no login on a port with intercept ($field)";
    is $answer->header('Proxy-Authenticate') // $answer->header('WWW-Authenticate'), undef, 'and no challenge';
}
is get('127.0.0.1:' . $login->port_of('told'), "http://one.test:$port/l")->status, 407, 'but on the other one';

# A firewall that redirects the proxy's own connections.
my $round = proxy("http_port 0 intercept name=nat\nvia off\non_unsupported_protocol tunnel all\nforward_max_tries 1\n", workers => 2);
redirect($round->port_of('nat'));
firewall("add chain inet web own { type nat hook output priority -100; }\n"
    . "add rule inet web own ip daddr 198.51.100.0/24 tcp dport $port redirect to :@{[ $round->port_of('nat') ]}\n");
visit($one, '/round', host => "198.51.100.1:$port");
$conn = at('client', sub { client($one) });
$conn->send("SSH-2.0-client\r\n");
$conn->rest;
$conn->close;
wait_for(sub { stat($round, 'intercept.loops') >= 2 });
cmp_ok stat($round, 'intercept.loops'), '>=', 2, 'round and round is noticed, of HTTP and of all else';
cmp_ok stat($round, 'intercept.connections'), '<', 20, 'soon';
is $one->hits('/round'), 0, 'since it leads nowhere';
ok $round->wait_log(qr/a connection of this server itself, to 198\.51\.100\.1:$port, was redirected to it/), "which is said in the log";

# ---- host_verify_strict, client_dst_passthru ----

my $strict = proxy("${conf}host_verify_strict on\nclient_dst_passthru off\n", files => { hosts => hosts() });
redirect($strict->port_of('nat'));
my $answer = visit($two, '/strict', host => "one.test:$port");
is $answer->status, 409, 'host_verify_strict: a forged Host is refused';
like $answer->header('X-Squid-Error'), qr/^ERR_CONFLICT_HOST/, 'as a conflict';
is visit($one, '/strict', host => "one.test:$port")->status, 200, 'a true one passes';
is $two->hits('/strict'), 0, 'nothing went out';
my $told = '127.0.0.1:' . $strict->port_of('told');
is get($told, "http://one.test:$port/s", host => "two.test:$port")->status, 409, 'a Host that is not that of the URL, too';
is get($told, "http://one.test:$port/s", host => "ONE.test:$port")->status, 200, 'in whatever case';
is tunnel($told, "one.test:$port")->response->status, 200, 'CONNECT';
is raw($told, "CONNECT one.test:$port HTTP/1.1\r\nHost: two.test\r\n\r\n")->status, 409, 'to somebody else';
counters($strict, 'intercept.forged' => 1, 'client.denied' => 3);
is visit($one, '/both', host => "both.test:$port")->status, 200, 'client_dst_passthru off: any address of the host';
wait_for(sub { $strict->text('seen.log') =~ m{/both } });
like $strict->text('seen.log'), qr{/both HIER_DIRECT/198\.51\.100\.\d$}m, 'may be gone to';

# ---- no HTTP ----

my $greet = at('internet', sub { IO::Socket::IP->new(LocalHost => '198.51.100.5', LocalPort => $port, Listen => 9) }) or die "listen: $@";
sub odd
{
    my ($bytes) = @_;
    my $conn = at('client', sub { client("198.51.100.5:$port") });
    $conn->send($bytes) if length $bytes;
    return $conn;
}
sub server { my $s = $greet->accept; return $s }
for my $way ('tunnel all', 'respond all', 'tunnel early') {
    my $odd = proxy(<<"CONF");
http_port 0 intercept name=nat
acl early squid_error ERR_REQUEST_START_TIMEOUT
acl bad src 10.9.0.3
on_unsupported_protocol $way
request_start_timeout 3 seconds
logformat seen %Ss/%03>Hs %rm %ru %Sh/%<a %<st
access_log stdio:\@DIR\@/seen.log seen
http_access allow CONNECT
http_access deny all
CONF
    redirect($odd->port_of('nat'));
    my $conn = odd("SSH-2.0-client\r\n");
    if ($way eq 'tunnel all') {
        my $server = server();
        sysread $server, my $got, 100;
        is $got, "SSH-2.0-client\r\n", "$way: what is no HTTP goes to where it was to go";
        syswrite $server, "SSH-2.0-server\r\n";
        is $conn->bytes(16), "SSH-2.0-server\r\n", 'and back';
        close $server;
        ok $conn->closed, 'to its end';
        $conn->close;
        wait_for(sub { $odd->text('seen.log') =~ /\n/ });
        is $odd->text('seen.log'), "TCP_TUNNEL/200 CONNECT 198.51.100.5:$port ORIGINAL_DST/198.51.100.5 16\n", 'logged as a CONNECT';
        like odd("GET /x HTTP/1.1\r\nContent-Length: x\r\nHost: a\r\n\r\n")->rest, qr{^HTTP/1\.1 400 }, 'HTTP with a fault does not';
        like odd("GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")->rest, qr{^HTTP/1\.1 403 }, 'nor does what the rules forbid';
    } else {
        like $conn->rest, qr{^HTTP/1\.1 400 }, "$way: what is no HTTP is answered so";
    }
    $conn = odd('');
    wait_for(sub { stat($odd, 'client.open') == 1 });
    later($odd, 4);
    if ($way ne 'respond all') {
        my $server = server();
        syswrite $server, "220 hello\r\n";
        is $conn->bytes(11), "220 hello\r\n", "$way: a server that speaks first";
        close $server;
    } else {
        is $conn->rest, '', "$way: who is silent is closed";
    }
    $conn->close;
}

# By a parent, of whose answer to a CONNECT the client learns nothing.
my $echo = origin('/x' => { body => 'no' });
my $strict_parent = proxy("http_port 127.0.0.1:0\nhttp_access deny all\nvisible_hostname parent.test\n");
for my $parent ($echo, $strict_parent) {
    my $by = proxy("http_port 0 intercept name=nat\ncache_peer 127.0.0.1 parent @{[ $parent->port ]} 0 no-query\nnever_direct allow all\n"
        . "on_unsupported_protocol tunnel all\n");
    redirect($by->port_of('nat'));
    my $conn = odd("SSH-2.0-client\r\n");
    is $parent == $echo ? $conn->bytes(16) : $conn->rest, $parent == $echo ? "SSH-2.0-client\r\n" : '', 'through a parent, or not';
    $conn->close;
    $by->stop;
}

# ---- tproxy ----

my $tproxy = proxy(<<'CONF', workers => 2, files => { hosts => hosts() });
http_port 0 tproxy name=tp
hosts_file @DIR@/hosts
acl plain dstdomain two.test
acl hidden req_header X-Forwarded-For .
spoof_client_ip deny plain
tcp_outgoing_address 127.0.0.9
follow_x_forwarded_for allow all
tproxy_uses_indirect_client on
cache deny all
CONF
my $tp = $tproxy->port_of('tp');
firewall(<<"NFT");
delete table inet web
table inet web {
    chain web {
        type filter hook prerouting priority mangle
        meta l4proto tcp socket transparent 1 meta mark set 1 accept
        iifname "to-client" ip daddr 198.51.100.0/24 meta l4proto tcp tproxy ip to :$tp meta mark set 1 accept
        iifname "to-client" ip6 daddr 2001:db8::/64 meta l4proto tcp tproxy ip6 to :$tp meta mark set 1 accept
    }
}
NFT
Bobtail::Net::ip('rule add fwmark 1 lookup 100', 'route add local 0.0.0.0/0 dev lo table 100', '-6 rule add fwmark 1 lookup 100',
    '-6 route add local ::/0 dev lo table 100');
is body($one, '/tp', host => "one.test:$port"), '200 198.51.100.1 asked by 10.9.0.2', 'tproxy: the origin sees the client';
is body($six, '/tp', host => 'six.test:' . $six->port), '200 2001:db8::1 asked by fd09::2', 'of IPv6, too';
is body($one, '/tp', host => "one.test:$port", from => '10.9.0.3'), '200 198.51.100.1 asked by 10.9.0.3', 'another client';
is body($one, '/tp', host => "one.test:$port"), '200 198.51.100.1 asked by 10.9.0.2', 'which gets no connection of the first one';
is body($one, '/tp', host => "one.test:$port", headers => ['X-Forwarded-For' => '10.9.0.3']), '200 198.51.100.1 asked by 10.9.0.3', 'or whom it speaks for';
counters($tproxy, 'intercept.connections' => 5, 'intercept.forged' => 0);
$conn = at('client', sub { client("10.9.0.1:$tp") });
is request(undef, GET => '/direct', on => $conn, host => 'one.test')->status, 403, 'the port itself leads nowhere';
$conn->close;
my $bare = proxy("http_port 0 tproxy name=tp\nspoof_client_ip deny all\ncache deny all\n");
firewall("flush chain inet web web\nadd rule inet web web meta l4proto tcp socket transparent 1 meta mark set 1 accept\n"
    . "add rule inet web web iifname \"to-client\" ip daddr 198.51.100.0/24 meta l4proto tcp tproxy ip to :@{[ $bare->port_of('tp') ]} meta mark set 1 accept\n");
is body($one, '/tp', host => "one.test:$port"), '200 198.51.100.1 asked by 10.9.1.1', 'spoof_client_ip deny: it sees the proxy';

# ---- configuration ----

like parse("http_port 3128 intercept accel\n")->{output}, qr/a port is either intercept, tproxy or accel/, 'one of them';
like parse("http_port 3128 transparent disable-pmtu-discovery=transparent name=x\nhttp_access deny all\n")->{output}, qr/^\s*$/, 'old spelling'
    or diag parse("http_port 3128 transparent disable-pmtu-discovery=transparent name=x\nhttp_access deny all\n")->{output};
done;

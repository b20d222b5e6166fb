# 88-accel.t - http_port accel: a site behind the proxy; what the URL is made of, and where requests may go.
use Bobtail::Test;
use POSIX ();
use Time::Local qw(timegm);

sub date_of { return POSIX::strftime('%a, %d %b %Y %H:%M:%S GMT', gmtime shift) }
sub time_of
{
    my ($day, $month, $year, $hour, $minute, $second) = (shift // '') =~ /(\d+) (\w{3}) (\d{4}) (\d+):(\d+):(\d+)/ or return 0;
    return timegm($second, $minute, $hour, $day, index('JanFebMarAprMayJunJulAugSepOctNovDec', $month) / 3, $year);
}
my $site = origin('*' => sub { { Expires => date_of(time + 100), body => "$_[0]{method} $_[0]{target}" } });
my $port = $site->port;
my $hosts = "127.0.0.1 a.test b.test www.test\n";
my $log = "logformat url %Ss/%03>Hs %rm %ru %Sh\naccess_log stdio:\@DIR\@/url.log url\nhosts_file \@DIR\@/hosts\n";

# Requests in the form that an origin gets, and the URLs that they have.
sub url_of
{
    my ($conf, $host, $target, %how) = @_;
    my $proxy = proxy("http_port 127.0.0.1:0 accel $conf\n$log", files => { hosts => $hosts });
    my $answer = raw($proxy, ($how{method} // 'GET') . " $target HTTP/" . ($how{version} // '1.1') . "\r\n"
        . (defined $host ? "Host: $host\r\n" : '') . "Connection: close\r\n\r\n");
    my $text;
    wait_for(sub { ($text = $proxy->text('url.log')) =~ /\n/ });
    my ($url) = $text =~ /^\S+ \S+ (\S+)/;
    my $own = $proxy->port;
    return join ' ', $answer->status, $url =~ s/:$port\b/:PORT/r =~ s/:$own\b/:OWN/r;
}
my @rows = (
    # options, Host, target, what comes of it
    ['allow-direct', "a.test:$port", '/x?y', '200 http://a.test:PORT/x?', 'Host says the site'],
    ['allow-direct vhost', "A.Test.:$port", '/x', '200 http://a.test:PORT/x', 'in one spelling'],
    ["allow-direct defaultsite=b.test:$port", "a.test:$port", '/x', '200 http://a.test:PORT/x', 'though there is a defaultsite'],
    ["allow-direct defaultsite=b.test:$port", '', '/x', '200 http://b.test:PORT/x', 'which is for requests without'],
    ["allow-direct defaultsite=b.test:$port", undef, '/x', '200 http://b.test:PORT/x', 'of HTTP/1.0', version => '1.0'],
    ['allow-direct', undef, '/x', '400 /x', 'nobody knows the site then', version => '1.0'],
    ["allow-direct no-vhost defaultsite=b.test:$port", "a.test:$port", '/x', '200 http://b.test:PORT/x', 'no-vhost: Host does not matter'],
    ["allow-direct no-vhost defaultsite=b.test:$port", 'x', "http://a.test:$port/x", '200 http://b.test:PORT/x', 'nor a host in the target'],
    ['allow-direct', 'x', "http://a.test:$port/x", '200 http://a.test:PORT/x', 'which counts as Host else'],
    ["allow-direct vport=$port", 'a.test', '/x', '200 http://a.test:PORT/x', 'vport=N: the port of all URLs'],
    ["allow-direct vport=$port", 'a.test:81', '/x', '200 http://a.test:PORT/x', 'whatever Host says'],
    ["allow-direct vport=$port", "[::1]:81", '/x', '503 http://[::1]:PORT/x', 'of an address of IPv6, too'],
    ["allow-direct vport=$port", undef, '/x', '200 http://127.0.0.1:PORT/x', 'and without Host our own address', version => '1.0'],
    ['allow-direct', "a.test:$port", '*', '200 http://a.test:PORT/', 'OPTIONS *', method => 'OPTIONS'],
    ['allow-direct', "a.test:$port", "a.test:$port", '405 a.test:PORT', 'CONNECT is for proxies', method => 'CONNECT'],
    ['allow-direct protocol=https', 'a.test:1', '/x', '503 https://a.test:1/x', 'protocol=https: what is spoken to the site'],
    ['', "a.test:$port", '/x', '503 http://a.test:PORT/x', 'without allow-direct nobody is asked but parents'],
    ['allow-direct', 'a b', '/x', '400 /x', 'a Host that is none'],
);
for (@rows) {
    my ($conf, $host, $target, $wanted, $what, %how) = @$_;
    is url_of($conf, $host, $target, %how), $wanted, $what;
}

# ---- as a cache ----

my $plain = proxy("http_port 127.0.0.1:0 accel allow-direct defaultsite=a.test:$port\n$log", files => { hosts => $hosts });
sub visit { my ($proxy, $path, %how) = @_; return request($proxy, GET => $path, host => "a.test:$port", %how) }
is visit($plain, '/c')->body, 'GET /c', 'fetched';
is visit($plain, '/c')->body, 'GET /c', 'and kept';
is visit($plain, '/c', headers => { 'Cache-Control' => 'no-cache' })->body, 'GET /c', 'a reload';
is $site->hits('/c'), 2, 'reaches the site';
later($plain, 10);
is visit($plain, '/c')->header('Age'), 10, 'a hit has an Age';
is visit($plain, '/c', host => "b.test:$port")->status, 200, 'another site';
is $site->hits('/c'), 3, 'is another page';

my $own = proxy("http_port 127.0.0.1:0 accel allow-direct ignore-cc act-as-origin\n$log", files => { hosts => $hosts });
visit($own, '/d');
visit($own, '/d', headers => { 'Cache-Control' => 'no-cache', Pragma => 'no-cache' });
is $site->hits('/d'), 1, 'ignore-cc: a reload does not reach it';
is $site->seen_header('/d', 'Cache-Control'), undef, 'nor is it told';
later($own, 10);
my $answer = visit($own, '/d');
is $answer->header('Age'), undef, 'act-as-origin: no Age';
my $now = time + 10;
cmp_ok abs(time_of($answer->header('Date')) - $now), '<=', 3, 'a Date of now';
cmp_ok abs(time_of($answer->header('Expires')) - $now - 90), '<=', 3, 'and Expires after the life that is left';
is visit($own, '/e', headers => { Host => '127.0.0.1:' . $own->port })->status, 403, 'its own port is no site';
counters($own, 'access.own_port' => 1);

# ---- logins ----

my $login = proxy(<<"CONF", files => { passwd => "kim:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n", hosts => $hosts });
http_port 127.0.0.1:0 accel allow-direct name=site
http_port 127.0.0.1:0 name=told
hosts_file \@DIR\@/hosts
auth_param basic program /usr/lib/squid/basic_ncsa_auth \@DIR\@/passwd
auth_param basic realm Members
acl users proxy_auth REQUIRED
http_access allow users
http_access deny all
CONF
my $door = '127.0.0.1:' . $login->port_of('site');
$answer = visit($door, '/l');
is $answer->status, 401, 'who must log in is asked to as by a web server';
is $answer->header('WWW-Authenticate'), 'Basic realm="Members"', 'by WWW-Authenticate';
is $answer->header('Proxy-Authenticate'), undef, 'and not as by a proxy';
is visit($door, '/l', headers => { Authorization => 'Basic a2ltOnNlY3JldA==' })->status, 200, 'Authorization lets in';
is visit($door, '/l', headers => { 'Proxy-Authorization' => 'Basic a2ltOnNlY3JldA==' })->status, 401, 'what is for proxies does not';
is visit($door, '/l', headers => { Authorization => 'Basic a2ltOndyb25n' })->status, 401, 'nor does a wrong password';
is get('127.0.0.1:' . $login->port_of('told'), "http://a.test:$port/l")->status, 407, 'the other port is a proxy';

# ---- with a parent that is the web server ----

my $before = proxy(<<"CONF", files => { hosts => "127.0.0.1 a.test\n" });
http_port 127.0.0.1:0 accel defaultsite=www.site.test name=site
http_port 127.0.0.1:0 name=told
cache_peer 127.0.0.1 parent $port 0 no-query originserver name=web
acl site myportname site
cache_peer_access web allow site
cache_peer_access web deny all
hosts_file \@DIR\@/hosts
$log
CONF
my $at = '127.0.0.1:' . $before->port_of('site');
is raw($at, "GET /w HTTP/1.1\r\nHost: any.test\r\nConnection: close\r\n\r\n")->body, 'GET /w', 'it is asked, whatever the host is called';
is $site->seen_header('/w', 'Host'), 'any.test', 'and learns its name';
is raw($at, "GET /w2 HTTP/1.0\r\n\r\n")->body, 'GET /w2', 'of HTTP/1.0';
is $site->seen_header('/w2', 'Host'), 'www.site.test', 'the name that the port has';
wait_for(sub { $before->text('url.log') =~ /\n.*\n/ });
like $before->text('url.log'), qr{^TCP_MISS/200 GET http://any\.test/w FIRSTUP_PARENT\nTCP_MISS/200 GET http://www\.site\.test/w2 FIRSTUP_PARENT\n},
    'as the log says';
is get('127.0.0.1:' . $before->port_of('told'), "http://a.test:$port/t")->status, 200, 'the other port goes where it is told';
is $site->seen_header('/t', 'Host'), "a.test:$port", 'by itself';
$site->set('/w3' => { raw => '' , close => 1 });
is raw($at, "GET /w3 HTTP/1.1\r\nHost: a.test:$port\r\nConnection: close\r\n\r\n")->status, 502, 'a web server that fails is not gone round';

# ---- configuration ----

like parse("http_port 80 defaultsite=a.test\n")->{output}, qr/:1:11: error: defaultsite, vport, .* are for ports with accel/, 'without accel';
like parse("http_port 80 accel defaultsite=a/b\n")->{output}, qr/defaultsite is the host of the site/, 'no host';
like parse("http_port 80 accel no-vhost\n")->{output}, qr/no-vhost needs a defaultsite/, 'no-vhost alone';
like parse("http_port 80 accel protocol=ftp\n")->{output}, qr/protocol is http or https/, 'no such scheme';
like parse("http_port 80 accel ssl-bump tls-cert=x\n")->{output}, qr/ssl-bump is for CONNECT, which a port with accel does not take/, 'no tunnels';
like parse("http_port 80 accel vport=0\n")->{output}, qr/vport is a number from 1 to 65535/, 'no port';
like parse("http_port 80 vhost\nhttp_access deny all\n")->{output}, qr/:1:11: warning: vhost alone means accel/, 'vhost of old';
done;

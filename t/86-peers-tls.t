# 86-peers-tls.t - TLS and parents: with the parent itself, and with origins through it, looked into or not.
use Bobtail::Test;
BEGIN { need('IO::Socket::SSL') }
use Bobtail::Tls;
use IO::Socket::SSL ();
use File::Temp ();

my $dir = File::Temp->newdir('bobtail-peers-XXXXXXXX', TMPDIR => 1);
my $ca = "$dir/ca.pem";
run_program($ENV{BOBTAILCTL}, 'ca', 'init', $ca, '--name', 'The CA');

my $cert = server_certificate('parent.test', '127.0.0.1');
my $site = origin('/a' => { body => 'inside' }, '/p' => { body => 'posted' }, tls => server_certificate('www.x.test'), name => 'www.x.test');
my $hosts = "127.0.0.1 www.x.test parent.test\n";
my $trust = 'tls-cafile=' . ca_file() . ' tls-default-ca=off';

# ---- parents that speak TLS

my $secure = origin('*' => sub { return if $_[0]{method} eq 'CONNECT'; return { body => "secure $_[0]{target}" } }, tls => $cert);
sub by_tls
{
    my ($options, %more) = @_;
    return proxy("hosts_file \@DIR\@/hosts\ncache_peer " . ($more{host} // 'parent.test') . ' parent ' . $secure->port . " 0 no-query name=p $options\nnever_direct allow all\n",
        files => { hosts => $hosts });
}
my $proxy = by_tls("tls $trust");
is get($proxy, 'http://www.example.com/x')->body, 'secure http://www.example.com/x', 'a parent over TLS';
is get($proxy, 'http://www.example.com/y')->body, 'secure http://www.example.com/y', '... again';
counters($proxy, 'origin.reused' => 1);
my $tunnel = tunnel($proxy, 'www.example.com:443');
$tunnel->send('hello');
is $tunnel->bytes(5), 'hello', '... and a tunnel through it';
$tunnel->close;
is get(by_tls("ssl sslcafile=@{[ca_file()]}"), 'http://www.example.com/')->status, 200, 'in old words';
my $answer = get(by_tls("tls $trust", host => 'localhost'), 'http://www.example.com/');
is $answer->status, 503, 'its certificate is for somebody else';
like $answer->header('X-Squid-Error'), qr/^ERR_SECURE_CONNECT_FAIL/, '... which is said';
is get(by_tls("tls $trust tls-domain=parent.test", host => 'localhost'), 'http://www.example.com/')->status, 200, 'tls-domain= says whose it must be';
is get(by_tls("tls $trust sslflags=DONT_VERIFY_DOMAIN", host => 'localhost'), 'http://www.example.com/')->status, 200, '... or sslflags= that it does not matter';
is get(by_tls('tls'), 'http://www.example.com/')->status, 503, 'nobody we trust has signed it';
is get(by_tls("tls\nsslproxy_cert_error allow all"), 'http://www.example.com/')->status, 503, '... which sslproxy_cert_error does not forgive';
is get(by_tls('tls tls-flags=DONT_VERIFY_PEER'), 'http://www.example.com/')->status, 200, '... but its own flags';
like parse("cache_peer 127.0.0.1 parent 3128 0 tls tls-cafile=/no/such\n")->{output}, qr/:1:\d+: error: .*\/no\/such/, 'a file that is not there';
like parse("cache_peer 127.0.0.1 parent 3128 0 tls tls-flags=DONT_VERIFY\n")->{output}, qr/the flag 'DONT_VERIFY' is not known/, 'a flag that is none';

# ---- origins behind a parent

my $parent = proxy("visible_hostname parent.test\nhosts_file \@DIR\@/hosts\nlogformat seen %rm %ru %{Proxy-Authorization}>h %{Cookie}>h\naccess_log stdio:\@DIR\@/access.log seen\n", files => { hosts => $hosts });
my $rules = <<"CONF";
http_port 127.0.0.1:0 ssl-bump tls-cert=$ca
hosts_file \@DIR\@/hosts
tls_outgoing_options cafile=@{[ca_file()]} default-ca=off
never_direct allow all
CONF
my @children;
sub behind { my ($bump, $port) = @_; push @children, proxy($rules . "cache_peer 127.0.0.1 parent " . ($port // $parent->port) . " 0 no-query name=up login=me:secret\n$bump", files => { hosts => $hosts }); return $children[-1] }
sub inside
{
    my ($proxy, $path) = @_;
    my $conn = tunnel($proxy, 'www.x.test:' . $site->port);
    $conn->response->status == 200 or return;
    start_tls($conn, 'www.x.test', SSL_verify_mode => IO::Socket::SSL::SSL_VERIFY_NONE());
    return request($conn, GET => $path, on => $conn, headers => { Host => 'www.x.test:' . $site->port, Cookie => 'secret=1' });
}
for my $bump ('ssl_bump bump all', "acl step1 at_step SslBump1\nssl_bump stare step1\nssl_bump bump all", "acl step1 at_step SslBump1\nssl_bump peek step1\nssl_bump bump all",
    "acl step1 at_step SslBump1\nssl_bump peek step1\nssl_bump splice all", 'ssl_bump peek all', 'ssl_bump splice all') {
    my $child = behind("$bump\n");
    my $name = $bump =~ s/.*\n//sr;
    is inside($child, '/a')->body, 'inside', "$name: an https site through a parent" or diag $child->log;
    ctl($child, 'idle', 'close');
    wait_for(sub { $parent->text('access.log') =~ /CONNECT/ });
}
like $parent->text('access.log'), qr/^CONNECT www\.x\.test:\d+ Basic%20bWU6c2VjcmV0 -$/m, 'the parent is asked for a tunnel, with our login';
unlike $parent->text('access.log'), qr/GET|secret=1/, '... and sees nothing of what is inside';

my $child = behind("ssl_bump bump all\n");
my $url = $site->url('/a');
is get($child, $url)->body, 'inside', 'a plain request for an https URL, too';
is get($child, $url)->body, 'inside', '... again';
is inside($child, '/a')->body, 'inside', '... and from within a CONNECT';
counters($child, 'origin.reused' => 2);

# TLS within TLS.
my $relay = proxy("http_port 127.0.0.1:0 name=plain\nhttps_port 127.0.0.1:0 name=tls tls-cert=$cert->{cert} tls-key=$cert->{key}\nvisible_hostname parent.test\nhosts_file \@DIR\@/hosts\n", files => { hosts => $hosts });
my $both = proxy($rules . "cache_peer 127.0.0.1 parent " . $relay->port_of('tls') . " 0 no-query name=up tls $trust\nssl_bump bump all\n", files => { hosts => $hosts });
push @children, $both;
is inside($both, '/a')->body, 'inside', 'TLS with an origin through TLS with a parent';
$site->set('/big' => { body => 'x' x 3_000_000, 'Cache-Control' => 'no-store' });
is length inside($both, '/big')->body, 3_000_000, '... a large body, too';
is get($both, $url)->body, 'inside', '... and without a CONNECT';
cmp_ok stats($both)->{'origin.reused'}, '>=', 2, '... on kept connections';

# A parent that does not want to.
my $no = origin('*' => { status => 403, body => 'no' });
my $refused = behind("ssl_bump bump all\n", $no->port);
$answer = inside($refused, '/a');
is $answer->status, 502, 'the parent says no to the CONNECT: told within';
like $answer->body, qr/answered CONNECT with 403/, '... and why';
counters($refused, 'peer.refused' => 1);
for my $odd ({ raw => 'SSH-2.0-x' . "\r\n\r\n", close => 1 }, { raw => '', reset => 1 }, { raw => "HTTP/1.1 200 OK\r\n\r\nmore" }) {
    my $bad = origin('*' => $odd);
    my $said = inside(behind("ssl_bump bump all\n", $bad->port), '/a');
    like $said->status, qr/^50[23]$/, 'garbage to a CONNECT: an error within';
}
ctl($_, 'idle', 'close') for @children; # tunnels of theirs are open at the parent
done;

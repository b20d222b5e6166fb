# 33-rules.t - rules: first match, negation, defaults, waiting; and what a wrong line is told.
use Bobtail::Test;

my $origin = origin('*' => { body => 'ok' });
my $port = $origin->port;
my $hosts = "127.0.0.1 a.test b.test c.test\n127.0.0.1 proxy.test\n";
my $common = "hosts_file \@DIR\@/hosts\ndns_nameservers 127.255.255.53\ndns_timeout 1 second\n";

sub proxy_with { my ($conf) = @_; return proxy($common . $conf, files => { hosts => $hosts }) }
sub status
{
    my ($proxy, $host, %how) = @_;
    return request($proxy, $how{method} // 'GET', "http://$host:$port" . ($how{path} // '/'), %how)->status;
}

# --- order and sense ------------------------------------------------------------------------------

my $ordered = proxy_with(<<'CONF');
acl A dstdomain a.test
acl b dstdomain b.test
acl B dstdomain c.test
acl lab src 127.50.0.0/16
acl other src 127.51.0.0/16
http_access allow a lab
http_access deny a !other
http_access deny b other
http_access allow lab
http_access deny lab
CONF
is status($ordered, 'a.test', from => '127.50.0.1'), 200, 'the first line whose ACLs all hold';
is status($ordered, 'a.test', from => '127.0.0.1'), 403, 'a negated ACL';
is status($ordered, 'a.test', from => '127.51.0.1'), 200, 'no match: the opposite of the last line, a denial';
is status($ordered, 'b.test', from => '127.51.0.1'), 403, 'all ACLs of a line must hold';
is status($ordered, 'c.test', from => '127.51.0.1'), 403, 'UPPER and lower are one ACL';
is status($ordered, 'b.test', from => '127.50.0.1'), 200, 'a later line';

my $ends_allow = proxy_with(<<'CONF');
acl a dstdomain a.test
http_access deny !a
http_access allow !all
CONF
is status($ends_allow, 'a.test'), 403, 'no match after a line that allows: denied';
is status($ends_allow, 'b.test'), 403, 'denied by the first line';

# --- predefined names, as the shipped file uses them ----------------------------------------------

my $shipped = proxy_with(<<"CONF");
acl SSL_ports port 443
acl Safe_ports port $port 1025-65535
acl all src 0.0.0.0/0
acl localhost src 127.0.0.9
acl CONNECT method CONNECT
http_access deny !Safe_ports
http_access deny CONNECT !SSL_ports
http_access allow localhost manager
http_access deny manager
http_access deny to_linklocal
http_access allow localhost
http_access deny all
CONF
is status($shipped, 'a.test'), 200, 'localhost';
is status($shipped, 'a.test', from => '127.0.0.2'), 403, 'is not all of 127/8';
is status($shipped, 'a.test', from => '127.0.0.9'), 200, 'and can be given more addresses';
is get($shipped, 'http://a.test:80/')->status, 403, 'a port that is not safe';
is request($shipped, CONNECT => "a.test:$port")->status, 403, 'CONNECT to a port that is not for TLS';
is get($shipped, "http://169.254.1.1:$port/")->status, 403, 'link-local addresses';
is status($shipped, 'a.test', from => '127.0.0.2', path => '/squid-internal-mgr/menu'), 403, 'manager';

# --- an ACL that waits for a name server ----------------------------------------------------------

SKIP: {
    my $dns = eval { dnsmasq('slow.test' => '127.0.0.1', 'bad.test' => '127.99.0.1') }
        or skip 'no dnsmasq', 4;
    my $waits = proxy(<<"CONF");
dns_nameservers @{[ $dns->addr ]}
acl bad dst 127.99.0.0/16
acl good dst 127.0.0.1
acl lab src 127.0.0.1
http_access deny bad
http_access allow lab good
http_access deny all
CONF
    is status($waits, 'slow.test'), 200, 'the exchange waits for the address, and goes on';
    is status($waits, 'bad.test'), 403, 'what is judged is the address';
    is status($waits, 'none.test'), 403, 'a name without address matches no list';
    my $twice = grep { $_ } map { status($waits, 'slow.test') == 200 } 1 .. 5;
    is $twice, 5, 'again and again';
}

# --- wrong lines ----------------------------------------------------------------------------------

sub refused
{
    my ($conf, $place, $text) = @_;
    my $said = parse("http_port 3128\n$conf");
    isnt $said->{status}, 0, 'refused: ' . ($conf =~ s/\n/ | /gr);
    like $said->{output}, qr/bobtail\.conf:$place: error: .*$text/, '... with place and advice';
    return $said->{output};
}
refused("http_access deny bad\nacl bad dstdomain .a.test\n", '2:18', 'below|above');
refused("acl guests src 10.0.0.1\nhttp_access allow guest\n", '3:19', 'guests');
refused("acl x dstdomian .a.test\nhttp_access deny x\n", '2:7', 'dstdomain');
refused("acl x src 10.0.0.1\nacl x dstdomain .a.test\n", '3:7', 'src.*bobtail\.conf:2');
refused("http_access allow\n", '2:1', 'all');
refused("http_access permit all\n", '2:13', 'allow');
refused("acl x proxy_auth REQUIRED\nhttp_access allow x\n", '2:18', 'nobody can log in');
my $both = refused("acl x ident_regex (ad\nhttp_access deny x\n", '2:19', '\(ad');
like $both, qr/conf:2:7: error: .*ident_regex is not built yet/, 'a fault in its values does not hide that';
refused("acl x time MX\nhttp_access deny x\n", '2:12', 'MX');
my $all = parse("acl x srcc 10.0.0.1\nacl y src 10.0.0.300\nhttp_access deny z\nhttp_access allow x\nhttp_port 3128\n");
like $all->{output}, qr/conf:1:7: .*conf:2:11: .*conf:3:18: /s, 'all faults are told at once, in order';
unlike $all->{output}, qr/conf:4/, 'and none twice';
my $unread = parse("acl x src \"absent\"\nhttp_access deny x\nhttp_port 3128\n");
unlike $unread->{output}, qr/conf:2/, 'nor the uses of a list that could not be read';

my $empty = parse("acl x src\nhttp_access deny x\nhttp_access allow all\nhttp_port 3128\n");
is $empty->{status}, 0, 'an ACL without values is accepted';
like $empty->{output}, qr/conf:1:7: warning: .*never matches/, '... with a warning';
my $old = parse("acl all src 0.0.0.0/0.0.0.0\nacl manager proto cache_object\nhttp_access deny manager\nhttp_access allow all\nhttp_port 3128\n");
is $old->{status}, 0, 'files of old versions define what is predefined';
like $old->{output}, qr/conf:1:5: warning: .*conf:2:5: warning: /s, '... with a warning';

done;

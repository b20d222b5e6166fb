# 33-acl-groups.t - any-of and all-of: nested, negated, waiting, and by whom deny_info goes.
use Bobtail::Test;

my $origin = origin('*' => { body => 'ok' });
my $port = $origin->port;
my $proxy = proxy(<<"CONF", files => { hosts => "127.0.0.1 a.test b.test c.test\n" });
hosts_file \@DIR\@/hosts
dns_nameservers 127.255.255.53
dns_timeout 1 second
acl GET method GET
acl HEAD method HEAD
acl POST method POST
acl staff src 127.50.0.0/16
acl visitors src 127.51.0.0/16
acl a dstdomain a.test
acl b dstdomain b.test
acl here dst 127.0.0.1
acl safe any-of GET HEAD
acl staff_write all-of staff POST
acl may any-of safe staff_write
acl closed all-of a visitors
acl closed all-of b visitors
acl weird any-of !safe closed
acl fine all-of may !closed here
deny_info 418:ERR_ACCESS_DENIED b
deny_info 429:ERR_ACCESS_DENIED visitors
http_access deny closed
http_access allow fine
http_access allow weird staff
http_access deny all
CONF

sub status
{
    my ($from, $method, $host) = @_;
    return request($proxy, $method, "http://$host.test:$port/", from => $from,
        $method eq 'POST' ? (body => 'x') : ())->status;
}
is status('127.50.0.1', 'GET', 'a'), 200, 'staff reads';
is status('127.50.0.1', 'POST', 'a'), 200, 'staff writes: all-of within any-of within all-of';
is status('127.52.0.1', 'GET', 'c'), 200, 'others read';
is status('127.52.0.1', 'POST', 'c'), 403, 'and do not write';
is status('127.51.0.1', 'GET', 'c'), 200, 'visitors read';
is status('127.51.0.1', 'GET', 'a'), 429, 'but not a: deny_info goes by the innermost ACL';
is status('127.51.0.1', 'GET', 'b'), 429, 'nor b: several lines are alternatives';
is status('127.50.0.1', 'PUT', 'a'), 200, 'a negated member';
is status('127.52.0.1', 'GET', 'none'), 403, 'a member waited for a name that does not exist';

# --- what a group has of its members --------------------------------------------------------------

sub refused
{
    my ($conf, $place, $text) = @_;
    my $said = parse("http_port 3128\n$conf");
    isnt $said->{status}, 0, 'refused: ' . ($conf =~ s/\n/ | /gr);
    like $said->{output}, qr/bobtail\.conf:$place: error: .*$text/, '... with place and reason';
    return;
}
refused("acl g any-of gests\nacl guests src 10.0.0.1\nhttp_access deny g\n", '2:14', 'gests.*guests');
refused("acl g any-of later\nacl later src 10.0.0.1\nhttp_access deny g\n", '2:14', 'above its definition');
refused("acl g any-of g\nhttp_access deny g\n", '2:14', 'part of itself');
refused("acl x src 10.0.0.1\nacl b any-of x\nacl a any-of b\nacl b any-of a\nhttp_access deny a\n", '5:14',
    'used above');
refused("acl x src 10.0.0.1\nacl b any-of x\nhttp_access deny b\nacl y dst 10.0.0.1\nacl b any-of y\n", '6:14',
    'used above');
refused("acl s dst 10.0.0.1\nacl in all-of s\nacl g any-of in\nhttp_access deny all\n"
    . "follow_x_forwarded_for allow g\n", '6:30', 'may have to wait');
refused("acl late rep_mime_type ^text\nacl g any-of late\nhttp_access deny g\n", '4:18', 'phase RESPONSE');
refused("acl g any-of\nhttp_access deny g extra\n", '3:20', 'extra');
my $said = parse("http_port 3128\nacl x src 10.0.0.1\nacl y dst 10.0.0.1\nacl g all-of x\nacl g all-of !y\n"
    . "http_access deny g\n");
is $said->{status}, 0, 'lines before the first use may change what it is' or diag $said->{output};

# --- addresses that are not the public internet ---------------------------------------------------

my $guard = proxy(<<"CONF", files => { hosts => "127.0.0.1 inner.test\n203.0.113.9 outer.test mixed.test\n10.0.0.1 mixed.test\n" });
hosts_file \@DIR\@/hosts
connect_timeout 1 second
http_access deny to_private
http_access allow all
CONF
is get($guard, "http://$_/")->status, 403, "to_private: $_"
    for '0.1.2.3', '10.1.2.3', '100.64.0.1', '127.8.9.10', '169.254.169.254', '172.31.0.1', '192.0.0.8',
    '192.168.3.4', '198.19.0.1', '224.0.0.1', '255.255.255.255', '[::]', '[::1]', '[::ffff:10.0.0.1]',
    '[64:ff9b::a00:1]', '[fd00::1]', '[fe80::1]', '[fec0::1]', '[ff02::1]', 'inner.test', 'mixed.test', '2130706433', '0x7f.1';
refused("http_access deny to_private\nacl to_private src 10.0.0.1\n", '3:5', 'used above');
my $theirs = proxy("acl to_private src 127.50.0.0/16\nhttp_access allow to_private\nhttp_access deny all\n");
is get($theirs, $origin->url('/'), from => '127.50.0.1')->status, 200, 'a file may have its own of that name';
is get($theirs, $origin->url('/'))->status, 403, '... and ours is none of it';
isnt get($guard, 'http://outer.test/')->status, 403, 'an address of others is none';
done;

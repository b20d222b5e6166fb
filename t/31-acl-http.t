# 31-acl-http.t - dstdomain, method, proto: what matches, and what is refused or warned about.
use Bobtail::Test;

my $origin = origin('*' => { body => 'ok' });
my $port = $origin->port;
my $hosts = join '', map { "127.0.0.1 $_\n" }
    qw(exact.test x.exact.test tree.test a.b.tree.test atree.test list.test other.test dot.test);
my $proxy = proxy(<<"CONF", files => { hosts => "127.0.0.3 reverse.test\n$hosts", names => "list.test # not a comment\n.list.test\n" });
hosts_file \@DIR\@/hosts
dns_nameservers 127.255.255.53
dns_timeout 1 second
acl exact dstdomain exact.test
acl tree dstdomain .tree.test
acl listed dstdomain "\@DIR\@/names"
acl dotted dstdomain DOT.test.
acl literal dstdomain 127.0.0.2 ::2
acl reversed dstdomain reverse.test
acl nameless dstdomain none
acl only_names dstdomain -n none reverse.test
acl verbs method GET POST
acl verbs method REPORT CONNECT
acl plain proto HTTP
acl lab src 127.50.0.0/16
acl lab2 src 127.51.0.0/16
http_access deny !verbs
http_access deny !plain !CONNECT
http_access deny lab2 only_names
http_access allow lab2
http_access allow exact
http_access allow tree
http_access allow listed
http_access allow dotted
http_access allow literal
http_access allow lab reversed
http_access allow lab nameless
http_access deny all
CONF

sub decides
{
    my ($host, $status, $what, %how) = @_;
    my $method = $how{method} // 'GET';
    my $url = $method eq 'CONNECT' ? "$host:$port" : "http://$host:$port/";
    return is request($proxy, $method => $url, from => '127.0.0.1', %how)->status, $status, "$host: $what";
}

decides('exact.test', 200, 'the name itself');
decides('x.exact.test', 403, 'not what is below a name without a dot');
decides('EXACT.Test.', 200, 'case and a trailing dot do not matter');
decides('tree.test', 200, 'a dot holds the name');
decides('a.b.tree.test', 200, '... and all below');
decides('atree.test', 403, '... but no name that only ends so');
decides('list.test', 200, 'out of a list file');
decides('dot.test', 200, 'a value with a trailing dot, in capitals');
decides('other.test', 403, 'no list has it');
decides('127.0.0.2', 503, 'an address as it is written');
decides('[::2]', 503, 'an IPv6 address');
decides('127.0.0.3', 503, 'an address by its reverse name', from => '127.50.0.1');
decides('127.0.0.4', 503, 'an address without a reverse name is none', from => '127.50.0.1');
decides('other.test', 403, 'a name is never none', from => '127.50.0.1');
decides('127.0.0.3', 503, '-n does not ask for the name', from => '127.51.0.1');
decides('exact.test', 200, 'REPORT', method => 'REPORT');
decides('exact.test', 403, 'PUT', method => 'PUT');
decides('exact.test', 403, 'methods have a case', method => 'get');
decides('exact.test', 200, 'CONNECT', method => 'CONNECT');
is get($proxy, "ftp://exact.test:$port/")->status, 403, 'a scheme that is not listed';

# --- what is refused or warned about --------------------------------------------------------------

sub warned
{
    my ($acl, $column, $text) = @_;
    my $said = parse("acl x $acl\nhttp_access deny x\nhttp_port 3128\n");
    is $said->{status}, 0, "accepted: $acl";
    like $said->{output}, qr/bobtail\.conf:1:$column: warning: .*\Q$text\E/, '... with a warning';
    return;
}
warned('dstdomain a.example.com .example.com', 31, 'a.example.com in ACL x is covered by .example.com');
warned('dstdomain .example.com .a.example.com', 30, 'is covered by .example.com');
warned('dstdomain .example.com example.com', 30, 'example.com in ACL x is covered by .example.com');
warned('dstdomain a.test A.test', 24, 'twice');
warned('dstdomain *.example.com', 17, 'write .example.com');
warned('dstdomain http://a.test/', 17, 'no host name');
warned('proto HTTP cache_object', 18, 'manager');
warned('proto HTPT', 13, 'HTPT');

my $said = parse("acl x method GET G/T\nhttp_access deny x\nhttp_port 3128\n");
isnt $said->{status}, 0, 'refused: a method that is none';
like $said->{output}, qr/conf:1:18: error: .*G\/T/, '... with place and reason';

done;

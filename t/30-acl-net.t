# 30-acl-net.t - src, dst, localip, localport, port, myportname: what matches, and what is refused.
use Bobtail::Test;

my $origin = origin('*' => { body => 'ok' });
my $port = $origin->port;
my $proxy = proxy(<<"CONF", files => { hosts => "127.0.0.1 a.test\n127.0.0.1 b.test\n", nets => "127.47.0.1\r\n\n# none\n 127.47.1.0/24 \n" });
hosts_file \@DIR\@/hosts
dns_nameservers 127.255.255.53
dns_timeout 1 second
http_port 127.0.0.1:0 name=main
http_port 127.0.0.1:0 name=guests
http_port 127.0.0.2:0 name=other
acl one_range src 127.40.0.10-127.40.0.20
acl masked_range src 127.40.64.0-127.40.67.0/24
acl dotted src 127.41.0.0/255.255.255.128
acl stray src 127.42.7.77/24
acl several src 127.43.0.1 127.43.0.3/32
acl several src 127.43.1.0/30 # and a comment
acl mapped src ::ffff:127.44.0.0/112
acl listed src "\@DIR\@/nets"
acl nobody src 2001:db8::/32
acl v4 src ipv4
acl v6 src ipv6
acl lab src 127.50.0.0/16
acl to_own_host dst 127.0.0.1
acl to_net dst 127.60.0.0/16
acl to_literal dst -n 127.60.0.0/16
acl web port $port 1-3
acl to_guests myportname guests
acl to_other localip 127.0.0.2
acl own_port localport 1-65535
acl no_port myport 1-2
acl no_address myip 127.0.0.9
http_access deny !web
http_access deny v6
http_access deny !v4
http_access deny !own_port
http_access deny no_port
http_access deny no_address
http_access allow one_range
http_access allow masked_range
http_access allow dotted
http_access allow stray
http_access allow several
http_access allow mapped
http_access allow listed
http_access allow nobody
http_access deny lab to_literal
http_access allow lab to_own_host
http_access deny lab
http_access allow to_guests
http_access allow to_other
http_access deny all
CONF

sub decides
{
    my ($from, $status, $what, %how) = @_;
    my $answer = get($how{to} // $proxy, $how{url} // $origin->url('/'), from => $from);
    return is $answer->status, $status, "$from: $what";
}

decides('127.40.0.9', 403, 'before the range');
decides('127.40.0.10', 200, 'first of the range');
decides('127.40.0.20', 200, 'last of the range');
decides('127.40.0.21', 403, 'past the range');
decides('127.40.66.99', 200, 'inside a range with a mask');
decides('127.40.67.255', 200, 'last of it');
decides('127.40.68.0', 403, 'past it');
decides('127.41.0.127', 200, 'dotted mask');
decides('127.41.0.128', 403, 'past it');
decides('127.42.7.1', 200, 'bits behind the mask are dropped');
decides('127.43.0.1', 200, 'first of several');
decides('127.43.0.2', 403, 'none of several');
decides('127.43.1.3', 200, 'value of a second line');
decides('127.44.9.9', 200, 'a prefix written as IPv4-mapped');
decides('127.45.0.0', 403, '... is no wider than that');
decides('127.47.0.1', 200, 'value of a list file, with CR');
decides('127.47.1.9', 200, 'value of a list file, with blanks');
decides('127.47.2.9', 403, 'not in the list file');

decides('127.50.0.1', 200, 'dst: a literal', url => "http://127.0.0.1:$port/");
decides('127.50.0.1', 200, 'dst: a name', url => "http://a.test:$port/");
decides('127.50.0.1', 200, 'dst: an address in an odd spelling', url => "http://2130706433:$port/");
decides('127.50.0.1', 403, 'dst -n: a literal', url => "http://127.60.0.1:$port/");
decides('127.50.0.1', 403, 'dst: a name without address', url => "http://nowhere.test:$port/");

is get($proxy, 'http://a.test:4/', from => '127.40.0.10')->status, 403, 'a port that is not listed';
is get($proxy, 'http://a.test:1/', from => '127.40.0.10')->status, 503, 'one within a range of ports';

decides('127.0.0.1', 403, 'the first port');
decides('127.0.0.1', 200, 'by the name of the second', to => $proxy->addr('guests'));
decides('127.0.0.1', 200, 'by the address of the third', to => $proxy->addr('other'));

# --- what is refused, with its place --------------------------------------------------------------

sub refused
{
    my ($acl, $column, $text) = @_;
    my $said = parse("acl x $acl\nhttp_access deny x\n");
    isnt $said->{status}, 0, "refused: $acl";
    like $said->{output}, qr/bobtail\.conf:1:$column: error: .*\Q$text\E/, '... with place and reason';
    return;
}
refused('src 127.12.0.0/33', 11, '/33');
refused('src 127.12.0.1 127.12.0.300', 22, '127.12.0.300');
refused('src 127.46', 11, 'no address');
refused('src 127.12.0.9-127.12.0.1', 11, 'ends before it begins');
refused('src 10.0.0.0/255.0.255.0', 11, 'holes');
refused('src no-such-host.invalid', 11, 'no-such-host.invalid');
refused('dst 2001:db8::/129', 11, '/129');
refused('localip 1.2.3.4.5', 15, 'no address');
refused('port 8000-7000', 12, '8000-7000');
refused('port 80 70000', 15, '70000');
refused('localport http', 17, 'no port');
refused('src "@DIR@/absent"', 11, 'absent');

my $said = parse("acl x src 10.1.2.3/8 ::ffff:127.12.0.0/112\nhttp_access deny x\nhttp_port 3128\n");
is $said->{status}, 0, 'bits behind a mask are no fault';
like $said->{output}, qr/conf:1:11: warning: .*10\.0\.0\.0\/8/, '... and are named';
unlike $said->{output}, qr/warning: .*112/, 'a mapped prefix is nothing to talk about';

done;

# 34-acl-regex.t - regular expressions over URL, path, host and headers.
use Bobtail::Test;

my $origin = origin('*' => { body => 'ok' });
my $port = $origin->port;
my $hosts = join '', map { "127.0.0.1 $_\n" } qw(www.test cdn-1.test acdn.test any.test);
my $proxy = proxy(<<"CONF", files => { hosts => $hosts, paths => "^/listed one\$\n^/other\$\n" });
hosts_file \@DIR\@/hosts
dns_nameservers 127.255.255.53
dns_timeout 1 second
acl whole url_regex ^http://www\\.test:$port/start /end\$
acl folded url_regex -i /Folded\$ +i /Strict\$
acl tunnelled url_regex ^www\\.test:$port\$
acl path urlpath_regex ^/id/[[:digit:]]{3,5}\$
acl listed urlpath_regex -i "\@DIR\@/paths"
acl dashed urlpath_regex -- -dash\$
acl host dstdom_regex (^|\\.)cdn[.-]
acl literal dstdom_regex -n ^127\\.0\\.0\\.1\$
acl tool browser ^Tool/[0-9]+
acl from_partner referer_regex -i ^https?://partner\\.test/
acl key req_header X-Key ^(alpha|beta)\$
acl key req_header X-Other -i ^GAMMA
acl upload req_mime_type ^text/(csv|xml)
http_access allow whole
http_access allow folded
http_access allow tunnelled
http_access allow path
http_access allow listed
http_access allow dashed
http_access allow host
http_access allow literal
http_access allow tool
http_access allow from_partner
http_access allow key
http_access allow upload
http_access deny all
CONF

sub decides
{
    my ($what, $path, $status, %how) = @_;
    my $host = delete $how{host} // 'any.test';
    return is get($proxy, "http://$host:$port$path", %how)->status, $status, $what;
}

decides('a URL', '/start', 200, host => 'www.test');
decides('anchored at its beginning', '/start', 403);
decides('one of several patterns', '/x/end', 200);
decides('-i', '/FOLDED', 200);
decides('+i ends it', '/strict', 403);
decides('... and does match its own case', '/Strict', 200);
decides('a path', '/id/1234', 200);
decides('counted', '/id/12', 403);
decides('a line of a file, blanks included', '/LISTED%20one', 200);
decides('escapes are undone once', '/%65nd', 200);
decides('... and not twice', '/%2565nd', 403);
decides('behind --', '/x-dash', 200);
decides('a host', '/', 200, host => 'cdn-1.test');
decides('another', '/', 403, host => 'acdn.test');
decides('an address', '/', 200, host => '127.0.0.1');
decides('User-Agent', '/', 200, headers => { 'User-Agent' => 'Tool/1' });
decides('another', '/', 403, headers => { 'User-Agent' => 'tool/1' });
decides('Referer', '/', 200, headers => { Referer => 'HTTP://partner.test/' });
decides('a header', '/', 200, headers => { 'x-key' => 'beta' });
decides('... with another value', '/', 403, headers => { 'X-Key' => 'betas' });
decides('a second line is about another header', '/', 200, headers => { 'X-Other' => 'gamma1' });
decides('Content-Type', '/', 200, headers => { 'Content-Type' => 'text/csv' });
is request($proxy, CONNECT => "www.test:$port")->status, 200, 'CONNECT is host:port';

for (['url_regex (ad|banner', 17, 'banner'], ['urlpath_regex ^/ads{2,1}', 21, '\{2,1\}'],
    ['browser ok [[:alfa:]]', 18, 'alfa'], ['req_header X-Key [z-a]', 24, '\[z-a'],
    ['url_regex /two[ ]words', 17, '/two\[']) {
    my ($acl, $column, $text) = @$_;
    my $said = parse("acl x $acl\nhttp_access deny x\nhttp_port 3128\n");
    isnt $said->{status}, 0, "refused: $acl";
    like $said->{output}, qr/bobtail\.conf:1:$column: error: .*$text/, '... with place and reason';
}
my $reply = parse("acl x rep_header Server ^x\nacl y rep_mime_type ^video\nhttp_access deny x\nhttp_access deny y\n");
like $reply->{output}, qr/conf:3:18: error: .*RESPONSE.*conf:4:18: error: .*RESPONSE/s,
    'what the response says is not known to http_access';

done;

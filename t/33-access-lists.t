# 33-access-lists.t - adapted_http_access, miss_access, http_reply_access, http_access_audit; reasons.
use Bobtail::Test;
use IO::Socket::IP;

my $origin = origin(
    '/html' => { body => '<p>', 'Content-Type' => 'text/html' },
    '/swf' => { body => 'flash', 'Content-Type' => 'application/x-flash' },
    '/418' => { status => 418, body => 'tea' },
    '/304' => { status => 304, 'X-Leak' => 'yes' },
    '/500' => { status => 500, body => 'x' },
    '*' => { body => 'ok' },
);
my $port = $origin->port;
my $proxy = proxy(<<"CONF", files => { hosts => "127.0.0.1 a.test b.test\n" });
hosts_file \@DIR\@/hosts
dns_nameservers 127.255.255.53
dns_timeout 1 second
access_log stdio:\@DIR\@/access.log logformat=why
logformat why %rp %Ss/%>Hs %err_code %rule %rule.text
error_show_rule on
acl home src 127.50.0.0/16
acl guests src 127.51.0.0/16
acl lab src 127.52.0.0/16
acl flash rep_mime_type -i ^application/x-flash
acl leak rep_header X-Leak .
acl odd http_status 418 500-599
acl tea http_status 418
acl unavailable http_status 503
acl own_page squid_error ERR_DNS_FAIL
acl b dstdomain b.test
acl secret urlpath_regex ^/secret
acl upload method POST
acl somewhere dst 127.0.0.1
deny_info 451:ERR_ACCESS_DENIED leak
deny_info ERR_CANNOT_FORWARD b
http_access deny secret guests
http_access allow all
adapted_http_access deny upload guests
miss_access deny b
http_reply_access deny flash
http_reply_access deny leak
http_reply_access allow tea home
http_reply_access deny own_page lab
http_reply_access deny odd !lab somewhere
http_reply_access deny unavailable guests
http_reply_access allow all
CONF
my $dir = $proxy->dir;

sub ask
{
    my ($path, %how) = @_;
    my $url = $how{url} // 'http://' . ($how{host} // 'a.test') . ":$port$path";
    return request($proxy, $how{method} // 'GET', $url, from => $how{from} // '127.0.0.1', %how);
}

is ask('/html')->status, 200, 'an answer that is allowed';
my $answer = ask('/swf');
is $answer->status, 403, 'http_reply_access keeps one back by its type';
unlike $answer->body, qr/flash/, 'all of it';
is $answer->header('X-Squid-Error'), 'ERR_ACCESS_DENIED 0', 'the page';
is $answer->header('X-Bobtail-Rule'), "$dir/bobtail.conf:26", 'error_show_rule names the rule in a header';
is ask('/html')->header('X-Bobtail-Rule'), "$dir/bobtail.conf:23", '... of what passes, too';
is ask('/418', from => '127.50.0.1')->status, 418, 'by status and client: allowed';
is ask('/418')->status, 403, '... and not';
is ask('/418', from => '127.52.0.1')->status, 418, 'a negated ACL';
is ask('/500')->status, 403, 'a list that waits for a name';
is ask('/304')->status, 304, 'there is nothing to keep back in a 304';
is ask('/html', host => 'b.test')->status, 403, 'miss_access';
is ask('/html', host => 'b.test')->header('X-Squid-Error'), 'ERR_CANNOT_FORWARD 0', '... and its page by deny_info';
is ask('/x', method => 'POST', body => 'x', from => '127.51.0.1')->status, 403, 'adapted_http_access';
is ask('/x', method => 'POST', body => 'x')->status, 200, '... allows others';

# The proxy's own pages.
is ask('/', url => 'http://none.test/')->status, 503, 'a page of our own';
is ask('/', url => 'http://none.test/', from => '127.51.0.1')->status, 403, '... can be kept back by its status';
is ask('/', url => 'http://none.test/', from => '127.52.0.1')->status, 403, '... or by its name: squid_error';
is ask('/secret', from => '127.51.0.1')->status, 403, 'a refusal is none of those';

my $client = client($proxy);
is join(' ', map { request($proxy, GET => "http://a.test:$port$_", on => $client)->status }
    qw(/swf /html /swf /html)), '403 200 403 200', 'the connection is kept';
$client->close;

counters($proxy, 'access.reply_denied' => 7, 'access.miss_denied' => 2, 'access.adapted_denied' => 1,
    'access.denied' => 1, 'access.broken' => 0, 'access.allowed' => 19);
wait_for(sub { $proxy->text('access.log') =~ m{^/secret}m });
my $log = $proxy->text('access.log');
like $log, qr{^/swf TCP_DENIED_REPLY/403 ERR_ACCESS_DENIED \S+:26 http_reply_access deny flash$}m,
    'the reason in the log';
like $log, qr{^/418 TCP_MISS/418 - \S+:23 http_access allow all$}m, '... of what passed: the rule of http_access';
like $log, qr{^/secret TCP_DENIED/403 ERR_ACCESS_DENIED \S+:22 http_access deny secret guests$}m, '... of what did not';

# --- waiting --------------------------------------------------------------------------------------

my $silent = IO::Socket::IP->new(LocalHost => '127.0.0.1', Proto => 'udp'); # a name server that says nothing
my $waits = proxy(<<"CONF", files => { hosts => "127.50.0.1 desk.test\n" });
hosts_file \@DIR\@/hosts
dns_nameservers 127.0.0.1:@{[ $silent->sockport ]}
dns_timeout 1 second
acl desk srcdomain desk.test
acl unavailable http_status 503
http_access allow all
http_reply_access deny unavailable !desk
http_reply_access allow all
CONF
my $nobody = IO::Socket::IP->new(LocalHost => '127.0.0.1', Listen => 1)->sockport; # and closed
is get($waits, "http://127.0.0.1:$nobody/", from => '127.50.0.1')->status, 503, 'a page of our own, and nothing to wait for';
my $kept_back = get($waits, "http://127.0.0.1:$nobody/", from => '127.51.0.1');
is $kept_back->status, 403, '... after a name server did not answer';
is $kept_back->header('X-Squid-Error'), 'ERR_ACCESS_DENIED 0', '... and what it was is not said';
my $leaves = client($waits, from => '127.52.0.1');
$leaves->send("GET http://127.0.0.1:$nobody/ HTTP/1.1\r\nHost: x\r\n\r\n");
ok wait_for(sub { stat($waits, 'client.active') == 1 }), 'a client that leaves while that is asked';
$leaves->close;
ok wait_for(sub { stat($waits, 'client.active') == 0 }), '... is gone';
counters($waits, 'access.reply_denied' => 1);

# --- trying rules out -----------------------------------------------------------------------------

my $audit = proxy(<<"CONF");
http_access_audit on
access_log stdio:\@DIR\@/access.log logformat=audit
logformat audit %rm %>Hs %access.audit %rule
acl lab src 127.50.0.0/16
acl POST method POST
acl flash rep_mime_type -i ^application/x-flash
http_access deny lab
http_access allow !POST
adapted_http_access deny lab
adapted_http_access allow all
http_reply_access deny flash
CONF
is get($audit, $origin->url('/html'), from => '127.50.0.1')->status, 200, 'http_access_audit: it passes';
is get($audit, $origin->url('/html'))->status, 200, 'so does what is allowed';
is request($audit, 'POST', $origin->url('/html'), body => 'x')->status, 200, 'and what the default refuses';
is get($audit, $origin->url('/swf'))->status, 403, 'answers are not tried out';
counters($audit, 'access.audited' => 2, 'access.allowed' => 2, 'client.denied' => 1);
wait_for(sub { $audit->text('access.log') =~ /403/ });
like $audit->text('access.log'), qr/^GET 200 \S+:7 .*\nGET 200 - \S+:8\nPOST 200 default -\nGET 403 - /,
    'the log says what it would have been';

# --- our own ports --------------------------------------------------------------------------------

my $own = proxy(<<"CONF", files => { hosts => "127.0.0.1 me.test\n" });
hosts_file \@DIR\@/hosts
http_port 127.0.0.1:0 name=one
http_port 0 name=any
http_access allow all
CONF
my ($one, $any) = map { $own->port_of($_) } qw(one any);
for my $to ("127.0.0.1:$one", "me.test:$one", "0.0.0.0:$one", "[::ffff:127.0.0.1]:$one", "127.9.9.9:$any", "[::1]:$any",
    "2130706433:$one") {
    is get($own, "http://$to/")->status, 403, "GET to our own port at $to";
    is request($own, CONNECT => $to)->status, 403, "CONNECT to our own port at $to" if $to !~ /^\d+:/;
}
is get($own, "http://127.0.0.2:$one/")->status, 503, 'where we do not listen it is just a port';
is get($own, $origin->url('/html'))->status, 200, 'others are others';
counters($own, 'access.own_port' => 13);
done;

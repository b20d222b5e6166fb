# 31-acl-exchange.t - http_status, squid_error, hier_code, has, peername, urllogin and their like.
use Bobtail::Test;

my $origin = origin('*' => { body => 'ok' }, map { ("/$_" => { status => $_, body => 'x' }) } 404, 410, 418, 500, 599);
my $port = $origin->port;
my $proxy = proxy(<<'CONF');
logformat short %rp %>Hs
acl direct hier_code HIER_DIRECT PINNED
acl nowhere hier_code HIER_NONE
acl unreachable squid_error ERR_CONNECT_FAIL ERR_DNS_FAIL
acl refused squid_error ERR_ACCESS_DENIED
acl peer peername parent1
acl peers peername_regex .
acl answered has response
acl asked has request
acl early has response
acl ale has ALE
acl gone http_status 404 410
acl failed http_status 500-
acl anna urllogin -i ^ANNA:
acl blank urllogin a.b
acl anybody urllogin .
acl byclient transaction_initiator client
acl inner transaction_initiator internal certificate-fetching
acl tls connections_encrypted
http_access deny !asked
http_access deny early
http_access deny !ale
http_access deny inner
http_access deny !byclient
http_access deny tls
http_access deny anna
http_access deny anybody !blank
http_access allow all
http_reply_access deny gone
http_reply_access deny failed
http_reply_access allow all
access_log stdio:@DIR@/all.log logformat=short
access_log stdio:@DIR@/direct.log logformat=short direct
access_log stdio:@DIR@/none.log logformat=short nowhere
access_log stdio:@DIR@/unreachable.log logformat=short unreachable
access_log stdio:@DIR@/denied.log logformat=short refused
access_log stdio:@DIR@/peer.log logformat=short peer
access_log stdio:@DIR@/peers.log logformat=short peers
access_log stdio:@DIR@/answered.log logformat=short answered
CONF

sub status { my ($what) = @_; return get($proxy, $what =~ /^http/ ? $what : $origin->url($what))->status }
is status('/one'), 200, 'all that is so';
is status('/404'), 403, 'http_status: one of two';
is status('/410'), 403, '... the other';
is status('/418'), 418, '... none';
is status('/500'), 403, 'an open range, its beginning';
is status('/599'), 403, '... its end';
is status("http://anna:x\@127.0.0.1:$port/anna"), 403, 'urllogin, case ignored';
is status("http://a%20b\@127.0.0.1:$port/blank"), 200, '... with its escapes undone';
is status("http://berta\@127.0.0.1:$port/berta"), 403, '... of somebody else';
is status('http://none.invalid/none'), 403, 'an error of our own';

wait_for(sub { !grep { $proxy->text("$_.log") !~ m{^/none }m } qw(all none denied answered) });
sub logged { my ($name) = @_; return join ' ', map { (split)[0] } split /\n/, $proxy->text("$name.log") }
is logged('direct'), '/one /404 /410 /418 /500 /599 /blank', 'hier_code: those that an origin was asked about';
is logged('none'), '/anna /berta /none', 'HIER_NONE: those that nobody was asked about'
    or diag $proxy->text('all.log');
is logged('peer') . logged('peers'), '', 'peername: there are no parents';
is logged('denied'), '/404 /410 /500 /599 /anna /berta /none', 'squid_error: the page of a refusal';
is logged('unreachable'), '', 'the error that http_reply_access kept back is no more';
is logged('answered'), logged('all'), 'has: all have a response at the end';

# --- random ---------------------------------------------------------------------------------------

my $dice = proxy(<<'CONF');
acl often random 9/10
acl half random 0.5
acl seldom random 1:3
acl never random .000000001
http_access deny never
http_access allow half
http_access deny all
CONF
my $client = client($dice);
my $allowed = grep { request($dice, GET => "http://127.0.0.1:$port/", on => $client)->status == 200 } 1 .. 200;
$client->close;
cmp_ok $allowed, '>', 60, "random: $allowed of 200 is about half";
cmp_ok $allowed, '<', 140, '... of all';

for (['http_status 5xx', 19, '500-599'], ['http_status 404-400', 19, 'ends before it begins'],
    ['http_status ok', 19, 'no status'], ['http_status 1000', 19, 'no status'], ['http_status -', 19, 'no status'],
    ['hier_code DIRECT', 17, 'HIER_DIRECT'], ['transaction_initiator me', 29, 'client'], ['has reply', 11, 'response'],
    ['random 3', 14, '0\.3'], ['random 2/0', 14, '0\.3'], ['random 5/3', 14, '0\.3'], ['random 1.5', 14, '0\.3'],
    ['random 0.5x', 14, '0\.3'], ['urllogin (a', 16, '\(a']) {
    my ($acl, $column, $text) = @$_;
    my $said = parse("acl x $acl\naccess_log none x\nhttp_port 3128\n");
    isnt $said->{status}, 0, "$acl: refused";
    like $said->{output}, qr/bobtail\.conf:1:$column: error: .*$text/, '... with place and reason';
}
my $early = parse("acl x http_status 200\nacl y hier_code HIER_DIRECT\nhttp_access deny x\nhttp_access deny y\nhttp_port 3128\n");
like $early->{output}, qr/conf:3:18: .*phase RESPONSE.*conf:4:18: .*phase UPSTREAM/s, 'what is not known yet cannot be asked';
like parse("acl x squid_error DNS\nhttp_access deny x\nhttp_port 3128\n")->{output}, qr/:1:19: warning: .*ERR_DNS_FAIL/,
    'what is no error is warned of';
done;

# 84-shaping.t - bytes a second: pools of all classes, of clients, of answers; who shares a bucket and
# who does not; tunnels; and requests a second.
use Bobtail::Test;
use Time::HiRes qw(time);

my $body = 'x' x 60000;
my $origin = origin(
    '/big' => { body => $body, 'Cache-Control' => 'no-store' },
    '/chunked' => { chunks => [($body =~ /(.{1000})/g)], 'Cache-Control' => 'no-store' },
    '/kept' => { body => $body, 'Cache-Control' => 'max-age=600' },
    '/jpeg' => { body => $body, 'Content-Type' => 'image/jpeg', 'Cache-Control' => 'no-store' },
    '*' => { body => 'small', 'Cache-Control' => 'no-store' },
);
my $url = $origin->url('');

# A thousand bytes a second, and time is moved: so what comes meanwhile is a byte a millisecond.
my $limit = '1000/20000';
my $slack = 1500;

sub ask
{
    my ($proxy, $path, %how) = @_;
    my $conn = client($proxy, %how);
    $conn->send("GET $url$path HTTP/1.1\r\nHost: x\r\n" . ($how{fields} // '') . "\r\n");
    return $conn;
}

# Bytes of the body so far, when nothing more comes for a moment.
sub has
{
    my ($conn) = @_;
    1 while $conn->fill(0.1);
    my $at = index $conn->{buffer}, "\r\n\r\n";
    return $at < 0 ? 0 : length($conn->{buffer}) - $at - 4;
}

sub about
{
    my ($got, $wanted, $what) = @_;
    ok $got >= $wanted - 300 && $got <= $wanted + $slack, $what or diag "$got, and not about $wanted";
    return;
}

my %helper = (files => { 'who.sh' => "while read -r a who rest; do echo \"OK user=\$who tag=\$who\"; done\n" });
my $who = 'external_acl_type who ttl=60 children-startup=1 children-max=1 children-idle=0 %SRC %>{X-Who} /bin/sh @DIR@/who.sh'
    . "\nacl who external who\nhttp_access allow who\n";
sub pool
{
    my ($class, $limits, $more) = @_;
    return proxy(<<"CONF", %helper);
cache_mem 8 MB
delay_pools 1
delay_class 1 $class
delay_parameters 1 $limits
delay_access 1 allow all
delay_initial_bucket_level 0
acl_uses_indirect_client on
follow_x_forwarded_for allow all
logformat pool %rp %shape.pool
access_log stdio:\@DIR\@/log logformat=pool
@{[$more // '']}
CONF
}

# Two connections, and what each has after ten seconds: of a bucket together, or of one each.
sub two
{
    my ($proxy, $one, $other, $shared, $what) = @_;
    my @conn = (ask($proxy, '/big', %$one), ask($proxy, '/big', %$other));
    has($_) for @conn;
    later($proxy, 10);
    my @got = map { has($_) } @conn;
    if ($shared) {
        about($got[0] + $got[1], 10000, "$what: one bucket");
    } else {
        about($got[$_], 10000, "$what: a bucket of its own, $_") for 0, 1;
    }
    $_->close for @conn;
    wait_for(sub { stat($proxy, 'client.active') == 0 });
    return;
}

# --- delay_pools ------------------------------------------------------------------------------------

my %a = (from => '127.0.0.1');
my %near = (from => '127.0.0.2');
my %far = (from => '127.0.7.1');

my $all = pool(1, $limit);
my $conn = ask($all, '/big');
about(has($conn), 0, 'the bucket is empty at first');
later($all, 10);
about(has($conn), 10000, 'ten seconds, ten thousand bytes');
later($all, 100);
about(has($conn), 30000, 'and no more than it holds');
$conn->close;
wait_for(sub { stat($all, 'client.active') == 0 });
two($all, \%a, \%far, 1, 'class 1');
later($all, 3600);
is length get($all, "$url/other")->body, 5, 'what is small passes';
ok wait_for(sub { $all->text('log') =~ m{^/other 1$}m }), 'the pool is logged';
cmp_ok stat($all, 'pace.bytes'), '>', 20000, 'counted: bytes';
cmp_ok stat($all, 'pace.waits'), '>', 2, 'waits';
cmp_ok stat($all, 'shape.pooled'), '>=', 4, 'exchanges';
is stat($all, 'pace.crowded'), 0, 'and no bucket that two had to share';

$conn = ask($all, '/chunked');
has($conn);
later($all, 10);
about(has($conn), 30000, 'chunks');
$conn->close;
later($all, 3600);

is request($all, HEAD => "$url/big")->header('Content-Length'), 60000, 'HEAD has nothing to wait for';
is get($all, "$url/none-of-it", version => '1.0')->body, 'small', 'HTTP/1.0';

my $tunnel = tunnel($all, $origin->addr);
is $tunnel->{response}->status, 200, 'a tunnel';
$tunnel->send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
about(has($tunnel), 20000, 'has what the bucket holds');
later($all, 10);
about(has($tunnel), 30000, 'and then its rate');
$tunnel->close;

my $hosts = pool(2, "none $limit");
two($hosts, \%a, \%near, 0, 'class 2, two clients');
two($hosts, \%a, \%a, 1, 'class 2, one client');
two($hosts, { %a, fields => "X-Forwarded-For: 192.0.2.1\r\n" }, { %a, fields => "X-Forwarded-For: 192.0.2.2\r\n" }, 0, 'behind a proxy');
two($hosts, { %a, fields => "X-Forwarded-For: 2001:db8::1\r\n" }, { %a, fields => "X-Forwarded-For: 2001:db8::2\r\n" }, 0, 'IPv6');
my $direct = pool(2, "-1/-1 $limit", 'delay_pool_uses_indirect_client off');
two($direct, { %a, fields => "X-Forwarded-For: 192.0.2.1\r\n" }, { %a, fields => "X-Forwarded-For: 192.0.2.2\r\n" }, 1, 'delay_pool_uses_indirect_client off');
my $both = pool(2, "$limit 100000/100000");
two($both, \%a, \%near, 1, 'class 2, the aggregate');

my $nets = pool(3, "none $limit none");
two($nets, \%a, \%near, 1, 'class 3, one network');
two($nets, \%a, \%far, 0, 'class 3, two networks');
two($nets, { %a, fields => "X-Forwarded-For: 2001:db8::1\r\n" }, { %a, fields => "X-Forwarded-For: 2001:db8::2\r\n" }, 1, 'class 3, one network of IPv6');

my $users = pool(4, "none none none $limit", $who);
two($users, { fields => "X-Who: joe\r\n" }, { %near, fields => "X-Who: joe\r\n" }, 1, 'class 4, one user');
two($users, { fields => "X-Who: joe\r\n" }, { fields => "X-Who: ann\r\n" }, 0, 'class 4, two users');

my $tags = pool(5, $limit, $who);
two($tags, { fields => "X-Who: red\r\n" }, { %near, fields => "X-Who: red\r\n" }, 1, 'class 5, one tag');
two($tags, { fields => "X-Who: red\r\n" }, { fields => "X-Who: blue\r\n" }, 0, 'class 5, two tags');

# Which pool, and whom none is for.
my $which = proxy(<<"CONF");
cache_mem 8 MB
acl slow urlpath_regex ^/big
acl image rep_mime_type image/jpeg
delay_pools 2
delay_class 1 1
delay_class 2 2
delay_parameters 1 $limit
delay_parameters 2 none $limit
delay_access 1 deny !slow
delay_access 1 allow all
delay_access 2 allow image
delay_initial_bucket_level 0
CONF
is length get($which, "$url/kept")->body, 60000, 'no pool: at once';
is length get($which, "$url/kept")->body, 60000, 'a hit, too';
counters($which, 'pace.waits' => 0, 'pace.bytes' => 0, 'shape.pooled' => 0);
for my $path ('/big', '/jpeg') {
    $conn = ask($which, $path);
    has($conn);
    later($which, 10);
    about(has($conn), 10000, "$path: by rules about request and answer");
    $conn->close;
}

# Of a parent with no-delay nothing counts.
my $parents = pool(1, $limit, "cache_peer 127.0.0.1 parent @{[$origin->port]} 0 originserver no-delay\nnever_direct allow all");
is length get($parents, "$url/big")->body, 60000, 'cache_peer no-delay';
counters($parents, 'pace.bytes' => 0, 'shape.pooled' => 1);

# A script may choose.
my $script = proxy(<<"CONF", files => { 'pool.lua' => <<'LUA' });
delay_pools 2
delay_class 1 1
delay_class 2 1
delay_parameters 1 none
delay_parameters 2 $limit
delay_access 1 allow all
delay_initial_bucket_level 0
lua_script \@DIR\@/pool.lua
CONF
function on_request(txn)
  if txn.path == "/big" then txn:delay_pool(2) end
  if txn.path == "/none" then txn:delay_pool(0) end
  if txn.path == "/wrong" then txn:delay_pool(-1) end
end
LUA
$conn = ask($script, '/big');
has($conn);
later($script, 10);
about(has($conn), 10000, 'txn:delay_pool()');
$conn->close;
is get($script, "$url/none")->status, 200, 'none, by a script';
counters($script, 'shape.pooled' => 1);
is get($script, "$url/x")->status, 200, 'else by delay_access';
counters($script, 'shape.pooled' => 2);
isnt get($script, "$url/wrong")->status, 200, 'a pool that cannot be';
$script->expect_log(qr/pool of delay_pools/);

# What the cache has is not limited by delay_pools, and a fetch for it is.
my $kept = pool(1, $limit);
$conn = ask($kept, '/kept');
has($conn);
later($kept, 10);
about(has($conn), 10000, 'a miss');
later($kept, 20), has($conn) for 1 .. 3;
is has($conn), 60000, '... is whole';
$conn->close;
my $waits = stat($kept, 'pace.waits');
is length get($kept, "$url/kept")->body, 60000, 'a hit comes at once';
is stat($kept, 'pace.waits'), $waits, '... without a wait';

# --- client_delay_pools, response_delay_pool ---------------------------------------------------------

my $clients = proxy(<<"CONF");
cache_mem 8 MB
acl slow src 127.0.0.1 127.0.0.2
client_delay_pools 1
client_delay_initial_bucket_level 0
client_delay_parameters 1 1000 20000
client_delay_access 1 allow slow
CONF
is length get($clients, "$url/kept", from => '127.0.7.1')->body, 60000, 'a client of no pool';
two($clients, \%a, \%a, 1, 'client_delay_pools, one client');
two($clients, \%a, \%near, 0, 'client_delay_pools, two clients');
later($clients, 3600);
$conn = ask($clients, '/kept');
about(has($conn), 20000, 'out of the cache, too');
later($clients, 10);
about(has($conn), 30000, '... at the rate of the client');
$conn->close;

my $answers = proxy(<<"CONF");
cache_mem 8 MB
acl image rep_mime_type image/jpeg
acl big urlpath_regex ^/big
response_delay_pool images individual-restore=1000 individual-maximum=20000 initial-bucket-level=0
response_delay_pool sum aggregate-restore=1000 aggregate-maximum=20000 initial-bucket-level=0
response_delay_pool_access images allow image
response_delay_pool_access sum allow big
CONF
my @each = map { ask($answers, '/jpeg') } 1, 2;
has($_) for @each;
later($answers, 10);
about(has($_), 10000, 'response_delay_pool: each answer') for @each;
$_->close for @each;
two($answers, \%a, \%far, 1, 'response_delay_pool: all answers');
is length get($answers, "$url/kept")->body, 60000, 'an answer of no pool';

# --- real time ----------------------------------------------------------------------------------------

my $real = proxy(<<"CONF", workers => 4);
delay_pools 1
delay_class 1 1
delay_parameters 1 600000/60000
delay_initial_bucket_level 0
delay_access 1 allow all
CONF
my @many = map { ask($real, '/big') } 1 .. 20;
my $began = time;
is scalar(grep { length $_->response(to => 'GET')->body == 60000 } @many), 20, 'four workers share a bucket';
my $took = time - $began;
ok $took > 1.85 && $took < 3, 'and twelve hundred thousand bytes take two seconds' or diag $took;
$_->close for @many;

# --- request_rate_limit -------------------------------------------------------------------------------

my $rate = proxy(<<"CONF", workers => 2);
acl staff src 127.0.9.0/24
request_rate_limit 2/second burst=5 !staff
CONF
sub many { my ($proxy, $n, %how) = @_; return join ' ', map { get($proxy, "$url/x", %how)->status } 1 .. $n }
later($rate, 1);
my $said = many($rate, 8);
like $said, qr/^200 200 200 200 200 (?:200 )?429/, 'a burst passes, more does not';
my $refused = get($rate, "$url/x");
is $refused->status, 429, 'the next one, neither';
is $refused->header('Retry-After'), 1, '... and is told when';
is $refused->header('X-Squid-Error'), 'ERR_TOO_MANY_REQUESTS 0', '... by a page';
is many($rate, 3, from => '127.0.0.2'), '200 200 200', 'another client has a bucket of its own';
is many($rate, 9, from => '127.0.9.9'), join(' ', ('200') x 9), 'ACLs exempt';
later($rate, 2);
like many($rate, 5), qr/^200 200 200 200 (?:200 )?429/, 'two seconds, four requests';
cmp_ok stat($rate, 'shape.rate_refused'), '>=', 4, 'counted';

my $delay = proxy(<<"CONF", %helper);
request_rate_limit 1/minute burst=1 per=network action=delay max-delay=100
request_rate_limit 1/hour burst=3 per=user
request_rate_limit 1000/second per=all
external_acl_type who ttl=60 children-startup=1 children-max=1 children-idle=0 %SRC %>{X-Who} /bin/sh \@DIR\@/who.sh
acl named req_header X-Who .
acl who external who
http_access allow !named
http_access allow who
CONF
is get($delay, "$url/x")->status, 200, 'the first is not delayed';
my $waiting = ask($delay, '/x', %near);
is has($waiting), 0, 'the second, of the same network, is';
is get($delay, "$url/x")->status, 429, 'and one that would wait for too long is refused';
my $leaves = ask($delay, '/x', from => '127.0.4.1');
is has($leaves), 5, 'another network waits for nobody';
$leaves->send("GET $url/x HTTP/1.1\r\nHost: x\r\n\r\n");
ok wait_for(sub { stat($delay, 'shape.rate_delayed') == 2 }), 'one who waits';
$leaves->close;
later($delay, 61);
is has($waiting), 5, 'a minute later it is answered';
$waiting->close;
ok wait_for(sub { stat($delay, 'client.active') == 0 }), 'who left is not waited for';
is join(' ', map { get($delay, "$url/x", from => "127.0.5$_.1", headers => ['X-Who', 'ann'])->status } 1 .. 4), '200 200 200 429',
    'per user, wherever he is';
is get($delay, "$url/x", from => '127.0.60.1', headers => ['X-Who', 'bob'])->status, 200, 'and each for himself';

# Buckets outlive a worker that is killed, and a reload.
my $lasting = proxy("request_rate_limit 1/hour burst=2\n", workers => 1);
is get($lasting, "$url/x")->status, 200, 'one of two';
my @old = $lasting->workers;
kill KILL => @old;
ok wait_for(sub { my %now = map { $_ => 1 } $lasting->workers; %now && !grep { $now{$_} } @old }), 'the workers are killed';
is get($lasting, "$url/x")->status, 200, 'two of two';
is ctl($lasting, 'reload')->{status}, 0, 'a reload';
is get($lasting, "$url/x")->status, 429, 'and still too many';
$lasting->expect_log(qr/worker/);

# --- the configuration --------------------------------------------------------------------------------

sub complains { my ($text, $like, $what) = @_; my $parsed = parse("http_port 127.0.0.1:0\n$text\n"); like $parsed->{output}, $like, $what; return }
complains("delay_pools 1\ndelay_parameters 1 $limit", qr/:3:18: error: there is no delay_class of pool 1 above/, 'no class');
complains("delay_pools 1\ndelay_class 1 3\ndelay_parameters 1 $limit", qr/:4:1: error: a pool of class 3 has 3 limits \(RESTORE\/MAXIMUM\), not 1/, 'too few limits');
complains("delay_pools 1\ndelay_class 1 1\ndelay_parameters 1 fast", qr/:4:20: error: none or RESTORE\/MAXIMUM in bytes expected, not 'fast'/, 'no limit');
complains("delay_pools 1\ndelay_class 1 1\ndelay_parameters 1 0/100", qr/:4:20: warning: a rate of 0/, 'a rate of nothing');
complains("delay_pools 1\ndelay_class 2 1\ndelay_parameters 2 $limit", qr/:4:1: warning: pool 2 is not used: delay_pools says 1/, 'a pool too many');
complains("response_delay_pool a\nresponse_delay_pool a", qr/:3:21: error: there is a response_delay_pool a already/, 'a name twice');
complains("response_delay_pool_access a allow all", qr/:2:28: error: there is no response_delay_pool a above/, 'a name without a pool');
complains("request_rate_limit fast", qr/:2:20: error: N\/second, N\/minute, N\/hour or N\/day expected, not 'fast'/, 'no rate');
complains("request_rate_limit 5/fortnight", qr/:2:20: error: N\/second/, 'no unit');
complains("request_rate_limit 5 burts=3", qr/:2:22: error: .*did you mean 'burst'/, 'no option');
is parse("http_port 127.0.0.1:0\ndelay_pools 1\ndelay_class 1 2\ndelay_parameters 1 -1/-1 64000/64000\ndelay_access 1 allow all\n")->{status}, 0,
    'as Squid has it';
done;

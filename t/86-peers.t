# 86-peers.t - parents: which one is asked, what it is told, and what its answers become.
use Bobtail::Test;
use MIME::Base64 qw(encode_base64);

# A parent that says its name, and what it was asked.
sub parent
{
    my ($name, %more) = @_;
    return origin('*' => sub {
        my ($request) = @_;
        return if $request->{method} eq 'CONNECT'; # an echo
        return { body => "$name from $request->{from}" } if $request->{path} =~ m{/from$};
        return { body => "$name $request->{method} $request->{target}", 'Cache-Control' => 'no-store' };
    }, %more);
}
my ($one, $two, $three) = map { parent($_) } qw(one two three);
my $site = origin('/a' => { body => 'site', 'Cache-Control' => 'no-store' }, '/p' => { body => 'posted' });
my $log = "logformat way %Sh %<A %>Hs %rm %peer.name\naccess_log stdio:\@DIR\@/access.log way\n";

sub peer { my ($parent, $more) = @_; return 'cache_peer 127.0.0.1 parent ' . $parent->port . " 0 no-query $more\n" }
sub names { my ($proxy, @urls) = @_; return join ' ', map { (split ' ', get($proxy, $_)->body)[0] // '-' } @urls }
sub last_line
{
    my ($proxy) = @_;
    return (split /\n/, $proxy->text('access.log'))[-1] // '';
}

# ---- the first that is up; what it gets

my $proxy = proxy($log . peer($one, 'name=one default') . peer($two, 'name=two') . "never_direct allow all\n");
my $answer = get($proxy, 'http://www.example.com:81/x?y', headers => { 'Proxy-Authorization' => 'Basic eA==', 'X-A' => 'b' });
is $answer->body, 'one GET http://www.example.com:81/x?y', 'a parent gets the whole URL, and no name server is asked';
my ($seen) = $one->seen('http://www.example.com:81/x?y') || $one->seen('/x?y');
like $seen, qr/^Host: www\.example\.com:81\r$/m, '... and Host';
like $seen, qr/^Via: 1\.1 proxy\.test/m, '... and Via';
unlike $seen, qr/^Proxy-Authorization/mi, '... and no login that was for us';
wait_for(sub { last_line($proxy) =~ /GET/ });
is last_line($proxy), 'FIRSTUP_PARENT one 200 GET one', 'the log says so';
is post($proxy, 'http://www.example.com/p', 'body')->body, 'one POST http://www.example.com/p', 'a POST, too';
counters($proxy, 'origin.reused' => 0); # POST never goes on a kept connection
names($proxy, ('http://www.example.com/k') x 3);
counters($proxy, 'origin.reused' => 3);

# ---- tunnels

my $tunnel = tunnel($proxy, 'nowhere.example.net:443');
is $tunnel->response->status, 200, 'a CONNECT goes to the parent';
$tunnel->send('hello');
is $tunnel->bytes(5), 'hello', '... and bytes pass';
$tunnel->close;
like $one->seen('nowhere.example.net:443'), qr/^CONNECT nowhere\.example\.net:443 HTTP\/1\.1\r\nHost: nowhere\.example\.net:443\r$/m,
    '... which was asked for the host';

# ---- cache_peer_access may wait, and who cannot be told about is kept out

my $waits = proxy(peer($one, 'name=one') . peer($two, 'name=two') . <<'CONF', files => { lab => "while read -r x; do echo OK; done\n" });
external_acl_type lab ttl=0 children-max=1 children-startup=1 children-idle=0 %SRC /bin/sh @DIR@/lab
acl lab external lab
acl here dst 127.0.0.1
acl b dstdomain .b.example.com
cache_peer_access one deny lab !b
cache_peer_access two deny here
never_direct allow all
CONF
is get($waits, $site->url('/a'))->status, 503, 'cache_peer_access asks a helper, and a name server';
is names($waits, 'http://b.example.com/'), 'one', '... and goes on';
is names($waits, 'http://127.0.0.2:1/'), 'two', '... as they say';

# ---- directly

my $direct = proxy($log . peer($one, 'name=one')
    . "acl here dst 127.0.0.1\nacl forced urlpath_regex ^/forced\nalways_direct allow here !forced\n");
is get($direct, $site->url('/a'))->body, 'site', 'always_direct, by an ACL that waits for names';
wait_for(sub { last_line($direct) =~ /GET/ });
is last_line($direct), 'HIER_DIRECT 127.0.0.1 200 GET -', '... as the log says';
is names($direct, $site->url('/forced')), 'one', 'all else to the parent';
is post($direct, $site->url('/p'), 'x')->status, 200, 'what no cache could know goes directly';
is $site->hits('/p'), 1, '... without a parent';

my $hier = proxy(peer($one, 'name=one') . "nonhierarchical_direct off\n");
is post($hier, $site->url('/p'), 'x')->body, 'one POST ' . $site->url('/p'), 'but with nonhierarchical_direct off';
my $prefer = proxy($log . peer($one, 'name=one') . "prefer_direct on\n");
is get($prefer, $site->url('/a'))->body, 'site', 'prefer_direct';
my $gone = origin('/a' => { body => 'x' });
my $dead = $gone->url('/a');
$gone->stop;
is get($prefer, $dead)->body, "one GET $dead", '... and a parent where that leads nowhere';
wait_for(sub { last_line($prefer) =~ /PARENT/ });
is last_line($prefer), 'FIRSTUP_PARENT one 200 GET one', '... as the log says';
counters($prefer, 'origin.other_way' => 1);

# ---- who may be asked for what

my $access = proxy($log . <<"CONF" . peer($one, 'name=one') . peer($two, 'name=two'));
acl a dstdomain a.example.com
acl b dstdomain b.example.com
acl none dstdomain none.example.com
cache_peer_access one deny b
cache_peer_access one deny none
cache_peer_access two allow b
never_direct allow all
acl at_two peername two
acl by_turn hier_code ROUNDROBIN_PARENT
tcp_outgoing_address 127.0.0.77 at_two !by_turn
CONF
is names($access, map "http://$_.example.com/", qw(a b)), 'one two', 'cache_peer_access, also above the parents';
is get($access, 'http://b.example.com/from')->body, 'two from 127.0.0.77', 'peername and hier_code are known when addresses are chosen';
$answer = get($access, 'http://none.example.com/');
is $answer->status, 503, 'nobody may, and directly is forbidden';
like $answer->header('X-Squid-Error'), qr/^ERR_CANNOT_FORWARD/, '... which is said';

# ---- in turn

my $turns = proxy($log . peer($one, 'name=one round-robin weight=2') . peer($two, 'name=two round-robin') . "never_direct allow all\n");
my %times;
$times{$_}++ for split ' ', names($turns, ('http://www.example.com/') x 9);
is_deeply \%times, { one => 6, two => 3 }, 'round-robin, by weight';
wait_for(sub { last_line($turns) =~ /GET/ });
like last_line($turns), qr/^ROUNDROBIN_PARENT /, '... as the log says';
my $slowly = proxy(peer($one, 'name=one weighted-round-robin basetime=1') . peer($two, 'name=two weighted-round-robin') . "never_direct allow all\n");
like names($slowly, ('http://www.example.com/') x 4), qr/one.*two|two.*one/, 'weighted-round-robin';

# ---- by hash

my $carp = proxy($log . join('', map { peer($_->[1], "name=$_->[0] carp") } [one => $one], [two => $two], [three => $three]) . "never_direct allow all\n", workers => 2);
my @urls = map "http://www$_.example.com/$_", 1 .. 60;
my @first = split ' ', names($carp, @urls);
is scalar(keys %{ { map { $_ => 1 } @first } }), 3, 'carp: each has its share';
is join(' ', @first), names($carp, @urls), '... the same one again, on any worker';
wait_for(sub { last_line($carp) =~ /GET/ });
like last_line($carp), qr/^CARP /, '... as the log says';
my $parts = proxy(join('', map { peer($_->[1], "name=$_->[0] carp carp-key=host") } [one => $one], [two => $two], [three => $three]) . "never_direct allow all\n");
my @same = split ' ', names($parts, map "http://www.example.com/$_", 1 .. 10);
is scalar(keys %{ { map { $_ => 1 } @same } }), 1, 'carp-key=host: one site, one parent';
my $source = proxy($log . peer($one, 'name=one sourcehash') . peer($two, 'name=two sourcehash') . "never_direct allow all\n");
my %by = map { $_ => (split ' ', get($source, 'http://www.example.com/', from => "127.0.1.$_")->body)[0] } 1 .. 20;
is scalar(keys %{ { reverse %by } }), 2, 'sourcehash: by the client';
is((split ' ', get($source, 'http://x.example.com/y', from => "127.0.1.$_")->body)[0], $by{$_}, "... the same for $_") for 1 .. 4;
wait_for(sub { last_line($source) =~ /GET/ });
like last_line($source), qr/^SOURCEHASH_PARENT /, '... as the log says';

# ---- logins

sub basic { return 'Basic ' . encode_base64($_[0], '') }
my $users = <<'CONF';
external_acl_type known children-startup=1 children-max=1 children-idle=0 %SRC /bin/sh @DIR@/known
acl known external known
http_access allow known
CONF
my $logins = proxy($log . $users . <<"CONF" . peer($one, 'name=one login=me:s%20cr%%t') . peer($two, 'name=two login=*:pw') . peer($three, 'name=three login=PASS userhash'),
acl one dstdomain one.example.com
acl two dstdomain two.example.com
acl three dstdomain three.example.com
cache_peer_access one allow one
cache_peer_access two allow two
cache_peer_access three allow three
never_direct allow all
CONF
    files => { known => "#!/bin/sh\nwhile read line; do echo 'OK user=kim password=ext'; done\n" });
get($logins, 'http://one.example.com/l');
like $one->seen('/l') || $one->seen('http://one.example.com/l'), qr/^Proxy-Authorization: \Q@{[basic('me:s cr%t')]}\E\r$/m, 'login=user:password, escaped';
get($logins, 'http://two.example.com/l');
like $two->seen('/l') || $two->seen('http://two.example.com/l'), qr/^Proxy-Authorization: \Q@{[basic('kim:pw')]}\E\r$/m, 'login=*:password has the name of the user';
get($logins, 'http://three.example.com/l');
like $three->seen('/l') || $three->seen('http://three.example.com/l'), qr/^Proxy-Authorization: \Q@{[basic('kim:ext')]}\E\r$/m, 'login=PASS: what an external ACL gave';
wait_for(sub { last_line($logins) =~ /three/ });
like last_line($logins), qr/^USERHASH_PARENT three /, 'userhash by the name of the user';

my $asks = origin('*' => sub {
    my ($request) = @_;
    return { body => 'in' } if $request->{head} =~ /^Proxy-Authorization: Basic eA==\r$/m;
    return { status => 407, reason => 'Who?', body => 'log in', 'Proxy-Authenticate' => 'Basic realm="parent"' };
});
for my $kind (qw(PASS PASSTHRU)) {
    my $pass = proxy(peer($asks, "login=$kind") . "never_direct allow all\n");
    $answer = get($pass, 'http://www.example.com/');
    is $answer->status, 407, "login=$kind: the parent's challenge comes through";
    is $answer->header('Proxy-Authenticate'), 'Basic realm="parent"', '... whole';
    is get($pass, 'http://www.example.com/', headers => { 'Proxy-Authorization' => 'Basic eA==' })->body, 'in', '... and the answer to it';
    is tunnel($pass, 'a.example.com:443')->response->status, 407, '... to a CONNECT, too';
}
like parse(peer($one, 'login=NEGOTIATE'))->{output}, qr/:1:\d+: error: login=NEGOTIATE.*not built/, 'login=NEGOTIATE is refused';
like parse(peer($one, 'login=word'))->{output}, qr/:1:\d+: error: user:password/, 'a login without a colon';

# ---- web servers behind us

my $server = parent('server');
my $accel = proxy(peer($server, 'originserver name=server forceddomain=in.example.com login=web:pw front-end-https=on') . "never_direct allow all\n");
is get($accel, 'http://www.example.com/path?q', headers => { Authorization => 'Basic b3RoZXI=' })->body, 'server GET /path?q', 'originserver gets the path';
$seen = $server->seen('/path?q');
like $seen, qr/^Host: in\.example\.com\r$/m, '... Host by forceddomain';
like $seen, qr/^Authorization: \Q@{[basic('web:pw')]}\E\r$/m, '... the login that is configured';
is scalar(() = $seen =~ /^Authorization/mg), 1, '... and not the client\'s';
like $seen, qr/^Front-End-Https: On\r$/m, '... front-end-https';
my $plain = proxy(peer($server, 'originserver name=server front-end-https=auto') . "never_direct allow all\n");
get($plain, 'http://www.example.com/none', headers => { Authorization => 'Basic b3RoZXI=' });
unlike $server->seen('/none'), qr/^(?:Authorization|Front-End-Https)/m, 'without login= a client\'s login stays here';
my $passed = proxy(peer($server, 'originserver login=PASS') . "never_direct allow all\n");
get($passed, 'http://www.example.com/pass', headers => { Authorization => 'Basic b3RoZXI=' });
like $server->seen('/pass'), qr/^Authorization: Basic b3RoZXI=\r$/m, 'login=PASS lets it through';
my $turned = proxy(peer($server, 'originserver login=PROXYPASS') . "never_direct allow all\n");
get($turned, 'http://www.example.com/turned', headers => { 'Proxy-Authorization' => 'Basic b3RoZXI=' });
like $server->seen('/turned'), qr/^Authorization: Basic b3RoZXI=\r$/m, 'login=PROXYPASS turns ours into one for it';
get($turned, 'http://user:pw@www.example.com/both', headers => { 'Proxy-Authorization' => 'Basic b3RoZXI=', Authorization => 'Basic b3duMg==' });
is join(' ', $server->seen('/both') =~ /^Authorization: Basic (.*)\r$/mg), 'b3RoZXI=', '... instead of the client\'s own, which does not stand beside it';

# ---- what is kept

for my $login ('login=PROXYPASS', 'login=*:pw', 'login=web:pw') {
    my $site = origin('*' => sub { return { body => $_[0]{head} =~ /^Authorization: Basic (.*?)\r$/m, 'Cache-Control' => 'max-age=100' } });
    my $cache = proxy("cache_mem 8 MB\n" . peer($site, "originserver $login") . "never_direct allow all\n");
    get($cache, 'http://www.example.com/', headers => { 'Proxy-Authorization' => "Basic $_" }) for qw(YTph YjpiCg==);
    is $site->hits('/'), $login =~ /web/ ? 1 : 2, "$login: what is answered to one user is not another's";
}
my $named = origin('*' => sub { return { body => $_[0]{head} =~ /^Authorization: Basic (.*?)\r$/m ? $1 : 'none', 'Cache-Control' => 'max-age=100' } });
my $both = proxy("cache_mem 8 MB\n");
is join(' ', map { get($both, "http://$_" . $named->addr . '/')->body } 'a:a@', 'b:b@', ''), 'YTph Yjpi none', 'nor with a login in the URL';

my $kept = origin('/c' => { body => 'c', 'Cache-Control' => 'max-age=100' });
for my $only ('', ' proxy-only') {
    my $cache = proxy("cache_mem 8 MB\n" . peer($kept, "originserver name=kept$only") . "never_direct allow all\n");
    my $before = $kept->hits('/c');
    get($cache, 'http://www.example.com/c') for 1, 2;
    is $kept->hits('/c') - $before, $only ? 2 : 1, $only ? 'proxy-only: nothing is kept' : 'answers of parents are kept';
}

# ---- answers that send on

my $bad = origin('*' => sub { return { status => $_[0]{target} =~ /(\d+)$/, body => 'bad' } });
for my $retry (qw(off on)) {
    my $next = proxy("retry_on_error $retry\n" . peer($bad, 'name=bad') . peer($one, 'name=one') . "never_direct allow all\n");
    is((split ' ', get($next, "http://www.example.com/$_")->body)[0], 'one', "$_ from a parent: the next one is asked") for 502, 504;
    is((split ' ', get($next, "http://www.example.com/$_")->body)[0], $retry eq 'on' ? 'one' : 'bad', "$_: retry_on_error $retry") for 403, 503;
    is get($next, 'http://www.example.com/404')->body, 'bad', '404 is an answer';
    like names($next, 'http://www.example.com/502'), qr/one/, 'again';
}
my $last = proxy(peer($bad, 'name=bad') . "never_direct allow all\n");
is get($last, 'http://www.example.com/502')->body, 'bad', 'the last one\'s answer stands';

# ---- siblings and words of ICP

my $said = parse("http_port 127.0.0.1:0\nhttp_access deny all\npid_filename none\ncache_peer 127.0.0.1 sibling 3128 3130 name=s htcp\ncache_peer 127.0.0.1 parent 3128 3130 name=p no-digest no-netdb-exchange\ncache_peer 127.0.0.1 parent 3129 3130 name=q\n");
is $said->{status}, 0, 'siblings and ICP ports are taken';
is scalar(() = $said->{output} =~ /warning: there is no ICP/g), 2, '... with one notice each' or diag $said->{output};
like parse(peer($one, 'carp carp-key=hots'))->{output}, qr/did you mean 'host'/, 'a bad carp-key';
like parse(peer($one, 'health-url=/x'))->{output}, qr/a whole URL/, 'a bad health-url';
like parse(peer($one, 'front-end-https=maybe'))->{output}, qr/on, off or auto/, 'a bad front-end-https';
like parse("cache_peer 127.0.0.1 parent 0 0\n")->{output}, qr/1 to 65535/, 'a parent without a port';

like ctl($proxy, 'peers')->{output}, qr/^one 127\.0\.0\.1:\d+ up\n  answered \d+, silent 0, refused 0; connections opened \d+, open \d+\ntwo /, 'bobtailctl peers';
like ctl($proxy, 'peers', 'two')->{output}, qr/^two/, '... of one';
isnt ctl($proxy, 'peers', 'nobody')->{status}, 0, '... of nobody';
done;

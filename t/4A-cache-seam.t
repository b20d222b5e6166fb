# 4A-cache-seam.t - what a cache asks of an exchange (bt_cache.h), driven by the silliest one there is.
#
# t/lib/tseam.c says which word in X-Seam does what.
use Bobtail::Test;
use File::Temp ();
use POSIX ();
use Socket qw(SOL_SOCKET SO_RCVBUF);

need('cc');
my $top = $ENV{BT_SRCDIR};
my $module = File::Temp::tempdir(CLEANUP => 1) . '/tseam.so';
chmod 0755, $module =~ s{/[^/]+$}{}r;
system('cc', '-std=c11', '-D_GNU_SOURCE', '-fvisibility=hidden', '-fPIC', '-shared', '-g', "-I$top/server/api",
    '-o', $module, "$top/t/lib/tseam.c") == 0 or die "cannot compile tseam\n";

use constant LARGE => 12_000_000;    # more than the buffers between two programs hold
my $large = join '', map { sprintf '%07d ', $_ } 1 .. LARGE / 8;
my %large = (body => $large);
my $origin = origin(
    '/a' => { body => 'one', ETag => '"v1"', 'X-Own' => 'yes', Connection => 'X-Hop', 'X-Hop' => 'gone' },
    '/none' => { status => 204 },
    '/empty' => { body => '' },
    '/error' => { status => 503, body => 'sorry' },
    '/notmod' => sub { $_[0]{head} =~ /If-None-Match: "v1"/ ? { status => 304, ETag => '"v1"' } : { body => 'one' } },
    '/chunks' => { chunks => ['one', 'two', 'three'] },
    '/close' => { body => 'until the end', until_close => 1 },
    '/large' => \%large, (map { ("/large$_" => \%large) } 1 .. 30),
    '/cut' => { body => $large, cut => LARGE / 2 },
    '/small-cut' => { body => 'x' x 1000, cut => 600 },
    '/reset' => { raw => '', reset => 1, close => 1 },
    '/hold' => { body => 'held', hold => 1 }, (map { ("/hold$_" => { body => 'held', hold => 1 }) } 1 .. 9),
    (map { ("/open$_" => { raw => "HTTP/1.1 200 OK\r\nContent-Length: 2000\r\nX-Open: yes\r\n\r\n" . 'y' x 1000 }) } 1 .. 12),
    '/openclose' => { raw => "HTTP/1.1 200 OK\r\n\r\n" . 'y' x 1000 },
    '/badchunk' => { raw => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n60000\r\n" . 'x' x 0x60000 . "\r\nnonsense\r\n" },
);

my $conf = <<"CONF";
module cache off
module $module on
logformat seam %Ss %>Hs %<st %ru
access_log stdio:\@DIR\@/access.log logformat=seam
request_timeout 1 minute
read_timeout 10 minutes
write_timeout 1 minute
CONF
my $half = origin('/open' => { raw => "HTTP/1.1 200 OK\r\nContent-Length: 2000\r\nX-Open: yes\r\n\r\n" . 'y' x 1000 }, '/b' => { body => 'two' });
my $proxy = proxy($conf);

sub seam { my ($url, $words, %how) = @_; return request($how{to} // $proxy, $how{method} // 'GET', $origin->url($url), %how,
    headers => { 'X-Seam' => $words, %{ $how{headers} // {} } }) }
sub logged { my ($line, $name) = @_; local $Test::Builder::Level = $Test::Builder::Level + 1;
    return ok wait_for(sub { $proxy->text('access.log') =~ /^$line$/m }), $name }
# A client whose system holds little for it (but not so little that each packet waits for the next).
sub slow_client
{
    my ($url, $words, %how) = @_;
    my $conn = client($how{to} // $proxy);
    setsockopt $conn->socket, SOL_SOCKET, SO_RCVBUF, 100_000;
    $conn->send("GET " . $origin->url($url) . " HTTP/" . ($how{version} // '1.1') . "\r\nHost: x\r\nX-Seam: $words\r\n\r\n");
    return $conn;
}
sub whole { my ($conn, $name) = @_; local $Test::Builder::Level = $Test::Builder::Level + 1;
    my $answer = $conn->response; return ok $answer->whole && $answer->body eq $large, $name }

# ---- stored and served -------------------------------------------------------------------------

my $answer = seam('/a', 'store', headers => { 'X-End' => 'e', Connection => 'X-Hopp', 'X-Hopp' => 'h' });
is $answer->body, 'one', 'from the origin';
counters($proxy, 'tseam.whole' => 1, 'tseam.fields' => 3);    # Host, X-End, X-Seam
logged('TCP_MISS 200 \d+ \S+/a', 'it is a miss');
$answer = seam('/a', '');
is $answer->body, 'one', 'from memory';
is $answer->header('X-Seam-Tag'), 'TCP_MEM_HIT', 'bt_reply_add()';
is $answer->header('X-Own'), 'yes', 'with the fields that were stored';
is $answer->header('X-Hop'), undef, 'but none of those for one hop';
is $answer->header('Content-Length'), 3, 'and a length';
like $answer->header('Via'), qr/proxy\.test/, 'and Via';
is $origin->hits('/a'), 1, 'the origin was asked once';
logged('TCP_MEM_HIT 200 ' . length($answer->head . 'one') . ' \S+/a', 'logged with its tag and bytes');
is seam('/a', 'hidden')->body, 'one', 'without a length';
is seam('/a', 'hidden')->header('Transfer-Encoding'), 'chunked', 'in chunks';
$answer = seam('/a', 'hidden', version => '1.0');
is $answer->body, 'one', 'to HTTP/1.0';
is $answer->header('Connection'), 'close', 'with an end of the connection';
$answer = seam('/a', '', method => 'HEAD');
is $answer->status . $answer->body . $answer->header('Content-Length'), '2003', 'HEAD: the head alone';
$answer = seam('/a', 'hidden', method => 'HEAD');
is $answer->status . ($answer->header('Transfer-Encoding') // ''), '200', 'HEAD without a length says none';

my $kept = client($proxy);
is seam($_->[0], $_->[1], on => $kept, method => $_->[2] // 'GET')->status, $_->[3] // 200, "kept: $_->[0] $_->[1]"
    for ['/a', ''], ['/a', 'hidden'], ['/a', '', 'HEAD'], ['/a', 'fresh'], ['/a', ''], ['/empty', 'store'], ['/empty', ''],
    ['/none', 'store', 'GET', 204], ['/chunks', 'store'], ['/chunks', ''], ['/chunks', 'hidden'], ['/a', '', 'HEAD'], ['/a', ''];
is seam('/chunks', '', on => $kept)->body, 'onetwothree', 'chunks: stored without their framing';
is seam('/close', 'store')->body, 'until the end', 'a body that ends with the connection';
is seam('/close', '', on => $kept)->body, 'until the end', 'is a whole one';
$kept->send(join '', map { "GET " . $origin->url($_) . " HTTP/1.1\r\nHost: x\r\n\r\n" } ('/a', '/chunks', '/a', '/close') x 5);
is join(' ', map { $kept->response->body } 1 .. 20), join(' ', ('one', 'onetwothree', 'one', 'until the end') x 5), 'pipelined';
$kept->close;

# ---- large hits --------------------------------------------------------------------------------

ok seam('/large', 'store')->body eq $large, 'large';
is $origin->hits('/large'), 1, 'once';
for my $words ('', 'hidden') {
    whole(slow_client('/large', $words), "large and slow $words");
    my @many = map { slow_client('/large', $words) } 1 .. 5;
    is seam('/a', '')->body, 'one', 'others are served meanwhile';
    whole($_, "one of many") for @many;
}
$kept = client($proxy);
ok seam('/large', $_, on => $kept)->body eq $large, "large on a kept connection '$_'" for '', 'hidden', '';
my $gone = slow_client('/large', '');
$gone->bytes(100);
$gone->reset;
$gone = slow_client('/large', 'hidden');
$gone->bytes(100);
$gone->close;
ok wait_for(sub { stat($proxy, 'tseam.sources') == 0 }), 'who leaves lets go of it';
logged('TCP_MEM_HIT_ABORTED 200 \d+ \S+/large', 'aborted');
my $stalled = slow_client('/large', '');
$stalled->bytes(100);
ok wait_for(sub { stat($proxy, 'tseam.sources') == 1 }), 'a reader that stalls';
later($proxy, 61);
ok wait_for(sub { stat($proxy, 'tseam.sources') == 0 }), 'is cut in write_timeout';
$stalled->close;

# ---- broken ones -------------------------------------------------------------------------------

$answer = seam('/a', 'broken=2');
ok !$answer->whole, 'a source that breaks';
is $answer->body, 'on', 'gives what it has';
ok !seam('/large', 'broken=5000000')->whole, 'a large one';
$answer = seam('/a', 'broken=2 hidden');
ok !$answer->whole, 'in chunks';
my $cut = client($proxy);
$cut->send("GET " . $origin->url('/a') . " HTTP/1.0\r\nX-Seam: broken=2 hidden\r\n\r\n");
$cut->rest;
ok $cut->{was_reset}, 'HTTP/1.0: by a reset';
$proxy->expect_log(qr/a head that is none/);
is seam('/a', 'bare')->status, 500, 'a head that is none is an error';
is seam('/a', '')->body, 'one', 'and nothing more';

# ---- a sink and a slow client ------------------------------------------------------------------

mark($proxy);
my $slow = slow_client('/large1', 'store');
ok wait_for(sub { stat($proxy, 'tseam.whole') > 0 && stat($proxy, 'origin.open') == 0 }), 'the origin need not wait for the client';
counters($proxy, 'tseam.read' => 1, 'tseam.whole' => 1);
ok seam('/large1', '')->body eq $large, 'others have it meanwhile';
whole($slow, 'and the client has all');
is seam('/a', '', on => $slow)->body, 'one', 'its connection is kept';
$slow = slow_client('/large2', 'store refuse=9000000');
ok wait_for(sub { stat($proxy, 'tseam.refused') > 0 }), 'the sink takes no more, while the client is behind';
whole($slow, 'a sink that takes no more');
counters($proxy, 'tseam.refused' => 1, 'tseam.read' => 2);
is seam('/a', '', on => $slow)->body, 'one', 'kept, too';
is seam('/large2', 'only')->status, 504, 'it is not there';
ok seam('/large3', 'store refuse=100')->body eq $large, 'one that takes little';
whole(slow_client('/large4', 'store alone'), 'one that cannot be read while it grows');
counters($proxy, 'tseam.refused' => 2, 'tseam.read' => 2, 'tseam.whole' => 2);
$slow = slow_client('/cut', 'store');
$answer = $slow->response;
ok !$answer->whole, 'the origin ends early';
is $answer->body, substr($large, 0, length $answer->body), 'what came is right';
is seam('/cut', 'only')->status, 504, 'and not kept';
$answer = seam('/small-cut', 'store');
ok !$answer->whole, 'a small one';
$answer = seam('/badchunk', 'store');
ok !$answer->whole, 'a malformed one';
counters($proxy, 'tseam.cut' => 3);
$slow = slow_client('/large5', 'store', version => '1.0');
is length(($slow->rest =~ /\r\n\r\n(.*)/s)[0]), LARGE, 'HTTP/1.0';

# ---- others beside the first -------------------------------------------------------------------

my $first = client($proxy);
$first->send("GET " . $origin->url('/open1') . " HTTP/1.1\r\nHost: x\r\nX-Seam: store\r\n\r\n");
ok $first->upto("\r\n\r\n"), 'an answer that does not end';
my $second = client($proxy);
$second->send("GET " . $origin->url('/open1') . " HTTP/1.1\r\nHost: x\r\nX-Seam: x\r\n\r\n");
like $second->upto("\r\n\r\n"), qr/TCP_CF_HIT/, 'a second client has its head';
is $second->bytes(1000), 'y' x 1000, 'and what there is';
$origin->drop;
ok $_->closed, 'the origin leaves: cut' for $second;
$first->rest;
counters($proxy, 'tseam.cut' => 4);

# ---- waiting -----------------------------------------------------------------------------------

my @wait = map { my $c = client($proxy); $c->send("GET " . $origin->url('/large6') . " HTTP/1.1\r\nHost: x\r\nX-Seam: wait\r\n\r\n"); $c } 1 .. 4;
ok wait_for(sub { stat($proxy, 'tseam.waiting') == 4 }), 'four wait for a fifth';
$wait[0]->close;
$wait[1]->reset;
ok wait_for(sub { stat($proxy, 'tseam.waiting') == 2 }), 'who leaves is noticed';
ok seam('/large6', 'store')->body eq $large, 'the fifth';
whole($_, 'the others with it') for @wait[2, 3];
is $origin->hits('/large6'), 1, 'by one fetch';
my $late = client($proxy);
$late->send("GET " . $origin->url('/never') . " HTTP/1.1\r\nHost: x\r\nX-Seam: wait\r\n\r\n");
ok wait_for(sub { stat($proxy, 'tseam.waiting') == 1 }), 'who waits for nothing';
later($proxy, 241);
is $late->response->status, 504, 'waits no longer than forward_timeout';
is seam('/never', 'only')->status, 504, 'only-if-cached';
logged('TCP_SEAM_MISS 504 \d+ \S+/never', 'with the tag that the module said');
counters($proxy, 'client.denied' => 0);

# ---- PURGE, checks, failures -------------------------------------------------------------------

is seam('/a', '', method => 'PURGE')->status, 200, 'PURGE is answered by the module';
is seam('/a', '', method => 'PURGE')->status, 404, 'again';
is seam('/a', 'pass', method => 'PURGE')->status, 403, 'or refused by the core';
is seam('/notmod', 'store')->body, 'one', 'store';
my $connections = $origin->connections;
for (1 .. 3) {
    $answer = seam('/notmod', 'check');
    is $answer->body . $answer->status, 'one200', '304 for us, 200 for the client';
}
is $origin->seen_header('/notmod', 'If-None-Match'), '"v1"', 'bt_upstream_set(): the last one stands';
is $origin->seen_header('/notmod', 'X-Seam'), undef, 'and takes away';
is $origin->connections, $connections, 'its connection is kept';
logged('TCP_REFRESH_UNMODIFIED 200 \d+ \S+/notmod', 'with the tag of the module');
is seam('/notmod', 'plain fresh')->body, 'instead', 'bt_answer() from RESPONSE';
is $origin->connections, $connections, 'kept, too';
is seam('/large7', 'plain')->body, 'instead', 'of a large one';
mark($proxy);
is seam('/reset', 'x')->status, 502, 'no answer';
is seam('/reset', 'x', method => 'HEAD')->status, 502, 'to HEAD';
counters($proxy, 'tseam.failed' => 2);
is seam('/notmod', 'store fresh')->status, 200, 'stored';
$origin->set('/notmod' => { raw => '', close => 1 });
$answer = seam('/notmod', 'check stale');
is $answer->status . $answer->body, '200one', 'a stale one for a failure';
logged('TCP_REFRESH_FAIL_OLD 200 \d+ \S+/notmod', 'as Squid says it');
$origin->set('/notmod' => { status => 503, body => 'down' });
is seam('/notmod', 'check stale')->body, 'one', 'and for an error of the origin';
is seam('/notmod', 'check')->status, 503, 'or not';
is request($proxy, GET => 'http://127.0.0.1:1/', headers => { 'X-Seam' => 'x' })->status, 503, 'nobody there';
counters($proxy, 'tseam.failed' => 4);

# ---- rules and limits --------------------------------------------------------------------------

my $ruled = proxy(<<"CONF", files => { hosts => "127.0.0.1 localhost\n" });
hosts_file \@DIR\@/hosts
module cache off
module $module on
acl secret rep_header X-Open yes
acl slowly dstdomain localhost
acl odd url_regex /empty
http_reply_access deny secret
http_reply_access deny odd slowly
http_reply_access allow all
reply_body_max_size 5 MB
visible_hostname proxy.test
CONF
is seam('/a', 'store', to => $ruled)->status, 200, 'stored';
is seam('/a', '', to => $ruled)->header('X-Seam-Tag'), 'TCP_MEM_HIT', 'a hit that may pass';
is seam('/empty', 'store', to => $ruled)->status, 403, 'one that may not';
is seam('/open9', 'store want', to => $ruled)->status, 403, 'http_reply_access by the head';
is seam('/large', 'store', to => $ruled)->status, 403, 'reply_body_max_size';
$origin->set('/lone' => { body => 'x' x 6_000_000, until_close => 1 });
$answer = raw($ruled, "GET " . $origin->url('/lone') . " HTTP/1.1\r\nHost: x\r\nX-Seam: store want\r\n\r\n");
ok !$answer->whole, 'of a body without a length: cut';
ok length $answer->body <= 5 * 1024 * 1024, 'no more than that';    # a reset may take the last of it
# A sink that is faster than the client may have had all of it before that.
like seam('/lone', 'only', to => $ruled)->status, qr/^(504|403)$/, 'and not given to who may not have it';
my $both = proxy("module $module on\nacl range req_header X-Small yes\nreply_body_max_size 5 MB range\nhttp_reply_access deny range");
is seam('/large', 'store', to => $both)->status, 200, 'stored without a limit';
is seam('/large', '', to => $both, headers => { 'X-Small' => 'yes' })->status, 403, 'a large hit is measured, too';
$answer = seam('/large', 'hidden', to => $both, headers => { 'X-Small' => 'yes' });
is $answer->status, 403, 'and asked about';
is seam('/large', '', to => $both, method => 'HEAD', headers => { 'X-Small' => 'yes' })->status, 403, 'HEAD, too';
my $measured = proxy("module $module on\nacl range req_header X-Small yes\nreply_body_max_size 5 MB range");
is seam('/large', 'store', to => $measured)->status, 200, 'stored';
$answer = seam('/large', 'hidden', to => $measured, headers => { 'X-Small' => 'yes' });
ok !$answer->whole && length $answer->body <= 5 * 1024 * 1024, 'a hit without a length is cut, too';
counters($measured, 'limits.reply_body' => 1);
$slow = slow_client('/large12', "store\r\nX-Small: yes", to => $measured);
is $slow->response->status, 403, 'with a length: refused';
$origin->set('/lone' => { body => 'x' x 20_000_000, until_close => 1 });
$slow->close;
$slow = slow_client('/lone', "store\r\nX-Small: yes", to => $measured);
ok !($answer = $slow->response)->whole, 'and parted from its origin';
ok length $answer->body <= 5 * 1024 * 1024, 'likewise';

# ---- the client leaves -------------------------------------------------------------------------

mark($proxy);
$slow = slow_client('/large8', 'store want');
$slow->bytes(1000);
$slow->reset;
counters($proxy, 'tseam.whole' => 1, 'client.aborted' => 1, 'background.left' => 1);
logged('TCP_MISS_ABORTED 200 \d+ \S+/large8', 'logged when it left');
ok seam('/large8', 'only')->body eq $large, 'and fetched to its end';
is $origin->hits('/large8'), 1, 'once';
for my $how ('reset', 'close') {
    mark($proxy);
    my $leaver = client($proxy);
    my $path = $how eq 'reset' ? '/open2' : '/open3';
    $leaver->send("GET " . $origin->url($path) . " HTTP/1.1\r\nHost: x\r\nX-Seam: store want\r\n\r\n");
    ok $leaver->upto("\r\n\r\n"), 'a client that waits for an origin';
    $leaver->$how;
    counters($proxy, 'background.left' => 1, 'background.open' => 1, 'client.open' => 0);
    my $follower = client($proxy);
    $follower->send("GET " . $origin->url($path) . " HTTP/1.1\r\nHost: x\r\nX-Seam: x\r\n\r\n");
    like $follower->upto("\r\n\r\n"), qr/TCP_CF_HIT/, "is noticed when it leaves ($how), and another follows";
    $origin->drop if $how eq 'reset';
    later($proxy, 601) if $how eq 'close';
    $follower->rest;
    counters($proxy, 'background.open' => 0, 'tseam.cut' => 1);
}
mark($proxy);
$slow = slow_client('/large9', 'store');
$slow->bytes(1000);
$slow->reset;
ok wait_for(sub { stat($proxy, 'client.active') == 0 }), 'one that is not wanted, or was whole already';
my $before = stat($proxy, 'tseam.cut');
my $leaver = client($proxy);
$leaver->send("GET " . $origin->url('/open4') . " HTTP/1.1\r\nHost: x\r\nX-Seam: store\r\n\r\n");
ok $leaver->upto("\r\n\r\n"), 'a client';
$leaver->close;
ok wait_for(sub { stat($proxy, 'client.active') == 0 && stat($proxy, 'tseam.sources') == 0 }), 'ends with its client';
is stat($proxy, 'tseam.cut'), $before + 1, 'its body is cut';
counters($proxy, 'background.left' => 0);

# A client that has its part before the sink has the whole.
mark($proxy);
$kept = client($proxy);
$answer = seam('/large10', 'store want range=100-300', on => $kept);
is $answer->status . $answer->body, '206' . substr($large, 100, 200), 'a part, while the whole is stored';
is seam('/a', 'store', on => $kept)->body, 'one', 'and the client asks on';
counters($proxy, 'tseam.whole' => 2);
ok seam('/large10', 'only', on => $kept)->body eq $large, 'the whole';
is $origin->hits('/large10'), 1, 'by one fetch';
$kept->send(join '', map { "GET " . $origin->url($_->[0]) . " HTTP/1.1\r\nHost: x\r\nX-Seam: $_->[1]\r\n\r\n" }
    ['/open5', 'store want range=0-10'], ['/a', 'x'], ['/open6', 'store range=10-20'], ['/a', 'x']);
is join(' ', map { $kept->response->body } 1 .. 4), 'yyyyyyyyyy one yyyyyyyyyy one', 'pipelined';
counters($proxy, 'background.open' => 1, 'tseam.cut' => 1);
$origin->drop;
counters($proxy, 'background.open' => 0, 'tseam.cut' => 2);

# What is left of an answer that nobody wants would be taken for the next one.
mark($proxy);
is get($proxy, $half->url('/open'), on => $kept, headers => { 'X-Seam' => 'store range=10-20' })->body, 'y' x 10, 'a part, and nobody wants the rest';
is get($proxy, $half->url('/b'), on => $kept, headers => { 'X-Seam' => 'x' })->body, 'two', 'the next answer';
counters($proxy, 'origin.dials' => 2, 'origin.reused' => 0);

# ---- in the background -------------------------------------------------------------------------

mark($proxy);
is seam('/a', 'again')->body, 'one', 'a hit that is renewed';
counters($proxy, 'background.begun' => 1, 'background.open' => 0, 'tseam.alone' => 1, 'tseam.whole' => 1, 'client.requests' => 1);
is $origin->seen_header('/a', 'X-Background'), 'one  two', 'a field cannot become two lines';
like $origin->seen_header('/a', 'Host'), qr/^127/, 'and Host stays';
is seam('/a', 'only')->body, 'one', 'still there';
$origin->set('/a' => { status => 500, body => 'no' });
is seam('/a', 'again')->body, 'one', 'a renewal that fails';
counters($proxy, 'background.begun' => 2, 'tseam.alone' => 2);
$origin->set('/a' => { raw => '', reset => 1, close => 1 });
is seam('/a', 'again')->body, 'one', 'and one without an answer';
counters($proxy, 'background.begun' => 3, 'tseam.alone' => 3);
$origin->set('/a' => { body => 'one', hold => 1 });
is seam('/a', 'again')->header('X-Seam-Again'), 'yes', 'and one that takes long';
counters($proxy, 'background.begun' => 4, 'background.open' => 1, 'tseam.alone' => 3, 'tseam.failed' => 1);
$kept->send(join '', ("GET " . $origin->url('/a') . " HTTP/1.1\r\nHost: x\r\nX-Seam: again\r\n\r\n") x 260);
my @said = map { $kept->response->header('X-Seam-Again') } 1 .. 260;
is grep({ $_ eq 'yes' } @said), 255, 'no more than 256 of them';
counters($proxy, 'background.too_many' => 5, 'background.open' => 256);
$origin->release('/a');
counters($proxy, 'background.open' => 0);
is post($proxy, $origin->url('/a'), 'body', headers => { 'X-Seam' => 'again' })->header('X-Seam-Again'), 'no', 'none with a body';
ok $proxy->text('access.log') !~ /X-Background/ && !grep({ /^- / } split /\n/, $proxy->text('access.log')), 'not in the log';

# ---- the end of a worker -----------------------------------------------------------------------

for my $path ('/open7', '/open8') {
    my $drained = proxy($conf =~ s/\z/shutdown_lifetime 1 second\n/r);
    my $one = client($drained);
    $one->send("GET " . $origin->url($path) . " HTTP/1.1\r\nHost: x\r\nX-Seam: store want\r\n\r\n");
    ok $one->upto("\r\n\r\n"), 'a client';
    $one->close;
    ok wait_for(sub { stat($drained, 'background.open') == 1 }), 'that has left';
    $drained->signal('TERM');
    $origin->drop if $path eq '/open8';
    my $gone = wait_for(sub { waitpid($drained->pid, POSIX::WNOHANG()) == $drained->pid });
    is $gone && $?, 0, $path eq '/open8' ? 'a stop waits for the rest' : 'but no longer than shutdown_lifetime';
    delete $drained->{pid};
    ok !$drained->said_wrong, 'nothing is wrong';
}

$_->close for $kept, $slow, $late, @wait[2, 3];
done;

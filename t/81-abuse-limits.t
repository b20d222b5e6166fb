# 81-abuse-limits.t - too large, too slow, too many, too long: each is bounded, and others do not suffer.
use Bobtail::Test;
use Time::HiRes qw(time);

my $origin = origin(
    '/a' => { body => 'one' },
    (map { ($_ => { body => 'late', hold => 1 }) } qw(/on /off /old)),
    '/early' => { status => 200, body => 'early', unread => 1 },
    '/big' => { chunks => [ ('x' x 60_000) x 70 ] },    # chunks pass through our memory
    (map { ("/len$_" => { body => 'x' x $_ }, "/chunks$_" => { chunks => [ ('x' x 50) x ($_ / 50) ] },
        "/close$_" => { body => 'x' x $_, until_close => 1 }) } 1000, 1050, 4000),
    '/told' => { status => 200, 'Content-Length' => 5000, body => '' },
    '*' => { body => 'ok' },
);
sub head { my ($method, $path, @fields) = @_; return join "\r\n", "$method " . $origin->url($path) . ' HTTP/1.1', 'Host: x', @fields, '', '' }

# --- request_body_max_size ---------------------------------------------------------------------
my $small = proxy(<<'CONF');
request_body_max_size 1000 bytes
acl nobody method PUT
http_access deny nobody
http_access allow all
CONF
is post($small, $origin->url('/a'), 'x' x 1000)->status, 200, 'request_body_max_size: just as much';
my $answer = post($small, $origin->url('/a'), 'x' x 1001);
is $answer->status, 413, 'one byte more';
like $answer->header('X-Squid-Error'), qr/^ERR_TOO_BIG/, 'says so';
is request($small, PUT => $origin->url('/a'), body => 'x' x 1001)->status, 413, 'before the rules are asked';
is raw($small, head('POST', '/a', 'Content-Length: 1001', 'Expect: 100-continue'))->status, 413,
    'and before the body is there';
my $hits = $origin->hits('/a');
is post($small, $origin->url('/a'), undef, chunked => [ ('x' x 100) x 10 ])->status, 200, 'in chunks: just as much';
is post($small, $origin->url('/a'), undef, chunked => [ ('x' x 100) x 10, 'x' ])->status, 413, 'in chunks: one byte more';
is $origin->hits('/a'), $hits + 1, 'the origin never had a whole request of it';
counters($small, 'limits.request_body' => 4, 'origin.open' => 0);
my $conn = client($small);
$conn->send(head('POST', '/early', 'Transfer-Encoding: chunked') . "5\r\nxxxxx\r\n");
is $conn->response(to => 'POST')->body, 'early', 'an answer before the body is over';
$conn->send("400\r\n" . 'x' x 1024);
ok $conn->closed, 'what then is too much ends the connection';
$conn->close;
is post(proxy("request_body_max_size $_\n"), $origin->url('/a'), 'x' x 5000)->status, 200,
    "request_body_max_size $_: no limit" for 0, 'none';

# --- reply_body_max_size -----------------------------------------------------------------------
my $short = proxy(<<'CONF');
acl free src 127.1.0.1
acl head method HEAD
reply_body_max_size none free
reply_body_max_size 1 bytes free
reply_body_max_size 1000 bytes all
CONF
is get($short, $origin->url('/len1000'))->status, 200, 'reply_body_max_size: just as much';
$answer = get($short, $origin->url('/len1050'));
is $answer->status, 403, 'a length that is larger';
like $answer->header('X-Squid-Error'), qr/^ERR_TOO_BIG/, 'says so';
is request($short, HEAD => $origin->url('/len4000'))->status, 200, 'no body, no limit';
is length get($short, $origin->url('/len4000'), from => '127.1.0.1')->body, 4000, 'the first line that matches';
is length get($short, $origin->url("/$_"))->body, 1000, "just as much without a length: $_" for qw(chunks1000 close1000);
mark($short);
for my $path (qw(chunks1050 chunks4000 close4000)) {
    $answer = get($short, $origin->url("/$path"));
    is length $answer->body, 1000, "more without a length is cut: $path";
    ok !$answer->whole, 'which can be seen';
}
$conn = client($short);
$conn->send('GET ' . $origin->url('/close4000') . " HTTP/1.0\r\n\r\n");
my $rest = $conn->rest;
ok length $rest < 4000 && $conn->{was_reset}, 'by HTTP/1.0 too: the connection is reset';
$conn->close;
counters($short, 'limits.reply_body' => 4, 'origin.idle' => 0);

# --- client_ip_max_connections -----------------------------------------------------------------
for my $workers (0, 3) {
    my $few = proxy("client_ip_max_connections 5\n" . ($workers ? "workers $workers\n" : ''), workers => $workers);
    my @mine = map { client($few, from => '127.1.0.1') } 1 .. 5;
    is get($few, $origin->url('/a'), on => $_)->status, 200, 'one of five' for @mine;
    my $sixth = client($few, from => '127.1.0.1');
    ok $sixth->closed, "client_ip_max_connections: the sixth is closed ($workers workers)";
    is get($few, $origin->url('/a'), from => '127.1.0.2')->status, 200, 'another client is not concerned';
    is get($few, $origin->url('/a'), on => $_)->status, 200, 'nor are those that it has' for @mine;
    ok $few->wait_log(qr/127\.1\.0\.1 has 5 connections/), 'the log says so';
    counters($few, 'client.too_many' => 1);
    (pop @mine)->close;
    ok wait_for(sub { stat($few, 'client.open') == 4 }), 'when one goes';
    my $next = client($few, from => '127.1.0.1');
    is get($few, $origin->url('/a'), on => $next)->status, 200, 'another one may come';
    if ($workers) {
        # A worker that dies takes its connections along, and their count.
        my ($pid) = $few->workers;
        $few->{dies} = 1;
        kill KILL => $pid;
        ok wait_for(sub { my @now = $few->workers; @now == 3 && !grep { $_ == $pid } @now }), 'a worker dies';
        my @left = grep { $_->open } @mine, $next;
        my @more;
        ok wait_for(sub {
            my $new = client($few, from => '127.1.0.1');
            $new->send(head('GET', '/a'));
            push @more, $new if $new->response(to => 'GET')->status == 200;
            return @more + @left == 5;
        }), 'the others are counted on: there may be five again';
        my $one_more = client($few, from => '127.1.0.1');
        ok $one_more->closed, 'and no more';
        $_->close for @more, $one_more;
    }
    $_->close for @mine, $next, $sixth;
}

# --- half_closed_clients, pconn_lifetime -------------------------------------------------------
for my $word (qw(on off)) {
    my $half = proxy("half_closed_clients $word\n");
    $conn = client($half);
    $conn->send(head('GET', "/$word"));
    wait_for(sub { $origin->hits("/$word") == 1 });
    $conn->shut;
    if ($word eq 'off') {
        ok $conn->closed, 'half_closed_clients off: the exchange ends';
        counters($half, 'client.aborted' => 1, 'origin.open' => 0);
    }
    $origin->release("/$word");
    is $conn->response(to => 'GET')->body, 'late', 'half_closed_clients on: the answer still comes' if $word eq 'on';
    $conn->close;
}

my $ageing = proxy("pconn_lifetime 100 seconds\nserver_idle_pconn_timeout 80 seconds\nclient_idle_pconn_timeout 80 seconds\n");
$conn = client($ageing);
is get($ageing, $origin->url('/a'), on => $conn)->header('Connection'), undef, 'pconn_lifetime: a young connection is kept';
later($ageing, 60);
is get($ageing, $origin->url('/a'), on => $conn)->status, 200, 'used again';
later($ageing, 30);
is get($ageing, $origin->url('/a'), on => $conn)->status, 200, 'and again';
counters($ageing, 'origin.dials' => 1, 'origin.idle' => 1);
later($ageing, 11);
ok $conn->closed, 'it is closed when it is too old, however short it was idle';
counters($ageing, 'origin.idle' => 0);
$conn->close;
$conn = client($ageing);
$conn->send(head('GET', '/old'));
wait_for(sub { $origin->hits('/old') == 1 });
later($ageing, 101);
$origin->release('/old');
is $conn->response(to => 'GET')->header('Connection'), 'close', 'one that got too old within an exchange says so';
counters($ageing, 'origin.idle' => 0);
$conn->close;

# --- bodies that come slowly -------------------------------------------------------------------
my $slow = proxy("request_timeout 20 seconds\nread_timeout 10 minutes\n");
sub upload { my $up = client($slow); $up->send(head('POST', '/a', 'Content-Length: 400000')); return $up }
my ($dripping, $decent) = (upload(), upload());
wait_for(sub { stat($slow, 'client.active') == 2 });
for my $turn (1 .. 3) {
    $dripping->send('x' x 100) if $turn < 3;
    $decent->send('x' x 70_000);
    wait_for(sub { stat($slow, 'origin.open') == 2 }) if $turn == 1;
    select undef, undef, undef, 0.05;
    later($slow, 12);
}
$answer = $dripping->response(to => 'POST');
is $answer->status, 408, 'a body that drips ends with request_timeout';
like $answer->header('X-Squid-Error'), qr/^ERR_LIFETIME_EXP/, 'says so';
counters($slow, 'client.body_timeouts' => 1);
$decent->send('x' x 190_000);
is $decent->response(to => 'POST')->status, 200, 'one that makes 64 KB in that time does not';
$_->close for $dripping, $decent;
my $long = proxy("request_timeout 1 hour\nread_timeout 30 seconds\n");
$conn = client($long);
$conn->send(head('POST', '/a', 'Content-Length: 5'));
wait_for(sub { stat($long, 'origin.open') == 1 });
for (1 .. 4) {
    $conn->send('x');
    select undef, undef, undef, 0.05;
    later($long, 20);
}
$conn->send('x');
is $conn->response(to => 'POST')->status, 200, 'read_timeout does not count while the body comes';
$conn->close;

# --- hundreds of slow clients ------------------------------------------------------------------
my $many = 300;
my $busy = proxy('');
# Milliseconds that the server was on a processor: those that others take are no fault of its own.
sub worked { my ($proxy) = @_; return (split ' ', slurp('/proc/' . $proxy->pid . '/schedstat'))[0] / 1e6 }
my $quick = client($busy);
my @slow;
# 200 requests: how many were answered, what they cost the server, and how long nine of ten took at most.
sub requests
{
    my $from = worked($busy);
    my $good = 0;
    my @took;
    for (1 .. 200) {
        $slow[$_]->send('x') if @slow && $_ % 3 == 0;
        my $since = time;
        $good += get($busy, $origin->url('/a'), on => $quick)->status == 200;
        push @took, time - $since;
    }
    return ($good, worked($busy) - $from, (sort { $a <=> $b } @took)[179]);
}
my (undef, $alone) = requests();
@slow = map {
    my $one = client($busy);
    $one->send($_ % 3 == 0 ? 'GET http://x/' : $_ % 3 == 1 ? head('POST', '/a', 'Content-Length: 1000') . 'x' : head('GET', '/big'));
    $one;
} 1 .. $many;
ok wait_for(sub { stat($busy, 'client.active') >= $many * 2 / 3 }), "$many slow clients";
# What they may take at first is taken: the server is at rest.
my ($at_rest, $worked) = (0, worked($busy));
wait_for(sub {
    select undef, undef, undef, 0.05;
    my $now = worked($busy);
    $at_rest = $now - $worked < 2 ? $at_rest + 1 : 0;
    $worked = $now;
    return $at_rest == 4;
});
my ($answered, $cost, $took) = requests();
is $answered, 200, 'a fast client beside them is served';
ok $cost < 5 * $alone + 100, sprintf 'they cost little (%.0f ms, and %.0f ms without them)', $cost, $alone;
ok $took < patience() / 10, sprintf 'and it need not wait for them (%.1f ms)', 1000 * $took;
$_->close for @slow, $quick;

# What is held for a client that takes nothing: an exchange's arena, and read_ahead_gap of the answer.
sub resident { my ($pid) = @_; return slurp("/proc/$pid/status") =~ /^RssAnon:\s+(\d+) kB/m ? $1 : 0 }
my $ahead = proxy("read_ahead_gap 4 KB\n");
get($ahead, $origin->url('/a')) for 1 .. 20;
my $before = resident($ahead->pid);
my @idle = map { my $one = client($ahead); $one->send(head('GET', '/big')); $one } 1 .. 60;
my ($was, $same) = (0, 0);
wait_for(sub {
    my $now = resident($ahead->pid);
    select undef, undef, undef, 0.1;
    $same = $now == $was && stat($ahead, 'client.active') == @idle ? $same + 1 : 0;
    $was = $now;
    return $same == 8;
});
my $each = ($was - $before) / @idle;
# A sanitizer surrounds what is held with more of its own, and keeps what was freed.
ok $each < ($ENV{SAN} || $ENV{BT_WRAP} ? 400 : 16), sprintf 'read_ahead_gap bounds what is held for a client that takes nothing (%.1f KB)', $each;
$_->close for @idle;
done;

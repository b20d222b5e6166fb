# 48-cache-hostile.t - those who want something wrong out of the cache: origins that lie or die, URLs in
# disguise, floods, changes while a fetch is under way, tiny memories, leaders that are killed.
use Bobtail::Test;
use Time::HiRes qw(time);

my $long = join '', map { sprintf "%07d\n", $_ } 1 .. 50_000;       # 400,000 bytes
my @live = ('Cache-Control' => 'max-age=600');

sub asks
{
    my ($n, $proxy, $url, @fields) = @_;
    my @conns = map { client($proxy) } 1 .. $n;
    my ($host) = $url =~ m{^http://([^/]+)};
    $_->send("GET $url HTTP/1.1\r\nHost: $host\r\n" . join('', map "$_\r\n", @fields) . "\r\n") for @conns;
    return @conns;
}
sub answers { return map { my $answer = $_->response(to => 'GET'); $_->close; $answer } @_ }
sub reached { my ($origin, $path, $n) = @_; return wait_for(sub { $origin->hits($path) >= $n }) }
sub nothing_left
{
    my ($proxy, $what) = @_;
    my $said;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    ok wait_for(sub { $said = ctl($proxy, 'cache')->{output}; $said =~ /^pinned +0 /m && $said =~ /^flights +0$/m }), "$what: nothing is held" or diag $said;
    return;
}

# --- a change while what it changes is fetched ----------------------------------------------------------
for my $workers (0, 4) {
    my $origin = origin('*' => sub {
        my ($request) = @_;
        return { status => 200, body => 'done', Location => '/location' } if $request->{method} =~ /POST|DELETE/;
        return { @live, body => "state $request->{count}", hold => $request->{count} == 1 };
    });
    my $proxy = proxy("cache_mem 16 MB\nacl purge method PURGE\n", workers => $workers);
    my %change = (
        post => sub { post($proxy, $_[0], 'x') }, delete => sub { request($proxy, DELETE => $_[0]) },
        purge => sub { request($proxy, PURGE => $_[0]) }, ctl => sub { ctl($proxy, purge => $_[0]) },
        prefix => sub { ctl($proxy, purge => 'prefix', 'http://') }, regex => sub { ctl($proxy, purge => 'regex', '.') },
    );
    note $workers ? "$workers workers" : 'one process';
    for my $how (sort keys %change) {
        my $url = $origin->url("/$how");
        my ($before) = asks(1, $proxy, $url);
        ok reached($origin, "/$how", 1), "$how: a fetch is under way";
        $change{$how}->($url);
        my $after = get($proxy, $url);
        isnt $after->body, 'state 1', "$how: who asks afterwards does not wait for it";
        $origin->release("/$how");
        is +(answers($before))[0]->body, 'state 1', "$how: who asked before has it";
        isnt get($proxy, $url)->body, 'state 1', "$how: it is not found afterwards";
        my $hits = $origin->hits("/$how");
        get($proxy, $url);
        is $origin->hits("/$how"), $hits, "$how: what came later is";
    }
    # Where a POST says what else it has changed.
    my ($before) = asks(1, $proxy, $origin->url('/location'));
    ok reached($origin, '/location', 1), 'Location: a fetch is under way';
    post($proxy, $origin->url('/elsewhere'), 'x');
    $origin->release('/location');
    is +(answers($before))[0]->body, 'state 1', 'Location: who asked before has it';
    is get($proxy, $origin->url('/location'))->body, 'state 2', 'Location: it is not found afterwards';
    cmp_ok stat($proxy, 'cache.overtaken'), '>=', 7, 'counted';
    nothing_left($proxy, 'changes');
}

# --- origins that lie or die ------------------------------------------------------------------------------
for my $workers (0, 4) {
    my $head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\n";
    my %dies = (
        '/short' => "${head}Content-Length: 1000000\r\n\r\n$long",
        '/chunks' => "${head}Transfer-Encoding: chunked\r\n\r\n" . sprintf("%x\r\n%s\r\n", length $long, $long),
        '/in-size' => "${head}Transfer-Encoding: chunked\r\n\r\n" . sprintf("%x\r\n%s\r\n0", length $long, $long),
        '/no-end' => "${head}Transfer-Encoding: chunked\r\n\r\n" . sprintf("%x\r\n%s\r\n0\r\n", length $long, $long),
        '/bad-size' => "${head}Transfer-Encoding: chunked\r\n\r\n" . sprintf("%x\r\n%s\r\nzz\r\n", length $long, $long),
        '/too-big' => "${head}Transfer-Encoding: chunked\r\n\r\n" . sprintf("%x\r\n%s\r\nffffffffffffffff\r\nx", length $long, $long),
    );
    my $origin = origin(map { $_ => { raw => $dies{$_}, close => 1, hold => 1 } } keys %dies);
    $origin->set('/more' => { raw => "${head}Content-Length: 5\r\n\r\nrightHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong" });
    $origin->set('/two' => { raw => "${head}Content-Length: 5\r\nContent-Length: 6\r\n\r\nright!", close => 1 });
    $origin->set('/both' => { raw => "${head}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nright\r\n0\r\n\r\n", close => 1 });
    $origin->set('/minus' => { raw => "${head}Content-Length: -5\r\n\r\nright", close => 1 });
    $origin->set('/huge' => { raw => "${head}Content-Length: 9223372036854775807\r\n\r\nright", close => 1 });
    $origin->set('/until' => { @live, until_close => 1, body => $long });
    $origin->set('/reset' => { @live, raw => "${head}\r\n$long", reset => 1 });
    my $proxy = proxy("cache_mem 16 MB\n", workers => $workers);
    for my $path (sort keys %dies) {
        my @conns = asks(12, $proxy, $origin->url($path));
        ok reached($origin, $path, 1), "$path: a fetch";
        wait_for(sub { ctl($proxy, 'cache')->{output} =~ /^flights   1$/m });
        $origin->release($path);
        my @got = answers(@conns);
        is scalar(grep { $_->status == 200 && $_->whole } @got), 0, "$path: nobody takes it for whole";
        is scalar(grep { index($long, $_->body) != 0 } @got), 0, "$path: what came is right";
        like ctl($proxy, cache => $origin->url($path))->{output}, qr/nothing is kept/, "$path: nothing is kept";
    }
    is get($proxy, $origin->url('/more'))->body, 'right', 'more than it says' for 1 .. 3;
    for my $path (qw(/two /minus)) {
        is get($proxy, $origin->url($path))->status, 502, "$path is refused" for 1 .. 2;
    }
    for my $path (qw(/both /huge)) {
        my $answer = get($proxy, $origin->url($path));
        ok $answer->status == 502 || !$answer->whole || $answer->body eq 'right', "$path: refused, cut, or right" or diag $answer->head;
        like ctl($proxy, cache => $origin->url($path))->{output}, qr/nothing is kept/, "$path: not kept";
    }
    is get($proxy, $origin->url('/until'))->body, $long, 'a body that ends with its connection';
    get($proxy, $origin->url('/reset'));
    like ctl($proxy, cache => $origin->url('/reset'))->{output}, qr/nothing is kept/, 'one that ends by a reset is not kept';
    nothing_left($proxy, 'lies');
}

# --- URLs in disguise ---------------------------------------------------------------------------------------
{
    my $origin = origin('*' => sub { return { @live, body => "$_[0]{path} of " . ($_[0]{head} =~ /^Host: (.*?)\r/mi)[0] } });
    my $proxy = proxy("cache_mem 16 MB\n");
    my $addr = $origin->addr;
    my $port = $origin->port;
    my $say = sub { my ($target, @fields) = @_; return raw($proxy, "GET $target HTTP/1.1\r\n" . join('', map "$_\r\n", @fields) . "\r\n") };

    # What a Host field says is not what is asked for: neither for the origin nor for who comes next.
    $say->("http://$addr/a", 'Host: evil.test');
    is get($proxy, "http://$addr/a")->body, "/a of $addr", 'another Host does not poison';
    $say->("http://evil.test\@$addr/b", "Host: $addr");
    is get($proxy, "http://$addr/b")->body, "/b of $addr", 'nor does userinfo';
    $say->("http://$addr/c", "Host: $addr", 'X-Forwarded-Host: evil.test', 'X-Original-URL: /evil', 'X-Rewrite-URL: /evil');
    is get($proxy, "http://$addr/c")->body, "/c of $addr", 'nor do fields of others';
    is $say->("http://$addr/d", "Host: $addr", "Host: evil.test")->status, 400, 'two Hosts are refused';
    my %paths = ('/e' => '/e', '/%65' => '/%65', '/E' => '/E', '//e' => '//e', '/e/' => '/e/', '/e?' => '/e?', '/./e' => '/./e', '/x/../e' => '/x/../e',
        '/e?a' => '/e?a', '/e%3fa' => '/e%3fa', '/e%2F' => '/e%2F', '/e%2f' => '/e%2f', '/e;a' => '/e;a');
    for my $turn (1, 2) {
        for my $path (sort keys %paths) {
            my $answer = $say->("http://$addr$path", "Host: $addr");
            is $answer->body, "$paths{$path} of $addr", "$path is itself, turn $turn";
        }
    }
    my $frag = $say->("http://$addr/f#x", "Host: $addr");
    ok $frag->status == 400 || $frag->body eq "/f of $addr", 'a fragment goes nowhere' or diag $frag->head . $frag->body;
    is $say->("http://$addr", "Host: $addr")->body, "/ of $addr", 'an empty path';
    is $say->("http://$addr/", "Host: $addr")->body, "/ of $addr", 'is that of /';
    is $origin->hits('/'), 1, 'and shares its copy';
    is $say->("http://$addr?q", "Host: $addr")->body, "/?q of $addr", 'an empty path with a query';
    is $say->("HTTP://$addr/g", "Host: $addr")->body, "/g of $addr", 'a scheme in capitals';
    get($proxy, "http://$addr/g");
    is $origin->hits('/g'), 1, 'is the same';
    SKIP: {
        my $answer = $say->("http://LOCALHOST:$port/h", "Host: LOCALHOST:$port");
        skip 'no localhost here', 2 if $answer->status != 200;
        $say->("http://localhost:$port/h", "Host: localhost:$port");
        is $origin->hits('/h'), 1, 'a host in capitals is the same';
        my $other = $say->("http://localhost.:$port/h", "Host: localhost.:$port");
        ok $other->status != 200 || $other->body =~ m{^/h of localhost\.?:$port$}i, 'one with a dot is one of these' or diag $other->body;
    }
}

# --- whose answer is it -------------------------------------------------------------------------------------
for my $workers (0, 4) {
    my $whose = sub { return join ' ', map { $_ // '-' } $_[0]{head} =~ /^(?:Authorization|Cookie): (.*?)\r/mig };
    my $origin = origin(
        '/login' => sub { return { @live, body => 'for ' . $whose->($_[0]), hold => 1 } },
        '/cookie' => sub { return { @live, Vary => 'Cookie', body => 'for ' . $whose->($_[0]) } },
        '/mine' => sub { return { 'Cache-Control' => 'private, max-age=60', body => 'for ' . $whose->($_[0]), hold => 1 } },
        '/session' => sub { return { 'Cache-Control' => 'no-cache="Set-Cookie", max-age=60', 'Set-Cookie' => "id=$_[0]{count}", body => 'same' } },
    );
    my $proxy = proxy("cache_mem 16 MB\n", workers => $workers);
    my @conns = map { (asks(1, $proxy, $origin->url('/login'), "Authorization: Basic $_")) } qw(YTph Yjpi Yzpj);
    ok reached($origin, '/login', 3), 'each login is asked for itself';
    push @conns, asks(1, $proxy, $origin->url('/login'));
    ok reached($origin, '/login', 4), 'and who has none';
    $origin->release('/login');
    is join('|', map { $_->body } answers(@conns)), 'for Basic YTph|for Basic Yjpi|for Basic Yzpj|for ', 'none has that of another';
    is get($proxy, $origin->url('/cookie'), headers => { Cookie => $_ })->body, "for $_", "Cookie $_" for qw(a=1 a=2 a=1 a=2);
    is get($proxy, $origin->url('/cookie'))->body, 'for ', 'and none';
    @conns = map { (asks(1, $proxy, $origin->url('/mine'), "Cookie: a=$_")) } 1 .. 4;
    ok reached($origin, '/mine', 1), 'private ones';
    $origin->release('/mine');
    is join('|', map { $_->body } answers(@conns)), join('|', map "for a=$_", 1 .. 4), 'are for their asker';
    my @ids = map { get($proxy, $origin->url('/session'))->header('Set-Cookie') // 'none' } 1 .. 3;
    is scalar(grep { $_ eq 'id=1' } @ids), 1, 'what may not be told twice is not' or diag "@ids";
    nothing_left($proxy, 'logins');
}

# --- floods ----------------------------------------------------------------------------------------------------
{
    my $origin = origin(
        '/agents' => sub { return { @live, Vary => 'User-Agent', body => 'for ' . ($_[0]{head} =~ /^User-Agent: (.*?)\r/mi)[0] } },
        '/many' => sub { return { @live, Vary => join(', ', map "X-$_", 1 .. 200), body => 'many' } },
        '/moves' => sub { return { @live, Vary => "X-$_[0]{count}", body => "answer $_[0]{count}" } },
        '/big-vary' => sub { return { @live, Vary => 'X-Big', body => 'for ' . length(($_[0]{head} =~ /^X-Big: (.*?)\r/mi)[0] // '') } },
        '/head' => sub { return { @live, (map { ("X-$_" => 'y' x 1000) } 1 .. 25), body => 'after a large head' } },
        '/head-too-big' => sub { return { @live, (map { ("X-$_" => 'y' x 1000) } 1 .. 90), body => 'after a head that is too large' } },
        '/b' => { @live, body => $long, hold => 1 },
        '/address' => sub { return { @live, Vary => 'X-Forwarded-For', body => 'for ' . ($_[0]{head} =~ /^X-Forwarded-For: (.*?)\r/mi)[0] } },
    );
    my $proxy = proxy("cache_mem 16 MB\nacl purge method PURGE\n");
    my $wrong = 0;
    my $conn = client($proxy);
    for my $n (1 .. 1000) {
        my $answer = get($proxy, $origin->url('/agents'), on => $conn, headers => { 'User-Agent' => "agent $n" });
        $wrong++ if $answer->body ne "for agent $n";
    }
    is $wrong, 0, '1,000 agents get what is for them';
    $wrong = grep { get($proxy, $origin->url('/agents'), headers => { 'User-Agent' => "agent $_" })->body ne "for agent $_" } map { 1001 - $_ } 1 .. 50;
    is $wrong, 0, 'once more';
    cmp_ok stat($proxy, 'cache.variants_full'), '>=', 1, 'and are forgotten in time';
    is get($proxy, $origin->url('/many'))->body, 'many', 'an answer that varies by 200 fields' for 1 .. 2;
    my %got = map { get($proxy, $origin->url('/moves'), headers => { map { ("X-$_" => 'v') } 1 .. 3 })->body => 1 } 1 .. 5;
    ok !grep({ !/^answer \d$/ } keys %got), 'one that varies by something else each time';
    is get($proxy, $origin->url('/big-vary'), headers => { 'X-Big' => 'x' x $_ })->body, "for $_", "it varies by $_ bytes" for 30_000, 30_001, 30_000, 10;
    is get($proxy, $origin->url('/head'))->body, 'after a large head', 'a large head' for 1 .. 2;
    is $origin->hits('/head'), 1, 'is kept, too';
    is scalar(grep { get($proxy, $origin->url('/head'))->header("X-$_") ne 'y' x 1000 } 1 .. 25), 0, 'whole';
    is get($proxy, $origin->url('/head-too-big'))->status, 502, 'one that is too large is refused' for 1 .. 2;

    my $where = sub { return request($proxy, GET => $origin->url('/address'), from => "127.0.0.$_[0]")->body };
    is $where->($_), "for 127.0.0.$_", "an answer for the address 127.0.0.$_" for 2, 3, 2;

    # PURGE while it is fetched: each has all of it, and who comes later asks anew.
    my @conns = asks(5, $proxy, $origin->url('/b'));
    ok reached($origin, '/b', 1), 'a fetch';
    my $flood = client($proxy);
    $flood->send('PURGE ' . $origin->url('/b') . " HTTP/1.1\r\nHost: x\r\n\r\n") for 1 .. 200;
    $origin->release('/b');
    is scalar(grep { $_->body eq $long } answers(@conns)), 5, 'PURGE floods cut nobody';
    is scalar(grep { $flood->response(to => 'PURGE')->status =~ /^(?:200|404)$/ } 1 .. 200), 200, 'and are answered';
    is get($proxy, $origin->url('/b'))->body, $long, 'then it is fetched anew';
    nothing_left($proxy, 'floods');
}

# --- parts -----------------------------------------------------------------------------------------------------
{
    my $origin = origin('/a' => { @live, ETag => '"a"', body => $long }, '/weak' => { @live, ETag => 'W/"a"', body => $long },
        '/chunks' => { @live, ETag => '"c"', chunks => [ unpack '(a9999)*', $long ] }, '/empty' => { @live, ETag => '"e"', body => '' });
    my $proxy = proxy("cache_mem 16 MB\n");
    my $part = sub { my ($path, $range, @more) = @_; return get($proxy, $origin->url($path), headers => [ Range => $range, @more ]) };
    for my $path (qw(/a /chunks)) {
        get($proxy, $origin->url($path));
        my $answer = $part->($path, 'bytes=' . join(',', map { "$_-" } 0 .. 1000));
        cmp_ok length($answer->body), '<=', length($long) + 1000, "$path: 1,000 ranges that overlap send no byte twice";
        $answer = $part->($path, 'bytes=' . join(',', map { 2 * $_ . '-' . 2 * $_ } 0 .. 1000));
        cmp_ok length($answer->body), '<=', length $long, "$path: 1,000 small ones are no gain";
        is $part->($path, 'bytes=0-0,-1')->status, 206, "$path: the first and the last";
        is $part->($path, 'bytes=399999-')->body, substr($long, -1), "$path: the last";
        is $part->($path, 'bytes=400000-')->status, 416, "$path: behind it";
        is $part->($path, 'bytes=-0')->status, 416, "$path: no byte at all";
        is $part->($path, 'bytes=0-9,400000-')->body, substr($long, 0, 10), "$path: one is good";
        is $part->($path, 'bytes=0-18446744073709551616')->body, $long, "$path: numbers that are too large";
        is $part->($path, 'bytes=18446744073709551616-')->status, 416, "$path: as a beginning";
        is $part->($path, 'bytes=-99999999999999999999')->body, $long, "$path: as an end";
        is $part->($path, $_)->status, 200, "$path: '$_' is none" for 'bytes=--1', 'bytes=1--1', 'lines=1-2', 'bytes', 'bytes=1-2-3', 'bytes=a-b';
        is $part->($path, 'bytes=0-9', 'If-Range' => 'W/"a"')->status, 200, "$path: If-Range by a weak tag";
    }
    get($proxy, $origin->url('/weak'));
    is $part->('/weak', 'bytes=0-9', 'If-Range' => 'W/"a"')->status, 200, 'nor by one that is weak on both sides';
    get($proxy, $origin->url('/empty'));
    like $part->('/empty', 'bytes=0-0')->status, qr/^(?:200|416)$/, 'a part of nothing';
    is $origin->hits($_), 1, "$_ was asked once" for qw(/a /weak /chunks /empty);
    nothing_left($proxy, 'parts');
}

# --- HEAD and GET, pipelines, only-if-cached ---------------------------------------------------------------------
for my $workers (0, 4) {
    my $origin = origin(
        '/head-first' => { @live, ETag => '"h"', body => 'a body' }, '/get-first' => { @live, body => 'a body' },
        '/held' => { @live, body => 'held', hold => 1 }, '*' => sub { return { @live, body => "this is $_[0]{path}" } },
    );
    my $proxy = proxy("cache_mem 16 MB\n", workers => $workers);
    my $head = request($proxy, HEAD => $origin->url('/head-first'));
    is $head->header('Content-Length'), 6, 'HEAD';
    is get($proxy, $origin->url('/head-first'))->body, 'a body', 'is no GET';
    get($proxy, $origin->url('/get-first'));
    $head = request($proxy, HEAD => $origin->url('/get-first'));
    is $head->header('Content-Length'), 6, 'a GET serves HEAD';
    is $head->body, '', 'without its body';
    is $origin->hits('/get-first'), 1, 'out of memory';

    get($proxy, $origin->url("/$_")) for 2, 4, 6;
    my $conn = client($proxy);
    $conn->send(join '', map { 'GET ' . $origin->url("/$_") . " HTTP/1.1\r\nHost: x\r\n\r\n" } 1 .. 7);
    is join(' ', map { $conn->response(to => 'GET')->body } 1 .. 7), join(' ', map "this is /$_", 1 .. 7), 'hits and misses in one go come in order';
    $conn->close;

    my ($first) = asks(1, $proxy, $origin->url('/held'));
    ok reached($origin, '/held', 1), 'a fetch is under way';
    my $begun = time;
    is get($proxy, $origin->url('/held'), headers => { 'Cache-Control' => 'only-if-cached' })->status, 504, 'only-if-cached is answered at once';
    cmp_ok time - $begun, '<', 3, 'without waiting';
    $origin->release('/held');
    is +(answers($first))[0]->body, 'held', 'and takes nothing from it';
    is get($proxy, $origin->url('/held'), headers => { 'Cache-Control' => 'only-if-cached' })->body, 'held', 'then it is there';

    # The clock of the machine is set.
    get($proxy, $origin->url("/clock"));
    later($proxy, 2 * 86400);
    is get($proxy, $origin->url("/clock"))->body, "this is /clock", "two days on";
    is $origin->hits("/clock"), 2, "what was there is too old";
    nothing_left($proxy, 'clocks');
}

# --- small memories ----------------------------------------------------------------------------------------------
my $huge = $long x 10;
for my $mem ('64 KB', '1 MB', '0') {
    for my $workers (0, 4) {
        my $origin = origin('*' => sub { my ($size) = $_[0]{path} =~ /(\d+)$/; return { @live, body => substr $huge, 0, $size } },
            '/chunks' => { @live, chunks => [ unpack '(a50000)*', $huge ] });
        my $proxy = proxy("cache_mem $mem\nmaximum_object_size_in_memory 64 MB\nacl purge method PURGE\n", workers => $workers);
        my $wrong = 0;
        for my $size (map { (int 10 * 3**$_) x 2 } 0 .. 11) {
            my $answer = get($proxy, $origin->url("/$size"));
            $wrong++ if $answer->status != 200 || $answer->body ne substr $huge, 0, $size;
        }
        is $wrong, 0, "cache_mem $mem, $workers workers: all are right";
        # Nobody knows beforehand that it is too large: some may be cut off, and nobody the next time.
        my @got = answers(asks(12, $proxy, $origin->url('/chunks')));
        is scalar(grep { index($huge, $_->body) != 0 || $_->whole && $_->body ne $huge } @got), 0, 'and what is larger than it, for many at once';
        cmp_ok scalar(grep { $_->whole } @got), '>=', 1, 'whole for one at least';
        is scalar(grep { $_->body eq $huge } answers(asks(12, $proxy, $origin->url('/chunks')))), 12, 'and for all the next time';
        is scalar(grep { $_->body eq $huge } answers(asks(12, $proxy, $origin->url('/4000000')))), 12, 'with a length for all at once';
        next if $mem eq '0';
        nothing_left($proxy, "cache_mem $mem");
        ctl($proxy, purge => 'prefix', 'http://');
        like ctl($proxy, 'cache')->{output}, qr/^live +0 bytes$/m, 'and nothing after a purge';
    }
}

# --- leaders -------------------------------------------------------------------------------------------------------
{
    my $origin = origin('/cold' => { @live, body => $long, hold => 1 }, '/killed' => { @live, body => $long, hold => 1 },
        '/slow' => { @live, body => $long x 8 }, '/ghost' => { @live, body => $long, hold => 1 });
    my $proxy = proxy("cache_mem 64 MB\nquick_abort_min -1 KB\n", workers => 4);
    my @conns = asks(100, $proxy, $origin->url('/cold'));
    ok reached($origin, '/cold', 1), '100 clients, four workers';
    ok wait_for(sub { stat($proxy, 'cache.waited') >= 99 }), '99 wait';
    $origin->release('/cold');
    is scalar(grep { $_->body eq $long } answers(@conns)), 100, 'all have it';
    is $origin->hits('/cold'), 1, 'by one fetch';

    # A client that does not read holds up nobody.
    my ($slow) = asks(1, $proxy, $origin->url('/slow'));
    ok reached($origin, '/slow', 1), 'a leader that does not read';
    is scalar(grep { $_->body eq $long x 8 } answers(asks(10, $proxy, $origin->url('/slow')))), 10, 'those who follow have it';
    is $origin->hits('/slow'), 1, 'by its fetch';
    is +(answers($slow))[0]->body, $long x 8, 'then it reads, and has it as well';

    # The leader's worker is killed: those of other workers are served all the same.
    my ($leader) = asks(1, $proxy, $origin->url('/killed'));
    ok reached($origin, '/killed', 1), 'one leads';
    my $waited = stat($proxy, 'cache.waited');
    @conns = asks(50, $proxy, $origin->url('/killed'));
    ok wait_for(sub { stat($proxy, 'cache.waited') >= $waited + 50 }), '50 follow';
    my $port = $leader->port;
    my ($pid) = map { $_->{pid} } grep { $_->{has} } map { my $pid = $_; { pid => $pid, has => scalar owns($pid, $port, $proxy->port) } } $proxy->workers;
    ok $pid, 'the worker that leads' or diag join ' ', $proxy->workers;
    if ($pid) {
        kill KILL => $pid;
        wait_for(sub { $origin->hits('/killed') >= 2 });
        $origin->release('/killed');
        my @got = answers(@conns);
        my @whole = grep { $_->status == 200 && $_->body eq $long } @got;
        cmp_ok scalar(@whole), '>=', 15, 'is killed: the others have it';
        is scalar(grep { $_->status != 0 && !($_->status == 200 && $_->body eq $long) } @got), 0, 'and nobody something else'
            or diag join ' ', map { $_->status . '/' . length $_->body } @got;
        cmp_ok $origin->hits('/killed'), '<=', 3, 'without a herd';
    }
    $leader->close;
    ok wait_for(sub { my @workers = $proxy->workers; @workers == 4 }, 30), 'all are there again';
    nothing_left($proxy, 'leaders');

    # A fetch without its client, while all is read anew and when it ends.
    my ($gone) = asks(1, $proxy, $origin->url('/ghost'));
    ok reached($origin, '/ghost', 1), 'a fetch';
    $gone->close;
    is ctl($proxy, 'reload')->{status}, 0, 'reload meanwhile';
    $origin->release('/ghost');
    is get($proxy, $origin->url('/ghost'))->body, $long, 'it serves on';
    $origin->set('/ghost2' => { @live, body => $long, hold => 1 });
    ($gone) = asks(1, $proxy, $origin->url('/ghost2'));
    ok reached($origin, '/ghost2', 1), 'another, when the server ends';
    $gone->close;
    $origin->drop;
    $origin->release('/ghost2');
}

# Is that client's connection one of this process?
sub owns
{
    my ($pid, $client, $server) = @_;
    my ($inode) = slurp('/proc/net/tcp') =~ sprintf('^ *\d+: 0100007F:%04X 0100007F:%04X 01 (?:\S+ +){5}\s*(\d+)', $server, $client) ? $1 : '';
    for (split /\n/, slurp('/proc/net/tcp')) {
        my @word = split;
        $inode = $word[9] if @word > 9 && $word[1] eq sprintf('0100007F:%04X', $server) && $word[2] eq sprintf('0100007F:%04X', $client);
    }
    return $inode ne '' && grep { (readlink($_) // '') eq "socket:[$inode]" } glob "/proc/$pid/fd/*";
}
done;

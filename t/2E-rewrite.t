# 2E-rewrite.t - other URLs than the client asked for: by a program, by a map; redirects; programs that
# die, hang or lie.
use Bobtail::Test;

my $origin = origin('*' => { body => 'here', 'Cache-Control' => 'max-age=60' });
my $other = origin('*' => { body => 'there' });
my ($port, $there) = ($origin->port, $other->port);
my $url = $origin->url('');

# All processes are there from the start, so that none counts as left over at the end.
my $one = '1 startup=1 idle=0';
sub sh { my ($body, $read) = @_; $read //= 'url rest'; return "while read -r $read; do $body\ndone\n" }
sub cases { my (%says) = @_; return 'case $url in ' . join(' ', map { "*/$_) printf '%s\\n' '$says{$_}' ;;" } sort keys %says) . ' *) echo ERR ;; esac' }

# --- what a program is told, and what it may answer ------------------------------------------------

my $helper = cases(
    swap => "OK rewrite-url=\"http://127.0.0.1:$there/swapped\"",
    same => "OK",
    empty => '',
    broken => 'BH message="nothing here"',
    nourl => 'OK rewrite-url="no url"',
    path => 'OK rewrite-url=/only/a/path',
    own => 'OK rewrite-url=gopher://127.0.0.1/x',
    note => 'OK color=green clt_conn_tag=c7',
    moved => 'OK status=301 url="http://www.example.com/a?b=1&c=2"',
    found => 'OK url=http://www.example.com/found',
    temp => 'OK status=307 url=http://www.example.com/temp',
    odd => 'OK status=200 url=http://www.example.com/odd',
    split => 'OK url="http://www.example.com/\r\nX-Evil: 1"',
    old => "http://127.0.0.1:$there/old",
    oldmoved => '303:http://www.example.com/oldmoved',
    echo => "http://127.0.0.1:$port/echo 127.0.0.1/- - GET",
    denied => "OK rewrite-url=http://127.0.0.1:$there/denied",
);
my $proxy = proxy(<<"CONF", files => { 'r.sh' => sh("echo \"\$url \$rest\" >> \$0.told\n$helper") });
cache_mem 0
url_rewrite_program /bin/sh \@DIR\@/r.sh
url_rewrite_children $one
acl raw urlpath_regex ^/raw
acl denied urlpath_regex ^/denied\$
acl here port $port
http_access allow here
adapted_http_access deny denied !here
url_rewrite_access deny raw
url_rewrite_access allow all
logformat line %rm %ru %>ru %<ru %>rs|%>rd|%>rP|%>rp %<rs|%<rd|%<rP|%<rp %Ss %note{color} %note{clt_conn_tag} %asked.url|%asked.scheme|%asked.host|%asked.port|%asked.path|%rewrite.place
access_log stdio:\@DIR\@/log logformat=line
CONF

sub body { return get($proxy, "$url/$_[0]")->body }
is body('plain'), 'here', 'ERR: as it is';
is body('same'), 'here', 'OK alone, too';
is body('empty'), 'here', 'and an empty line';
is body('swap'), 'there', 'rewrite-url: another origin';
is $other->seen_header('/swapped', 'Host'), "127.0.0.1:$there", 'Host follows';
is body('old'), 'there', 'a bare URL, as of old';
is body('echo'), 'here', 'the question in return is no change';
is body($_), 'here', "$_: of no use, as it is" for qw(broken nourl path odd split);
is get($proxy, "$url/own")->status, 501, 'a scheme that nobody speaks is a URL all the same';
is get($proxy, "$url/raw/swap")->body, 'here', 'url_rewrite_access: not asked';
for (['moved', 301, 'http://www.example.com/a?b=1&c=2'], ['found', 302, 'http://www.example.com/found'],
    ['temp', 307, 'http://www.example.com/temp'], ['oldmoved', 303, 'http://www.example.com/oldmoved']) {
    my ($path, $status, $to) = @$_;
    my $answer = get($proxy, "$url/$path");
    is $answer->status, $status, "$path: $status";
    is $answer->header('Location'), $to, "$path: and where";
    is $origin->hits("/$path"), 0, "$path: nobody was asked";
}
is get($proxy, "$url/split")->header('X-Evil'), undef, 'no header out of a URL';
is get($proxy, "$url/denied")->status, 403, 'adapted_http_access judges the new URL';
is get($proxy, "$url/note")->body, 'here', 'words of its own';
is get($proxy, "http://127.0.0.1:$there/swap")->status, 403, 'http_access judges the URL of the client';
like $proxy->text('r.sh.told'), qr{^http://127\.0\.0\.1:$port/swap 127\.0\.0\.1/127\.0\.0\.1 - GET myip=127\.0\.0\.1 myport=\d+$}m,
    'the question';
unlike $proxy->text('r.sh.told'), qr{raw|:$there/swap}, 'and who is refused, or exempt, makes none';
ok wait_for(sub { $proxy->text('log') =~ m{^GET http://127\.0\.0\.1:$there/swapped http://127\.0\.0\.1:$port/swap http://127\.0\.0\.1:$there/swapped http\|127\.0\.0\.1\|$port\|/swap http\|127\.0\.0\.1\|$there\|/swapped TCP_MISS - - http://127\.0\.0\.1:$port/swap\|http\|127\.0\.0\.1\|$port\|/swap\|-$}m }),
    'logged: both URLs' or diag $proxy->text('log');
ok wait_for(sub { $proxy->text('log') =~ m{/found .* TCP_REDIRECT - }m }), 'and TCP_REDIRECT';
ok wait_for(sub { $proxy->text('log') =~ m{/note .* green c7 }m }), 'and notes' or diag $proxy->text('log');
counters($proxy, 'rewrite.asked' => 19, 'rewrite.rewritten' => 4, 'rewrite.redirected' => 4,
    'rewrite.broken' => 6, 'client.urls_changed' => 4);

# A connection keeps what was said of it.
my $client = client($proxy);
is request($client, GET => "$url/note", on => $client)->status, 200, 'clt_conn_tag is said';
is request($client, GET => "$url/later", on => $client)->status, 200, 'and kept';
$client->close;
ok wait_for(sub { $proxy->text('log') =~ m{/later .* - c7 }m }), 'by the connection';

# CONNECT has a host and a port; a redirect of it is told, too.
my $connect = proxy(<<"CONF", files => { 'r.sh' => sh("case \$url in *:$port) echo OK rewrite-url=127.0.0.1:$there ;; *:1) echo 302:http://a/ ;; *) echo OK rewrite-url=http://a/ ;; esac") });
url_rewrite_program /bin/sh \@DIR\@/r.sh
url_rewrite_children $one
CONF
my $tunnel = tunnel($connect, "127.0.0.1:$port");
is $tunnel->{response}->status, 200, 'CONNECT';
is request($tunnel, GET => '/x', on => $tunnel)->body, 'there', 'leads elsewhere';
$tunnel->close;
is tunnel($connect, '127.0.0.1:1')->{response}->status, 302, 'or nowhere';
is tunnel($connect, "127.0.0.1:$there")->{response}->status, 200, 'another kind of URL is no answer';
counters($connect, 'rewrite.broken' => 1);

# Channels: answers in any order.
my $channels = proxy(<<"CONF", files => { 'r.sh' => "while read -r id url rest; do case \$url in */one) late=\$id ;; *) echo \"\$id OK rewrite-url=http://127.0.0.1:$there/\$id\"; echo \"\$late OK rewrite-url=http://127.0.0.1:$there/first\" ;; esac; done\n" });
url_rewrite_program /bin/sh \@DIR\@/r.sh
url_rewrite_children $one concurrency=4
CONF
my @asks = map { client($channels) } 1, 2;
$asks[0]->send("GET $url/one HTTP/1.1\r\nHost: a\r\n\r\n");
ok wait_for(sub { stat($channels, 'rewrite.asked') == 1 }), 'one question waits';
$asks[1]->send("GET $url/two HTTP/1.1\r\nHost: a\r\n\r\n");
is $_->response(to => 'GET')->body, 'there', 'and is answered behind another' for reverse @asks;
is $other->hits('/first'), 1, '... with its own answer';
$_->close for @asks;

# --- Host, and the cache ---------------------------------------------------------------------------

my $keep = proxy(<<"CONF", files => { 'r.sh' => sh("echo OK rewrite-url=http://127.0.0.1:$there/cached") });
url_rewrite_program /bin/sh \@DIR\@/r.sh
url_rewrite_children $one
redirect_rewrites_host_header off
CONF
is get($keep, "$url/one", headers => ['Host', 'name.example.com'])->body, 'there', 'url_rewrite_host_header off';
is $other->seen_header('/cached', 'Host'), 'name.example.com', '... Host stays';

my $cached = proxy(<<"CONF", files => { 'r.sh' => sh("echo OK rewrite-url=http://127.0.0.1:$port/cached") });
redirect_program /bin/sh \@DIR\@/r.sh
redirect_children $one
redirector_access allow all
redirector_bypass off
url_rewrite_extras "%>ru %>rm"
CONF
is get($cached, "$url/one")->body, 'here', 'fetched by the new URL';
is get($cached, "$url/two")->body, 'here', 'and out of the cache by it';
is $origin->hits('/cached'), 1, '... which asked once';
counters($cached, 'cache.hits' => 1, 'rewrite.rewritten' => 2, 'helper.url_rewrite.requests' => 2);

# --- no answer --------------------------------------------------------------------------------------

my %how = (
    off => '', on => 'url_rewrite_bypass on',
    fail => 'url_rewrite_timeout 5 seconds on_timeout=fail', bypass => 'url_rewrite_timeout 5 seconds on_timeout=bypass',
    retry => 'url_rewrite_timeout 5 seconds on_timeout=retry',
    response => "url_rewrite_timeout 5 seconds on_timeout=use_configured_response response=\"OK url=http://sorry.example.com/\"",
);
for my $case (sort keys %how) {
    my $bad = proxy(<<"CONF", files => { 'r.sh' => "while read -r a; do sleep 1000; done\n" });
url_rewrite_program /bin/sh \@DIR\@/r.sh
url_rewrite_children $one
$how{$case}
CONF
    my $waits = client($bad);
    $waits->send("GET $url/late HTTP/1.1\r\nHost: a\r\n\r\n");
    my $times = $case eq 'retry' ? 3 : 1;
    for my $n (1 .. $times) {
        ok wait_for(sub { stat($bad, 'rewrite.retried') >= $n - 1 && stat($bad, 'rewrite.asked') == 1 }), "$case: asked, $n";
        later($bad, $case =~ /^o/ ? 61 : 6);
    }
    my $answer = $waits->response;
    my ($status, $counter) = @{ { off => [503, 'rewrite.refused'], on => [200, 'rewrite.bypassed'], fail => [503, 'rewrite.refused'],
        bypass => [200, 'rewrite.bypassed'], retry => [503, 'rewrite.refused'], response => [302, 'rewrite.redirected'] }->{$case} };
    is $answer->status, $status, "$case: $status";
    counters($bad, $counter => 1, 'rewrite.late' => $times, 'rewrite.retried' => $times - 1);
    $waits->close;
    $waits = client($bad);
    $waits->send("GET $url/left HTTP/1.1\r\nHost: a\r\n\r\n");
    ok wait_for(sub { stat($bad, 'rewrite.asked') == 2 }), "$case: one who leaves";
    $waits->close;
    ok wait_for(sub { stat($bad, 'client.active') == 0 }), "$case: ... is not waited for";
    $bad->expect_log(qr/url_rewrite/);
}
for my $case (['', 503, 'rewrite.refused'], ['url_rewrite_bypass on', 200, 'rewrite.bypassed']) {
    my ($line, $status, $counter) = @$case;
    my $dead = proxy(<<"CONF", files => { 'r.sh' => "read -r a; exit 3\n" });
url_rewrite_program /bin/sh \@DIR\@/r.sh
url_rewrite_children $one
$line
CONF
    delete $dead->{gauges}{'helper.url_rewrite.processes'};   # it may well be gone at the end
    $dead->{descriptors} = {};
    is get($dead, "$url/dies")->status, $status, "a program that dies: $status";
    counters($dead, $counter => 1, 'rewrite.late' => 0);
    $dead->expect_log(qr/url_rewrite/);
}

# --- the map ----------------------------------------------------------------------------------------

my $map = proxy(<<"CONF", workers => 1, files => { map => <<"MAP", 'r.sh' => sh("echo \"\$url\" >> \$0.told; echo OK rewrite-url=http://127.0.0.1:$there/by-program") });
url_rewrite_map \@DIR\@/map
url_rewrite_program /bin/sh \@DIR\@/r.sh
url_rewrite_children $one
acl raw urlpath_regex raw
url_rewrite_access deny raw
logformat line %ru %>ru %rewrite.place
access_log stdio:\@DIR\@/log logformat=line
CONF
# what            becomes
http://127.0.0.1:$port/a          http://127.0.0.1:$there/b
http://127.0.0.1:$port/dir/*      http://127.0.0.1:$there/tree/*
http://127.0.0.1:$port/away       308:https://new.example.com/away
~ ^http://127\\.0\\.0\\.1:$port/re  127.0.0.1:$there
http://127.0.0.1:$port/wrong      http://127.0.0.1:99999/
localhost:$port                   127.0.0.1:$there
MAP
is get($map, "$url/a")->body, 'there', 'a line of the map';
is $other->hits('/b'), 1, '... one URL';
is get($map, "$url/dir/x/y?z")->body, 'there', 'all below';
is $other->hits('/tree/x/y?z'), 1, '... with what stood there';
is get($map, "$url/re/x")->body, 'there', 'a pattern';
is $other->hits('/re/x'), 1, '... that keeps the path';
is get($map, "$url/away")->header('Location'), 'https://new.example.com/away', 'a redirect';
is get($map, "$url/a/raw")->body, 'here', 'url_rewrite_access holds for it, too';
is get($map, "$url/wrong")->body, 'here', 'what is no URL is no answer';
my $by = tunnel($map, "localhost:$port");
is $by->{response}->status, 200, 'CONNECT';
is request($by, GET => '/x', on => $by)->body, 'there', '... by its host and port';
$by->close;
ok !-e $map->file('r.sh.told'), 'the program was not asked';
is get($map, "$url/none")->body, 'there', 'but where the map is silent';
is $other->hits('/by-program'), 1, '... it is';
ok wait_for(sub { $map->text('log') =~ m{^http://127\.0\.0\.1:$there/b http://127\.0\.0\.1:$port/a \S+/map:2$}m }), 'logged, with its line'
    or diag $map->text('log');
counters($map, 'rewrite.mapped' => 6, 'rewrite.asked' => 1, 'rewrite.broken' => 1);

# The map is read again with the configuration.
open my $out, '>', $map->file('map') or die;
print $out "http://127.0.0.1:$port/a http://127.0.0.1:$there/changed\n";
close $out;
$map->signal('HUP');
ok wait_for(sub { get($map, "$url/a")->body eq 'there' && $other->hits('/changed') > 0 }), 'a new map, with a reload';

# --- the configuration ------------------------------------------------------------------------------

sub complains { my ($text, $like, $what) = @_; my $said = parse("http_port 127.0.0.1:0\n$text\n"); like $said->{output}, $like, $what; return }
complains('url_rewrite_map /no/such/map', qr{:2:17: error: /no/such/map cannot be read: No such file}, 'no map');
like parse("http_port 127.0.0.1:0\nurl_rewrite_map \@DIR\@/map\n", files => { map => "# one\n  a.example  b.example/c\n~ ( d.example\na.test b.test c.test\na.b\n" })->{output},
    qr{/map:2:14: error: a URL or a host expected, not b\.example/c.*/map:3:3: error: \( is no regular expression.*/map:4:15: error: surplus word c\.test.*/map:5:1: error: what a\.b becomes is missing}s,
    'faults of a map, all at once, with their places';
complains('url_rewrite_timeout 5 on_timeout=use_configured_response', qr/:2:23: error: .*need each other/, 'no response');
complains('url_rewrite_timeout 5 response=OK', qr/:2:23: error: .*need each other/, 'a response for nothing');
complains('url_rewrite_timeout 5 on_timeout=sleep', qr/:2:23: error: .*not 'sleep'/, 'no action');
complains('url_rewrite_timeout 5 later=yes', qr/:2:23: error: on_timeout= or response= expected at 'later=yes'/, 'no option');
complains('url_rewrite_program /no/such/program', qr{:2:21: error: the program '/no/such/program' cannot be used}, 'no program');
is parse("http_port 127.0.0.1:0\nurl_rewrite_program none\n")->{status}, 0, 'none';
done;

# 70-log-access.t - access logs: formats, fields, choice by ACLs, batches, rotation, lost lines.
use Bobtail::Test;

my $origin = origin(
    '/a?b=1' => { body => 'one', 'Content-Type' => 'text/plain; charset=utf-8', 'X-Reply' => 'b "x"' },
    '*' => { body => 'any' },
);
my $port = (split /:/, $origin->addr)[1];

# A line that comes soon, without its end.
sub line_of
{
    my ($proxy, $file, $n) = @_;
    wait_for(sub { () = $proxy->text($file) =~ /\n/g; scalar(() = $proxy->text($file) =~ /\n/g) >= ($n // 1) });
    my @lines = split /\n/, $proxy->text($file);
    return $lines[($n // 1) - 1];
}

# --- every field by its name, and each code in some line -----------------------------------------

my @fields = (
    'client.addr' => '127.0.0.1', 'client.name' => '127.0.0.1', 'client.port' => qr/\d+/,
    'client.hardware' => '-', 'client.mark' => '0x0',
    'local.addr' => '127.0.0.1', 'local.port' => 'PORT', 'local.name' => 'front', 'local.own_addr' => '127.0.0.1', 'local.own_port' => 'PORT',
    'origin.addr' => '127.0.0.1', 'origin.name' => '127.0.0.1', 'origin.port' => $port,
    'origin.local_addr' => '127.0.0.1', 'origin.local_port' => qr/\d+/, 'origin.mark' => '0x0',
    'origin.tries' => qr/\d+/, 'origin.status' => '200', 'origin.version' => '1.1',
    'time.seconds' => qr/\d{10}/, 'time.milliseconds' => qr/\d{1,3}/, 'time.start' => qr/\d{10}\.\d{3}/,
    'time.local' => qr{\d\d/\w{3}/\d{4}:[\d:]{8} [+-]\d{4}}, 'time.utc{%Y-%m}' => qr/\d{4}-\d\d/,
    'time.taken' => qr/\d+/, 'time.dns' => '-', 'time.reply' => qr/\d+/, 'time.forward' => qr/\d+/,
    'req.method' => 'GET', 'req.url' => $origin->url('/a?b=1'), 'log.url' => $origin->url('/a?'),
    'req.scheme' => 'http', 'req.host' => '127.0.0.1', 'req.port' => $port, 'req.path' => '/a?b=1',
    'req.version' => '1.1', 'req.header{X-Ask}' => 'a=1; b=2', 'req.header{X-Ask:;b}' => '2',
    'req.header{X-None}' => '-', 'req.group' => '-',
    'rep.status' => '200', 'rep.header{X-Reply}' => 'b "x"', 'rep.mime' => 'text/plain',
    'rep.bytes' => qr/\d{3}/, 'req.bytes' => qr/\d{2,3}/, 'bytes.both' => qr/\d{3}/,
    'req.head_bytes' => qr/\d{2,3}/, 'rep.head_bytes' => qr/\d{3}/, 'rep.body_bytes' => '3',
    'origin.body_bytes' => '3',
    'user.name' => '-', 'user.login' => '-', 'user.external' => '-', 'user.credentials' => '-',
    'external.tag' => '-', 'external.log' => '-', 'note.value' => '-',
    'result.tag' => 'TCP_MISS', 'result.hierarchy' => 'HIER_DIRECT', 'result.error' => '-',
    'result.detail' => '-', 'access.rule' => qr/.*:\d+/, 'txn.number' => qr/\d+/,
);
my (@names, %want, @order);
while (my ($name, $value) = splice @fields, 0, 2) {
    push @order, $name;
    $want{$name} = $value;
}
my $all = join '%byte{9}', map { "%'$_" } @order;
my $proxy = proxy(<<"CONF");
http_port 127.0.0.1:0 name=front
logformat all $all
logformat quoted "%rm" %"{User-Agent}>h %[{User-Agent}>h %#{User-Agent}>h %/{User-Agent}>h %{User-Agent}>h
logformat wide [%6.2rm] [%-6rm] [%05>Hs] [%6un]
logformat wide second one
access_log stdio:\@DIR\@/all.log logformat=all
access_log daemon:\@DIR\@/quoted.log quoted
access_log \@DIR\@/wide.log wide
access_log stdio:\@DIR\@/squid.log
cache_access_log stdio:\@DIR\@/common.log logformat=common
access_log stdio:\@DIR\@/combined.log combined
access_log stdio:\@DIR\@/referrer.log referrer
access_log stdio:\@DIR\@/useragent.log logformat=useragent buffer-size=32KB on-error=drop rotate=3
buffered_logs on
CONF
my $answer = get($proxy, $origin->url('/a?b=1'), headers => [ 'X-Ask' => 'a=1; b=2', 'User-Agent' => 'a "b" [c]', Referer => 'http://r/' ]);
is $answer->status, 200, 'answered';
my @got = split /\t/, line_of($proxy, 'all.log');
is scalar @got, scalar @order, 'a value for each field';
for my $i (0 .. $#order) {
    my $want = $want{ $order[$i] };
    $want = $proxy->port if $want eq 'PORT';
    if (ref $want) { like $got[$i], qr/^$want$/, "%$order[$i]" }
    else { is $got[$i], $want, "%$order[$i]" }
}
my %got;
@got{@order} = @got;
is $got{'bytes.both'}, $got{'req.bytes'} + $got{'rep.bytes'}, 'sizes add up';
is $got{'rep.bytes'}, $got{'rep.head_bytes'} + 3, 'head and body make the answer';
is line_of($proxy, 'quoted.log'),
    '"GET" a \"b\" [c] a "b" %5bc%5d a%20%22b%22%20%5Bc%5D "a \"b\" [c]" a%20%22b%22%20%5Bc%5D',
    'each encoding; quotes of the format stay';
is line_of($proxy, 'wide.log'), '[    GE] [GET   ] [00200] [-]', 'widths; the first of two formats';
like line_of($proxy, 'squid.log'),
    qr{^\d{10}\.\d{3} [ \d]{5}\d 127\.0\.0\.1 TCP_MISS/200 \d+ GET \Q${\$origin->url('/a?')}\E - HIER_DIRECT/127\.0\.0\.1 text/plain$},
    'format squid, the default';
my $date = qr{\[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\]};
like line_of($proxy, 'common.log'),
    qr{^127\.0\.0\.1 - - $date "GET \Q${\$origin->url('/a?')}\E HTTP/1\.1" 200 \d+ TCP_MISS:HIER_DIRECT$}, 'format common';
like line_of($proxy, 'combined.log'),
    qr{" 200 \d+ "http://r/" "a \\"b\\" \[c\]" TCP_MISS:HIER_DIRECT$}, 'format combined';
like line_of($proxy, 'referrer.log'), qr{^\d{10}\.\d{3} 127\.0\.0\.1 http://r/ \Q${\$origin->url('/a?')}\E$}, 'format referrer';
like line_of($proxy, 'useragent.log'), qr{^127\.0\.0\.1 $date "a \\"b\\" \[c\]"$}, 'format useragent';
like $proxy->output . $proxy->log, qr/format 'wide' is defined above/, 'a second logformat of one name is warned of';
ok wait_for(sub { stat($proxy, 'log.lines') >= 8 }), 'log.lines counts them';

# --- which exchange goes where ---------------------------------------------------------------------

my $some = proxy(<<'CONF');
acl in urlpath_regex ^/in
acl hush urlpath_regex hush
acl odd port 1
logformat path %>rp
access_log stdio:@DIR@/in.log path in
access_log stdio:@DIR@/not.log logformat=path !in
access_log stdio:@DIR@/both.log path in !hush
access_log stdio:@DIR@/acl.log in
access_log none hush
access_log stdio:@DIR@/rest.log path
access_log stdio:@DIR@/nobody.log path odd
strip_query_terms off
CONF
get($some, $origin->url($_)) for qw(/in/1 /out/2 /in/hush /hush?q=3);
line_of($some, 'rest.log', 2);
is $some->text('in.log'), "/in/1\n/in/hush\n", 'an ACL chooses';
is $some->text('not.log'), "/out/2\n/hush?q=3\n", 'a negated one, too';
is $some->text('both.log'), "/in/1\n", 'all of a line must match';
is scalar(() = $some->text('acl.log') =~ /\n/g), 2, 'an ACL where the old form has its format';
is $some->text('rest.log'), "/in/1\n/out/2\n", '`none` ends the list for what it matches';
is $some->text('nobody.log'), '', 'nothing matches: nothing is written';

# --- headers at the end, URLs whole, what errors look like ------------------------------------------

my $mime = proxy(<<'CONF');
log_mime_hdrs on
strip_query_terms off
acl no urlpath_regex ^/no
http_access deny no
http_access allow all
logformat err %Ss/%03>Hs %Sh/%<a %mt %err_code %err_detail %rm %ru %rule
access_log stdio:@DIR@/mime.log
access_log stdio:@DIR@/err.log err
CONF
get($mime, $origin->url('/a?b=1'), headers => [ 'X-Odd' => '[1] %' ]);
like line_of($mime, 'mime.log'), qr{ GET \S+/a\?b=1 - .*text/plain \[.*X-Odd: %5b1%5d %25\\r\\n.*\] \[HTTP/1\.1 200 OK\\r\\n.*\\r\\n\\r\\n\]$},
    'log_mime_hdrs: both heads in brackets';
get($mime, $origin->url('/no'));
like line_of($mime, 'err.log', 2), qr{^TCP_DENIED/403 HIER_NONE/- text/html ERR_ACCESS_DENIED - GET \S+ \S+:4$}, 'a denied one, and its rule';
get($mime, 'http://127.0.0.1:1/');
like line_of($mime, 'err.log', 3), qr{^TCP_MISS/503 HIER_DIRECT/127\.0\.0\.1 text/html ERR_CONNECT_FAIL errno=\d+ GET http://127\.0\.0\.1:1/ \S+:5$}, 'an origin that is not there';
my $bad = raw($mime, "NONSENSE\r\n\r\n");
like line_of($mime, 'err.log', 4), qr{^NONE_NONE/400 HIER_NONE/- text/html \S+ - \S+ error:invalid-request -$}, 'no HTTP at all';

# --- rotation, with two processes ---------------------------------------------------------------------

my $two = proxy(<<'CONF', workers => 2);
logfile_rotate 2
logformat path %>rp
access_log stdio:@DIR@/r.log path
access_log stdio:@DIR@/three.log logformat=path rotate=1
CONF
for my $round (1 .. 4) {
    get($two, $origin->url("/r$round"));
    line_of($two, 'r.log');
    ctl($two, 'rotate');
    ok wait_for(sub { -s $two->file('r.log.0') && !-s $two->file('r.log') }), "rotated, $round";
}
get($two, $origin->url('/r5'));
is line_of($two, 'r.log'), '/r5', 'lines go on in the new file';
is $two->text('r.log.0'), "/r4\n", 'the newest old one is .0';
is $two->text('r.log.1'), "/r3\n", 'the one before is .1';
ok !-e $two->file('r.log.2'), 'and no more are kept';
ok !-e $two->file('three.log.1'), 'rotate= of the line stands over logfile_rotate';

my $zero = proxy(<<'CONF');
logfile_rotate 0
logformat path %>rp
access_log stdio:@DIR@/z.log path
CONF
get($zero, $origin->url('/z1'));
line_of($zero, 'z.log');
rename $zero->file('z.log'), $zero->file('moved.log');
$zero->signal('USR1');
ok wait_for(sub { -e $zero->file('z.log') }), 'logfile_rotate 0 opens the file anew';
get($zero, $origin->url('/z2'));
is line_of($zero, 'z.log'), '/z2', 'and writes there';
is $zero->text('moved.log'), "/z1\n", 'not to the one that was moved away';

# --- many lines from several processes are never torn; standard output; a place that takes nothing -----

my $many = proxy(<<'CONF', workers => 2);
logformat long %>rp %{X-Pad}>h end
access_log stdio:@DIR@/many.log long
CONF
my $pad = 'x' x 900;
get($many, $origin->url("/m$_"), headers => [ 'X-Pad' => $pad ]) for 1 .. 150;
line_of($many, 'many.log', 150);
my @whole = grep { m{^/m\d+ x{900} end$} } split /\n/, $many->text('many.log');
is scalar @whole, 150, 'each line is whole';

my $out = proxy(<<'CONF');
logformat path said %>rp
access_log stdio:/dev/stdout path
CONF
get($out, $origin->url('/out'));
ok wait_for(sub { $out->output =~ m{^said /out$}m }), 'lines on standard output';

# A file that the shell made with >, and that the diagnostics go to as well: neither overwrites the other.
my $shared = do {
    my $script = $out->file('shared');
    my ($folder) = $ENV{BOBTAIL} =~ m{^(.*)/};
    open my $to, '>', $script or die;
    print $to "#!/bin/sh\nexec $ENV{BOBTAIL} \"\$@\" > $script.log 2>&1\n";
    close $to;
    chmod 0755, $script;
    local $ENV{BOBTAIL} = $script;
    local $ENV{BOBTAIL_MODULES} = $ENV{BOBTAIL_MODULES} // "$folder/modules/built";
    proxy("logformat path said %>rp\naccess_log stdio:/dev/stdout path\ncache_log /dev/stdout\n");
};
get($shared, $origin->url("/s$_")) for 1 .. 3;
ok wait_for(sub { slurp($out->file('shared.log')) =~ m{^said /s3$}m }), 'standard output that is a file';
is ctl($shared, 'rotate')->{status}, 0, 'more diagnostics';
like slurp($out->file('shared.log')), qr{^said /s1\nsaid /s2\nsaid /s3\n.*logs are rotated\n\z}m, 'lines of both kinds are whole';

my $full = proxy(<<'CONF');
access_log stdio:/dev/full
CONF
$full->expect_log(qr/dev.full cannot take lines/);
mark($full);
get($full, $origin->url('/full'));
ok wait_for(sub { stat($full, 'log.lost') >= 1 }), 'a line that nobody takes is counted';
is get($full, $origin->url('/full'))->status, 200, 'and nobody waits for it';

# --- faults: all are told, with place and advice ----------------------------------------------------------

my $faults = parse(<<'CONF');
logformat one %rm %xyzzy
logformat two %>Hx %{User-Agent>h
access_log stdio:/tmp/x logformat=oen
access_log nowhere:/tmp/x
access_log stdio:/tmp/x nosuch
access_log stdio:
CONF
isnt $faults->{status}, 0, 'refused';
like $faults->{output}, qr/:1:20: error: .*xyzzy/, 'an unknown code, at its place';
like $faults->{output}, qr/:2:21: error: .*never closed/, 'an argument without end';
like $faults->{output}, qr/:3:\d+: error: .*'oen'; did you mean 'one'/, 'a format that does not exist';
like $faults->{output}, qr/:4:\d+: error: .*nowhere/, 'a writer that does not exist';
like $faults->{output}, qr/:5:\d+: error: 'nosuch' is neither/, 'neither a format nor an ACL';
like $faults->{output}, qr/:6:\d+: error: a place should follow/, 'no place';
my $places = parse(<<'CONF');
http_port 127.0.0.1:3128
access_log stdio:/nonexistent/folder/x
CONF
like $places->{output}, qr/:2:18: error: .*cannot be opened/, 'a place that cannot be opened';
done;

# 46-cache-conf.t - what the configuration may say: patterns, reloads, store ids, fetches that go on.
use Bobtail::Test;

my @lm = ('Last-Modified' => 'Mon, 02 Mar 2020 10:00:00 GMT');

# refresh_pattern, and settings that work like its options.
for my $workers (0, 4) {
    my $origin = origin('*' => sub {
        my ($request) = @_;
        my ($path) = $request->{path};
        my @say = (Date => undef, ETag => '"1"');
        push @say, 'Cache-Control' => 'no-store' if $path =~ /no-store/;
        push @say, 'Cache-Control' => 'private' if $path =~ /private/;
        push @say, 'Cache-Control' => 'max-age=60' if $path =~ /short|ims|reload|stale/;
        push @say, Expires => 'Mon, 02 Mar 2020 10:00:00 GMT', @lm if $path =~ /expired/;
        return { @say, status => 304 } if $request->{head} =~ /^If-None-Match: "1"\r/mi;
        return { @say, status => 503 } if $path =~ /stale/ && $request->{count} > 1;
        return { @say, body => "answer $request->{count}" };
    });
    my $proxy = proxy(<<'CONF', workers => $workers);
cache_mem 16 MB
max_stale 1 hour
refresh_pattern -i /MIN 5 20% 10
refresh_pattern /min-case 0 0% 0
refresh_pattern /no-store 5 20% 10 ignore-no-store
refresh_pattern /private 5 20% 10 ignore-private
refresh_pattern /expired-override 60 20% 100 override-expire
refresh_pattern /reload-ignored 0 20% 10 ignore-reload
refresh_pattern /reload-ims 0 20% 10 reload-into-ims
refresh_pattern /ims 0 20% 10 refresh-ims
refresh_pattern . 0 20% 4320
CONF
    my $hits = sub {
        my ($path, %how) = @_;
        my $before = $origin->hits($path);
        my $answer = get($proxy, $origin->url($path), %how);
        return ($origin->hits($path) - $before, $answer);
    };
    note $workers ? "$workers workers" : 'one process';
    for my $path (qw(/min-a /no-store /expired-override)) {
        get($proxy, $origin->url($path));
        my ($asked) = $hits->($path);
        is $asked, 0, "$path: kept, and fresh";
    }
    get($proxy, $origin->url('/private'));
    is get($proxy, $origin->url('/private'))->body, 'answer 1', 'ignore-private: kept, and validated each time';
    later($proxy, 301);
    my ($asked) = $hits->('/min-a');
    is $asked, 1, 'MIN is over';
    get($proxy, $origin->url('/expired'));
    ($asked) = $hits->('/expired');
    is $asked, 1, 'without override-expire it is stale';
    get($proxy, $origin->url($_)) for qw(/reload-ignored /reload-ims /reload /ims /short);
    my @reload = (headers => { 'Cache-Control' => 'no-cache' });
    ($asked) = $hits->('/reload-ignored', @reload);
    is $asked, 0, 'ignore-reload';
    ($asked, my $answer) = $hits->('/reload-ims', @reload);
    is $asked . $answer->body, '1answer 1', 'reload-into-ims: asked, and the copy is good';
    ($asked, $answer) = $hits->('/reload', @reload);
    is $asked . $answer->body, '1answer 2', 'a reload fetches';
    ($asked, $answer) = $hits->('/ims', headers => { 'If-None-Match' => '"1"' });
    is $asked . $answer->status, '1304', 'refresh-ims: the origin is asked about a fresh copy';
    ($asked, $answer) = $hits->('/short', headers => { 'If-None-Match' => '"1"' });
    is $asked . $answer->status, '0304', 'else the cache says it';
}

{
    my $origin = origin('*' => sub {
        my ($request) = @_;
        return { Date => undef, status => 304, ETag => '"1"' } if $request->{head} =~ /^If-None-Match/mi;
        return { Date => undef, 'Cache-Control' => 'max-age=60', ETag => '"1"', body => "answer $request->{count}" };
    });
    for my $case ([ 'reload_into_ims on', { 'Cache-Control' => 'no-cache' }, 1, 200 ], [ 'refresh_all_ims on', { 'If-None-Match' => '"1"' }, 1, 304 ]) {
        my ($line, $fields, $asked, $status) = @$case;
        my $proxy = proxy("$line\n");
        my $url = $origin->url('/' . $line =~ s/ .*//r);
        get($proxy, $url);
        my $answer = get($proxy, $url, headers => $fields);
        is $answer->status, $status, $line;
        like $origin->seen($url =~ s{.*/}{/}r), qr/If-None-Match: "1"/, "$line: the origin is asked about the copy";
    }
    my $proxy = proxy("offline_mode on\n");
    get($proxy, $origin->url('/offline'));
    later($proxy, 100_000);
    is get($proxy, $origin->url('/offline'))->body, 'answer 1', 'offline_mode: however old it is';
    is $origin->hits('/offline'), 1, 'nobody is asked';

    $proxy = proxy("minimum_expiry_time 120 seconds\nmemory_replacement_policy lru\ncache_miss_revalidate off\ncache_status_field off\n");
    is get($proxy, $origin->url('/revalidate'), headers => { 'If-None-Match' => '"0"' })->status, 200, 'cache_miss_revalidate off: the whole';
    unlike $origin->seen('/revalidate'), qr/If-None-Match/, 'is asked for';
    is get($proxy, $origin->url('/revalidate2'), headers => { 'If-None-Match' => '"1"' })->status, 304, 'and the client gets what it asked for';
    is get($proxy, $origin->url('/revalidate2'))->header('Cache-Status'), undef, 'cache_status_field off';
    is $origin->hits('/revalidate2'), 1, 'which was kept';
}

# Targeted fields, behind their switch.
for my $on (0, 1) {
    my $origin = origin('/a' => { 'Cache-Control' => 'no-store', 'CDN-Cache-Control' => 'max-age=60', body => 'one' });
    my $proxy = proxy('cache_targeted_fields ' . ($on ? 'on' : 'off') . "\n");
    get($proxy, $origin->url('/a')) for 1, 2;
    is $origin->hits('/a'), $on ? 1 : 2, 'cache_targeted_fields ' . ($on ? 'on' : 'off');
}

# Fetches whose client has left: quick_abort.
my $head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 300000\r\n\r\n";
for my $case ([ "quick_abort_min -1 KB", 1 ], [ "quick_abort_min 0 KB\nquick_abort_max 0 KB\nquick_abort_pct 100", 0 ],
    [ "quick_abort_min 400 KB", 1 ], [ "quick_abort_min 1 KB\nquick_abort_max 1 GB\nquick_abort_pct 10", 1 ]) {
    my ($conf, $finished) = @$case;
    for my $workers (0, 4) {
        # Half of it, and not more: so it is known whether the connection is closed.
        my $origin = origin('/a' => { raw => $head . 'x' x 150_000 });
        my $proxy = proxy("$conf\n", workers => $workers);
        my $conn = client($proxy);
        $conn->send('GET ' . $origin->url('/a') . " HTTP/1.1\r\nHost: " . $origin->addr . "\r\n\r\n");
        $conn->bytes(140_000);
        $conn->close;
        my $what = $conf =~ s/\n/, /gr;
        counters($proxy, 'cache.finished' => $finished, 'cache.cut' => 1 - $finished);
        note $what;
        $origin->drop;
    }
}

# Store ids.
for my $workers (0, 4) {
    my $origin = origin('*' => sub { return { Date => undef, 'Cache-Control' => 'max-age=60', body => "from $_[0]{path}" } });
    my $proxy = proxy(<<'CONF', workers => $workers, files => { 'ids' => <<'HELPER' });
store_id_program /bin/sh @DIR@/ids
store_id_children 1 startup=1 idle=0
store_id_bypass on
storeurl_rewrite_extras "%>rm"
acl plain urlpath_regex plain
store_id_access deny plain
access_log stdio:@DIR@/access.log logformat=keys
logformat keys %rp %cache.key %cache.stored %cache.age %cache.ttl %cache.why
CONF
while read url method; do
    case "$url" in
        */mirror*/file) echo "OK store-id=http://files.example/file" ;;
        */odd) echo "BH" ;;
        *) echo "ERR" ;;
    esac
done
HELPER
    is get($proxy, $origin->url('/mirror1/file'))->body, 'from /mirror1/file', 'one place';
    is get($proxy, $origin->url('/mirror2/file'))->body, 'from /mirror1/file', 'another one of the same';
    is get($proxy, $origin->url($_))->body, "from $_", "$_: the URL is the key" for qw(/b /odd);
    get($proxy, $origin->url('/b'));
    is $origin->hits('/b'), 1, 'as well';
    is get($proxy, $origin->url('/plain/mirror3/file'))->body, 'from /plain/mirror3/file', 'store_id_access';
    counters($proxy, 'cache.store_ids' => 2, 'cache.store_ids_lost' => 1);
    wait_for(sub { 6 == (() = $proxy->text("access.log") =~ /\n/g) });     # each worker writes when it has time
    like $proxy->text('access.log'), qr{^/mirror2/file http://files\.example/file 0 [01] (?:60|59) fresh}m, 'fields of logs' or diag $proxy->text('access.log');
    like $proxy->text('access.log'), qr{^/b http://127\.0\.0\.1:\d+/b 1 }m, 'for a miss';
    like ctl($proxy, purge => 'prefix', 'http://files.example/')->{output}, qr/^1 dropped$/m, 'purged by their name';
}

# What is said badly.
for my $case ([ 'memory_replacement_policy heap', 'heap needs a kind' ], [ 'memory_replacement_policy heap FIFO', 'GDSF, LFUDA or LRU expected' ],
    [ 'refresh_pattern ( 0 20% 10', 'no regular expression' ], [ 'store_id_program /no/such/program', 'no/such' ]) {
    my ($line, $why) = @$case;
    my $said = parse("http_port 127.0.0.1:0\n$line\n");
    is $said->{status}, 1, "$line: refused";
    like $said->{output}, qr/error: .*\Q$why/, 'says why';
}
like parse("http_port 127.0.0.1:0\nmemory_replacement_policy heap GDSF\n")->{output}, qr/warning: S3-FIFO takes the place of heap GDSF/, 'heap GDSF: told';
done;

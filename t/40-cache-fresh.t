# 40-cache-fresh.t - a copy is used while it is fresh, by all workers, and told of in the answer.
use Bobtail::Test;

for my $workers (0, 4) {
    my $with = $workers ? "$workers workers" : 'one process';
    my $origin = origin(
        '/a' => { Date => undef, 'Cache-Control' => 'max-age=60', ETag => '"a"', body => 'one' },
        '/none' => { body => 'bare' },
        '/no' => { 'Cache-Control' => 'no-store, max-age=60', body => 'secret' },
        '/old' => { Date => undef, 'Last-Modified' => 'Mon, 02 Mar 2020 10:00:00 GMT', body => 'old' },
        '/chunked' => { Date => undef, 'Cache-Control' => 'max-age=60', chunks => ['in ', 'pieces'] },
        '/close' => { Date => undef, 'Cache-Control' => 'max-age=60', until_close => 1, body => 'to the end' },
        '/empty' => { Date => undef, 'Cache-Control' => 'max-age=60', body => '' },
        '/cookie' => { Date => undef, 'Cache-Control' => 'max-age=60', 'Set-Cookie' => 'a=b', body => 'sweet' },
        '*' => sub { return { Date => undef, 'Cache-Control' => 'max-age=60', body => $_[0]{target} } },
        '/302' => { status => 302, Date => undef, 'Cache-Control' => 'max-age=60', Location => '/a' },
    );
    my $proxy = proxy(<<"CONF", workers => $workers);
cache_mem 16 MB
access_log stdio:\@DIR\@/access.log logformat=tags
logformat tags %Ss/%03>Hs %Sh %rp %cache.result
CONF
    my $url = sub { $origin->url($_[0]) };

    my $answer = get($proxy, $url->('/a'));
    is $answer->body, 'one', "$with: fetched";
    like $answer->header('Cache-Status'), qr/^Bobtail; fwd=uri-miss; fwd-status=200; stored$/, 'says so';
    is $answer->header('Age'), undef, 'no Age on what comes from the origin';
    for (1 .. 8) {
        $answer = get($proxy, $url->('/a'));
        is $answer->body, 'one', 'served again' if $_ == 8;
    }
    is $origin->hits('/a'), 1, 'the origin was asked once';
    like $answer->header('Cache-Status'), qr/^Bobtail; hit; ttl=(?:60|59|58)$/, 'a hit, and for how long';
    like $answer->header('Age'), qr/^[012]$/, 'its Age';
    is $answer->header('Content-Length'), 3, 'its length';
    is request($proxy, HEAD => $url->('/a'))->header('Content-Length'), 3, 'HEAD out of the copy of a GET';
    is $origin->hits('/a'), 1, 'without asking';
    later($proxy, 30);
    like get($proxy, $url->('/a'))->header('Age'), qr/^3[0-5]$/, 'Age grows';
    later($proxy, 31);
    get($proxy, $url->('/a'));
    is $origin->hits('/a'), 2, 'asked again when too old';
    like $origin->seen('/a'), qr/^If-None-Match: "a"\r$/m, 'with its tag';

    for my $path (qw(/none /no)) {
        is get($proxy, $url->($path))->status, 200, "$path" for 1, 2;
        is $origin->hits($path), 2, "$path: not kept";
    }
    for my $path (qw(/old /chunked /close /cookie /302 /empty)) {
        my @said = map { get($proxy, $url->($path)) } 1, 2;
        is $origin->hits($path), 1, "$path: kept";
        is $said[1]->status, $said[0]->status, "$path: same status";
        is $said[1]->body, $said[0]->body, "$path: same body";
    }
    is get($proxy, $url->('/cookie'))->header('Set-Cookie'), 'a=b', 'fields are kept as they are';
    is get($proxy, $url->("/key?$_"))->body, "/key?$_", 'the query is of the key' for 1, 2, 1;

    is get($proxy, $url->('/cookie'), headers => { 'If-Modified-Since' => 'Mon, 02 Mar 2099 10:00:00 GMT' })->status, 304, 'a client that has it';
    my %told = %{ Bobtail::Stat::stats($proxy) };
    is $told{'cache.not_modified'}, 1, 'cache.not_modified';
    is $told{'cache.requests'},
        $told{'cache.hits'} + $told{'cache.misses'} + $told{'cache.modified'} + $told{'cache.not_modified'},
        'every request is one of the results' or diag explain \%told;
    cmp_ok $told{'cache.bytes_saved'}, '>', 40, 'bytes saved';
    is $told{'cache.modified'}, 1, 'the origin sent a new answer once';
    cmp_ok $told{'cache.stored'}, '>=', 9, 'cache.stored';
    cmp_ok $told{'cache.stored_bytes'}, '>', 40, 'cache.stored_bytes';
    cmp_ok $told{'cache.not_stored'}, '>=', 4, 'cache.not_stored';
    ok wait_for(sub { my %now = %{ Bobtail::Stat::stats($proxy) }; $now{'cache.objects'} >= 9 }), 'the gauges follow';
    %told = %{ Bobtail::Stat::stats($proxy) };
    cmp_ok $told{'cache.size'}, '>=', 15e6, 'cache.size';
    cmp_ok $told{'cache.used'}, '>=', $told{'cache.live'}, 'cache.used holds cache.live';
    cmp_ok $told{'cache.live'}, '>=', $told{'cache.bodies'}, 'and that cache.bodies';
    cmp_ok $told{'cache.oldest'}, '>=', 0, 'cache.oldest';
    like $proxy->text('access.log'), qr{^TCP_MISS/200 HIER_DIRECT /a miss\nTCP_MEM_HIT/200 HIER_NONE /a hit$}m,
        'tags of the log' if !$workers;
}

# What turns it off.
for my $conf ('cache_mem 0', 'cache deny all', 'no_cache deny all') {
    my $origin = origin('/a' => { Date => undef, 'Cache-Control' => 'max-age=60', body => 'one' });
    my $proxy = proxy("$conf\nmodule cache on\n");
    get($proxy, $origin->url('/a')) for 1, 2;
    is $origin->hits('/a'), 2, "$conf: nothing is kept";
    is get($proxy, $origin->url('/a'))->header('Cache-Status'), undef, 'and nothing said';
}
done;

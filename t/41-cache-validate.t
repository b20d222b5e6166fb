# 41-cache-validate.t - stale copies: the origin is asked, what it says counts, and what if it fails.
use Bobtail::Test;

my @lm = ('Last-Modified' => 'Mon, 02 Mar 2020 10:00:00 GMT');

for my $workers (0, 4) {
    my $origin = origin('/' => { body => 'root' });
    my $proxy = proxy("cache_mem 16 MB\nmax_stale 1 hour\nread_timeout 5 seconds\n", workers => $workers);
    my $url = sub { $origin->url($_[0]) };
    my $set = sub { my ($path, %answer) = @_; $origin->set($path => { Date => undef, %answer }) };   # ours is not moved
    my @fresh = ('Cache-Control' => 'max-age=60', ETag => '"1"', @lm);
    my $what = sub { my ($path, %how) = @_; return get($proxy, $url->($path), %how) };

    note $workers ? "$workers workers" : 'one process';
    # 304: the copy gets a new life, and new fields.
    $set->('/304', @fresh, 'X-Old' => 'old', body => 'first');
    $what->('/304');
    later($proxy, 100);
    $set->('/304', status => 304, 'Cache-Control' => 'max-age=600', ETag => '"1"', 'X-New' => 'new');
    my $answer = $what->('/304');
    is $answer->status . $answer->body, '200first', '304: the copy is served';
    is $answer->header('X-New') . $answer->header('X-Old'), 'newold', 'with the fields of both';
    like $answer->header('Cache-Status'), qr/^Bobtail; fwd=stale; fwd-status=304; ttl=\d+$/, 'Cache-Status';
    like $origin->seen('/304'), qr/^If-None-Match: "1"\r\nIf-Modified-Since: Mon, 02 Mar 2020 10:00:00 GMT\r$|^If-Modified-Since: Mon, 02 Mar 2020 10:00:00 GMT\r\nIf-None-Match: "1"\r$/m,
        'asked with both validators';
    later($proxy, 500);
    is $what->('/304')->header('X-New'), 'new', 'and kept with them';
    is $origin->hits('/304'), 2, 'for its new life';

    # The client's own conditions are answered by what the cache has then.
    later($proxy, 200);
    is $what->('/304', headers => { 'If-None-Match' => '"1"' })->status, 304, 'a client that has it gets 304';
    is $what->('/304', headers => { 'If-None-Match' => '"0"' })->status, 200, 'another one all of it';
    unlike $origin->seen('/304'), qr/"0"/, 'whose tag nobody sends to the origin';

    # 200: another version.
    $set->('/200', @fresh, body => 'first');
    $what->('/200');
    later($proxy, 100);
    $set->('/200', 'Cache-Control' => 'max-age=60', ETag => '"2"', body => 'second');
    is $what->('/200')->body, 'second', '200: the new version';
    is $what->('/200')->body, 'second', 'which is kept';
    is $origin->hits('/200'), 2, 'from then on';

    # A 304 about another version validates nothing.
    $set->('/other', @fresh, body => 'first');
    $what->('/other');
    later($proxy, 100);
    $set->('/other', status => 304, ETag => '"2"');
    is $what->('/other')->status, 304, 'a 304 to a request without conditions is passed on';
    is $origin->hits('/other'), 3, 'after the origin was asked again';
    unlike $origin->seen('/other'), qr/If-/, 'without conditions';

    # Failures.
    for my $way ([ status => 503 ], [ status => 500 ], [ raw => '', close => 1 ], [ raw => "HTTP/1.1 200 OK\r\nX", close => 1 ]) {
        my $path = '/fail-' . length join '', @$way;
        $set->($path, @fresh, body => 'kept');
        $what->($path);
        later($proxy, 100);
        $set->($path, @$way, body => 'x' x 100);
        is $what->($path)->body, 'kept', "$path: the stale copy stands in";
        later($proxy, 3600);
        cmp_ok $what->($path)->status, '>=', 500, "$path: not beyond max_stale";
    }
    $set->('/must', 'Cache-Control' => 'max-age=60, must-revalidate', ETag => '"1"', body => 'kept');
    $what->('/must');
    later($proxy, 100);
    $set->('/must', status => 503);
    is $what->('/must')->status, 503, 'must-revalidate: never stale';
    $set->('/must', raw => '', close => 1);
    like $what->('/must')->status, qr/^50[24]$/, 'nor without an answer';
    $set->('/404', @fresh, body => 'kept');
    $what->('/404');
    later($proxy, 100);
    $set->('/404', status => 404);
    is $what->('/404')->status, 404, '404 is an answer';
    $set->('/404', status => 503);
    is $what->('/404')->status, 503, 'and the copy is gone';

    # stale-while-revalidate: at once, and asked once in the background.
    $set->('/swr', 'Cache-Control' => 'max-age=60, stale-while-revalidate=600', ETag => '"1"', body => 'first');
    $what->('/swr');
    later($proxy, 100);
    $set->('/swr', hold => 1, 'Cache-Control' => 'max-age=60, stale-while-revalidate=600', ETag => '"2"', body => 'second');
    is $what->('/swr')->body, 'first', 'stale-while-revalidate: the stale copy' for 1 .. 3;
    ok wait_for(sub { $origin->hits('/swr') == 2 }), 'and the origin is asked once meanwhile';
    $origin->release('/swr');
    ok wait_for(sub { $what->('/swr')->body eq 'second' }), 'what it says is kept';
    is $origin->hits('/swr'), 2, 'once';

    # Reload and its kin.
    $set->('/reload', @fresh, body => 'first');
    $what->('/reload');
    $set->('/reload', @fresh, body => 'second');
    is $what->('/reload', headers => { Pragma => 'no-cache' })->body, 'second', 'Pragma: no-cache';
    is $what->('/reload')->body, 'second', 'which is kept';
    $set->('/reload', status => 304, ETag => '"1"', 'Cache-Control' => 'max-age=60');
    is $what->('/reload', headers => { 'Cache-Control' => 'max-age=0' })->body, 'second', 'max-age=0 validates';
    is $what->('/reload', headers => { 'Cache-Control' => 'only-if-cached' })->body, 'second', 'only-if-cached';
    $answer = $what->('/never', headers => { 'Cache-Control' => 'only-if-cached' });
    is $answer->status, 504, 'only-if-cached without a copy';
    is $answer->header('X-Squid-Error'), 'ERR_ONLY_IF_CACHED_MISS 0', 'as Squid says it';
    later($proxy, 100);
    is $what->('/reload', headers => { 'Cache-Control' => 'max-stale=100' })->body, 'second', 'max-stale of a client';

    my $told = Bobtail::Stat::stats($proxy);
    for my $name (qw(cache.validated cache.modified cache.failed_old cache.failed cache.reloads cache.unavailable cache.stale_hits cache.background cache.renewed cache.bad_validations)) {
        cmp_ok $told->{$name}, '>=', 1, $name;
    }
    is $told->{'cache.background'}, 1, 'once in the background' if !$workers;
}
done;

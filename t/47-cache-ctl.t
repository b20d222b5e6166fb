# 47-cache-ctl.t - bobtailctl cache and purge; and the memory outlives a reload.
use Bobtail::Test;

for my $workers (0, 4) {
    my $origin = origin('*' => sub { return { Date => undef, 'Cache-Control' => 'max-age=600', ETag => '"1"', body => "answer $_[0]{count}" } });
    my $proxy = proxy("cache_mem 16 MB\n", workers => $workers);
    my $url = sub { $origin->url($_[0]) };
    my $say = sub { return ctl($proxy, @_) };

    note $workers ? "$workers workers" : 'one process';
    get($proxy, $url->($_)) for qw(/a/1 /a/2 /b/1 /b/2 /c);
    my $said = $say->('cache');
    is $said->{status}, 0, 'bobtailctl cache';
    like $said->{output}, qr/^objects   5$/m, 'how many';
    like $say->(cache => $url->('/a/1'))->{output}, qr/^status 200, 8 bytes, age \d+ s, fresh for another (?:600|59\d) s$/m, 'of one URL';
    later($proxy, 700);
    like $say->(cache => $url->('/a/1'))->{output}, qr/stale for \d+ s/, 'it has come stale';
    is $say->(cache => $url->('/none'))->{status}, 1, 'of one that is not there';
    like $say->(purge => $url->('/c'))->{output}, qr/^1 dropped$/m, 'purge URL';
    like $say->(purge => $url->('/c'))->{output}, qr/^0 dropped$/m, 'once';
    like $say->(purge => 'prefix', $url->('/a/'))->{output}, qr/^2 dropped$/m, 'purge prefix';
    like $say->(purge => 'regex', '/b/[12]$')->{output}, qr/^2 dropped$/m, 'purge regex';
    like $say->('cache')->{output}, qr/^objects   0$/m, 'nothing is left';
    is $say->(purge => 'regex', '(')->{status}, 1, 'a pattern that is none';
    is $say->(purge => 'all', 'of', 'it')->{status}, 1, 'other words';
    counters($proxy, 'cache.purged' => 5);

    next if !$workers;
    get($proxy, $url->('/kept'));
    is $say->('reload')->{status}, 0, 'reload';
    is get($proxy, $url->('/kept'))->body, 'answer 1', 'what was kept';
    is $origin->hits('/kept'), 1, 'is still there';
}

# The store's own counters: nothing of it happens with so little in it.
{
    my $origin = origin('/a' => { 'Cache-Control' => 'max-age=600', body => 'one' });
    my $proxy = proxy("cache_mem 16 MB\n");
    get($proxy, $origin->url('/a'));
    counters($proxy, map { $_ => 0 } qw(cache.ram_refused cache.ram_evicted cache.ram_moved cache.ram_crowded
        cache.ram_ghosts cache.ram_corrupt cache.flights_full cache.flights_lost));
}

my $off = proxy("cache_mem 0\n");
is ctl($off, 'cache')->{status}, 1, 'without a cache';
is ctl($off, purge => 'http://a.test/')->{status}, 1, 'nothing can be purged';
done;

# 42-cache-vary.t - what varies: one copy for each kind of request, and not without end.
use Bobtail::Test;

for my $workers (0, 4) {
    my $origin = origin('*' => sub {
        my ($request) = @_;
        my ($language) = $request->{head} =~ /^Accept-Language: (.*?)\r$/mi;
        my $vary = $request->{path} =~ /star/ ? '*' : $request->{path} =~ /two/ ? 'Accept-Language, X-Kind' : 'accept-language';
        return { Date => undef, 'Cache-Control' => 'max-age=60', Vary => $vary, ETag => '"' . ($language // 'none') . '"',
            body => $language // 'none' };
    });
    my $proxy = proxy(<<'CONF', workers => $workers);
cache_mem 16 MB
cache_variants_max 8
CONF
    my $ask = sub {
        my ($path, $language, @more) = @_;
        return get($proxy, $origin->url($path), headers => [ defined $language ? ('Accept-Language' => $language) : (), @more ]);
    };

    is $ask->('/a', $_)->body, $_, "first of $_" for qw(de fr);
    is $ask->('/a')->body, 'none', 'first of none';
    is $origin->hits('/a'), 3, 'each was fetched';
    is $ask->('/a', $_)->body, $_, "second of $_" for qw(fr de);
    is $ask->('/a')->body, 'none', 'second of none';
    is $origin->hits('/a'), 3, 'and kept';
    is $ask->('/a', 'de', 'If-None-Match' => '"de"')->status, 304, 'with its own tag';
    is $ask->('/a', 'de', 'If-None-Match' => '"fr"')->status, 200, 'and no other';
    is $ask->('/b', 'de, en')->body, 'de, en', 'a list';
    is $ask->('/b', 'de,en')->body, 'de, en', 'blanks do not matter';
    is $ask->('/star', 'de')->body, 'de', 'Vary: *' for 1, 2;
    is $origin->hits('/star'), 2, 'is never kept';
    $ask->('/two', 'de', 'X-Kind' => $_) for 1, 2, 1, 2;
    is $origin->hits('/two'), 2, 'two fields';

    $ask->('/many', "l$_") for 1 .. 8;
    counters($proxy, 'cache.variants_full' => 0);
    $ask->('/many', 'l9');
    counters($proxy, 'cache.variants_full' => 1);
    is $ask->('/many', 'l9')->body, 'l9', 'after too many the newest is there';
    is $origin->hits('/many'), 9, 'from the cache';
    is $ask->('/many', 'l1')->body, 'l1', 'and the others are fetched anew';
    is $origin->hits('/many'), 10, 'each when it is asked for';

    like ctl($proxy, cache => $origin->url('/a'))->{output}, qr/accept-language.*^3 variants$/ms, 'bobtailctl cache tells them';
    ctl($proxy, purge => $origin->url('/a'));
    is $ask->('/a', 'de')->body, 'de', 'purged';
    is $origin->hits('/a'), 4, 'with all variants';
}
done;

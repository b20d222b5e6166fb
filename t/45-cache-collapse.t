# 45-cache-collapse.t - many clients, one fetch: across workers, as it comes, and not for what is
# for one alone.
use Bobtail::Test;

my $long = join '', map { sprintf "%07d\n", $_ } 1 .. 50_000;       # 400,000 bytes

sub all_of
{
    my ($n, $proxy, $url, @fields) = @_;
    my @conns = map { client($proxy) } 1 .. $n;
    my $host = $url =~ s{^http://([^/]+).*}{$1}r;
    $_->send("GET $url HTTP/1.1\r\nHost: $host\r\n" . join('', map "$_\r\n", @fields) . "\r\n") for @conns;
    return @conns;
}

sub answers { return map { my $answer = $_->response(to => 'GET'); $_->close; $answer } @_ }

for my $workers (0, 4) {
    my $origin = origin(
        '/a' => { 'Cache-Control' => 'max-age=60', body => 'one', hold => 1 },
        '/long' => { 'Cache-Control' => 'max-age=60', body => $long, hold => 1 },
        '/chunks' => { 'Cache-Control' => 'max-age=60', chunks => [ map { substr $long, $_ * 40_000, 40_000 } 0 .. 9 ], hold => 1 },
        '/private' => { 'Cache-Control' => 'private', body => 'mine', hold => 1 },
        '/fails' => { status => 503, body => 'no', hold => 1 },
        '/alone' => { 'Cache-Control' => 'max-age=60', body => 'alone', hold => 1 },
        '/vary' => sub {
            my ($language) = $_[0]{head} =~ /^X-L: (\w+)/m;
            return { 'Cache-Control' => 'max-age=60', Vary => 'X-L', body => $language, hold => $_[0]{count} == 1 };
        },
        '/gone' => { 'Cache-Control' => 'max-age=60', body => 'one', hold => 1 },
    );
    my $proxy = proxy(<<"CONF", workers => $workers);
cache_mem 32 MB
acl alone urlpath_regex alone
collapsed_forwarding_access deny alone
quick_abort_min 0 KB
quick_abort_max 0 KB
quick_abort_pct 100
CONF
    my $at = sub { my ($path, $n) = @_; return wait_for(sub { $origin->hits($path) >= $n }) };
    my $waiting = sub { my ($n) = @_; return wait_for(sub { stat($proxy, 'cache.waited') >= $n }) };

    note $workers ? "$workers workers" : 'one process';
    for my $path (qw(/a /long /chunks)) {
        my $waited = stat($proxy, 'cache.waited');
        my @conns = all_of(20, $proxy, $origin->url($path));
        ok $at->($path, 1) && $waiting->($waited + 19), "$path: one fetches, the others wait";
        $origin->release($path);
        my @answers = answers(@conns);
        my $wanted = $path eq '/a' ? 'one' : $long;
        is scalar(grep { $_->status == 200 && $_->body eq $wanted } @answers), 20, "$path: all get it";
        is $origin->hits($path), 1, "$path: by one fetch";
    }

    my @conns = all_of(5, $proxy, $origin->url('/private'));
    ok $at->('/private', 1), 'an answer that is for one';
    $origin->release('/private');
    ok $at->('/private', 5), 'each asks for itself';
    $origin->release('/private') for 1 .. 4;
    is scalar(grep { $_->body eq 'mine' } answers(@conns)), 5, 'and is answered';

    @conns = all_of(5, $proxy, $origin->url('/fails'));
    ok $at->('/fails', 1), 'one that fails';
    $origin->release('/fails') for 1 .. 5;
    wait_for(sub { $origin->release('/fails'); $origin->hits('/fails') == 5 });
    $origin->release('/fails');
    is scalar(grep { $_->status == 503 } answers(@conns)), 5, 'releases them';

    @conns = all_of(3, $proxy, $origin->url('/alone'));
    ok $at->('/alone', 3), 'collapsed_forwarding_access: not these';
    $origin->release('/alone') for 1 .. 3;
    answers(@conns);

    @conns = (all_of(3, $proxy, $origin->url('/vary'), 'X-L: de'), all_of(2, $proxy, $origin->url('/vary'), 'X-L: fr'));
    ok $at->('/vary', 1), 'one that varies';
    $origin->release('/vary');
    is join(' ', map { $_->body } answers(@conns)), 'de de de fr fr', 'each gets its own';
    is $origin->hits('/vary'), 2, 'by one fetch a kind';

    # The one who fetches leaves: its fetch goes on for the others, and ends when nobody is left.
    my ($first) = all_of(1, $proxy, $origin->url('/gone'));
    ok $at->('/gone', 1), 'one fetches';
    my $waited = stat($proxy, 'cache.waited');
    my @others = all_of(3, $proxy, $origin->url('/gone'));
    ok $waiting->($waited + 3), 'others wait';
    $first->close;
    $origin->release('/gone') for 1 .. 2;
    wait_for(sub { $origin->release('/gone'); 0 }, 0.3);
    is scalar(grep { $_->body eq 'one' } answers(@others)), 3, 'the others get it';
    cmp_ok $origin->hits('/gone'), '<=', 2, 'by one fetch more, at most';

    my $told = Bobtail::Stat::stats($proxy);
    cmp_ok $told->{$_}, '>=', 1, $_
        for qw(cache.shared_hits cache.waited cache.released);
}

my $origin = origin('/a' => { 'Cache-Control' => 'max-age=60', body => 'one', hold => 1 });
my $proxy = proxy("collapsed_forwarding off\n");
my @conns = all_of(3, $proxy, $origin->url('/a'));
ok wait_for(sub { $origin->hits('/a') == 3 }), 'collapsed_forwarding off: each asks';
$origin->release('/a') for 1 .. 3;
answers(@conns);
done;

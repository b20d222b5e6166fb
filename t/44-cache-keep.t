# 44-cache-keep.t - what is kept and what not: limits, errors, cut answers; and what drops copies.
use Bobtail::Test;

for my $workers (0, 4) {
    my @live = (Date => undef, 'Cache-Control' => 'max-age=600');
    my $origin = origin(
        '/small' => { @live, body => 'x' x 9 }, '/right' => { @live, body => 'x' x 10 },
        '/large' => { @live, body => 'x' x 20_000 }, '/large-chunks' => { @live, chunks => [ ('x' x 1000) x 20 ] },
        '/cut' => { @live, 'Content-Length' => 100, raw => "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 100\r\n\r\nonly so much", close => 1 },
        '/cut-chunks' => { raw => "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nTransfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n", close => 1 },
        '/lies' => { raw => "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 10\r\n\r\n0123456789 and more", close => 1 },
        '/404' => { Date => undef, status => 404, body => 'nothing there, really' },
        '/500' => { Date => undef, status => 500, body => 'broken, it is broken' },
        '/private' => { 'Cache-Control' => 'private, max-age=600', body => 'for one alone' },
        '/auth' => { @live, body => 'for who logs in' },
        '/public' => { Date => undef, 'Cache-Control' => 'public, max-age=600', body => 'for everybody' },
        '/form' => sub {
            my ($request) = @_;
            return { @live, 'Content-Location' => '/form', body => "form by $request->{method}" };
        },
        '*' => sub {
            my ($request) = @_;
            return { @live, body => "answer to $request->{path}" } if $request->{method} =~ /GET|HEAD/;
            return { status => 500 } if $request->{path} =~ /fails/;
            return { status => 200, Location => '/place', 'Content-Location' => '/content', body => 'done' };
        },
    );
    my $proxy = proxy(<<"CONF", workers => $workers);
cache_mem 16 MB
maximum_object_size_in_memory 16 KB
maximum_object_size 4 MB
minimum_object_size 10 bytes
negative_ttl 5 minutes
cache_private_memory 1 second
acl no_store urlpath_regex store_miss
store_miss deny no_store
acl no_hit req_header X-No-Hit 1
send_hit deny no_hit
acl no_cache urlpath_regex never
cache deny no_cache
acl purge method PURGE
acl from_here src 127.0.0.1
http_access allow purge from_here
http_access allow all
CONF
    my $url = sub { $origin->url($_[0]) };
    my $kept = sub {
        my ($path, $kept, %how) = @_;
        for (1, 2) {
            get($proxy, $url->($path), %how);
            # Who asks before the first exchange is quite over may share its answer.
            wait_for(sub { stat($proxy, 'client.active') == 0 });
        }
        is $origin->hits($path), $kept ? 1 : 2, $path . ($kept ? ' is kept' : ' is not kept');
    };

    note $workers ? "$workers workers" : 'one process';
    $kept->('/small', 0);
    $kept->('/right', 1);
    $kept->('/large', 0);
    $kept->('/large-chunks', 0);
    is length get($proxy, $url->('/large-chunks'))->body, 20_000, 'and yet delivered whole';
    $kept->('/cut', 0);
    $kept->('/cut-chunks', 0);
    is get($proxy, $url->('/lies'))->body, '0123456789', 'what is more than it says is no part of it' for 1, 2;
    $kept->('/404', 1);
    $kept->('/500', 1);
    later($proxy, 301);
    get($proxy, $url->('/404'));
    is $origin->hits('/404'), 2, 'negative_ttl is over';
    $kept->('/private', 0);
    $kept->('/auth', 0, headers => { Authorization => 'Basic eDp5' });
    $kept->('/public', 1, headers => { Authorization => 'Basic eDp5' });
    $kept->('/store_miss-kept', 0);
    $kept->('/never-kept', 0);
    $kept->('/other-file', 1);
    get($proxy, $url->('/other-file'), headers => { 'X-No-Hit' => 1 });
    is $origin->hits('/other-file'), 2, 'send_hit deny: fetched';
    get($proxy, $url->('/other-file'));
    is $origin->hits('/other-file'), 2, 'and kept for others';

    # What changes something drops what it may have changed.
    for my $method (qw(POST PUT DELETE PATCH M-SEARCH)) {
        $origin->hits('/thing');
        get($proxy, $url->($_)) for qw(/thing /place /content /else);
        my %before = map { $_ => $origin->hits($_) } qw(/thing /place /content /else);
        request($proxy, $method => $url->('/thing'), body => 'x');
        get($proxy, $url->($_)) for qw(/thing /place /content /else);
        is $origin->hits('/thing') - $before{'/thing'}, 2, "$method drops the copy";    # one is its own
        is $origin->hits($_) - $before{$_}, 1, "and that of $_" for qw(/place /content);
        is $origin->hits('/else') - $before{'/else'}, 0, 'and no other';
    }
    get($proxy, $url->('/fails-now'));
    post($proxy, $url->('/fails-now'), 'x');
    get($proxy, $url->('/fails-now'));
    is $origin->hits('/fails-now'), 2, 'one that failed drops nothing';
    request($proxy, OPTIONS => $url->('/thing'));
    my $before = $origin->hits('/thing');
    get($proxy, $url->('/thing'));
    is $origin->hits('/thing'), $before, 'nor does a safe one';

    # An answer to a POST that says what a GET would get.
    is post($proxy, $url->('/form'), 'x')->body, 'form by POST', 'POST with Content-Location';
    is get($proxy, $url->('/form'))->body, 'form by POST', 'serves a GET';
    is post($proxy, $url->('/form'), 'x')->body, 'form by POST', 'and no POST';
    is $origin->hits('/form'), 2, 'each of which is sent';

    # PURGE.
    is request($proxy, PURGE => $url->('/thing'))->status, 200, 'PURGE';
    is request($proxy, PURGE => $url->('/thing'))->status, 404, 'again: nothing there';
    get($proxy, $url->('/thing'));
    is $origin->hits('/thing'), $before + 1, 'fetched anew';

    my $told = Bobtail::Stat::stats($proxy);
    cmp_ok $told->{$_}, '>=', 1, $_
        for qw(cache.too_large cache.cut cache.not_stored cache.negative_hits cache.invalidated cache.purged cache.bypassed cache.misses);
}

my $origin = origin('/a' => { 'Cache-Control' => 'max-age=60', body => 'one' });
my $proxy = proxy("cache_mem 16 MB\n");
get($proxy, $origin->url('/a'));
my $said = request($proxy, PURGE => $origin->url('/a'));
is $said->status, 403, 'PURGE where no ACL names it';
is $said->header('X-Squid-Error'), 'ERR_ACCESS_DENIED 0', 'is denied';
get($proxy, $origin->url('/a'));
is $origin->hits('/a'), 1, 'and drops nothing';
done;

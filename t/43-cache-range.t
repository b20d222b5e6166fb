# 43-cache-range.t - parts out of whole copies, and the whole for the sake of a part.
use Bobtail::Test;

my $body = join '', map { sprintf "%09d\n", $_ } 0 .. 9999;         # 100,000 bytes

for my $workers (0, 4) {
    my $origin = origin(
        '/a' => { Date => undef, 'Cache-Control' => 'max-age=60', ETag => '"a"', 'Last-Modified' => 'Mon, 02 Mar 2020 10:00:00 GMT',
            'Content-Type' => 'text/plain', body => $body },
        '/part' => sub {
            my ($request) = @_;
            return { Date => undef, 'Cache-Control' => 'max-age=60', body => $body } if $request->{head} !~ /^Range: bytes=0-9\r/mi;
            return { status => 206, Date => undef, 'Cache-Control' => 'max-age=60', 'Content-Range' => 'bytes 0-9/100000', body => substr $body, 0, 10 };
        },
        '/whole' => { Date => undef, 'Cache-Control' => 'max-age=60', ETag => '"w"', body => $body },
        '/whole-stale' => { Date => undef, 'Cache-Control' => 'max-age=60', ETag => '"w"', body => $body },
    );
    my $proxy = proxy(<<"CONF", workers => $workers);
cache_mem 16 MB
acl whole urlpath_regex whole
range_offset_limit none whole
CONF
    my $ask = sub {
        my ($path, $range, @more) = @_;
        return get($proxy, $origin->url($path), headers => [ Range => "bytes=$range", @more ]);
    };

    is get($proxy, $origin->url('/a'))->body, $body, 'the whole';
    for ([ '0-9', 0, 10 ], [ '99990-', 99990, 10 ], [ '-10', 99990, 10 ], [ '50000-200000', 50000, 50000 ], [ '70000-70000', 70000, 1 ]) {
        my ($range, $from, $len) = @$_;
        my $answer = $ask->('/a', $range);
        is $answer->status, 206, "$range: a part";
        is $answer->body, substr($body, $from, $len), "$range: the right one";
        is $answer->header('Content-Range'), sprintf('bytes %d-%d/100000', $from, $from + $len - 1), "$range: says which";
    }
    my $answer = $ask->('/a', '0-9,50000-50009,-10');
    is $answer->status, 206, 'three parts';
    my ($boundary) = $answer->header('Content-Type') =~ m{^multipart/byteranges; ?boundary="?([^"]+)"?$};
    my @parts = split /\r?\n?--\Q$boundary\E(?:--)?\r\n/, $answer->body;
    is scalar @parts, 4, 'in three parts' or diag $answer->body;
    like $parts[1], qr{^Content-Type: text/plain\r\nContent-Range: bytes 0-9/100000\r\n\r\n000000000\n}m, 'the first';
    like $parts[2], qr{Content-Range: bytes 50000-50009/100000\r\n\r\n000005000\n}, 'the second';
    like $parts[3], qr{Content-Range: bytes 99990-99999/100000\r\n\r\n000009999\n}, 'the third';
    $answer = $ask->('/a', '100000-');
    is $answer->status, 416, 'outside';
    is $answer->header('Content-Range'), 'bytes */100000', 'says how long it is';
    is $ask->('/a', $_)->status, 200, "bytes=$_ is no range" for 'x', '5-2', '';
    is $ask->('/a', '0-9', 'If-Range' => '"a"')->status, 206, 'If-Range that holds';
    is $ask->('/a', '0-9', 'If-Range' => '"b"')->status, 200, 'one that does not';
    is $ask->('/a', '0-9', 'If-Range' => 'Mon, 02 Mar 2020 10:00:00 GMT')->status, 206, 'a date that holds';
    is $ask->('/a', '0-9', 'If-Range' => 'Mon, 02 Mar 2020 10:00:01 GMT')->status, 200, 'a date must be the same';
    is $ask->('/a', '0-9', 'If-None-Match' => '"a"')->status, 304, 'conditions come first';
    is request($proxy, HEAD => $origin->url('/a'), headers => { Range => 'bytes=0-9' })->status, 200, 'HEAD has no parts';
    is $origin->hits('/a'), 1, 'the origin was asked once';

    is $ask->('/part', '0-9')->status, 206, 'a part of what is not there';
    is get($proxy, $origin->url('/part'))->body, $body, 'is never taken for the whole';
    is $ask->('/part', '0-9')->body, substr($body, 0, 10), 'which then has parts';
    is $origin->hits('/part'), 2, 'of its own';

    $answer = $ask->('/whole', '500-509');
    is $answer->status, 206, 'range_offset_limit: a part';
    is $answer->body, substr($body, 500, 10), 'the right one';
    is $origin->seen_header('/whole', 'Range'), undef, 'the whole was asked for';
    ok wait_for(sub { get($proxy, $origin->url('/whole'))->body eq $body && $origin->hits('/whole') == 1 }), 'and is kept'
        or diag $origin->hits('/whole');
    $ask->('/whole-stale', '0-9');
    ok wait_for(sub { ctl($proxy, cache => $origin->url('/whole-stale'))->{output} =~ /100000 bytes/ }), 'another';
    later($proxy, 100);
    $origin->set('/whole-stale' => { status => 304, ETag => '"w"', Date => undef, 'Cache-Control' => 'max-age=60' });
    is $ask->('/whole-stale', '10-19')->body, substr($body, 10, 10), 'validated, then cut';
    is $origin->seen_header('/whole-stale', 'Range'), undef, 'and asked about as a whole';
}
done;

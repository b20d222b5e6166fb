# 48-cache-storm.t - hits, misses, purges, parts and clients that leave, while workers are killed:
# every byte that arrives is right, nobody hangs, and the memory holds what it says.
use Bobtail::Test;
use IO::Handle;
use POSIX ();
use Time::HiRes qw(sleep time);

use constant { SECONDS => $ENV{STORM_SECONDS} // 8, CLIENTS => 6, PATHS => 60 };

# The body is known from the path: /SIZE/NUMBER.
sub body_of
{
    my ($path) = @_;
    my ($size) = $path =~ m{^/(\d+)/};
    return substr "$path|" x (1 + $size / (1 + length $path)), 0, $size;
}

my $origin = origin('*' => sub {
    my ($request) = @_;
    my $body = body_of($request->{path});
    my @say = ('Cache-Control' => $request->{path} =~ /7$/ ? 'no-cache' : $request->{path} =~ /8$/ ? 'private' : 'max-age=3', ETag => '"1"');
    return { @say, status => 304 } if $request->{head} =~ /^If-None-Match: "1"\r/mi;
    return { @say, chunks => [ unpack '(a10000)*', $body ] } if $request->{path} =~ /[369]$/;
    return { @say, body => $body };
});
my $proxy = proxy(<<'CONF', workers => 4);
cache_mem 8 MB
maximum_object_size_in_memory 512 KB
acl purge method PURGE
CONF

my @paths = map { sprintf '/%d/%d', (100, 3000, 20_000, 150_000)[$_ % 4], $_ } 1 .. PATHS;

# One client: what was wrong with what it got.
sub play
{
    my ($seed) = @_;
    my %did;
    srand $seed;
    for (my $end = time + SECONDS; time < $end;) {
        my $path = $paths[int(rand(PATHS) * rand)];
        my $dice = int rand 20;
        my $body = body_of($path);
        my $url = $origin->url($path);
        my $answer = eval {
            if ($dice == 0) {
                my $conn = client($proxy);
                $conn->send("GET $url HTTP/1.1\r\nHost: x\r\n\r\n");
                $conn->bytes(1 + int rand 2000);
                rand(2) < 1 ? $conn->reset : $conn->close;
                return;
            }
            return request($proxy, PURGE => $url) if $dice == 1;
            return request($proxy, HEAD => $url) if $dice == 2;
            return get($proxy, $url, headers => { Range => sprintf 'bytes=%d-%d', 50, 90 }) if $dice == 3;
            return get($proxy, $url, headers => { 'Cache-Control' => 'no-cache' }) if $dice == 4;
            return get($proxy, $url, headers => { 'If-None-Match' => '"1"' }) if $dice == 5;
            return get($proxy, $url);
        };
        # Its worker may have been killed: then there is no answer, or not all of it.
        if (!defined $answer || $answer->status == 0 || !$answer->whole) { $did{lost}++; next }
        my $status = $answer->status;
        $did{$status}++;
        return "$path: status $status" unless $status =~ /^(?:200|206|304)$/ || $dice == 1 && $status == 404;
        next if $dice == 1 || $dice == 2 || $status == 304;
        $body = substr $body, 50, 41 if $status == 206;
        return "$path: $status with a wrong body of " . length $answer->body if $answer->body ne $body;
    }
    return 'good ' . join ' ', map { "$_:$did{$_}" } sort keys %did;
}

my @clients;
for my $i (1 .. CLIENTS) {
    pipe my $from, my $to or die "pipe: $!";
    my $pid = fork // die "fork: $!";
    if (!$pid) {
        my $said = eval { play($$ * $i) } // "died: $@";
        syswrite $to, $said;
        POSIX::_exit(0);
    }
    CORE::close($to);
    push @clients, { pid => $pid, from => $from };
}
my ($killed, $end) = (0, time + SECONDS - 1);
while (time < $end) {
    sleep 1;
    my @workers = $proxy->workers or next;
    $killed += kill KILL => (sort { $a <=> $b } @workers)[0];        # the one that lives longest: no back-off
}
for my $client (@clients) {
    my $said = '';
    1 while sysread $client->{from}, $said, 4096, length $said;
    waitpid $client->{pid}, 0;
    like $said, qr/^good /, 'every answer was right' or diag $said;
    note $said;
}
cmp_ok $killed, '>', 2, 'workers were killed';
ok wait_for(sub { my @workers = $proxy->workers; @workers == 4 }), 'all are there again' or diag ctl($proxy, 'workers')->{output} . $proxy->log;
is get($proxy, $origin->url($_))->body, body_of($_), "$_ is right" for @paths[0 .. 9];

# What nobody holds is found again, and what is found is counted.
is ctl($proxy, purge => 'prefix', 'http://')->{status}, 0, 'all is dropped';
like ctl($proxy, 'cache')->{output}, qr/^live      0 bytes$/m, 'and nothing is left' or diag ctl($proxy, 'cache')->{output};
is stat($proxy, 'cache.ram_corrupt'), 0, 'no record made no sense';
done;

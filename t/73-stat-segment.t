# 73-stat-segment.t - counters: bobtailctl's forms, and a reader that knows nothing but the layout.
use Bobtail::Test;
use JSON::PP ();

my $origin = origin('/a' => { body => 'one' });
my $proxy = proxy("workers 2\n", workers => 2);
get($proxy, $origin->url('/a')) for 1 .. 3;
counters($proxy, 'client.requests' => 3);

# --- the segment, by its own dictionary -------------------------------------------------------

my $said = ctl($proxy, 'segment');
my ($path) = $said->{output} =~ m{^(/proc/\d+/fd/\d+)$};
ok $path, 'bobtailctl says where the segment is' or diag $said->{output};
open my $file, '<:raw', $path or die "$path: $!";
my $segment = do { local $/; <$file> };
close $file;
my ($magic, $layout, $generation, $workers, $slots, $entries, $master, $dictionary, $text, $rows, $row_size, $size, $started)
    = unpack 'Z8 L6 Q6 q', $segment;
is $magic, 'BTSTAT1', 'it begins with its name';
is $layout, 1, 'and the version of its layout';
is $generation, 1, 'the first generation';
is $workers, 2, 'two workers';
is $master, $proxy->pid, 'the master made it';
is $size, length $segment, 'its size is told';
is $rows % 4096 + $row_size % 4096, 0, 'rows are on pages of their own';
cmp_ok abs(time - $started), '<', 300, 'when it was started';

my %found;
for my $i (0 .. $entries - 1) {
    my ($name, $unit, $doc, $kind, $slot, $n) = unpack 'L6', substr $segment, $dictionary + 24 * $i, 24;
    my @words = map { unpack 'Z*', substr $segment, $text + $_ } $name, $unit, $doc;
    # A histogram's first slot is its sum.
    my $sum = 0;
    for my $row (0 .. $workers) {
        $sum += $_ for unpack 'q*', substr $segment, $rows + $row * $row_size + 64 + 8 * ($n > 1 ? $slot + 1 : $slot),
            8 * ($n > 1 ? $n - 1 : 1);
    }
    $found{ $words[0] } = { unit => $words[1], doc => $words[2], kind => $kind, sum => $sum };
}
is $found{'client.requests'}{sum}, 3, 'the dictionary and the rows give the sums';
is $found{'client.requests'}{unit}, 'requests', 'with units';
is $found{'client.requests'}{doc}, 'Request heads received and understood.', 'and a sentence';
is $found{'client.open'}{kind}, 1, 'a gauge is a gauge';
is $found{'client.request_time'}{kind}, 2, 'a histogram is one';
my @pids = map { unpack 'l', substr $segment, $rows + $_ * $row_size, 4 } 1, 2;
is_deeply [ sort @pids ], [ sort $proxy->workers ], 'each row says whose it is';
ok !open(my $writable, '+<', $path) || $> == 0, 'others cannot write to it';

# --- bobtailctl stats ------------------------------------------------------------------------

my $all = JSON::PP::decode_json(ctl($proxy, 'stats', '--json')->{output});
is_deeply [ sort keys %$all ], [ sort keys %found ], 'JSON has what the dictionary has';
is $all->{'client.requests'}, 3, 'a count is a number';
is_deeply [ sort keys %{ $all->{'client.request_time'} } ], [qw(count p50 p90 p99 sum)], 'a histogram tells quantiles';
is $all->{'client.request_time'}{count}, 3, 'and how many there were';
cmp_ok $all->{'client.request_time'}{p50}, '<=', $all->{'client.request_time'}{p99}, 'in order';
my $gauges = stats($proxy, '--kind', 'gauge');
ok exists $gauges->{'client.open'} && !exists $gauges->{'client.requests'}, '--kind gauge';
is_deeply [ keys %{ stats($proxy, 'client.requests') } ], ['client.requests'], 'a part of a name';
is_deeply [ sort keys %{ stats($proxy, 'proc.*') } ], [qw(proc.panics proc.respawns)], 'a glob';
is ctl($proxy, 'stats', '--json', 'no.such.counter')->{output}, "{}\n", 'nothing that matches';
like ctl($proxy, 'stats', 'client.req')->{output}, qr/^client\.requests\s+3 requests$/m, 'as text';
my $metrics = ctl($proxy, 'stats', '--openmetrics')->{output};
like $metrics, qr/^# TYPE bobtail_client_requests counter\n# HELP \S+ Request heads received and understood\.\nbobtail_client_requests_total 3$/m,
    'as OpenMetrics';
like $metrics, qr/^bobtail_client_request_duration_seconds_bucket\{le="\+Inf"\} 3$/m, 'with histograms in seconds';
like $metrics, qr/\n# EOF\n\z/, 'to its end';

# --- slips -----------------------------------------------------------------------------------

for (
    [ [qw(stat)], 2, qr/did you mean "stats"\?/ ],
    [ [qw(frobnicate)], 2, qr/no command "frobnicate"/ ],
    [ [qw(stats --kind colour)], 1, qr/--kind is one of count, gauge, histogram/ ],
    [ [qw(stats --xml)], 1, qr/no option --xml/ ],
    [ [qw(stats a b)], 1, qr/one pattern/ ],
    [ [qw(workers all)], 1, qr/--json and nothing else/ ],
    [ [qw(idle)], 1, qr/say: idle close/ ],
    [ [qw(clock 5)], 1, qr/say: clock \+SECONDS/ ],
    [ [qw(reload now)], 1, qr/nothing may follow/ ],
    [ [], 2, qr/a command is missing/ ],
) {
    my ($words, $status, $message) = @$_;
    my $answer = ctl($proxy, @$words);
    is $answer->{status}, $status, "bobtailctl @$words: status $status";
    like $answer->{output}, $message, 'and a reason';
}
like ctl($proxy, 'help')->{output}, qr/^  stats .*^  workers /ms, 'help lists the commands';
is ctl($proxy, $_)->{output}, ctl($proxy, 'help')->{output}, "so does $_" for '-h', '--help';
like ctl($proxy, 'version')->{output}, qr/^Bobtail Cache: Version \d/, 'version';
my $nobody = run_program($ENV{BOBTAILCTL}, '-s', $proxy->file('nobody'), 'stats');
is $nobody->{status}, 2, 'no server: status 2';
like $nobody->{output}, qr{no server listens on \Q${\ $proxy->file('nobody')}\E; is it running}, 'and a sentence';
is run_program($ENV{BOBTAILCTL}, '-f', $proxy->file('bobtail.conf'), 'stats', 'proc.panics')->{status}, 0,
    '-f: the socket is where the configuration says';
like run_program($ENV{BOBTAILCTL}, '-f', $proxy->file('none.conf'), 'stats')->{output}, qr/none\.conf cannot be read/,
    '-f: a file that is not there';

# --- the control socket itself ---------------------------------------------------------------

is sprintf('%o', (CORE::stat($proxy->{control}))[2] & 0777), '600', 'the socket is for its owner alone';
require IO::Socket::UNIX;
my $plain = IO::Socket::UNIX->new(Peer => $proxy->{control});
print $plain "stats client.req";
$plain->flush;
is stat($proxy, 'client.requests'), 3, 'one who is slow to ask does not keep others waiting';
print $plain "uests\n";
is join('', <$plain>), "ok\nclient.requests                       3 requests\n", 'and is answered when it has asked';
my $long = IO::Socket::UNIX->new(Peer => $proxy->{control});
print $long 'x' x 5000;
$long->flush;
like scalar(<$long>), qr/^error: the line is longer/, 'a line without end is refused';
my @many = map { IO::Socket::UNIX->new(Peer => $proxy->{control}) } 1 .. 80;
ok grep({ defined && sysread($_, my $byte, 1) == 0 } @many[70 .. 79]), 'too many connections are closed';
@many = ();
ok wait_for(sub { ctl($proxy, 'version')->{status} eq '0' }), 'and room is there again';
done;

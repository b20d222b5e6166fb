# 83-abuse-storm.t - connections that end at every byte, heads with wounds, floods: nothing is left behind.
use Bobtail::Test;
use POSIX ();

srand 83;    # the same wounds each time
my $origin = origin('/raw' => { body => '' }, '/held' => { body => 'late', hold => 1 }, '*' => { body => 'ok' });
my $proxy = proxy("read_timeout 20 seconds\n");
my $url = $origin->url('/a');
my $addr = $origin->addr;

sub all_gone
{
    my ($what) = @_;
    my @gauges = qw(client.open client.active origin.open tunnel.open);
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    ok wait_for(sub { my $now = stats($proxy); !grep { $now->{$_} } @gauges }), "$what: nothing is left";
    is get($proxy, $url)->body, 'ok', "$what: it serves on";
    return;
}

# Ends a connection in one of three ways.
sub end
{
    my ($conn, $how) = @_;
    $conn->shut if $how == 2;
    return $how == 1 ? $conn->reset : $conn->close;
}

# --- clients that end at every byte -----------------------------------------------------------------
my $chunked = "POST $url HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
    . "5;a=b\r\nhello\r\n0\r\nT: v\r\n\r\n";
for my $how (0 .. 2) {
    for my $at (0 .. length $chunked) {
        my $conn = client($proxy);
        eval { $conn->send(substr $chunked, 0, $at) };
        end($conn, $how);
    }
    all_gone('clients that ' . (qw(close reset half-close))[$how] . ' at each byte');
}

# --- wounds -----------------------------------------------------------------------------------------
my @sound = (
    $chunked,
    "GET $url HTTP/1.1\r\nHost: x\r\n\r\n",
    "POST $url HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
    "CONNECT $addr HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "TRACE $url HTTP/1.1\r\nHost: x\r\nMax-Forwards: 0\r\n\r\n",
    "GET $url HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
);
my @splinters = ("\r\n", "\0", "\xff" x 9, '9' x 20, "Transfer-Encoding: chunked\r\n", "Content-Length: 3\r\n", '%00', ':',
    "Connection: close\r\n", ' ', "\t", ',');
for my $turn (1 .. 3000) {
    my $bytes = $sound[ rand @sound ] x (1 + int rand 2);
    for (1 .. 1 + rand 4) {
        my $at = int rand length $bytes;
        my $kind = int rand 4;
        substr($bytes, $at, 1) = chr rand 256 if $kind == 0;
        substr($bytes, $at, 1 + rand 10) = '' if $kind == 1;
        substr($bytes, $at, 0) = $splinters[ rand @splinters ] if $kind == 2;
        substr($bytes, $at, 0) = substr $bytes, 0, rand 60 if $kind == 3;
        $bytes = 'x' if $bytes eq '';
    }
    my $conn = client($proxy);
    # What is refused early may be reset while we still write.
    my $part = 1 + length($bytes) / 3;
    eval { $conn->send(substr $bytes, 0, $part, '') while $bytes ne ''; };
    end($conn, $turn % 3);
}
$origin->drop;    # what it waits for does not come
all_gone('3,000 wounded requests');

# --- origins that end at every byte -------------------------------------------------------------------
my %answers = (
    'chunks' => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: y\r\n\r\n5;a=b\r\nhello\r\n0\r\nT: v\r\n\r\n",
    'a length after an interim answer' => "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
);
for my $name (sort keys %answers) {
    my ($whole, $wrong) = ($answers{$name}, '');
    my $head = index($whole, "\r\n\r\n", index $whole, ' 200') + 4;
    for my $at (0 .. length $whole) {
        for my $end (qw(close reset)) {
            $origin->set('/raw' => { raw => substr($whole, 0, $at), $end => 1 });
            my $answer = get($proxy, $origin->url('/raw'));
            # Whole only when it is; an error of ours while nothing of it was passed on.
            my $said = $answer->status == 502 ? 'refused' : $answer->status == 200 && $answer->whole ? 'whole' : 'cut';
            my $due = $at == length $whole ? 'whole' : $at < $head ? 'refused' : 'cut';
            $wrong .= " $at/$end: $said, not $due;" if $said ne $due;
        }
    }
    is $wrong, '', "an answer in $name that ends at each byte";
}
all_gone('origins that end at each byte');

# --- floods -------------------------------------------------------------------------------------------
my $flood = "GET $url HTTP/1.1\r\nHost: x\r\n\r\n";
my $conn = client($proxy);
my $pid = fork // die "fork: $!";
if (!$pid) {
    eval { $conn->send($flood x 3000) };
    POSIX::_exit(0);
}
my $answered = 0;
$answered++ while $answered < 3000 && $conn->response(to => 'GET')->status == 200;
is $answered, 3000, '3,000 requests in one go are all answered';
waitpid $pid, 0;
$conn->close;
for (1 .. 10) {
    my $rude = client($proxy);
    $rude->{socket}->blocking(0);
    syswrite $rude->{socket}, $flood x 3000;
    end($rude, $_ % 2);
}
all_gone('floods whose answers nobody reads');

# More requests than we take while the first one waits: a reset is behind them, and heard of all the same.
my $many = 'GET ' . $origin->url('/held') . " HTTP/1.1\r\nHost: x\r\n\r\n";
my $gone = client($proxy);
$gone->{socket}->blocking(0);
syswrite $gone->{socket}, $many x 2000;
ok wait_for(sub { $origin->hits('/held') == 1 }), 'a flood behind a request that waits';
$gone->reset;
all_gone('which is reset');
done;

# 72-proc-storm.t - reload upon reload under traffic: nothing fails, nothing is cut, no line is lost.
#
# STORM=100 makes it a long one, one reload a second, with wrk beside it.
use Bobtail::Test;
use POSIX ();
use Time::HiRes qw(sleep time);

my $reloads = $ENV{STORM} // 15;
need('wrk', 'nginx') if $reloads > 15;
my $origin = origin('/a' => { body => 'one' });
my $host = $origin->addr;
my $proxy = proxy(<<'CONF', workers => 2);
workers 2
shutdown_lifetime 10 minutes
access_log stdio:@DIR@/access.log squid
CONF

# A process that does `one` again and again until ->() is called: ->() gives how often, and what failed.
my @stoppers;
sub busy
{
    my ($one) = @_;
    pipe my $stop, my $stopper or die "pipe: $!";
    pipe my $report, my $reporter or die "pipe: $!";
    my $pid = fork // die "fork: $!";
    push @stoppers, $stopper;
    if (!$pid) {
        close $_ for @stoppers;    # also those of the others, or they would never end
        my ($done, $wrong) = (0, '');
        until (readable($stop, 0)) {
            my $fault = eval { $one->() } // "died: $@";
            $wrong .= $fault if length $wrong < 2000;
            $done++;
        }
        $one->('end');
        syswrite $reporter, "$done $wrong";
        POSIX::_exit(0);
    }
    close $stop;
    close $reporter;
    return sub {
        close $stopper;
        my $said = '';
        1 while sysread $report, $said, 65536, length $said;
        waitpid $pid, 0;
        return split / /, $said, 2;
    };
}

sub fault { my ($what, $answer) = @_; return $answer->status == 200 && $answer->body eq 'one' ? '' : "$what: " . $answer->status . "\n" }

my %kept;
my $kept = busy(sub {
    my ($end) = @_;
    return if $end;
    $kept{client} //= client($proxy);
    my $answer = request($proxy, GET => $origin->url('/a'), on => $kept{client});
    delete $kept{client} if ($answer->header('Connection') // '') =~ /close/;
    return fault('kept', $answer);
});
my $new = busy(sub { my ($end) = @_; return $end ? '' : fault('new', get($proxy, $origin->url('/a'))) });

# Tunnels that live through everything, and one that comes and goes.
my @long = map { tunnel($proxy, $host) } 1 .. 4;
is((grep { $_->response->status == 200 } @long), 4, 'tunnels stand');
sub through
{
    my ($conn) = @_;
    $conn->send("GET /a HTTP/1.1\r\nHost: $host\r\n\r\n");
    delete $conn->{response};
    return fault('tunnel', $conn->response(to => 'GET'));
}
my $short = busy(sub {
    my ($end) = @_;
    return if $end;
    my $conn = tunnel($proxy, $host);
    return 'tunnel: ' . $conn->response->status . "\n" if $conn->response->status != 200;
    my $fault = through($conn);
    $conn->close;
    return $fault;
});

# wrk's own count of what it got is no count of what was logged, so with it lines are not compared.
my ($wrk, $wrk_said);
if ($reloads > 15) {
    my $fast = nginx("location / { return 200 one; }\n");
    open my $script, '>', $proxy->file('wrk.lua') or die;
    print $script 'wrk.path = "' . $fast->url('/') . '"', "\nwrk.headers['Host'] = '" . $fast->addr . "'\n";
    close $script;
    $wrk_said = $proxy->file('wrk.out');
    $wrk = fork // die "fork: $!";
    if (!$wrk) {
        close $_ for @stoppers;
        open STDOUT, '>', $wrk_said;
        open STDERR, '>&', \*STDOUT;
        exec 'wrk', '-t1', '-c50', '-d', ($reloads + 2) . 's', '-s', $proxy->file('wrk.lua'), 'http://' . $proxy->addr;
    }
}

sub memory { my ($pid) = @_; return slurp("/proc/$pid/status") =~ /^RssAnon:\s+(\d+)/m ? $1 : 0 }
sub descriptors { my ($pid) = @_; return scalar(() = glob "/proc/$pid/fd/*") }

my ($requests, $back, $refused, $cut, %tenth) = (0, 0, 0, '');
for my $n (1 .. $reloads) {
    my $began = time;
    my $said = ctl($proxy, 'reload');
    $refused++ if $said->{status} ne '0';
    diag($said->{output}) if $said->{status} ne '0';
    $cut .= through($_) for @long;
    my $now = stat($proxy, 'client.requests') // 0;
    $back++ if $now < $requests;
    $requests = $now;
    %tenth = (memory => memory($proxy->pid), descriptors => descriptors($proxy->pid)) if $n == 10;
    my $left = $reloads > 15 ? 1 - (time - $began) : 0;
    sleep $left if $left > 0;
}
is $refused, 0, "$reloads reloads are taken";
is $back, 0, 'counters never go back';
is $cut, '', 'no tunnel is cut';

my $total = 4;
for ([ 'kept', $kept ], [ 'new', $new ], [ 'tunnelled', $short ]) {
    my ($done, $wrong) = $_->[1]->();
    is $wrong, '', "no request over $_->[0] connections failed";
    cmp_ok $done, '>', 5, "of $done";
    $total += $done;
}
if ($wrk) {
    waitpid $wrk, 0;
    my $text = slurp($wrk_said);
    diag($text);
    unlike $text, qr/Socket errors|Non-2xx/, 'wrk met no error';
}

# What is left is the newest generation, and the first one with its tunnels.
ok wait_for(sub { stat($proxy, 'tunnel.open') == 4 }), 'the long tunnels are all that is open';
cmp_ok memory($proxy->pid), '<=', 1.1 * $tenth{memory} + 256, 'the master has no more memory than after the tenth';
ok wait_for(sub { descriptors($proxy->pid) <= $tenth{descriptors} }), 'nor more descriptors';
$_->close for @long;
ok wait_for(sub { my @now = $proxy->workers; @now == 2 }), 'then all old workers leave';
is stat($proxy, 'config.reloads'), $reloads, 'each is counted';
if (!$wrk) {
    my $lines = 0;
    ok wait_for(sub { $lines = () = $proxy->text('access.log') =~ /\n/g; $lines == $total }), 'each exchange has its line'
        or diag("$lines lines, $total exchanges");
    is stat($proxy, 'log.lines'), $total, 'and is counted once';
}
is stat($proxy, 'log.lost'), 0, 'no line is lost';
$proxy->{descriptors} = {};
done;

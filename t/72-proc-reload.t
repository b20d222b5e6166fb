# 72-proc-reload.t - a new configuration: nothing refused, nothing cut, sums kept; a bad one changes nothing.
use Bobtail::Test;
use IO::Socket::IP;
use JSON::PP ();
use POSIX ();

my $origin = origin('/a' => { body => 'one' }, '/held' => { body => 'late', hold => 1 });

sub workers { my ($proxy) = @_; return @{ JSON::PP::decode_json(ctl($proxy, 'workers', '--json')->{output}) } }
sub generation { my ($proxy) = @_; return (workers($proxy))[0]{generation} }

# Requests without end from a process of its own; ->() ends it and says how many went wrong.
sub traffic
{
    my ($proxy) = @_;
    pipe my $stop, my $stopper or die "pipe: $!";
    pipe my $report, my $reporter or die "pipe: $!";
    my $pid = fork // die "fork: $!";
    if (!$pid) {
        close $stopper;
        my ($good, $wrong) = (0, '');
        until (readable($stop, 0)) {
            my $answer = eval { get($proxy, $origin->url('/a')) };
            $answer && $answer->status == 200 && ++$good && next;
            $wrong .= $answer ? 'status ' . $answer->status . "\n" : $@;
        }
        syswrite $reporter, "$good $wrong";
        POSIX::_exit(0);
    }
    close $stop;
    close $reporter;
    return sub {
        close $stopper;
        waitpid $pid, 0;
        sysread $report, my $said, 65536;
        return split / /, $said, 2;
    };
}

my $conf = "workers 2\nhttp_port 127.0.0.1:0 name=main\n";
my $proxy = proxy($conf, workers => 2);
my $pid = $proxy->pid;
get($proxy, $origin->url('/a')) for 1 .. 3;

# --- under load, again and again --------------------------------------------------------------

my $end = traffic($proxy);
for my $n (2 .. 5) {
    is ctl($proxy, 'reload')->{status}, 0, "reload under load is done ($n)";
    is generation($proxy), $n, "generation $n answers";
}
$proxy->signal('HUP');
ok wait_for(sub { generation($proxy) == 6 }), 'SIGHUP does the same';
my ($good, $wrong) = $end->();
is $wrong, '', 'no connection was refused, no exchange cut';
cmp_ok $good, '>', 10, "while $good requests were made";
ok kill(0 => $pid), 'the master is the same process';
ok wait_for(sub { my @now = $proxy->workers; @now == 2 }), 'with two workers: the old ones have left';
counters($proxy, 'client.requests' => 3 + $good, 'client.open' => 0, 'proc.respawns' => 0, 'proc.panics' => 0);

# --- what is under way is finished by those who began it ---------------------------------------

my $slow = client($proxy);
$slow->send("GET " . $origin->url('/held') . " HTTP/1.1\r\nHost: " . $origin->addr . "\r\n\r\n");
ok wait_for(sub { $origin->hits('/held') }), 'a request is under way';
is ctl($proxy, 'reload')->{status}, 0, 'a reload does not wait for it';
my @now = workers($proxy);
my @old = grep { $_->{state} eq 'draining' } @now;
is scalar(@now) . ' ' . scalar(@old), '3 1', 'the worker that has it drains, beside two new ones';
is get($proxy, $origin->url('/a'))->status, 200, 'others are served by the new ones';
cmp_ok stat($proxy, 'client.active'), '>=', 1, 'the old one is in the sums';
is ctl($proxy, 'reload')->{status}, 0, 'a second reload';
is stat($proxy, 'client.requests'), 3 + $good + 2, 'sums pass through two generations';
$origin->release('/held');
is $slow->response->body, 'late', 'it is finished';
ok wait_for(sub { !grep { $_->{state} eq 'draining' } workers($proxy) }), 'then the old worker leaves';
is stat($proxy, 'client.requests'), 3 + $good + 2, 'and nothing is counted twice';
ok wait_for(sub { stat($proxy, 'client.active') == 0 }), 'gauges come back to nothing';

# --- a bad file ---------------------------------------------------------------------------------

my $before = generation($proxy);
$proxy->write_conf($conf . "frobnicate on\nshutdown_lifetime never\n");
my $said = ctl($proxy, 'reload');
is $said->{status}, 1, 'a bad file is refused';
like $said->{output}, qr/the old one goes on/, 'with a sentence';
like $said->{output}, qr/bobtail\.conf:3:1: error: unknown directive 'frobnicate'/, 'all faults are told (1)';
like $said->{output}, qr/bobtail\.conf:4:\d+: error: /, 'all faults are told (2)';
is generation($proxy), $before, 'the old generation goes on';
is get($proxy, $origin->url('/a'))->status, 200, 'and serves';
$proxy->signal('HUP');
ok $proxy->wait_log(qr/frobnicate.*frobnicate/s), 'after SIGHUP the log tells it';
is generation($proxy), $before, 'and nothing changes';
$proxy->expect_log(qr/error: reload: .*frobnicate/, qr/error: reload: \S+:4:/, qr/error: reload: the configuration was not taken/);
ok kill(0 => $pid), 'the same master';

# --- ports come and go --------------------------------------------------------------------------

my $taken = IO::Socket::IP->new(LocalHost => '127.0.0.1', LocalPort => 0, Listen => 1) or die "listen: $@";
my $number = $taken->sockport;
$proxy->write_conf($conf . "http_port 127.0.0.1:$number name=second\n");
$said = ctl($proxy, 'reload');
is $said->{status}, 1, 'a port that somebody has: refused before anything changes';
like $said->{output}, qr/127\.0\.0\.1:$number.*another server listens there/, 'naming it';
$proxy->expect_log(qr/127\.0\.0\.1:$number: another server|127\.0\.0\.1:$number.*another server/);
is generation($proxy), $before, 'the old generation goes on';
close $taken;
is ctl($proxy, 'reload')->{status}, 0, 'once it is free, it is taken';
is get("127.0.0.1:$number", $origin->url('/a'))->status, 200, 'and served';
is get($proxy, $origin->url('/a'))->status, 200, 'the old one keeps its number, though the kernel chose it';
$proxy->write_conf($conf);
is ctl($proxy, 'reload')->{status}, 0, 'without the second port';
ok wait_for(sub { !IO::Socket::IP->new(PeerHost => '127.0.0.1', PeerPort => $number) }), 'it is closed';

# --- more and fewer workers ---------------------------------------------------------------------

for my $n (4, 1, 3) {
    $end = traffic($proxy);
    $proxy->write_conf($conf =~ s/workers 2/workers $n/r);
    is ctl($proxy, 'reload')->{status}, 0, "workers $n";
    is scalar(grep { $_->{state} eq 'accepting' } workers($proxy)), $n, "are $n";
    my $wrong_status = grep { get($proxy, $origin->url('/a'))->status != 200 } 1 .. 10;
    is $wrong_status, 0, 'all queues are looked after';
    is(($end->())[1], '', 'nothing was refused meanwhile');
}

$proxy->write_conf($conf);
ctl($proxy, 'reload');
ok wait_for(sub { my @now = $proxy->workers; @now == 2 }), 'two workers at the end';
$proxy->{descriptors} = {};   # the workers are others than those that the harness looked at

# --- one process ----------------------------------------------------------------------------------

my $alone = proxy('');
$said = ctl($alone, 'reload');
is $said->{status}, 1, '-N cannot reload';
like $said->{output}, qr/one process \(-N\) cannot reload.*start it again/, 'and says so';
$alone->signal('HUP');
ok $alone->wait_log(qr/warning: reload: one process/), 'SIGHUP is answered in the log';
is get($alone, $origin->url('/a'))->status, 200, 'it goes on';
done;

# 71-proc-workers.t - workers: how many, what each does, what happens when one dies.
use Bobtail::Test;
use JSON::PP ();
use Time::HiRes qw(time);

my $origin = origin('/a' => { body => 'one' });

sub workers { my ($proxy) = @_; return @{ JSON::PP::decode_json(ctl($proxy, 'workers', '--json')->{output}) } }

# A connection that worker number $row has; the others that it took to get it are closed.
sub client_of
{
    my ($proxy, $row) = @_;
    my %before = map { $_->{worker} => $_->{open} } workers($proxy);
    my ($wanted, @clients);

    while (!$wanted && @clients < 100) {
        my $client = client($proxy);
        my $taken = wait_for(sub {
            my ($by) = grep { $_->{open} > $before{ $_->{worker} } } workers($proxy);
            return $by && $by->{worker};
        }) or last;
        $before{$taken}++;
        $taken == $row ? ($wanted = $client) : push @clients, $client;
    }
    $_->close for @clients;
    my $left = $wanted ? -@clients : 0;
    $left += $_ for values %before;
    wait_for(sub { stat($proxy, 'client.open') == $left });
    return $wanted;
}

my $proxy = proxy("workers 2\n", workers => 2);
my @first = workers($proxy);
is @first, 2, 'as many workers as the configuration says';
is_deeply [ map { $_->{worker} } @first ], [ 1, 2 ], 'numbered from 1';
is_deeply [ sort map { $_->{pid} } @first ], [ sort $proxy->workers ], 'each is a child of the master';
is_deeply [ map { $_->{state} } @first ], [ ('accepting') x 2 ], 'and accepts';
like ctl($proxy, 'workers')->{output}, qr/^worker 1  pid $first[0]{pid}  generation 1  accepting/,
    'as text, too';

is get($proxy, $origin->url('/a'))->status, 200, 'a request is answered' for 1 .. 8;
my $sum = 0;
$sum += $_->{requests} for workers($proxy);
is $sum, 8, 'each request is counted by the worker that had it';
my ($port_hex) = map { sprintf '%04X', $_ } $proxy->port;
my @sockets = grep { /^\s*\d+: 0100007F:$port_hex \w+:0000 0A/ } split /\n/, slurp("/proc/$first[0]{pid}/net/tcp");
is @sockets, 2, 'there is a socket for each';

# One dies without a word, with a connection open.
my $held = client_of($proxy, 1);
ok $held, 'worker 1 has a connection';
my $other = client_of($proxy, 2);
is stat($proxy, 'client.open'), 2, 'two are open';
my $accepted = stat($proxy, 'client.connections');
my $began = time;
kill KILL => $first[0]{pid};
my $again = wait_for(sub { my ($one) = workers($proxy); $one->{pid} != $first[0]{pid} && $one->{state} eq 'accepting' && $one });
ok $again, 'a killed worker is replaced';
cmp_ok time - $began, '<', 2, 'within two seconds';
is $again->{respawns}, 1, 'which is told';
is((workers($proxy))[1]{pid}, $first[1]{pid}, 'the other one is the same');
cmp_ok stat($proxy, 'client.requests'), '>=', 8, 'sums do not go back';
is stat($proxy, 'client.connections'), $accepted, 'not of connections, either';
is stat($proxy, 'client.open'), 1, 'what the dead one held is not open any more';
counters($proxy, 'proc.respawns' => 1, 'proc.panics' => 0);
ok $held->closed, 'its client learns that it is gone';
is request($proxy, GET => $origin->url('/a'), on => $other)->status, 200, 'the other worker carries on';
$other->close;
is get($proxy, $origin->url('/a'))->status, 200, 'and both serve' for 1 .. 8;
$proxy->wait_log(qr/worker 1 \($first[0]{pid}\) was ended by signal 9 .*; another one is started/);
pass 'the log says what happened';

# A bug ends a worker, and is counted as one.
kill ABRT => $first[1]{pid};
ok wait_for(sub { my $two = (workers($proxy))[1]; $two->{pid} != $first[1]{pid} && $two->{state} eq 'accepting' }),
    'one that crashed is replaced, too';
counters($proxy, 'proc.respawns' => 2, 'proc.panics' => 1);

# One that dies again and again is not given up, but has to wait.
my $pid = (workers($proxy))[1]{pid};
kill KILL => $pid;
ok wait_for(sub { $proxy->log =~ /worker 2 \($pid\) was ended .* soon after it was started; the next one comes in 1 s/ }),
    'one that died soon after its start waits a second';
my $told_of = ctl($proxy, 'workers')->{output};
is get($proxy, $origin->url('/a'))->status, 200, 'meanwhile connections in its queue wait, and others are served'
    for 1 .. 4;
ok wait_for(sub { (workers($proxy))[1]{state} eq 'accepting' }), 'then it comes';
like $told_of, qr/^worker 2  (?:no process  generation 1  waiting to be started|pid [1-9])/m, 'until then it is said to wait';

# A worker that is told to leave by a signal of its own drains, and is replaced.
my ($told) = workers($proxy);
kill TERM => $told->{pid};
ok wait_for(sub { my ($one) = workers($proxy); $one->{pid} && $one->{pid} != $told->{pid} && $one->{state} eq 'accepting' }),
    'SIGTERM to a worker alone: it leaves, and another one comes';
is kill(0 => $told->{pid}), 0, 'the old one is gone';

# Without the master nobody would look after a worker.
my $orphaned = proxy("workers 2\n", workers => 2);
my @children = $orphaned->workers;
kill KILL => $orphaned->pid;
waitpid $orphaned->pid, 0;
ok wait_for(sub { !grep { kill 0 => $_ } @children }), 'workers whose master was killed leave';
like $orphaned->log, qr/the master is gone; this worker finishes its work and leaves/, 'and say why';
delete $orphaned->{pid};

my $auto = proxy("workers auto\n", workers => 1);
my ($cores) = slurp('/proc/self/status') =~ /^Cpus_allowed_list:\s*(\S+)/m;
my $n = 0;
$n += /(\d+)-(\d+)/ ? $2 - $1 + 1 : 1 for split /,/, $cores;
is scalar(workers($auto)), $n, 'auto: one worker for each core that the server may use';

my $alone = proxy('');
my @lone = workers($alone);
is @lone, 1, '-N: one row';
is $lone[0]{pid}, $alone->pid, 'of the process itself';
is_deeply [ Bobtail::Proxy::children_of($alone->pid) ], [], 'which has no children';
done;

# 75-proc-signals.t - stopping in all its ways, rotating, diagnostics: signals, -k, bobtailctl.
use Bobtail::Test;
use POSIX qw(WNOHANG);
use Time::HiRes qw(time);

my $origin = origin('/a' => { body => 'one' }, '/held' => { body => 'late', hold => 1 });
my $request = "GET " . $origin->url('/held') . " HTTP/1.1\r\nHost: " . $origin->addr . "\r\n\r\n";

# Waits for the end of a server: [exit status, seconds it took]; undef: it does not end.
sub ended
{
    my ($proxy, $began) = @_;
    wait_for(sub { waitpid($proxy->pid, WNOHANG) == $proxy->pid }) or return;
    my $status = $?;
    delete $proxy->{pid};
    return [ $status, time - $began ];
}

# A server with a request under way in the origin.
sub busy
{
    my ($conf, %how) = @_;
    my $hits = $origin->hits('/held');
    my $proxy = proxy($conf, %how);
    my $client = client($proxy);
    $client->send($request);
    wait_for(sub { $origin->hits('/held') > $hits }) or die "the request did not arrive\n";
    return ($proxy, $client);
}

for my $how ([ '-N' ], [ 'with workers', workers => 2 ]) {
    my ($name, %how) = @$how;
    my $conf = $how{workers} ? "workers 2\n" : '';

    # Idle: at once, though clients are connected.
    my $proxy = proxy($conf . "shutdown_lifetime 1 hour\n", %how);
    my $idle = client($proxy);
    is request($proxy, GET => $origin->url('/a'), on => $idle)->status, 200, "$name: a kept connection";
    my $began = time;
    $proxy->signal('TERM');
    my $end = ended($proxy, $began);
    is $end && $end->[0], 0, "$name: SIGTERM ends it, with status 0";
    cmp_ok $end->[1], '<', 3, 'at once when nothing is under way';
    ok $idle->closed, 'the kept connection is closed';
    ok !-e $proxy->{control}, 'the control socket is removed';

    # Busy: when it is done.
    my $client;
    ($proxy, $client) = busy($conf . "shutdown_lifetime 1 hour\n", %how);
    my $addr = $proxy->addr;
    $proxy->signal('TERM');
    ok wait_for(sub { !eval { client($addr)->close; 1 } }), "$name: no new connection is taken";
    ok kill(0 => $proxy->pid), 'but what is under way goes on';
    $origin->release('/held');
    is $client->response->body, 'late', 'to its end';
    $end = ended($proxy, time);
    is $end && $end->[0], 0, 'and the server ends';

    # shutdown_lifetime, by moving the clock.
    $origin->set('/held' => { body => 'late', hold => 1 });
    ($proxy, $client) = busy($conf . "shutdown_lifetime 1 hour\n", %how);
    $proxy->signal('TERM');
    wait_for(sub { !eval { client($proxy->addr)->close; 1 } });
    later($proxy, 3601);
    $end = ended($proxy, time);
    is $end && $end->[0], 0, "$name: shutdown_lifetime ends it";
    ok $client->closed, 'and what was under way is cut';
    like $proxy->log, qr/shutdown_lifetime is over/, 'which the log tells';

    # The second signal.
    ($proxy, $client) = busy($conf . "shutdown_lifetime 1 hour\n", %how);
    $proxy->signal('TERM');
    wait_for(sub { !eval { client($proxy->addr)->close; 1 } });
    $began = time;
    $proxy->signal('TERM');
    $end = ended($proxy, $began);
    is $end && $end->[0], 0, "$name: a second SIGTERM ends it at once";

    # SIGINT.
    ($proxy, $client) = busy($conf . "shutdown_lifetime 1 hour\n", %how);
    $began = time;
    $proxy->signal('INT');
    $end = ended($proxy, $began);
    is $end && $end->[0], 0, "$name: SIGINT ends it at once";
    ok $client->closed, 'whatever is under way';

    # No time at all.
    ($proxy, $client) = busy($conf . "shutdown_lifetime 0 seconds\n", %how);
    $began = time;
    $proxy->signal('TERM');
    $end = ended($proxy, $began);
    is $end && $end->[0], 0, "$name: shutdown_lifetime 0";
    cmp_ok $end->[1], '<', 3, 'does not wait';

    # bobtailctl stop waits for the end.
    $proxy = proxy($conf, %how);
    is ctl($proxy, 'stop')->{status}, 0, "$name: bobtailctl stop";
    $end = ended($proxy, time);
    is $end && $end->[0], 0, 'it has ended';

    # Rotation.
    $proxy = proxy($conf . "debug_options ALL,1 rotate=2\n", %how);
    like $proxy->log, qr/accepting on/, "$name: a log";
    for my $n (1 .. 3) {
        is ctl($proxy, 'rotate')->{status}, 0, "rotated ($n)";
    }
    ok -e $proxy->file('cache.log.0') && -e $proxy->file('cache.log.1') && !-e $proxy->file('cache.log.2'),
        'two old ones are kept';
    unlike $proxy->log, qr/accepting on/, 'the new one is new';
    my ($worker) = $proxy->workers;
    my @open = map { readlink } glob "/proc/$worker/fd/*";
    ok grep({ $_ eq $proxy->file('cache.log') } @open), 'the worker has opened it';
    ok !grep({ /cache\.log\.\d|deleted/ && !/memfd/ } @open), 'and let go of the old one';
    $proxy->signal('USR1');
    ok wait_for(sub { -e $proxy->file('cache.log.1') && $proxy->log =~ /logs are rotated/ }), 'SIGUSR1 does the same';

    # Diagnostics.
    $proxy->signal('USR2');
    ok $proxy->wait_log(qr/full diagnostics are on/), "$name: SIGUSR2 turns them on";
    is get($proxy, $origin->url('/a'))->status, 200, 'it serves meanwhile';
    $proxy->signal('USR2');
    ok $proxy->wait_log(qr/full diagnostics are off/), 'and off';

    # The clock, and who may move it.
    is ctl($proxy, 'clock', '+5')->{status}, 0, "$name: a test's clock moves";
    my $strict = proxy($conf, %how, args => []);
    ok $strict, 'another server';
}

# --- -k, through the pid file ------------------------------------------------------------------

my $proxy = proxy("workers 2\npid_filename \@DIR\@/pid\n", workers => 2);
my $conf = $proxy->file('bobtail.conf');
is $proxy->text('pid'), $proxy->pid . "\n", 'the pid file has the number of the master';
is bobtail('-k', 'check', '-f', $conf)->{status}, 0, '-k check: it runs';
is bobtail('-k', 'rotate', '-f', $conf)->{status}, 0, '-k rotate';
ok $proxy->wait_log(qr/logs are rotated/), 'is done';
is bobtail('-kreconf', '-f', $conf)->{status}, 0, '-k reconfigure, by its beginning';
ok $proxy->wait_log(qr/generation 2 serves/), 'is done';
is $proxy->text('pid'), $proxy->pid . "\n", 'the pid file stays';
is bobtail('-k', 'debug', '-f', $conf)->{status}, 0, '-k debug';
ok $proxy->wait_log(qr/full diagnostics are on/), 'is done';
open my $broken, '>>', $conf or die;
print $broken "nonsense that no server would start with\n";
close $broken;
my $judged = bobtail('-k', 'reconfigure', '-f', $conf);
is $judged->{status}, 1, '-k reconfigure with a broken configuration: status 1';
like $judged->{output}, qr/error: unknown directive 'nonsense'.*will go on with the old one/s, 'and what is wrong';
$proxy->expect_log(qr/error: reload: /);
ok $proxy->wait_log(qr/the old one goes on/), 'as the server finds, too';
is bobtail('-k', 'shutdown', '-f', $conf)->{status}, 0, '-k shutdown works with a configuration that is broken by now';
my $end = ended($proxy, time);
is $end && $end->[0], 0, 'it has ended';
ok !-e $proxy->file('pid'), 'the pid file is removed';
my $said = bobtail('-k', 'check', '-f', $conf);
is $said->{status}, 1, '-k check: it does not run';
like $said->{output}, qr{no running server: there is no pid file \Q${\ $proxy->file('pid')}\E}, 'and the file is named';

$proxy = proxy("pid_filename \@DIR\@/pid\n");
is bobtail('-k', 'interrupt', '-f', $proxy->file('bobtail.conf'))->{status}, 0, '-k interrupt';
$end = ended($proxy, time);
is $end && $end->[0], 0, 'ends it';
$proxy = proxy("pid_filename \@DIR\@/pid\n");
is bobtail('-k', 'kill', '-f', $proxy->file('bobtail.conf'))->{status}, 0, '-k kill';
$end = ended($proxy, time);
is $end && $end->[0], 9, 'kills it';
ok -e $proxy->file('pid'), 'which leaves its file behind';
$said = bobtail('-k', 'check', '-f', $proxy->file('bobtail.conf'));
is $said->{status}, 1, 'that is no running server';
like $said->{output}, qr/was left behind by one that ended without removing it/, 'and is said';
$proxy->start or die;
is bobtail('-k', 'check', '-f', $proxy->file('bobtail.conf'))->{status}, 0, 'the next start takes it, and the socket, over';
done;

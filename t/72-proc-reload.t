# 72-proc-reload.t - a new configuration: nothing refused, nothing cut, sums kept; a bad one changes nothing.
use Bobtail::Test;
use IO::Socket::IP;
use JSON::PP ();
use POSIX ();

my $origin = origin('/a' => { body => 'one' }, '/held' => { body => 'late', hold => 1 },
    '/long' => { body => 'longest', hold => 1 });

sub workers { my ($proxy) = @_; return @{ JSON::PP::decode_json(ctl($proxy, 'workers', '--json')->{output}) } }
sub status { my ($proxy) = @_; return JSON::PP::decode_json(ctl($proxy, 'status', '--json')->{output}) }
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
        my $kept;
        until (readable($stop, 0)) {
            # In turn a connection of its own, and one that is kept for as long as it is let be.
            my $answer = eval { get($proxy, $origin->url('/a')) };
            my $fault = !$answer ? $@ : $answer->status == 200 ? '' : 'own: status ' . $answer->status . "\n";
            $kept //= client($proxy);
            $answer = eval { request($proxy, GET => $origin->url('/a'), on => $kept) };
            $fault .= !$answer ? $@ : $answer->status == 200 ? '' : 'kept: status ' . $answer->status . "\n";
            undef $kept if !$answer || ($answer->header('Connection') // '') =~ /close/;
            $wrong .= $fault;
            $good += 2;
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

my %descriptors = %{ Bobtail::Proxy::settled($pid) };
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
cmp_ok scalar(keys %{ Bobtail::Proxy::settled($pid) }), '<=', scalar(keys %descriptors), 'the master has no descriptor more than before';
counters($proxy, 'client.requests' => 3 + $good, 'client.open' => 0, 'proc.respawns' => 0, 'proc.panics' => 0,
    'config.reloads' => 5, 'config.reload_failures' => 0);
is status($proxy)->{last_reload}{good}, JSON::PP::true(), 'the last one is told of';
my ($took) = JSON::PP::decode_json(ctl($proxy, 'stats', '--json', 'config.reload_time')->{output})->{'config.reload_time'};
is $took->{count}, 5, 'how long each took is counted';
cmp_ok $took->{p50}, '>', 1000, 'in microseconds';

# --- what is under way is finished by those who began it ---------------------------------------

my $slow = client($proxy);
$slow->send("GET " . $origin->url('/held') . " HTTP/1.1\r\nHost: " . $origin->addr . "\r\n\r\n");
ok wait_for(sub { $origin->hits('/held') }), 'a request is under way';
is ctl($proxy, 'reload')->{status}, 0, 'a reload does not wait for it';
my (@now, @old);
wait_for(sub {      # its fellow leaves a moment later
    @now = workers($proxy);
    @old = grep { $_->{state} eq 'draining' } @now;
    return @now == 3 && @old == 1;
});
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
my $last = status($proxy)->{last_reload};
is $last->{good}, JSON::PP::false(), 'status tells of it';
like $last->{text}, qr/unknown directive 'frobnicate'.*bobtail\.conf:4:/s, 'with all that was said';
like ctl($proxy, 'status')->{output}, qr/^last reload +refused, .*\n +\S+bobtail\.conf:3:1: error: unknown/m, 'as text, too';
is stat($proxy, 'config.reload_failures'), 1, 'it is counted';
is get($proxy, $origin->url('/a'))->status, 200, 'and serves';
$proxy->signal('HUP');
ok $proxy->wait_log(qr/frobnicate.*frobnicate/s), 'after SIGHUP the log tells it';
is generation($proxy), $before, 'and nothing changes';
$proxy->expect_log(qr/error: reload: .*frobnicate/, qr/error: reload: \S+:4:/, qr/error: reload: the configuration was not taken/);
ok kill(0 => $pid), 'the same master';
is stat($proxy, 'config.reload_failures'), 2, 'counted again';
$proxy->write_conf($conf . "dns_v4_first off\n");
$said = ctl($proxy, 'reload');
is $said->{status}, 0, 'a good one is taken again';
like $said->{output}, qr/warning: .*dns_v4_first/, 'its warnings are shown to whoever asked';
like status($proxy)->{last_reload}{text}, qr/dns_v4_first/, 'and kept, by the next image, too';
is status($proxy)->{last_reload}{good}, JSON::PP::true(), 'it was good';
is stat($proxy, 'config.reload_failures'), 2, 'the count of failures stays through the exec';
$before++;

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

# --- another program, and one that cannot go on ---------------------------------------------------

# A copy of the program, which the test can put something else in the place of.
my ($folder) = $ENV{BOBTAIL} =~ m{^(.*)/};
my $copy = $proxy->file('program');
system 'cp', $ENV{BOBTAIL}, $copy;
my $upgraded = do {
    local $ENV{BOBTAIL} = $copy;
    local $ENV{BOBTAIL_MODULES} = $ENV{BOBTAIL_MODULES} // "$folder/modules/built";
    proxy("workers 2\nshutdown_lifetime 1 second\n", workers => 2);
};
$pid = $upgraded->pid;
system 'cp', $ENV{BOBTAIL}, "$copy.new";
rename "$copy.new", $copy or die;
my $longest = client($upgraded);
$longest->send('GET ' . $origin->url('/long') . " HTTP/1.1\r\nHost: x\r\n\r\n");
ok wait_for(sub { $origin->hits('/long') == 1 }), 'a request of the first generation takes its time';
is ctl($upgraded, 'reload')->{status}, 0, 'a new program in place of the old one is begun by a reload';
is readlink("/proc/$pid/exe"), $copy, 'it is the new one that runs';
is get($upgraded, $origin->url('/a'))->status, 200, 'and serves';

# Good when it is tried, bad when it is begun: a script in the program's place sees to that.
my $conf_of = $upgraded->file('bobtail.conf');
unlink $copy;
open my $script, '>', $copy or die;
print $script <<"SCRIPT";
#!/bin/sh
case "\$*" in *check-start*) ;; *) echo 'changed meanwhile' >> $conf_of ;; esac
exec $ENV{BOBTAIL} "\$@"
SCRIPT
close $script;
chmod 0755, $copy;
$said = ctl($upgraded, 'reload');
is $said->{status}, 1, 'a configuration that turns bad between the trial and the start';
like $said->{output}, qr/changed while it was read/, 'is told';
$origin->release('/long');
is $longest->response(to => 'GET')->body, 'longest', 'a request lives through two programs';
$longest->close;
ok $upgraded->wait_log(qr/generation 1 has left/), 'and its worker leaves after it';
unlike $upgraded->log, qr/another one is started/, 'which is no surprise to a program that did not send it away';
is get($upgraded, $origin->url('/a'))->status, 200, 'the old workers serve';
@now = workers($upgraded);
is scalar(@now), 2, 'and are there to be asked';
is $now[0]{generation}, 2, 'of the generation before';
cmp_ok stat($upgraded, 'client.requests'), '==', 3, 'their counters as well';
is status($upgraded)->{last_reload}{good}, JSON::PP::false(), 'and status says that the reload failed';
is stat($upgraded, 'config.reload_failures'), 1, 'which is counted';
$upgraded->expect_log(qr/error: \S+: unknown directive 'changed'/, qr/error: reload: the configuration was good a moment ago/);
open my $mend, '>', $copy or die;
print $mend "#!/bin/sh\nexec $ENV{BOBTAIL} \"\$@\"\n";
close $mend;
$upgraded->write_conf("workers 2\nshutdown_lifetime 1 second\n");
is ctl($upgraded, 'reload')->{status}, 0, 'when it is mended, a reload brings the next generation';
is get($upgraded, $origin->url('/a'))->status, 200, 'which serves';
cmp_ok generation($upgraded), '>', 2, 'and is a new one';
is stat($upgraded, 'client.requests'), 4, 'with the sums of all';
$upgraded->{descriptors} = {};
$upgraded->write_conf("workers 2\npid_filename \@DIR\@/no/such/pid\ncontrol_socket \@DIR\@/no/such/control\n");
$said = ctl($upgraded, 'reload');
like $said->{output}, qr/pid_filename \S+ cannot be made.*control_socket \S+ cannot be made/s,
    'files that could not be made are found before anything changes';
$upgraded->expect_log(qr/error: reload: .*cannot be made/, qr/error: reload: the configuration was not taken/);

# --- one process ----------------------------------------------------------------------------------

my $alone = proxy('');
$said = ctl($alone, 'reload');
is $said->{status}, 1, '-N cannot reload';
like $said->{output}, qr/one process \(-N\) cannot reload.*start it again/, 'and says so';
$alone->signal('HUP');
ok $alone->wait_log(qr/warning: reload: one process/), 'SIGHUP is answered in the log';
is get($alone, $origin->url('/a'))->status, 200, 'it goes on';
done;

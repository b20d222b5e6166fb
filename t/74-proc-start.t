# 74-proc-start.t - starting: the command line, every fault that can be met, daemons, rights, files.
use Bobtail::Test;
use File::Temp ();
use IO::Socket::IP;
use IO::Socket::UNIX;
use POSIX qw(WNOHANG);

my $origin = origin('/a' => { body => 'one' });
my $dir = File::Temp::tempdir('bobtail-XXXXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0777, $dir;
my $count = 0;

# Writes a configuration with the usual files in a folder of its own: its path, and the folder.
sub conf
{
    my ($text) = @_;
    my $here = "$dir/" . ++$count;
    mkdir $here and chmod 0777, $here or die "$here: $!";
    $text = "http_port 127.0.0.1:0\n$text" unless $text =~ /^http_port/m;
    $text .= "http_access allow all\naccess_log none\nworkers 2\nvisible_hostname proxy.test\n";
    for ([ pid_filename => 'pid' ], [ control_socket => 'control' ], [ cache_log => 'cache.log' ]) {
        $text .= "$_->[0] $here/$_->[1]\n" unless $text =~ /^$_->[0]/m;
    }
    open my $file, '>', "$here/conf" or die "$here: $!";
    print $file $text =~ s/\@DIR\@/$here/gr;
    close $file;
    return ("$here/conf", $here);
}

# A start that must fail: status 1, the sentence, and nothing left behind.
sub refused
{
    my ($text, $message, $name, @args) = @_;
    my ($conf, $here) = conf($text);
    for my $how ('--foreground', '-N', '') {
        my $said = bobtail('-f', $conf, ($how ? $how : ()), @args);
        is $said->{status}, 1, "$name: status 1 (" . ($how || 'daemon') . ')';
        like $said->{output}, $_, 'and a sentence' for ref $message eq 'ARRAY' ? @$message : $message;
        ok !-e "$here/pid" && !-e "$here/control", 'no pid file, no control socket';
    }
    return;
}

# --- the command line --------------------------------------------------------------------------

for (
    [ [qw(--foregruond)], qr/--foregruond: no such option; did you mean --foreground\?/ ],
    [ [qw(-q)], qr/-q: no such option/ ],
    [ [qw(-NCq)], qr/-q: no such option/ ],
    [ [qw(-f)], qr/-f: its FILE is missing/ ],
    [ [qw(--ready-fd)], qr/--ready-fd: its N is missing/ ],
    [ [qw(--foreground=yes)], qr/--foreground takes no value/ ],
    [ [qw(-k reload)], qr/-k reload: no such command[.;].* There are: parse check reconfigure/ ],
    [ [qw(-k reconfigrue)], qr/did you mean "reconfigure"\?/ ],
    [ [qw(-k r)], qr/-k r: that may mean several: reconfigure rotate/ ],
    [ [qw(-d lots)], qr/-d lots: the level is a number/ ],
    [ [qw(-a 70000)], qr/-a 70000: a port is a number/ ],
    [ [qw(-n a/b)], qr/-n a\/b: a service name/ ],
    [ [qw(squid.conf)], qr/"squid\.conf": no option; a configuration file is given as -f squid\.conf/ ],
) {
    my ($words, $message) = @$_;
    my $said = bobtail(@$words);
    is $said->{status}, 1, "bobtail @$words: status 1";
    like $said->{output}, $message, 'and what is wrong';
}
my $said = bobtail('-h');
is $said->{status}, 0, '-h';
like $said->{output}, qr/^  -k COMMAND .*^\s+reconfigure .*^  --modules /ms, 'lists the options';
unlike $said->{output}, qr/check-start/, 'but for what is not for users';
$said = bobtail('-v');
is $said->{status}, 0, '-v';
like $said->{output}, qr/^Bobtail Cache: Version \d+\.\d+\.\d+\n/, 'tells the version as Squid does';
my ($good) = conf('');
is bobtail('-k', 'parse', '-f', $good)->{status}, 0, '-k parse of a good file';
is bobtail("-kparse", "-f$good")->{status}, 0, 'values may stand behind their letters';
$said = bobtail('-z', '-f', $good);
is $said->{status}, 0, '-z';
like $said->{output}, qr/no cache on disk, so there are no folders to make/, 'says that there is nothing to make';
is bobtail('-NsYCFd1', '-k', 'parse', '-f', $good)->{status}, 0, 'what Squid has and we do not need is taken';
$said = bobtail('-k', 'parse', '-f', "$dir/nowhere.conf");
is $said->{status}, 1, 'a file that is not there';
like $said->{output}, qr/nowhere\.conf/, 'is named';
$said = bobtail('-k', 'shutdown', '-f', $good);
is $said->{status}, 1, '-k shutdown without a server';
like $said->{output}, qr/no running server: there is no pid file/, 'says so';
my ($unnamed) = conf("pid_filename none\n");
like bobtail('-k', 'rotate', '-f', $unnamed)->{output}, qr/has "pid_filename none", so -k rotate cannot find/,
    'pid_filename none';

# --- faults ---------------------------------------------------------------------------------------

my @taken = map { IO::Socket::IP->new(LocalHost => '127.0.0.1', LocalPort => 0, Listen => 1) // die $@ } 1 .. 2;
my @numbers = map { $_->sockport } @taken;
refused("http_port 127.0.0.1:$numbers[0]\nhttp_port 127.0.0.1:$numbers[1]\n",
    [ map { qr/conf:@{[ $_ + 1 ]}:11: error: .*127\.0\.0\.1:$numbers[$_].*another server listens there/ } 0, 1 ],
    'two ports in use');
refused("http_port 192.0.2.77:3128\n", qr/192\.0\.2\.77:3128: no interface of this machine has that address/,
    'an address of another machine');
refused("cache_log \@DIR\@/no/such/cache.log\n", qr{cache_log \S+/no/such/cache\.log cannot be opened: .*; make},
    'a log that cannot be opened');
refused("pid_filename \@DIR\@/no/such/pid\n", qr{pid_filename \S+/no/such/pid cannot be written: .*; make},
    'a pid file that cannot be written');
refused("control_socket \@DIR\@/no/such/control\n", qr{control socket \S+/no/such/control: No such file},
    'a control socket that cannot be made');
refused("control_socket \@DIR\@/" . 'x' x 120 . "\n", qr/control socket .*: the path is too long/, 'too long a name');
refused("control_socket \@DIR\@/conf\n", qr/control socket .*: there is a file that is no socket/, 'a file in the way');
refused("nonsense here\n", qr/unknown directive 'nonsense'/, 'a bad configuration');
refused('', qr/--ready-fd 77: no such descriptor is open/, 'a descriptor that is not there', '--ready-fd', 77);
refused("umask 999\n", qr/"999" is no umask/, 'umask');
SKIP: {
    skip 'not root', 1 if $>;
    refused("cache_effective_user no-such-user\n", qr/there is no user "no-such-user"/, 'a user that is not there');
    refused("cache_effective_group no-such-group\n", qr/there is no group "no-such-group"/, 'a group that is not there');
}

# --- one instance ---------------------------------------------------------------------------------

my $first = proxy("workers 2\npid_filename \@DIR\@/pid\n", workers => 2);
my $its = $first->pid;
my $where = $first->addr;
refused("http_port $where\npid_filename " . $first->file('pid') . "\n",
    qr/a server is running already: \S+ names process $its; stop it/, 'a second one') if 0;
$said = bobtail('-N', '-f', $first->file('bobtail.conf'));
is $said->{status}, 1, 'a second one with the same pid file: status 1';
like $said->{output}, qr/a server is running already: \S+ names process $its; stop it/, 'and a sentence';
unlike $said->{output}, qr/another server listens/, 'that does not blame the ports';
is $first->text('pid'), "$its\n", 'the first is not disturbed';
my ($other, $there) = conf('control_socket ' . $first->{control} . "\n");
$said = bobtail('-N', '-f', $other);
is $said->{status}, 1, 'somebody else\'s control socket: status 1';
like $said->{output}, qr/control socket \S+: another server listens there/, 'and a sentence';
is ctl($first, 'version')->{status}, 0, 'the socket still works';
is get($first, $origin->url('/a'))->status, 200, 'and the server serves';

# --- a daemon ----------------------------------------------------------------------------------------

my ($conf, $here) = conf("http_port 127.0.0.1:0 name=main\nshutdown_lifetime 1 second\n");
$said = bobtail('-f', $conf);
is $said->{status}, 0, 'a daemon: status 0' or diag $said->{output};
unlike $said->{output}, qr/^(?:\S+: )?error: |accepting/m, 'in silence';
my ($pid) = slurp("$here/pid") =~ /^(\d+)$/;
ok $pid && kill(0 => $pid), 'it runs when the command has ended';
my %daemon = (control => "$here/control", pid => $pid);
my @now = split /\n/, ctl(\%daemon, 'workers')->{output};
is @now, 2, 'with its workers';
is((split ' ', slurp("/proc/$pid/stat"))[6], 0, 'without a terminal');
is readlink("/proc/$pid/fd/$_"), '/dev/null', "descriptor $_ is let go of" for 0 .. 2;
my ($port) = slurp("$here/cache.log") =~ /accepting on 127\.0\.0\.1:(\d+) \(main\)/;
is get("127.0.0.1:$port", $origin->url('/a'))->status, 200, 'it serves';
is bobtail('-f', $conf)->{status}, 1, 'a second one is refused';
$said = bobtail('-k', 'shutdown', '-f', $conf);
is $said->{status}, 0, '-k shutdown' or diag $said->{output}, slurp("$here/cache.log");
ok wait_for(sub { !kill 0 => $pid }), 'ends it';
ok !-e "$here/pid" && !-e "$here/control", 'and nothing is left';

# --- what a start finds ------------------------------------------------------------------------------

($conf, $here) = conf("http_port 127.0.0.1:0 name=main\nshutdown_lifetime 1 second\n");
my $stale = IO::Socket::UNIX->new(Local => "$here/control", Listen => 1);
close $stale;
open my $old, '>', "$here/pid" or die;
print $old "$$\n";                         # a process that lives, and is no server
close $old;
is bobtail('-f', $conf)->{status}, 0, 'a socket and a pid file that were left behind are taken over';
($pid) = slurp("$here/pid") =~ /^(\d+)$/;
isnt $pid, $$, 'the number is the new one';
is ctl({ control => "$here/control" }, 'stop')->{status}, 0, 'and it stops';
ok wait_for(sub { !kill 0 => $pid }), 'for good';

# Whoever starts it may have closed the standard descriptors: ports and logs must not take their place.
is system('/bin/sh', '-c', 'exec "$0" -f "$1" <&- >&- 2>&-', $ENV{BOBTAIL}, $conf), 0, 'a daemon without standard descriptors';
($pid) = slurp("$here/pid") =~ /^(\d+)$/;
is scalar(grep { (readlink "/proc/$pid/fd/$_") eq '/dev/null' } 0 .. 2), 3, 'has /dev/null there';
$port = (slurp("$here/cache.log") =~ /accepting on 127\.0\.0\.1:(\d+) \(main\)/g)[-1];
is get("127.0.0.1:$port", $origin->url('/a'))->status, 200, 'and serves';
is ctl({ control => "$here/control" }, 'stop')->{status}, 0, 'can be talked to';
ok wait_for(sub { !kill 0 => $pid }), 'and stopped';

my $log = proxy("cache_log /dev/stdout\nworkers 2\n", workers => 2);
like $log->output, qr/accepting on/, 'cache_log /dev/stdout';
is ctl($log, 'rotate')->{status}, 0, 'and rotation does not mind';
my $silent = proxy("cache_log none\n");
unlike $silent->output . $silent->log, qr/accepting/, 'cache_log none';
my $more = proxy("workers 2\n", workers => 2, args => [ '-d', '1' ]);
like $more->output, qr/accepting on/, '-d: standard error, too';
like $more->log, qr/accepting on/, 'beside the log';
# Below the range from which the kernel gives ports to those who run beside us.
my ($lowest) = slurp('/proc/sys/net/ipv4/ip_local_port_range') =~ /^(\d+)/;
my $free;
for (1 .. 100) {
    $free = 2000 + int rand $lowest - 2000;
    last if IO::Socket::IP->new(LocalHost => '0.0.0.0', LocalPort => $free, Listen => 1);
}
my $added = proxy('', args => [ '-a', $free ]);
is get("127.0.0.1:$free", $origin->url('/a'))->status, 200, '-a: one more port';
is get($added, $origin->url('/a'))->status, 200, 'beside the configured one';
my $named = proxy("visible_hostname \${service_name}.test\ncache_log \@DIR\@/\${service_name}.log\n", args => [ '-n', 'north' ]);
like $named->text('north.log'), qr/accepting on/, '-n: ${service_name} in the configuration';
my $limited = proxy("max_filedescriptors 300\ncoredump_dir \@DIR\@\numask 077\ndebug_options ALL,1 28,3 rotate=1\n");
like slurp('/proc/' . $limited->pid . '/limits'), qr/^Max open files\s+300 /m, 'max_filedescriptors';
is readlink('/proc/' . $limited->pid . '/cwd'), $limited->dir, 'coredump_dir';
is sprintf('%o', (CORE::stat $limited->file('cache.log'))[2] & 0777), '600', 'umask';
my $squids = proxy("max_filedesc 400\ndebug_options ALL 33,2\n");
like slurp('/proc/' . $squids->pid . '/limits'), qr/^Max open files\s+400 /m, 'max_filedesc is the same';
ok $squids->wait_log(qr/"ALL" is ignored: expected ALL,LEVEL/), 'half a level is ignored, as in Squid, and warned about';
ok $squids->wait_log(qr/section 33 is one of Squid's/), 'a section of Squid is warned about';

# --- rights ------------------------------------------------------------------------------------------

SKIP: {
    skip 'not root', 1 if $>;
    my @nobody = getpwnam 'nobody';
    my $dropped = proxy("workers 2\ncache_effective_user nobody\n", workers => 2);
    my ($worker) = $dropped->workers;
    my $status = slurp("/proc/$worker/status");
    like $status, qr/^Uid:\s+$nobody[2]\s+$nobody[2]\s+$nobody[2]\s/m, 'workers are cache_effective_user';
    like $status, qr/^Gid:\s+$nobody[3]\s+$nobody[3]\s+$nobody[3]\s/m, 'of its group';
    like $status, qr/^CapEff:\s+0+$/m, 'without capabilities';
    like $status, qr/^NoNewPrivs:\s+1$/m, 'and get none any more';
    is get($dropped, $origin->url('/a'))->status, 200, 'and serve';
    my @log = CORE::stat $dropped->file('cache.log');
    is $log[4], $nobody[2], 'the log is theirs';
    is ctl($dropped, 'rotate')->{status}, 0, 'so that it can be rotated';
    my @open = map { readlink } glob "/proc/$worker/fd/*";
    ok grep({ $_ eq $dropped->file('cache.log') } @open), 'and opened anew';

    my $group = proxy("cache_effective_user nobody\ncache_effective_group daemon\n");
    $status = slurp('/proc/' . $group->pid . '/status');
    my $gid = getgrnam 'daemon';
    like $status, qr/^Gid:\s+$gid\s/m, 'cache_effective_group';
    like $status, qr/^Groups:\s+$gid\s*$/m, 'is the only one';
    like $status, qr/^Uid:\s+$nobody[2]\s/m, 'one process (-N) drops its rights as well';

    # An ordinary user has nothing to drop, and cannot have every port.
    my ($low) = conf("http_port 127.0.0.1:81\n");
    chmod 0755, $dir;
    my $pid = fork // die;
    if (!$pid) {
        my $may = slurp('/proc/sys/net/ipv4/ip_unprivileged_port_start') + 0 > 81;
        POSIX::setgid($nobody[3]);
        POSIX::setuid($nobody[2]);
        my $said = bobtail('-N', '-f', $low);
        POSIX::_exit(!$may ? 0 : $said->{status} eq '1' && $said->{output} =~ /:81.*not permitted; ports below 1024/ ? 0 : 1);
    }
    waitpid $pid, 0;
    is $?, 0, 'a port below 1024 for an ordinary user: refused with a reason';
}
done;

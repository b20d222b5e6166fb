# 7G-log-troubles.t - places of logs that go away: counted, said once, tried again; nobody waits for them.
use Bobtail::Test;
use POSIX ();

my $origin = origin('/a' => { body => 'one' });

# A worker that has fenced itself in sees a folder that was made anew after the next reload only.
for my $how ([ '-N' ], [ 'with workers', workers => 2 ]) {
    my ($name, %how) = @$how;
    my $dir = Bobtail::Proxy::new_directory();
    mkdir "$dir/logs";
    chmod 0777, "$dir/logs";
    my $proxy = proxy(<<"CONF", %how);
logfile_rotate 0
sandbox off
access_log stdio:$dir/logs/access.log squid
CONF
    my $log = "$dir/logs/access.log";
    get($proxy, $origin->url('/a'));
    ok wait_for(sub { -s $log }), "$name: lines come";

    # The folder vanishes, and nobody may make a file where it was.
    rename "$dir/logs", "$dir/away" or die;
    mark($proxy);
    $proxy->expect_log(qr/access\.log cannot be opened: No such file/);
    is ctl($proxy, 'rotate')->{status}, 0, 'a rotation where the folder is gone';
    ok $proxy->wait_log(qr/access\.log cannot be opened.*tried again every 10 s/), 'is told of';
    counters($proxy, 'log_stdio.reopen_failed' => $how{workers} // 1);
    get($proxy, $origin->url('/a')) for 1 .. 4;
    ok wait_for(sub { 5 == (() = slurp("$dir/away/access.log") =~ /\n/g) }), 'lines go to the old file meanwhile';
    my $told = () = $proxy->log =~ /cannot be opened/g;
    mkdir "$dir/logs";
    chmod 0777, "$dir/logs";
    later($proxy, 11);
    ok wait_for(sub { get($proxy, $origin->url('/a')); -s $log }), 'when it is there again, lines come there, without another rotation';
    is((() = $proxy->log =~ /cannot be opened/g), $told, 'and nothing was said in between');
    counters($proxy, 'log.lost' => 0);

    # A right that was taken away: workers are another user than root.
    SKIP: {
        last if $> || !$how{workers};
        chmod 0700, "$dir/logs";
        unlink $log;
        $proxy->expect_log(qr/access\.log cannot be opened: Permission denied/);
        ctl($proxy, 'rotate');
        ok $proxy->wait_log(qr/cannot be opened: Permission denied/), 'a folder that workers may not enter is told of';
        chmod 0777, "$dir/logs";
        later($proxy, 11);
        ok wait_for(sub { get($proxy, $origin->url('/a')); -s $log }), 'and is used again when they may';
    }
}

# A reader that goes away.
my $folder = Bobtail::Proxy::new_directory();
POSIX::mkfifo("$folder/pipe", 0666) or die "mkfifo: $!";
chmod 0666, "$folder/pipe";
sysopen my $reader, "$folder/pipe", POSIX::O_RDONLY() | POSIX::O_NONBLOCK() or die "fifo: $!";
my $proxy = proxy("workers 1\naccess_log stdio:$folder/pipe squid\n", workers => 1);
get($proxy, $origin->url('/a'));
ok wait_for(sub { sysread $reader, my $line, 4096 }), 'a named pipe takes lines';
close $reader;
$proxy->expect_log(qr/stdio:\S+pipe cannot take lines \(Broken pipe\)/);
mark($proxy);
is get($proxy, $origin->url('/a'))->status, 200, 'without its reader requests are served' for 1 .. 5;
ok wait_for(sub { (stat($proxy, 'log.lost') // 0) >= 5 }), 'lines are counted as lost';
is((() = $proxy->log =~ /cannot take lines/g), 1, 'and that is said once');
sysopen $reader, "$folder/pipe", POSIX::O_RDONLY() | POSIX::O_NONBLOCK() or die "fifo: $!";
get($proxy, $origin->url('/a'));
ok wait_for(sub { sysread $reader, my $line, 4096 }), 'when it is back, lines come again';

# A disk that is full, and then is not.
my $full = proxy("workers 1\naccess_log stdio:\@DIR\@/access.log squid\nlogfile_rotate 0\n", workers => 1);
unlink $full->file('access.log');
symlink '/dev/full', $full->file('access.log') or die;
$full->expect_log(qr/access\.log cannot take lines \(No space left/);
ctl($full, 'rotate');
mark($full);
get($full, $origin->url('/a')) for 1 .. 3;
counters($full, 'log.lost' => 3);
unlink $full->file('access.log');
ctl($full, 'rotate');
get($full, $origin->url('/a'));
ok wait_for(sub { -s $full->file('access.log') }), 'room again: lines come';
counters($full, 'log.lost' => 3);
done;

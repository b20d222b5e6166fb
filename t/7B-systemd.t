# 7B-systemd.t - sd_notify, the watchdog, and sockets that systemd listens on; without systemd.
use Bobtail::Test;
use Fcntl qw(F_GETFD F_SETFD FD_CLOEXEC);
use IO::Select;
use IO::Socket::IP;
use IO::Socket::UNIX;
use POSIX ();
use Socket qw(SOCK_DGRAM SOMAXCONN);

my $dir = Bobtail::Proxy::new_directory();
my $origin = origin('/a' => { body => 'one' });

my $said = '';
sub notify_socket
{
    my ($path) = @_;
    my $socket = IO::Socket::UNIX->new(Local => $path, Type => SOCK_DGRAM) or die "notify socket: $!";
    chmod 0777, $path if $path !~ /^\0/;
    return $socket;
}

# Datagrams until one matches; undef: none came.
sub heard
{
    my ($socket, $pattern) = @_;
    my $select = IO::Select->new($socket);
    for (1 .. 200) {
        return unless $select->can_read(Bobtail::Wait::patience());
        $socket->recv(my $text, 4096);
        return $text if $text =~ $pattern;
    }
    return;
}

for my $how ([ 'with workers', workers => 2 ], ['-N']) {
    my ($name, %how) = @$how;
    my $path = "$dir/notify$name" =~ s/ //gr;
    my $notify = notify_socket($path);
    my $proxy = proxy($how{workers} ? "workers 2\n" : '', %how,
        env => { NOTIFY_SOCKET => $path, WATCHDOG_USEC => 200_000 });
    my $text = heard($notify, qr/^READY=1$/m);
    like $text // 'nothing', qr/^MAINPID=@{[ $proxy->pid ]}\nSTATUS=/m, "$name: READY, whose, and how";
    ok heard($notify, qr/^WATCHDOG=1$/), 'the watchdog is told' for 1 .. 3;
    if ($how{workers}) {
        is ctl($proxy, 'reload')->{status}, 0, 'a reload';
        $text = heard($notify, qr/^RELOADING=1$/m);
        like $text // 'nothing', qr/^MONOTONIC_USEC=\d+$/m, 'is announced';
        ok heard($notify, qr/^READY=1\nMAINPID=@{[ $proxy->pid ]}\nSTATUS=Generation 2 /), 'and its end, by the next image';
        ok heard($notify, qr/^WATCHDOG=1$/), 'which goes on telling that it lives';
        $proxy->write_conf("workers 2\nfrobnicate\n");
        is ctl($proxy, 'reload')->{status}, 1, 'a reload that is refused';
        ok heard($notify, qr/^RELOADING=1$/m), 'is announced';
        ok heard($notify, qr/^READY=1\n.*refused$/ms), 'and over as well';
        $proxy->expect_log(qr/error: reload: .*frobnicate/, qr/error: reload: the configuration was not taken/);
        my ($worker) = $proxy->workers;
        unlike slurp("/proc/$worker/environ"), qr/^NOTIFY_SOCKET=x/m, 'its workers are others';
        $proxy->{descriptors} = {};
    }
    $proxy->signal('TERM');
    ok heard($notify, qr/^STOPPING=1$/m), 'STOPPING';
    waitpid $proxy->pid, 0;
    is $? >> 8, 0, 'it has stopped';
    delete $proxy->{pid};
}

# In the abstract name space, as in containers; and one that nobody reads.
my $name = "bobtail-test-$$";
my $abstract = notify_socket("\0$name");
my $proxy = proxy('', env => { NOTIFY_SOCKET => "\@$name" });
ok heard($abstract, qr/^READY=1/), 'a socket without a file';
proxy('', env => { NOTIFY_SOCKET => "$dir/nobody" });
proxy('', env => { NOTIFY_SOCKET => 'no path', WATCHDOG_USEC => 'soon' });

# --- sockets that somebody else listens on ------------------------------------------------------

# Starts a server as systemd does: descriptors from 3 on, and LISTEN_PID its own. The program between
# does it, since this one has other things there.
sub activated
{
    my ($conf, $names, @sockets) = @_;
    my $wrap = "$dir/wrap";
    open my $script, '>', $wrap or die;
    print $script <<'WRAP';
#!/usr/bin/perl
use POSIX;
my @fd = split / /, $ENV{GIVE};
POSIX::dup2($fd[$_], 100 + $_) for 0 .. $#fd;
POSIX::close($_) for @fd;
for (0 .. $#fd) { POSIX::dup2(100 + $_, 3 + $_); POSIX::close(100 + $_) }
$ENV{LISTEN_PID} = $$;
exec @ARGV;
WRAP
    close $script;
    chmod 0755, $wrap;
    local $ENV{BT_WRAP} = $wrap;
    local $ENV{GIVE} = join ' ', map { fileno $_ } @sockets;
    local $ENV{LISTEN_FDS} = @sockets;
    local $ENV{LISTEN_FDNAMES} = $names;
    fcntl $_, F_SETFD, 0 for @sockets;
    return proxy($conf, workers => 2);
}

my @sockets = map { IO::Socket::IP->new(LocalHost => '127.0.0.1', LocalPort => 0, Listen => SOMAXCONN) or die } 1 .. 3;
my @numbers = map { $_->sockport } @sockets;
my $early = IO::Socket::IP->new(PeerHost => '127.0.0.1', PeerPort => $numbers[0]) or die;
my $server = activated(<<"CONF", 'unknown:byname:stray', @sockets);
workers 2
http_port 127.0.0.1:$numbers[0]
http_port 127.0.0.1:0 name=byname
CONF
close $_ for @sockets;
$server->{gauges}{'client.open'} = 0;    # of the one who was there before
is get("127.0.0.1:$numbers[0]", $origin->url('/a'))->status, 200, 'a socket is taken by its address';
is get("127.0.0.1:$numbers[1]", $origin->url('/a'))->status, 200, 'another by its name';
is $server->port_of('byname'), $numbers[1], 'which says where the port is';
ok wait_for(sub { !IO::Socket::IP->new(PeerHost => '127.0.0.1', PeerPort => $numbers[2]) }), 'a third, of no port, is closed';
like $server->output, qr/a socket named "stray" was handed over/, 'and told of';
print $early "GET " . $origin->url('/a') . " HTTP/1.0\r\n\r\n";
like scalar(<$early>), qr/^HTTP\/1\.1 200/, 'who had connected before is served';
close $early;
my %seen;
for (1 .. 200) {
    get("127.0.0.1:$numbers[0]", $origin->url('/a'));
    last if 2 == ($seen{both} = grep { $_->{requests} } @{ JSON::PP::decode_json(ctl($server, 'workers', '--json')->{output}) });
}
is $seen{both}, 2, 'each worker gets some of it';
is ctl($server, 'reload')->{status}, 0, 'a reload';
is get("127.0.0.1:$numbers[$_]", $origin->url('/a'))->status, 200, 'keeps them' for 0, 1;
$server->{descriptors} = {};

# Not for us.
my $other = IO::Socket::IP->new(LocalHost => '127.0.0.1', LocalPort => 0, Listen => 5) or die;
$proxy = proxy('', env => { LISTEN_PID => 1, LISTEN_FDS => 1, LISTEN_FDNAMES => 'x' });
is get($proxy, $origin->url('/a'))->status, 200, "another process's sockets are left alone";
done;

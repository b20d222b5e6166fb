# Bobtail::Peer - real programs as peers: nginx, dnsmasq, rsyslogd, curl.
#
#   my $nginx = nginx(<<'CONF', %how);       the inside of its server block; how: http => lines for
#   location / { return 200 "hi\n"; }        the http block, files => { 'a.html' => TEXT } for its root
#   CONF                                     -> ->addr ->port ->url(PATH) ->log ->root
#   my $dns = dnsmasq('a.test' => '127.0.0.1', 'b.test' => ['127.0.0.1', '::1'], -ttl => 60);
#                                            names that are not listed do not exist
#                                            -> ->addr ("127.x.y.z:port") ->ip ->port ->queries('a.test')
#   my $syslog = rsyslogd();                 ->socket (a path) ->tcp ->udp ("addr:port"); ->lines: what it
#                                            has written, each a hash of pri time host tag app msgid data msg
#   my $said = curl($proxy, $url, ARG...);   -> { status, output }: curl -sS -x PROXY URL ARG...
#
# nginx gets its socket from here (as in its own binary upgrade), so that nobody guesses a port.
# dnsmasq cannot be handed one: it gets an address of 127/8 of its own and a port that the kernel
# found free there. SPDX-License-Identifier: GPL-2.0-or-later
package Bobtail::Peer;
use strict;
use warnings;
use Exporter 'import';
use Fcntl qw(F_GETFD F_SETFD FD_CLOEXEC);
use File::Path ();
use IO::Socket::IP;
use POSIX qw(WNOHANG);
use Socket qw(SOMAXCONN);
use Test::More ();
use Bobtail::Proxy ();
use Bobtail::Stat qw(run_program);
use Bobtail::Wait;

our @EXPORT = qw(nginx dnsmasq rsyslogd curl);
my @all;

sub find_program
{
    my ($name) = @_;
    for (split(/:/, $ENV{PATH}), '/usr/local/sbin', '/usr/sbin', '/sbin') {
        return "$_/$name" if -x "$_/$name";
    }
    return;
}

# Starts a program whose output goes to DIR/output.
sub start
{
    my ($self, @command) = @_;
    $self->{owner} = $$;
    $self->{pid} = fork // die "fork: $!";
    if (!$self->{pid}) {
        CORE::open STDIN, '<', '/dev/null';
        CORE::open STDOUT, '>>', "$self->{dir}/output";
        CORE::open STDERR, '>&', \*STDOUT;
        exec { $command[0] } @command or POSIX::_exit(127);
    }
    push @all, $self;
    return $self;
}

sub stop
{
    my ($self) = @_;
    return unless $self->{pid} && $self->{owner} == $$;
    kill TERM => $self->{pid};
    wait_for(sub { waitpid($self->{pid}, WNOHANG) }, 5) or do {
        kill KILL => $self->{pid};
        waitpid $self->{pid}, 0;
    };
    delete $self->{pid};
    File::Path::remove_tree($self->{dir});
    return;
}

sub alive { my ($self) = @_; return waitpid($self->{pid}, WNOHANG) == 0 }
sub stop_all { $_->stop for @all; @all = (); return }
END { my $status = $?; stop_all(); $? = $status }

sub ip { return $_[0]{ip} }
sub port { return $_[0]{port} }
sub addr { return "$_[0]{ip}:$_[0]{port}" }
sub url { my ($self, $path) = @_; return 'http://' . $self->addr . ($path // '/') }
sub root { return "$_[0]{dir}/root" }
sub log { return slurp("$_[0]{dir}/access.log") }

# --- nginx ------------------------------------------------------------------------------------

sub nginx
{
    my ($inside, %how) = @_;
    my $program = find_program('nginx') or die 'nginx is not on this machine; see need()';
    my $dir = Bobtail::Proxy::new_directory();
    my $socket = IO::Socket::IP->new(LocalHost => '127.0.0.1', LocalPort => 0, Listen => SOMAXCONN)
        or die "nginx: cannot listen: $@";
    my $self = bless { dir => $dir, ip => '127.0.0.1', port => $socket->sockport }, __PACKAGE__;

    mkdir "$dir/root";
    Bobtail::Proxy::write_file("$dir/root/$_", $how{files}{$_}) for keys %{ $how{files} // {} };
    my $http = $how{http} // '';
    my $user = $> == 0 ? 'user root;' : '';
    Bobtail::Proxy::write_file("$dir/nginx.conf", <<"CONF");
daemon off;
$user
worker_processes 1;
pid $dir/pid;
error_log $dir/error.log;
events { worker_connections 512; }
worker_shutdown_timeout 1s;
http {
    access_log $dir/access.log;
    client_body_temp_path $dir/body;
    proxy_temp_path $dir/proxy;
    fastcgi_temp_path $dir/fastcgi;
    uwsgi_temp_path $dir/uwsgi;
    scgi_temp_path $dir/scgi;
    $http
    server {
        listen 127.0.0.1:$self->{port};
        root $dir/root;
        $inside
    }
}
CONF
    fcntl $socket, F_SETFD, fcntl($socket, F_GETFD, 0) & ~FD_CLOEXEC;
    local $ENV{NGINX} = fileno($socket) . ';';
    $self->start($program, '-p', $dir, '-e', "$dir/error.log", '-c', "$dir/nginx.conf");
    # The socket listens already; the pid file says that nginx has taken it.
    wait_for(sub { -s "$dir/pid" || !$self->alive }) && $self->alive
        or die "nginx did not start:\n" . slurp("$dir/error.log") . slurp("$dir/output");
    return $self;
}

# --- dnsmasq ----------------------------------------------------------------------------------

my $made = 0;

sub dnsmasq
{
    my (%records) = @_;
    my $program = find_program('dnsmasq') or die 'dnsmasq is not on this machine; see need()';
    my $ttl = delete $records{-ttl} // 60;
    my @hosts;

    for my $name (sort keys %records) {
        my $addrs = $records{$name};
        push @hosts, map { "--host-record=$name,$_,$ttl" } ref $addrs ? @$addrs : $addrs;
    }
    # An address of this process's own: in its way can only be a socket bound to all addresses.
    for (1 .. 5) {
        my $number = $$ * 8 + $made++;
        my $ip = sprintf '127.%d.%d.%d', 64 + ($number >> 16) % 64, $number >> 8 & 255, 1 + $number % 254;
        my $probe = IO::Socket::IP->new(LocalHost => $ip, LocalPort => 0, Proto => 'udp') or next;
        my $self = bless { dir => Bobtail::Proxy::new_directory(), ip => $ip, port => $probe->sockport },
            __PACKAGE__;
        CORE::close($probe);
        $self->start($program, '--keep-in-foreground', '--conf-file=/dev/null', "--port=$self->{port}",
            "--listen-address=$ip", '--bind-interfaces', '--no-resolv', '--no-hosts', '--pid-file=',
            '--log-queries', "--log-facility=$self->{dir}/access.log", '--local=/#/', '--cache-size=0',
            ($> == 0 ? '--user=root' : ()), @hosts);
        return $self if wait_for(sub { !$self->alive || dns_answers($self) }) && $self->alive;
        Test::More::diag('dnsmasq did not start: ' . slurp("$self->{dir}/output"));
    }
    die 'dnsmasq did not start';
}

# Asks for a name that does not matter; any answer will do.
sub dns_answers
{
    my ($self) = @_;
    my $socket = IO::Socket::IP->new(PeerHost => $self->{ip}, PeerPort => $self->{port}, Proto => 'udp')
        or return 0;
    $socket->send(pack 'n6 C/a C n2', 7, 0x0100, 1, 0, 0, 0, 'ready', 0, 1, 1) or return 0;
    return readable($socket, 0.1) && defined $socket->recv(my $answer, 512);
}

# How often a name was asked for, A and AAAA together; or of one type: queries('a.test', 'AAAA').
sub queries
{
    my ($self, $name, $type) = @_;
    $type //= '\w+';
    my $log = slurp("$self->{dir}/access.log");
    return scalar(() = $log =~ /query\[$type\] \Q$name\E from/g);
}

# --- rsyslogd ---------------------------------------------------------------------------------

# What it makes of a message, a field a line of the template.
my @syslog_fields = qw(pri time host tag app procid msgid data msg);

sub rsyslogd
{
    my $program = find_program('rsyslogd') or die 'rsyslogd is not on this machine; see need()';
    my $probe = IO::Socket::IP->new(LocalHost => '127.0.0.1', LocalPort => 0, Proto => 'udp') or die "rsyslogd: $@";
    my $dir = Bobtail::Proxy::new_directory();
    my $self = bless { dir => $dir, ip => '127.0.0.1', udp => $probe->sockport }, __PACKAGE__;
    my $template = join '\\t', map { "%$_%" } 'pri-text', 'timestamp:::date-rfc3339', 'hostname', 'syslogtag', 'app-name',
        'procid', 'msgid', 'structured-data', 'msg';

    CORE::close($probe);
    Bobtail::Proxy::write_file("$dir/rsyslog.conf", <<"CONF");
global(workDirectory="$dir" maxMessageSize="64k" parser.escapeControlCharactersOnReceive="off")
module(load="imuxsock" SysSock.Use="off")
module(load="imtcp")
module(load="imudp")
input(type="imuxsock" Socket="$dir/log" RateLimit.Interval="0" UseSysTimeStamp="off")
input(type="imtcp" address="127.0.0.1" port="0" listenPortFileName="$dir/port")
input(type="imudp" address="127.0.0.1" port="$self->{udp}")
template(name="all" type="string" string="$template\\n")
action(type="omfile" file="$dir/messages" template="all" asyncWriting="off" flushOnTXEnd="on")
CONF
    $self->start($program, '-n', '-f', "$dir/rsyslog.conf", '-i', "$dir/pid");
    wait_for(sub { (-s "$dir/port" && -S "$dir/log") || !$self->alive }) && $self->alive
        or die "rsyslogd did not start:\n" . slurp("$dir/output");
    chmod 0777, "$dir/log";
    $self->{tcp} = slurp("$dir/port") =~ /(\d+)/ && $1;
    return $self;
}

# Ended, with its files left; and a new one in its place, at the same path and port of UDP.
sub away
{
    my ($self) = @_;
    kill TERM => $self->{pid};
    waitpid $self->{pid}, 0;
    return;
}

sub again
{
    my ($self) = @_;
    unlink map { "$self->{dir}/$_" } qw(log port pid);
    $self->start(find_program('rsyslogd'), '-n', '-f', "$self->{dir}/rsyslog.conf", '-i', "$self->{dir}/pid");
    wait_for(sub { -S "$self->{dir}/log" && -s "$self->{dir}/port" });
    chmod 0777, "$self->{dir}/log";
    return;
}

sub socket { return "$_[0]{dir}/log" }
sub tcp { return "127.0.0.1:$_[0]{tcp}" }
sub udp { return "127.0.0.1:$_[0]{udp}" }
sub lines
{
    my ($self) = @_;
    return map { my %line; @line{@syslog_fields} = split /\t/, $_, scalar @syslog_fields; \%line }
        split /\n/, slurp("$self->{dir}/messages");
}

# --- curl -------------------------------------------------------------------------------------

sub curl
{
    my ($proxy, $url, @more) = @_;
    my $program = find_program('curl') or die 'curl is not on this machine; see need()';
    my $addr = ref $proxy ? $proxy->addr : $proxy;
    local @ENV{qw(http_proxy https_proxy all_proxy no_proxy NO_PROXY)};
    return run_program($program, '-q', '-sS', '--max-time', patience(), '-x', "http://$addr", $url, @more);
}

1;

# Bobtail::Proxy - a server under test: started on ports that the kernel chose, and looked over at
# its end.
#
#   my $proxy = proxy(<<'CONF', %how);       how: workers => N (without: one process, -N),
#   cache_mem 8 MB                                args => [...] more of the command line,
#   CONF                                          env => {...}, files => { 'list.txt' => TEXT, ... }
#
# @DIR@ in the text becomes the server's own directory (->dir), where its files are. What a test
# needs and the text does not say is added below it, so that line numbers stay: a port on 127.0.0.1,
# `http_access allow all`, no pid file, no access log, logs and control socket in the directory.
#
# ->addr and ->port of the first port, ->port_of('name=' of a port line); ->log, ->output (stdout and
# stderr); ->file('x') path, ->text('access.log') contents; ->pid, ->workers (their pids);
# ->signal('HUP'); ->wait_log(qr/../); ->expect_log(qr/../) an error line that shall be there;
# ->stop and its checks are called by done.
# SPDX-License-Identifier: GPL-2.0-or-later
package Bobtail::Proxy;
use strict;
use warnings;
use Exporter 'import';
use Fcntl qw(F_GETFD F_SETFD FD_CLOEXEC);
use File::Path ();
use File::Temp ();
use POSIX qw(WNOHANG);
use Test::More ();
use Bobtail::Stat;
use Bobtail::Wait;

our @EXPORT = qw(proxy bobtail parse);
my @all;

# Seconds that descriptors and gauges may take to settle at the end.
our $moment = 5;

# Directives that a test may leave out. 127.0.0.1 is in no other test's way: the port is 0.
my @defaults = (
    [qr/https?_port|ascii_port/, 'http_port 127.0.0.1:0'],
    [qr/http_access/, 'http_access allow all'],
    [qr/pid_filename/, 'pid_filename none'],
    [qr/(?:cache_)?access_log/, 'access_log none'],
    [qr/cache_log/, 'cache_log @DIR@/cache.log'],
    [qr/control_socket/, 'control_socket @DIR@/control'],
    [qr/visible_hostname/, 'visible_hostname proxy.test'],
    [qr/shutdown_lifetime/, 'shutdown_lifetime 2 seconds'],
    [qr/coredump_dir/, 'coredump_dir none'],
);

# A directory that the server can write to after it has dropped its rights.
sub new_directory
{
    my $dir = File::Temp::tempdir('bobtail-XXXXXXXX', TMPDIR => 1);
    chmod 0777, $dir;
    return $dir;
}

sub write_file
{
    my ($path, $text) = @_;
    CORE::open my $file, '>', $path or die "$path: $!";
    print $file $text;
    CORE::close($file) or die "$path: $!";
    return;
}

sub whole_conf
{
    my ($conf, $dir) = @_;
    $conf .= "\n" if $conf ne '' && $conf !~ /\n\z/;
    for (@defaults) {
        my ($name, $line) = @$_;
        $conf .= "$line\n" unless $conf =~ /^\s*$name\s/m;
    }
    $conf =~ s/\@DIR\@/$dir/g;
    return $conf;
}

sub proxy
{
    my ($conf, %how) = @_;
    my $dir = new_directory();
    my $self = bless { dir => $dir, how => \%how, owner => $$, expected => [], ports => {}, names => [],
        control => "$dir/control" }, __PACKAGE__;

    push @all, $self;
    write_file("$dir/$_", $how{files}{$_} =~ s/\@DIR\@/$dir/gr) for keys %{ $how{files} // {} };
    $self->write_conf($conf // '');
    if (!$self->start) {
        Test::More::diag("the server did not start:\n" . $self->output . $self->log);
        $self->kill_it;
        die "proxy: the server did not start\n";
    }
    return $self;
}

sub write_conf
{
    my ($self, $conf) = @_;
    my $workers = $self->{how}{workers} // 0;
    my $whole = whole_conf($conf, $self->{dir});
    $whole .= "workers $workers\n" if $workers > 1 && $whole !~ /^\s*workers\s/m;
    write_file("$self->{dir}/bobtail.conf", $whole);
    return;
}

sub start
{
    my ($self) = @_;
    my %how = %{ $self->{how} };
    my $conf = "$self->{dir}/bobtail.conf";

    $ENV{BOBTAIL} or die "proxy: run tests by 'make check' or t/run-tests: \$BOBTAIL is not set\n";
    pipe my $ready, my $its or die "pipe: $!";
    $self->{pid} = fork // die "fork: $!";
    if (!$self->{pid}) {
        my @command = ($ENV{BOBTAIL}, $how{workers} ? '--foreground' : '-N', '-f', $conf, '--test',
            '--ready-fd', fileno $its, @{ $how{args} // [] });
        unshift @command, split ' ', $ENV{BT_WRAP} if $ENV{BT_WRAP};
        $ENV{$_} = $how{env}{$_} for keys %{ $how{env} // {} };
        fcntl $its, F_SETFD, fcntl($its, F_GETFD, 0) & ~FD_CLOEXEC;
        CORE::open STDIN, '<', '/dev/null';
        CORE::open STDOUT, '>>', "$self->{dir}/output";
        CORE::open STDERR, '>&', \*STDOUT;
        exec { $command[0] } @command or POSIX::_exit(127);
    }
    CORE::close($its);
    $self->await_ready($ready) or return 0;
    $self->{counted_from} = stats($self);
    $self->{gauges} = stats($self, '--kind', 'gauge');
    # bobtailctl's own connection is closed a moment after its answer.
    $self->{descriptors} = { map { $_ => settled($_) } $self->carriers };
    return 1;
}

# Reads the descriptor that --ready-fd names: "port NAME ADDR:PORT" lines, "control PATH", "ready".
sub await_ready
{
    my ($self, $ready) = @_;
    my $said = '';

    while ($said !~ /^ready$/m) {
        readable($ready, 2 * patience()) && sysread $ready, $said, 4096, length $said or return 0;
    }
    while ($said =~ /^port (\S+) (\S+)$/mg) {
        push @{ $self->{names} }, $1;
        push @{ $self->{told}{$1} }, $2;
        $self->{ports}{$1} = $2;
    }
    $self->{control} = $1 if $said =~ /^control (.+)$/m;
    return @{ $self->{names} } > 0;
}

sub dir { return $_[0]{dir} }
sub pid { return $_[0]{pid} }
sub file { my ($self, $name) = @_; return "$self->{dir}/$name" }
sub text { my ($self, $name) = @_; return slurp($self->file($name)) }
sub log { return $_[0]->text('cache.log') }
sub output { return $_[0]->text('output') }
sub signal { my ($self, $name) = @_; return kill $name => $self->{pid} }
sub expect_log { my ($self, @patterns) = @_; push @{ $self->{expected} }, @patterns; return }

sub wait_log
{
    my ($self, $pattern) = @_;
    return wait_for(sub { ($self->log . $self->output) =~ $pattern });
}

sub addr { my ($self, $name) = @_; return $self->{ports}{ $name // $self->{names}[0] } }
sub port { my ($self) = @_; return ($self->addr =~ /:(\d+)$/)[0] }
sub port_of { my ($self, $name) = @_; return (($self->{ports}{$name} // '') =~ /:(\d+)$/)[0] }
# Of several ports of one name, all.
sub ports_told { my ($self, $name) = @_; return @{ $self->{told}{$name} // [] } }
sub ports { my ($self) = @_; return map { $self->{ports}{$_} } @{ $self->{names} } }

sub children_of
{
    my ($parent) = @_;
    my @children;
    for (glob '/proc/[0-9]*/stat') {
        my ($pid, $of) = slurp($_) =~ /^(\d+) \(.*\) \S (\d+)/s or next;
        push @children, $pid if $of == $parent;
    }
    return sort { $a <=> $b } @children;
}

sub workers { my ($self) = @_; return $self->{how}{workers} ? children_of($self->{pid}) : $self->{pid} }
sub carriers { my ($self) = @_; return $self->{how}{workers} ? ($self->{pid}, $self->workers) : $self->{pid} }

sub descriptors_of { my ($pid) = @_; return { map { $_ => readlink($_) // '' } glob "/proc/$pid/fd/*" } }

# The number of descriptors once two looks in a row agree.
sub settled
{
    my ($pid) = @_;
    my $last = -1;
    wait_for(sub {
        my $now = keys %{ descriptors_of($pid) };
        my $same = $now == $last;
        $last = $now;
        return $same;
    }, 2);
    return descriptors_of($pid);
}

# --- the end ----------------------------------------------------------------------------------

# Stops it and says what was wrong, as a list of sentences.
sub stop
{
    my ($self) = @_;
    return unless $self->{pid};
    my @wrong = $self->{dies} ? () : ($self->left_open, $self->left_counted);

    kill TERM => $self->{pid};
    my $gone = wait_for(sub { waitpid($self->{pid}, WNOHANG) == $self->{pid} }, 2 * patience());
    my $status = $?;
    if (!$gone) {
        push @wrong, 'it did not stop after SIGTERM';
        $self->kill_it;
    } elsif ($status & 127) {
        push @wrong, 'it died of signal ' . ($status & 127);
    } elsif ($status) {
        push @wrong, 'its exit status is ' . ($status >> 8);
    }
    delete $self->{pid};
    return (@wrong, $self->said_wrong);
}

# Ends it at once, with its workers, each by its own pid.
sub kill_it
{
    my ($self) = @_;
    return unless $self->{pid} && $self->{owner} == $$;
    my @workers = children_of($self->{pid});
    kill KILL => $self->{pid}, @workers;
    waitpid $self->{pid}, 0;
    delete $self->{pid};
    return;
}

sub left_open
{
    my ($self) = @_;
    my @wrong;

    ctl($self, 'idle', 'close');                       # kept origin connections are no leak
    for my $pid ($self->carriers) {
        my $before = $self->{descriptors}{$pid} or next;    # a worker that came later
        my $now;
        wait_for(sub { $now = descriptors_of($pid); keys %$now <= keys %$before }, $moment);
        next if keys %$now <= keys %$before;
        my %known;
        $known{$_}++ for values %$before;
        push @wrong, "process $pid has left open: "
            . join(', ', map { "$_ ($now->{$_})" } grep { --$known{ $now->{$_} } < 0 } sort keys %$now);
    }
    return @wrong;
}

sub left_counted
{
    my ($self) = @_;
    my %before = %{ $self->{gauges} // {} };
    my (%now, @off);

    # It keeps what it has.
    delete @before{qw(cache.size cache.used cache.live cache.bodies cache.objects cache.oldest
        tls.leaves tls.leaf_bytes tls.shared_leaves tls.shared_leaf_bytes tls.shared_leaf_room tls.ca_days
        worker.resident worker.resident_max worker.descriptors worker.descriptors_max worker.busy lua.memory)};
    wait_for(sub {
        %now = %{ stats($self, '--kind', 'gauge') };
        @off = grep { ($now{$_} // 0) != ($before{$_} // 0) } sort keys %before;
        return %now && !@off;
    }, $moment);
    return 'bobtailctl told no gauges' unless %now && %before;
    return map { "gauge $_ is $now{$_}, and was $before{$_} when it stood" } @off;
}

# What no log may have: panics, sanitizers, and errors that the test has not announced.
my $never = qr/\bpanic\b|AddressSanitizer|LeakSanitizer|UndefinedBehaviorSanitizer|runtime error:/;
sub said_wrong
{
    my ($self) = @_;
    my @lines = split /\n/, $self->log . "\n" . $self->output;
    my @expected = @{ $self->{expected} };
    my (@wrong, %met);

    for my $line (@lines) {
        my ($wanted) = grep { $line =~ $expected[$_] } 0 .. $#expected;
        $met{$wanted} = 1 if defined $wanted;
        next if defined $wanted;
        push @wrong, "it said: $line" if $line =~ $never || $line =~ /^\S+ \S+ .*?\| error: /;
    }
    push @wrong, map { "it never said $expected[$_]" } grep { !$met{$_} } 0 .. $#expected;
    return @wrong;
}

# One test for each server: called by done.
my $looked_over = 0;
sub check_all
{
    my $number = 0;
    $looked_over = 1;
    for my $self (grep { $_->{pid} } @all) {
        my @wrong = $self->stop;
        my $name = @all > 1 ? 'server ' . ++$number . ' ended clean' : 'the server ended clean';
        next if Test::More::ok(!@wrong, $name);
        Test::More::diag($_) for @wrong[0 .. ($#wrong > 20 ? 20 : $#wrong)];
        Test::More::diag('its files are kept in ' . $self->{dir});
        $self->{keep} = 1;
    }
    return;
}

END {
    my $status = $?;
    for my $self (@all) {
        next if $self->{owner} != $$;
        $self->kill_it;
        # Of a test that broke off, all may be of use.
        File::Path::remove_tree($self->{dir}) unless $self->{keep} || ($status && !$looked_over);
    }
    $? = $status;
}

# --- without a server -------------------------------------------------------------------------

# bobtail(WORD...): runs the program to its end: { status, output }.
sub bobtail { my (@words) = @_; return run_program($ENV{BOBTAIL}, @words) }

# parse(CONF, files => {...}): what `-k parse` says of a text, just as it is: { status, output }, with
# the directory in the output written as @DIR@.
sub parse
{
    my ($conf, %how) = @_;
    my $dir = new_directory();
    my %files = (%{ $how{files} // {} }, 'bobtail.conf' => $conf);

    write_file("$dir/$_", $files{$_} =~ s/\@DIR\@/$dir/gr) for keys %files;
    my $said = bobtail('-k', 'parse', '-f', "$dir/bobtail.conf", @{ $how{args} // [] });
    $said->{output} =~ s/\Q$dir\E/\@DIR\@/g;
    File::Path::remove_tree($dir);
    return $said;
}

1;

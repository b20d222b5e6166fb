# Bobtail::Origin - a scripted HTTP server in a process of its own.
#
#   my $origin = origin('/a' => { body => 'one', 'Cache-Control' => 'max-age=60' }, ...);
#
# Keys that begin with '/' (or are '*', for every other path) are answers, others are options:
#   listen => '::1' (127.0.0.1)   tls => a server_certificate() of Bobtail::Tls
#   name => 'a.test'              what url() names instead of the address
# An answer is a hash, or a sub that gets the request ({ method, target, path, head, body, count,
# conn (number of its connection), from (its address) }) and returns one. Names in capitals are header fields (a list: several; undef: not even the one
# that comes of itself). The others:
#   status, reason      200, 'OK'           body        bytes
#   chunks => [...]     chunked, so cut     trailer     lines after the last chunk
#   until_close => 1    no length at all    close => 1  close after it
#   raw => BYTES        instead of all this interim => [BYTES, ...] before it
#   cut => N            close after N bytes reset => 1  end by RST
#   hold => 1           not before $origin->release(PATH)
#   unread => 1         answer as soon as the head is there, and leave the body unread
#   drip => N           in pieces of N bytes
# A CONNECT request without an answer (a sub may return none) is answered 200 and echoed from then on: an
# origin can play a parent proxy.
#
# ->url('/a') ->addr ->port; ->hits('/a') ->seen('/a') (last request, as received) ->body('/a')
# ->connections (accepted so far) ->open (now) ->release('/a') ->set('/a' => {...}) ->drop (all
# connections) ->stop. The child ends when its parent does.
# SPDX-License-Identifier: GPL-2.0-or-later
package Bobtail::Origin;
use strict;
use warnings;
use Exporter 'import';
use Errno qw(EAGAIN EINTR EWOULDBLOCK);
use IO::Select;
use IO::Socket::IP;
use POSIX ();
use Socket qw(AF_UNIX IPPROTO_TCP PF_UNSPEC SHUT_WR SOCK_STREAM SOL_SOCKET SOMAXCONN SO_LINGER TCP_NODELAY);
use Storable qw(freeze thaw);
use Bobtail::Wait;

our @EXPORT = qw(origin);
my @all;

my %is_word = map { $_ => 1 } qw(status reason body chunks trailer until_close close raw interim cut
    reset hold unread drip);

sub origin
{
    my (%given) = @_;
    my %answers = map { $_ => delete $given{$_} } grep { m{^[/*]} } keys %given;
    my $listener = IO::Socket::IP->new(
        LocalHost => $given{listen} // '127.0.0.1', LocalPort => 0, Listen => SOMAXCONN, Proto => 'tcp',
    ) or die "origin: cannot listen: $@";
    my $self = bless { port => $listener->sockport, options => \%given, owner => $$ }, __PACKAGE__;

    check_answer($_, $answers{$_}) for keys %answers;
    socketpair my $mine, my $its, AF_UNIX, SOCK_STREAM, PF_UNSPEC or die "origin: socketpair: $!";
    $self->{pid} = fork // die "origin: fork: $!";
    if (!$self->{pid}) {
        CORE::close($mine);
        $SIG{$_} = 'DEFAULT' for qw(TERM INT);
        $SIG{PIPE} = 'IGNORE';
        my $server = bless { answers => \%answers, options => \%given, listener => $listener,
            control => $its, connections => 0, conns => {} }, 'Bobtail::Origin::Server';
        eval { $server->serve; 1 } or print STDERR "origin: $@";
        POSIX::_exit(0);                             # the parent's END blocks are not ours
    }
    CORE::close($listener);
    $self->{control} = $mine;
    push @all, $self;
    return $self;
}

sub check_answer
{
    my ($path, $answer) = @_;
    return if ref $answer eq 'CODE';
    ref $answer eq 'HASH' or die "origin: the answer of $path is neither a hash nor a sub";
    for (keys %$answer) {
        /^[A-Z]/ || $is_word{$_} or die "origin: $path has '$_', which is neither a word nor a field";
    }
}

sub host { my ($self) = @_; my $host = $self->{options}{listen} // '127.0.0.1'; return $host =~ /:/ ? "[$host]" : $host }
sub port { return $_[0]{port} }
sub addr { my ($self) = @_; return $self->host . ':' . $self->port }

sub url
{
    my ($self, $path) = @_;
    my $scheme = $self->{options}{tls} ? 'https' : 'http';
    return "$scheme://" . ($self->{options}{name} // $self->host) . ':' . $self->port . ($path // '/');
}

sub hits { my ($self, $path) = @_; return $self->ask(hits => $path) // 0 }
sub seen { my ($self, $path) = @_; return $self->ask(seen => $path) // '' }
sub body { my ($self, $path) = @_; return $self->ask(body => $path) }
sub connections { return $_[0]->ask('connections') }
sub open { return $_[0]->ask('open') }
sub release { my ($self, $path) = @_; return $self->ask(release => $path) }
sub drop { return $_[0]->ask('drop') }
sub set { my ($self, $path, $answer) = @_; check_answer($path, $answer); return $self->ask(set => $path, $answer) }

# The value of a field in the last request for this path; undef when it had none.
sub seen_header
{
    my ($self, $path, $name) = @_;
    my @values = $self->seen($path) =~ /^\Q$name\E:[ \t]*(.*?)[ \t]*\r?$/mig;
    return @values ? join(', ', @values) : undef;
}

sub ask
{
    my ($self, @words) = @_;
    my $question = freeze \@words;
    my $answer = '';

    $self->{control} or die "origin: asked '$words[0]' after it was stopped";
    syswrite $self->{control}, pack('N/a', $question);
    while (length $answer < 4 || length $answer < 4 + unpack 'N', $answer) {
        readable($self->{control}) && sysread $self->{control}, $answer, 65536, length $answer
            or die 'origin: it does not answer any more';
    }
    return ${ thaw(unpack 'N/a', $answer) };
}

sub stop
{
    my ($self) = @_;
    return unless $self->{pid} && $self->{owner} == $$;
    CORE::close(delete $self->{control});
    kill TERM => $self->{pid};
    waitpid $self->{pid}, 0;
    delete $self->{pid};
    return;
}

sub stop_all { $_->stop for @all; @all = (); return }

END { my $status = $?; stop_all(); $? = $status }

# --- the child --------------------------------------------------------------------------------

package Bobtail::Origin::Server;
use Errno qw(EAGAIN EINTR EWOULDBLOCK);
use Socket qw(IPPROTO_TCP SHUT_WR SOL_SOCKET SO_LINGER TCP_NODELAY);
use Storable qw(freeze thaw);

sub serve
{
    my ($self) = @_;
    my $orders = '';

    $self->{listener}->blocking(0);
    while (1) {
        my ($reads, $writes) = (IO::Select->new($self->{listener}, $self->{control}), IO::Select->new);
        for my $conn (values %{ $self->{conns} }) {
            $reads->add($conn->{socket}) unless $conn->{eof};
            $writes->add($conn->{socket}) if $conn->{out} ne '';
        }
        my ($can_read, $can_write) = IO::Select->select($reads, $writes, undef, undef);
        for my $socket (@{ $can_read // [] }) {
            if ($socket == $self->{listener}) {
                $self->accept_all;
            } elsif ($socket == $self->{control}) {
                sysread $self->{control}, $orders, 65536, length $orders or return;
                $self->obey(\$orders);
            } else {
                my $conn = $self->{conns}{ fileno($socket) // -1 } or next;
                $self->read_from($conn);
            }
        }
        for my $socket (@{ $can_write // [] }) {
            my $fd = fileno $socket;
            $self->write_to($self->{conns}{$fd}) if defined $fd && $self->{conns}{$fd};
        }
    }
}

sub accept_all
{
    my ($self) = @_;
    while (my $socket = $self->{listener}->accept) {
        setsockopt $socket, IPPROTO_TCP, TCP_NODELAY, 1;
        if (my $tls = $self->{options}{tls}) {
            require Bobtail::Tls;
            $socket = Bobtail::Tls::server_side($socket, $tls) or next;
        }
        $socket->blocking(0);
        $self->{connections}++;
        $self->{conns}{ fileno $socket } = { socket => $socket, in => '', out => '',
            number => $self->{connections}, from => $socket->peerhost };
    }
    return;
}

sub obey
{
    my ($self, $orders) = @_;
    while (length $$orders >= 4 && length $$orders >= 4 + unpack 'N', $$orders) {
        my $order = unpack 'N/a', $$orders;
        substr $$orders, 0, 4 + length $order, '';
        my ($word, @rest) = @{ thaw($order) };
        my $answer = freeze \scalar $self->do_order($word, @rest);
        $answer = pack 'N/a', $answer;
        while ($answer ne '') {
            my $n = syswrite $self->{control}, $answer or return;
            substr $answer, 0, $n, '';
        }
    }
}

sub do_order
{
    my ($self, $word, $path, $answer) = @_;
    return $self->{connections} if $word eq 'connections';
    return scalar grep { !$_->{lingers} } values %{ $self->{conns} } if $word eq 'open';
    return $self->{$word}{$path} if $word =~ /^(?:hits|seen|body)$/;
    if ($word eq 'set') {
        $self->{answers}{$path} = $answer;
        delete $self->{released}{$path};
    } elsif ($word eq 'drop') {
        $self->drop_conn($_) for values %{ $self->{conns} };
    } elsif ($word eq 'release') {
        $self->{released}{$path} = 1;
        for my $conn (values %{ $self->{conns} }) {
            my $held = $conn->{held} or next;
            next if $held->{path} ne $path;
            delete $conn->{held};
            $self->answer($conn, $held);
            $self->requests_of($conn);
        }
    }
    return 1;
}

sub drop_conn
{
    my ($self, $conn) = @_;
    return if $conn->{gone}++;
    delete $self->{conns}{ fileno $conn->{socket} };
    setsockopt $conn->{socket}, SOL_SOCKET, SO_LINGER, pack('ii', 1, 0) if $conn->{reset};
    close $conn->{socket};
    return;
}

sub read_from
{
    my ($self, $conn) = @_;
    while (1) {
        my $n = sysread $conn->{socket}, $conn->{in}, 65536, length $conn->{in};
        next if $n;
        last if !defined $n && ($! == EAGAIN || $! == EWOULDBLOCK || $! == EINTR);
        return $self->drop_conn($conn) if !defined $n || $conn->{lingers};
        $conn->{eof} = 1;
        last;
    }
    if ($conn->{lingers}) {
        $conn->{in} = '';
        return;
    }
    if ($conn->{echo}) {
        $conn->{out} .= delete $conn->{in};
        $conn->{in} = '';
        $conn->{closing} = 1 if $conn->{eof};
    } else {
        $self->requests_of($conn);
    }
    # A half-closed client still gets what it is owed.
    $conn->{closing} = 1 if $conn->{eof} && !$conn->{held};
    return $self->write_to($conn);
}

# Each whole request at the front of what was received.
sub requests_of
{
    my ($self, $conn) = @_;
    while (!$conn->{held} && !$conn->{closing} && !$conn->{echo}
        && $conn->{in} =~ /^(.*?\r\n\r\n)/s) {
        my $head = $1;
        my ($method, $target) = $head =~ /^(\S+) (\S+)/ or return $self->drop_conn($conn);
        my ($path) = $target =~ m{^[a-z]+://[^/?]*(.*)$}i ? ($1 eq '' ? '/' : $1) : $target;
        my $request = { method => $method, target => $target, path => $path, head => $head, body => '',
            conn => $conn->{number}, from => $conn->{from} };
        my $scripted = $self->{answers}{$path} // $self->{answers}{'*'};

        unless (ref $scripted eq 'HASH' && $scripted->{unread}) {
            my $used = $self->body_of($request, substr $conn->{in}, length $head);
            return if !defined $used;                 # its body has not come yet
            substr $conn->{in}, 0, length($head) + $used, '';
        } else {
            $conn->{in} = '';
            $conn->{closing} = 1;
        }
        $request->{count} = ++$self->{hits}{$path};
        $self->{seen}{$path} = $head;
        $self->{body}{$path} = $request->{body};
        $self->answer($conn, $request);
    }
    return $self->write_to($conn);
}

# How many bytes of the rest are this request's body; undef when more must come.
sub body_of
{
    my ($self, $request, $rest) = @_;
    if ($request->{head} =~ /^Transfer-Encoding:.*chunked/mi) {
        my $at = 0;
        while (substr($rest, $at) =~ /^([0-9a-f]+)[^\r\n]*\r\n/i) {
            my ($size, $line) = (hex $1, length $&);
            if ($size == 0) {
                return substr($rest, $at + $line) =~ /^((?:[^\r\n]+\r\n)*\r\n)/ ? $at + $line + length $1 : undef;
            }
            return if length $rest < $at + $line + $size + 2;
            $request->{body} .= substr $rest, $at + $line, $size;
            $at += $line + $size + 2;
        }
        return;
    }
    my ($length) = $request->{head} =~ /^Content-Length:\s*(\d+)/mi;
    $length //= 0;
    return if length $rest < $length;
    $request->{body} = substr $rest, 0, $length;
    return $length;
}

sub answer
{
    my ($self, $conn, $request) = @_;
    my $answer = $self->{answers}{ $request->{path} } // $self->{answers}{'*'};

    $answer = $answer->($request) if ref $answer eq 'CODE';
    if ($request->{method} eq 'CONNECT' && !$answer) {
        $conn->{echo} = 1;
        $conn->{out} .= "HTTP/1.1 200 OK\r\n\r\n" . $conn->{in};
        $conn->{in} = '';
        return;
    }
    $answer //= { status => 404, body => "nothing at $request->{path}\n" };
    if ($answer->{hold} && !$self->{released}{ $request->{path} }) {
        $conn->{held} = $request;
        return;
    }
    my $bytes = join('', @{ $answer->{interim} // [] }) . ($answer->{raw} // whole($answer, $request));
    if (defined $answer->{cut}) {
        $bytes = substr $bytes, 0, $answer->{cut};
        $conn->{closing} = 1;
    }
    $conn->{out} .= $bytes;
    $conn->{drip} = $answer->{drip};
    $conn->{reset} = 1 if $answer->{reset};
    $conn->{closing} = 1
        if $answer->{close} || $answer->{until_close} || $answer->{reset}
        || $request->{head} =~ /^Connection:.*\bclose\b/mi
        || ($request->{head} =~ m{^\S+ \S+ HTTP/1\.0} && $request->{head} !~ /^Connection:.*keep-alive/mi);
    return;
}

sub whole
{
    my ($answer, $request) = @_;
    my $status = $answer->{status} // 200;
    my $chunks = $answer->{chunks};
    my $body = $answer->{body} // ($chunks ? join '', @$chunks : '');
    my $bare = $status == 204 || $status == 304 || $status < 200;
    my %field = (
        Date => POSIX::strftime('%a, %d %b %Y %H:%M:%S GMT', gmtime),
        ($chunks ? ('Transfer-Encoding' => 'chunked')
            : $bare || $answer->{until_close} ? () : ('Content-Length' => length $body)),
        ($answer->{close} || $answer->{until_close} ? (Connection => 'close') : ()),
        map { $_ => $answer->{$_} } grep { /^[A-Z]/ } keys %$answer,
    );
    my $head = "HTTP/1.1 $status " . ($answer->{reason} // ($status == 200 ? 'OK' : 'Scripted')) . "\r\n";

    for my $name (sort keys %field) {
        my $value = $field{$name};
        $head .= "$name: $_\r\n" for ref $value ? @$value : grep defined, $value;
    }
    $head .= "\r\n";
    return $head if $bare || $request->{method} eq 'HEAD';
    return $head . $body unless $chunks;
    return $head . join('', map { sprintf "%x\r\n%s\r\n", length, $_ } @$chunks)
        . "0\r\n" . ($answer->{trailer} // '') . "\r\n";
}

sub write_to
{
    my ($self, $conn) = @_;
    return if $conn->{gone} || $conn->{lingers};
    while ($conn->{out} ne '') {
        my $n = syswrite $conn->{socket}, $conn->{out}, $conn->{drip} // length $conn->{out};
        if (!defined $n) {
            return if $! == EAGAIN || $! == EWOULDBLOCK || $! == EINTR;
            return $self->drop_conn($conn);
        }
        substr $conn->{out}, 0, $n, '';
    }
    return unless $conn->{closing} && !$conn->{held};
    return $self->drop_conn($conn) if $conn->{reset} || $conn->{eof};
    # What the client still sends must not turn our last bytes into a reset: read on to its end.
    $conn->{lingers} = 1;
    $conn->{socket}->stop_SSL if $self->{options}{tls};
    shutdown $conn->{socket}, SHUT_WR;
    return;
}

1;

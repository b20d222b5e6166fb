# Bobtail::Client - HTTP clients for tests, from "fetch this" down to single bytes.
#
# The first argument of each is whom to talk to: a proxy(), an origin(), an nginx(), or "host:port".
#
#   get($proxy, $url, %how)               one request on a connection of its own -> a response
#   post($proxy, $url, $body, %how)
#   request($proxy, METHOD => $url, %how) how: headers => {...} or [name => value, ...], body,
#                                         chunked => [pieces], version => '1.0', on => a client()
#   raw($proxy, $bytes, %how)             these bytes, then read one response (all: until closed)
#   tunnel($proxy, 'host:port', %how)     CONNECT; a client() whose ->response is the answer
#   client($proxy)                        a connection: ->send, ->drip, ->response, ->bytes, ->rest,
#                                         ->shut, ->closed, ->reset, ->close
#
# A response has ->status ->reason ->version ->header(NAME) ->headers(NAME) ->head ->body ->whole.
# What never came is status 0. SPDX-License-Identifier: GPL-2.0-or-later
package Bobtail::Client;
use strict;
use warnings;
use Exporter 'import';
use Errno qw(EAGAIN EINTR EWOULDBLOCK);
use IO::Socket::IP;
use Scalar::Util qw(blessed);
use Socket qw(IPPROTO_TCP MSG_PEEK SHUT_WR SOL_SOCKET SO_LINGER TCP_NODELAY);
use Time::HiRes qw(time);
use Bobtail::Wait;

our @EXPORT = qw(client get post request raw tunnel);

sub address_of { my ($whom) = @_; return blessed $whom ? $whom->addr : $whom }

sub client
{
    my ($whom, %how) = @_;
    my $addr = address_of($whom);
    my ($host, $port) = $addr =~ /^\[?(.*?)\]?:(\d+)$/ or die "client: '$addr' is no host:port";
    my $socket = IO::Socket::IP->new(
        PeerHost => $host, PeerPort => $port, Timeout => patience(),
        ($how{from} ? (LocalHost => $how{from}) : ()),
    ) or die "client: cannot connect to $addr: $@";

    setsockopt $socket, IPPROTO_TCP, TCP_NODELAY, 1;
    $socket->blocking(0);
    return bless { socket => $socket, buffer => '', eof => 0 }, __PACKAGE__;
}

sub request
{
    my ($whom, $method, $target, %how) = @_;
    my $conn = $how{on} // client($whom, %how);
    my $answer;

    $conn->send(head_of($method, $target, %how));
    $conn->send(body_of(%how));
    $answer = $conn->response(to => $method);
    $conn->close unless $how{on};
    return $answer;
}

sub get { my ($whom, $url, %how) = @_; return request($whom, GET => $url, %how) }
sub post { my ($whom, $url, $body, %how) = @_; return request($whom, POST => $url, body => $body, %how) }

sub raw
{
    my ($whom, $bytes, %how) = @_;
    my $conn = client($whom, %how);
    my $answer;

    $conn->send($bytes);
    $conn->shut if $how{shut};
    $answer = $how{all} ? $conn->rest : $conn->response(to => ($bytes =~ /^(\S+)/)[0] // '');
    $conn->close;
    return $answer;
}

sub tunnel
{
    my ($whom, $to, %how) = @_;
    my $conn = client($whom, %how);

    $conn->send(head_of(CONNECT => $to, %how, host => $to));
    $conn->{response} = $conn->response(to => 'CONNECT');
    return $conn;
}

# --- a request as bytes -----------------------------------------------------------------------

sub head_of
{
    my ($method, $target, %how) = @_;
    my @headers = ref $how{headers} eq 'HASH'
        ? map { $_ => $how{headers}{$_} } sort keys %{ $how{headers} } : @{ $how{headers} // [] };
    my $head = "$method $target HTTP/" . ($how{version} // '1.1') . "\r\n";
    my ($host) = $how{host} // ($target =~ m{^[a-z]+://(?:[^/@]*@)?([^/?#]+)}i)[0] // 'localhost';
    my %given = map { lc($headers[2 * $_]) => 1 } 0 .. @headers / 2 - 1;

    $head .= "Host: $host\r\n" unless $given{host};
    $head .= "Transfer-Encoding: chunked\r\n" if $how{chunked};
    $head .= 'Content-Length: ' . length($how{body}) . "\r\n"
        if defined $how{body} && !$given{'content-length'};
    while (my ($name, $value) = splice @headers, 0, 2) {
        $head .= "$name: $_\r\n" for ref $value ? @$value : grep defined, $value;
    }
    return "$head\r\n";
}

sub body_of
{
    my (%how) = @_;
    return $how{body} // '' unless $how{chunked};
    return join('', map { sprintf "%x\r\n%s\r\n", length, $_ } @{ $how{chunked} }) . "0\r\n\r\n";
}

# --- one connection ---------------------------------------------------------------------------

sub socket { return $_[0]{socket} }
sub port { return $_[0]{socket}->sockport }

# Sends all of it, or dies when the other side does not take it in time. A peer that has closed is
# no error here: what it said before is what a test wants to see.
sub send
{
    my ($self, $bytes) = @_;
    my $sent = 0;
    local $SIG{PIPE} = 'IGNORE';

    while ($sent < length $bytes) {
        my $n = syswrite $self->{socket}, $bytes, length($bytes) - $sent, $sent;
        if (defined $n) {
            $sent += $n;
        } elsif ($! == EAGAIN || $! == EWOULDBLOCK || $! == EINTR) {
            writable($self->{socket}) or die 'client: the other side takes no more bytes';
        } else {
            last;
        }
    }
    return $sent;
}

# As many packets as bytes (or as pieces of $size).
sub drip
{
    my ($self, $bytes, $size) = @_;
    $self->send($_) for unpack '(a' . ($size // 1) . ')*', $bytes;
    return;
}

sub shut { shutdown $_[0]{socket}, SHUT_WR; return }
sub close { my ($self) = @_; CORE::close($self->{socket}) if $self->{socket}; delete $self->{socket}; return }

# Ends it by RST.
sub reset
{
    my ($self) = @_;
    setsockopt $self->{socket}, SOL_SOCKET, SO_LINGER, pack('ii', 1, 0);
    return $self->close;
}

# Reads what is there; false at the end of the stream or of patience.
sub fill
{
    my ($self, $seconds) = @_;
    my $end = time + ($seconds // patience());

    return 0 if $self->{eof};
    while (1) {
        my $n = sysread $self->{socket}, $self->{buffer}, 65536, length $self->{buffer};
        return $n if $n;
        if (defined $n || !($! == EAGAIN || $! == EWOULDBLOCK || $! == EINTR)) {
            $self->{eof} = 1;
            $self->{was_reset} = !defined $n;
            return 0;
        }
        my $left = $end - time;
        return 0 if $left <= 0;
        readable($self->{socket}, $left);
    }
}

# Exactly so many bytes, or what came of them.
sub bytes
{
    my ($self, $count) = @_;
    1 while length $self->{buffer} < $count && $self->fill;
    return substr $self->{buffer}, 0, $count, '';
}

# Up to and with this text, or '' (and nothing taken) when it did not come.
sub upto
{
    my ($self, $text) = @_;
    my $at;
    1 while ($at = index $self->{buffer}, $text) < 0 && $self->fill;
    return $at < 0 ? '' : substr $self->{buffer}, 0, $at + length $text, '';
}

# All that comes until the other side closes.
sub rest
{
    my ($self) = @_;
    1 while $self->fill;
    return substr $self->{buffer}, 0, length $self->{buffer}, '';
}

# Whether the other side closes (within the seconds) and sends nothing more.
sub closed
{
    my ($self, $seconds) = @_;
    1 while $self->fill($seconds);
    return $self->{eof} && $self->{buffer} eq '';
}

# Whether it is open now, without waiting.
sub open
{
    my ($self) = @_;
    $self->fill(0);
    return !$self->{eof};
}

# One response, past interim ones (kept in ->interim); with tunnel(), the answer to its CONNECT.
sub response
{
    my ($self, %how) = @_;
    my ($head, @interim);

    return $self->{response} if !exists $how{to} && $self->{response};
    while (1) {
        $head = $self->upto("\r\n\r\n");
        last unless $head =~ m{^HTTP/1\.[01] 1\d\d } && $head !~ m{^HTTP/1\.[01] 101 };
        push @interim, $head;
    }
    my $answer = Bobtail::Response->new($head, @interim);
    $answer->{body} = $self->body_after($answer, $how{to} // 'GET') if $answer->status;
    $answer->{rest} = $self->{buffer} if $head eq '';
    return $answer;
}

sub body_after
{
    my ($self, $answer, $method) = @_;
    my $status = $answer->status;
    my $length = $answer->header('Content-Length');

    return '' if $method eq 'HEAD' || $status == 204 || $status == 304 || $status == 101
        || ($method eq 'CONNECT' && $status =~ /^2/);
    return $self->chunks_after($answer) if ($answer->header('Transfer-Encoding') // '') =~ /chunked$/i;
    if (defined $length) {
        my $body = $self->bytes($length);
        $answer->{cut} = length $body < $length;
        return $body;
    }
    return $self->rest;
}

sub chunks_after
{
    my ($self, $answer) = @_;
    my $body = '';

    $answer->{cut} = 1;
    while ($self->upto("\r\n") =~ /^([0-9a-f]+)\s*(?:;.*)?\r\n$/i) {
        my $size = hex $1;
        push @{ $answer->{chunks} }, $size;
        if ($size == 0) {
            my $line;
            $answer->{trailer} = '';
            $answer->{trailer} .= $line while ($line = $self->upto("\r\n")) ne "\r\n" && $line ne '';
            $answer->{cut} = $line eq '';
            last;
        }
        $body .= $self->bytes($size);
        last if $self->bytes(2) ne "\r\n";
    }
    return $body;
}

package Bobtail::Response;

sub new
{
    my ($class, $head, @interim) = @_;
    my ($line, @fields) = split /\r\n/, $head;
    my ($version, $status, $reason) = ($line // '') =~ m{^HTTP/(\d\.\d) (\d\d\d) ?(.*)$};

    return bless {
        head => $head, body => '', interim => \@interim,
        version => $version // '', status => $status // 0, reason => $reason // '',
        fields => [map { [/^([^:]*):[ \t]*(.*?)[ \t]*$/] } @fields],
    }, $class;
}

sub status { return $_[0]{status} }
sub reason { return $_[0]{reason} }
sub version { return $_[0]{version} }
sub head { return $_[0]{head} }
sub body { return $_[0]{body} }
sub chunks { return $_[0]{chunks} }                      # their sizes, the last one (0) too
sub trailer { return $_[0]{trailer} }
sub interim { return $_[0]{interim} }                    # heads of 1xx responses
sub whole { return $_[0]{status} && !$_[0]{cut} }        # nothing is missing at its end
sub names { return map { $_->[0] } @{ $_[0]{fields} } }

sub headers
{
    my ($self, $name) = @_;
    return map { $_->[1] } grep { defined $_->[0] && lc $_->[0] eq lc $name } @{ $self->{fields} };
}

# All of that name, joined as HTTP says; undef when there is none.
sub header
{
    my ($self, $name) = @_;
    my @values = $self->headers($name);
    return @values ? join(', ', @values) : undef;
}

1;

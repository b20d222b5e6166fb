# 4S-cache-storm.t - all at once, for half a minute: hits and misses of every size and framing, parts,
# conditions, variants, purges, herds on cold keys, clients that are slow or leave, origins that die,
# a worker killed every second, reloads. Each byte is a function of URL, variant and version; the ETag
# says which version it claims to be. Nobody hangs, and in the end nothing is left over.
use Bobtail::Test;
use Digest::MD5 qw(md5);
use Errno qw(EAGAIN EINPROGRESS EINTR EWOULDBLOCK);
use IO::Select;
use IO::Socket::IP;
use POSIX ();
use Socket qw(IPPROTO_TCP SOCK_STREAM SOL_SOCKET SO_LINGER SO_RCVBUF SOMAXCONN TCP_NODELAY pack_sockaddr_in inet_aton);
use Storable qw(freeze thaw);
use Time::HiRes qw(sleep time);

use constant {
    SECONDS => $ENV{STORM_SECONDS} // 30,
    PROCESSES => 4, CONNS => 12,                 # clients
    BOUND => $ENV{SAN} ? 90 : 30,                # seconds that an exchange may take
    STEP => 2,                                   # seconds that a version lives at the origin
    BLOCK => 4_200_000,
};

# --- what is true -------------------------------------------------------------------------------------
my $block = join '', map { md5("block $_") } 0 .. BLOCK / 16;

sub body_of
{
    my ($path, $version, $variant) = @_;
    my ($size) = $path =~ m{^/\w+/(\d+)/};
    return substr $block, unpack('N', md5("$path $version $variant")) % (BLOCK - $size), $size;
}

sub version_now { return int(time / STEP) }

# --- the origin ---------------------------------------------------------------------------------------
# /KIND/SIZE/NUMBER. KIND: l length, c chunked, s slow, x dies in the middle, y likewise in chunks,
# v varies by X-V, n no-cache, p private, w stale-while-revalidate, h the herd's. Odd numbers stay fresh until they are purged.
sub origin_says
{
    my ($head) = @_;
    my ($method, $path) = $head =~ m{^(\w+) (?:http://[^/]+)?(/\S*)};
    my ($kind, $size, $number) = $path =~ m{^/(\w)/(\d+)/(\d+)};
    my ($variant) = $kind eq 'v' ? $head =~ /^X-V: (\w+)/mi : ();
    my $version = version_now();
    $variant //= '-';
    my $etag = "\"$version.$variant\"";
    return "HTTP/1.1 204 No Content\r\n\r\n" if $method eq 'POST';
    my $control = $kind eq 'w' ? 'max-age=1, stale-while-revalidate=8' : $kind eq 'n' ? 'no-cache' : $kind eq 'p' ? 'private, max-age=60' : $number % 2 ? 'max-age=600' : 'max-age=2';
    my $fields = "Date: " . POSIX::strftime('%a, %d %b %Y %H:%M:%S GMT', gmtime) . "\r\nETag: $etag\r\nCache-Control: $control\r\n"
        . ($kind eq 'v' ? "Vary: X-V\r\n" : '');

    return ("HTTP/1.1 304 Not Modified\r\n$fields\r\n") if $head =~ /^If-None-Match: .*\Q$etag\E/mi;
    my $body = body_of($path, $version, $variant);
    my $chunked = $kind =~ /[cy]/ || $kind eq 's' && $number % 3 == 0;
    $fields .= $chunked ? "Transfer-Encoding: chunked\r\n" : "Content-Length: $size\r\n";
    my $said = "HTTP/1.1 200 OK\r\n$fields\r\n";
    return $said if $method eq 'HEAD';
    my $piece = $kind eq 's' ? 1 + int $size / 12 : 50_000;
    my @pieces = unpack "(a$piece)*", $body;
    @pieces = map { sprintf("%x\r\n%s\r\n", length, $_) } @pieces if $chunked;
    push @pieces, "0\r\n\r\n" if $chunked;
    splice @pieces, @pieces / 2 if $kind =~ /[xy]/;
    $pieces[0] = $said . ($pieces[0] // '');
    return $kind eq 's' || $kind eq 'h' ? ('', @pieces) : join '', @pieces;
}

sub origin_loop
{
    my ($listener, $tell) = @_;
    my (%conn, %herd, $fetches);
    $listener->blocking(0);
    while (1) {
        my $now = time;
        my $reads = IO::Select->new($listener, $tell, map { $_->{socket} } values %conn);
        my $writes = IO::Select->new(map { $_->{socket} } grep { $_->{out} ne '' } values %conn);
        my $waits = grep { @{ $_->{later} } } values %conn;
        my ($r, $w) = IO::Select->select($reads, $writes, undef, $waits ? 0.02 : 1);
        for my $socket (@{ $r // [] }) {
            if ($socket == $tell) {
                sysread $tell, my $any, 1 or return;
                syswrite $tell, freeze({ herds => scalar keys %herd, fetched => eval { my $n = 0; $n += $_ for values %herd; $n },
                    worst => (sort { $b <=> $a } values %herd, 0)[0], fetches => $fetches });
                return;
            }
            if ($socket == $listener) {
                while (my $new = $listener->accept) {
                    $new->blocking(0);
                    setsockopt $new, IPPROTO_TCP, TCP_NODELAY, 1;
                    $conn{ fileno $new } = { socket => $new, in => '', out => '', later => [] };
                }
                next;
            }
            my $c = $conn{ fileno $socket } or next;
            my $n = sysread $socket, $c->{in}, 65536, length $c->{in};
            if (!$n && (defined $n || $! != EAGAIN)) { delete $conn{ fileno $socket }; CORE::close($socket); next }
            while ($c->{out} eq '' && !@{ $c->{later} } && $c->{in} =~ s/^((?!POST).*?\r\n\r\n|POST.*?\r\n\r\n(?=x))//s) {
                my $head = $1;
                substr $c->{in}, 0, 1, '' if $head =~ /^POST/;      # its body
                $fetches++;
                $herd{$1}++ if $head =~ m{ (?:http://[^/]+)?(/h/\S+)};
                ($c->{out}, @{ $c->{later} }) = origin_says($head);
                $c->{ends} = $head =~ m{ (?:http://[^/]+)?/[xy]/} && $c->{out} !~ /^HTTP\S+ 304/ && $head !~ /^(?:HEAD|POST)/;
                $c->{due} = $now + 0.05;
            }
        }
        for my $c (values %conn) {
            if ($c->{out} eq '' && @{ $c->{later} } && $c->{due} <= $now) {
                $c->{out} = shift @{ $c->{later} };
                $c->{due} = $now + 0.04;
            }
            while ($c->{out} ne '') {
                my $n = syswrite $c->{socket}, $c->{out}, 262144;
                if (!defined $n) {
                    last if $! == EAGAIN;
                    $c->{ends} = 1;
                    last;
                }
                substr $c->{out}, 0, $n, '';
            }
            if ($c->{ends} && ($c->{out} eq '' || $! != EAGAIN) && !@{ $c->{later} }) {
                delete $conn{ fileno $c->{socket} };
                CORE::close($c->{socket});
            }
        }
    }
    return;
}

my $listener = IO::Socket::IP->new(LocalHost => '127.0.0.1', LocalPort => 0, Listen => SOMAXCONN) or die "listen: $@";
my $site = 'http://127.0.0.1:' . $listener->sockport;
socketpair my $ask_origin, my $its, Socket::AF_UNIX, SOCK_STREAM, 0 or die "socketpair: $!";
my $origin_pid = fork // die "fork: $!";
if (!$origin_pid) {
    CORE::close($ask_origin);
    eval { origin_loop($listener, $its); 1 } or print STDERR "origin: $@";
    POSIX::_exit(0);
}
CORE::close($_) for $listener, $its;

# --- the proxy ----------------------------------------------------------------------------------------
my $mem = $ENV{STORM_MEM} // '24 MB';
my $proxy = proxy(<<"CONF", workers => 4);
cache_mem $mem
maximum_object_size_in_memory 4 MB
acl purge method PURGE
quick_abort_min 64 KB
acl whole urlpath_regex ^/[scv]/
range_offset_limit none whole
CONF

# --- clients ------------------------------------------------------------------------------------------
my @paths;
push @paths, map { sprintf '/%s/%d/%d', (qw(l c))[$_ % 2], 1 + 97 * $_, $_ } 1 .. 60;
push @paths, map { sprintf '/%s/%d/%d', (qw(l c))[$_ % 2], 100_000 + 95_000 * $_, $_ + int($_ / 2) } 1 .. 20;
push @paths, map { sprintf '/s/%d/%d', 30_000 * $_, $_ } 1 .. 8;
push @paths, map { sprintf '/%s/%d/%d', (qw(x y))[$_ % 2], 20_000 * $_, $_ } 1 .. 6;
push @paths, map { sprintf '/v/%d/%d', 700 * $_ * $_, $_ } 1 .. 12;
push @paths, map { sprintf '/w/%d/%d', 5000 * $_ * $_, $_ } 1 .. 5;
push @paths, map { sprintf '/%s/%d/%d', (qw(n p))[$_ % 2], 3000 * $_, $_ } 1 .. 6;

my ($host, $port) = $proxy->addr =~ /^(.*):(\d+)$/;
my $address = pack_sockaddr_in($port, inet_aton($host));
my (%did, @wrong, %etag, %purged);

sub wrong { my ($c, $what) = @_; push @wrong, "$c->{now}{method} $c->{now}{path}: $what" if @wrong < 20; return }

# One request: what is asked, and what may come back.
sub new_request
{
    my $tick = time;
    my $path = $tick - int $tick < 0.25 ? sprintf '/h/60000/%d', 2 * int($tick) + 1 : $paths[ int(rand(@paths) * (rand 2 < 1 ? 1 : rand)) ];
    my %ask = (path => $path, method => 'GET', variant => '-', begun => $tick, floor => $purged{$path} // 0);
    my ($kind, $size) = $path =~ m{^/(\w)/(\d+)};
    my @fields;
    if ($kind eq 'v') {
        $ask{variant} = (qw(a b c d))[ rand 4 ];
        push @fields, "X-V: $ask{variant}";
    }
    my $dice = $kind eq 'h' ? 99 : int rand 40;
    if ($dice == 0) {
        $ask{method} = 'PURGE';
    } elsif ($dice == 1) {
        $ask{method} = 'HEAD';
    } elsif ($dice < 6) {
        $ask{from} = int rand $size;
        $ask{to} = $ask{from} + int rand($size - $ask{from});
        push @fields, "Range: bytes=$ask{from}-$ask{to}";
    } elsif ($dice < 8 && $size > 100) {
        push @fields, 'Range: bytes=0-9,' . int($size / 2) . '-' . int($size / 2 + 9) . ',-10';
        $ask{parts} = 1;
    } elsif ($dice < 13 && $etag{"$path $ask{variant}"}) {
        $ask{known} = $etag{"$path $ask{variant}"};
        push @fields, "If-None-Match: $ask{known}";
    } elsif ($dice == 13) {
        push @fields, 'Cache-Control: no-cache';
    } elsif ($dice == 14) {
        $ask{method} = 'POST';
        push @fields, 'Content-Length: 1';
    }
    $ask{text} = "$ask{method} $site$path HTTP/1.1\r\nHost: x\r\n" . join('', map { "$_\r\n" } @fields) . "\r\n"
        . ($ask{method} eq 'POST' ? 'x' : '');
    return \%ask;
}

sub new_conn
{
    socket my $socket, Socket::AF_INET, SOCK_STREAM, 0 or die "socket: $!";
    my $slow = rand 12 < 1;
    setsockopt $socket, SOL_SOCKET, SO_RCVBUF, 8192 if $slow;
    $socket->blocking(0);
    my $c = { socket => $socket, in => '', asked => [], next_read => 0, slow => $slow, left => 1 + int rand 6 };
    $c->{leaves} = int rand 300_000 if rand 12 < 1;
    $c->{leaves_at} = time + rand 0.3 if rand 20 < 1;
    connect $socket, $address or $! == EINPROGRESS or return;
    setsockopt $socket, IPPROTO_TCP, TCP_NODELAY, 1;
    more_requests($c);
    return $c;
}

sub more_requests
{
    my ($c) = @_;
    my $pipelined = rand 5 < 1 ? 3 : 1;
    for (1 .. $pipelined) {
        my $ask = new_request();
        push @{ $c->{asked} }, $ask;
        $c->{out} .= $ask->{text};
        $c->{left}--;
    }
    return;
}

sub over { my ($c, $how) = @_; $did{$how}++; CORE::close($c->{socket}); $c->{over} = 1; return }

sub head_read
{
    my ($c, $text) = @_;
    my $now = $c->{now} = { %{ $c->{asked}[0] }, body => '' };
    ($now->{status}) = $text =~ m{^HTTP/1\.1 (\d+)};
    $now->{head} = $text;
    ($now->{etag}) = $text =~ /^ETag: (\S+)\r/mi;
    if ($now->{method} eq 'HEAD' || ($now->{status} // 0) =~ /^[23]04$/) {
        $now->{need} = 0;
    } elsif ($text =~ /^Transfer-Encoding: chunked/mi) {
        $now->{chunked} = 1;
    } else {
        ($now->{need}) = $text =~ /^Content-Length: (\d+)/mi;
        wrong($c, "no framing:\n$text") if !defined $now->{need};
    }
    return;
}

# Takes what it can of the input; true: the answer is whole.
sub body_read
{
    my ($c) = @_;
    my $now = $c->{now};
    if (!$now->{chunked}) {
        $now->{body} .= substr $c->{in}, 0, $now->{need} - length $now->{body}, '';
        return length $now->{body} == $now->{need};
    }
    while (1) {
        if ($now->{chunk}) {
            my $piece = substr $c->{in}, 0, $now->{chunk}, '';
            $now->{body} .= $piece;
            $now->{chunk} -= length $piece;
            return 0 if $now->{chunk};
            $now->{crlf} = 1;
        }
        if ($now->{crlf}) {
            return 0 if length $c->{in} < 2;
            wrong($c, 'a broken chunk') if substr($c->{in}, 0, 2, '') ne "\r\n";
            $now->{crlf} = 0;
            return 1 if $now->{last};
        }
        $c->{in} =~ s/^([0-9a-f]+)\r\n//i or return 0;
        $now->{chunk} = hex $1;
        $now->{last} = $now->{crlf} = 1 if !$now->{chunk};
    }
}

sub check_parts
{
    my ($c, $now, $true) = @_;
    my ($boundary) = $now->{head} =~ m{^Content-Type: multipart/byteranges; ?boundary="?([^"\r]+)}mi or return wrong($c, "no parts:\n$now->{head}");
    my ($n, $size) = (0, length $true);
    while ($now->{body} =~ m{--\Q$boundary\E\r\n(?:[^\r\n]+\r\n)*?Content-Range: bytes (\d+)-(\d+)/(\d+)\r\n(?:[^\r\n]+\r\n)*\r\n}g) {
        my $len = $2 - $1 + 1;
        wrong($c, "a wrong part $1-$2/$3") if $3 != $size || substr($true, $1, $len) ne substr($now->{body}, pos $now->{body}, $len);
        pos($now->{body}) += $len;
        $n++;
    }
    wrong($c, "$n parts") if $n < 1 || $n > 3 || $now->{body} !~ /--\Q$boundary\E--\r\n\z/;
    return;
}

# What came of a body, whole or not.
sub check
{
    my ($c, $whole) = @_;
    my $now = $c->{now};
    my ($path, $status) = @$now{qw(path status)};
    my ($kind) = $path =~ m{^/(\w)/};

    if ($now->{method} eq 'PURGE') {
        wrong($c, "status $status") unless $status == 200 || $status == 404;
        $purged{$path} = int($now->{begun} / STEP);            # what was fetched before is not found again
        return;
    }
    if ($now->{method} eq 'POST') {
        wrong($c, "status $status") if $status != 204;
        $purged{$path} = int($now->{begun} / STEP);
        return;
    }
    return if $status == 502 && $kind =~ /[xy]/;
    return wrong($c, "status $status:\n$now->{head}") unless $status =~ /^(?:200|206|304)$/;
    my ($version, $variant) = ($now->{etag} // '') =~ /^"(\d+)\.([\w-]+)"$/ or return wrong($c, "no ETag:\n$now->{head}");
    wrong($c, "variant $variant, not $now->{variant}") if $variant ne $now->{variant};
    my ($number) = $path =~ m{/(\d+)$};
    wrong($c, "version $version came up now") if $version > version_now();
    my $life = $kind eq 'w' ? 12 : $kind eq 'n' ? 1 : $number % 2 ? 9999 : 4;
    wrong($c, "too old: $version, begun " . int($now->{begun} / STEP)) if $version < int(($now->{begun} - $life) / STEP) - 1;
    wrong($c, "version $version was purged at $now->{floor}") if $version < $now->{floor};
    if ($status == 304) {
        return wrong($c, 'nobody asked for 304') if !defined $now->{known};
        return wrong($c, "304 for $now->{known} with $now->{etag}") if $now->{known} ne $now->{etag};
        return;
    }
    $etag{"$path $variant"} = $now->{etag};
    return if $now->{method} eq 'HEAD';
    my $true = body_of($path, $version, $variant);
    return check_parts($c, $now, $true) if $whole && $status == 206 && $now->{parts} && $now->{head} !~ /^Content-Range/mi;
    return if $status == 206 && $now->{parts};
    if ($status == 206) {
        my ($from, $to, $of) = $now->{head} =~ m{^Content-Range: bytes (\d+)-(\d+)/(\d+)}mi or return wrong($c, 'no Content-Range');
        return wrong($c, "part $from-$to of $of") if $from != $now->{from} || $to != $now->{to} || $of != length $true;
        $true = substr $true, $from, $to - $from + 1;
    }
    wrong($c, 'whole, though the origin died') if $whole && $kind =~ /[xy]/ && $status == 200;
    return wrong($c, 'a length of ' . length($now->{body}) . ', not ' . length $true) if $whole && length $now->{body} != length $true;
    wrong($c, "$status: a wrong body in the first " . length $now->{body}) if $now->{body} ne substr $true, 0, length $now->{body};
    return;
}

sub answers_read
{
    my ($c) = @_;
    while (@{ $c->{asked} }) {
        if (!$c->{now}) {
            my $at = index $c->{in}, "\r\n\r\n";
            last if $at < 0;
            head_read($c, substr $c->{in}, 0, $at + 4, '');
        }
        last if !body_read($c);
        check($c, 1);
        $did{ $c->{now}{status} }++;
        $did{exchanges}++;
        my $took = time - $c->{now}{begun};
        $did{slowest} = $took if $took > ($did{slowest} // 0);
        $c->{closes} = 1 if $c->{now}{head} =~ /^Connection: close/mi;
        delete $c->{now};
        shift @{ $c->{asked} };
    }
    return;
}

sub conn_read
{
    my ($c) = @_;
    my $n = sysread $c->{socket}, $c->{in}, $c->{slow} ? 65536 : 262144, length $c->{in};
    return if !defined $n && ($! == EAGAIN || $! == EINTR);
    $c->{next_read} = time + 0.03 if $c->{slow};
    if (!$n) {
        answers_read($c);
        check($c, 0) if $c->{now};
        my $dies = $c->{asked}[0] && $c->{asked}[0]{path} =~ m{^/[xy]/};
        return over($c, $dies ? 'cut' : @{ $c->{asked} } ? 'lost' : 'closed');
    }
    $did{bytes} += $n;
    $c->{got} += $n;
    answers_read($c);
    if (defined $c->{leaves} && $c->{got} >= $c->{leaves}) {
        check($c, 0) if $c->{now};
        setsockopt $c->{socket}, SOL_SOCKET, SO_LINGER, pack('ii', 1, 0) if rand 2 < 1;
        return over($c, 'left');
    }
    if (!@{ $c->{asked} }) {
        return over($c, 'closed') if $c->{closes} || $c->{left} <= 0 || $c->{stop};
        more_requests($c);
    }
    return;
}

sub play
{
    my ($seed, $end) = @_;
    my @conns;
    srand $seed;
    while (1) {
        my $going = time < $end;
        @conns = grep { !$_->{over} } @conns;
        while ($going && @conns < CONNS) {
            my $c = new_conn();
            $c ? push @conns, $c : $did{lost}++;
            last if !$c;
        }
        last if !$going && !@conns;
        my $now = time;
        my (%of, $sleeps);
        my ($reads, $writes) = (IO::Select->new, IO::Select->new);
        for my $c (@conns) {
            $c->{stop} = !$going;
            $of{ $c->{socket} } = $c;
            if ($c->{next_read} <= $now) { $reads->add($c->{socket}) } else { $sleeps = 1 }
            $writes->add($c->{socket}) if $c->{out} ne '';
        }
        my ($r, $w) = IO::Select->select($reads, $writes, undef, $sleeps || grep({ $_->{leaves_at} } @conns) ? 0.02 : 0.2);
        for my $c (map { $of{$_} } @{ $w // [] }) {
            my $n = syswrite $c->{socket}, $c->{out};
            if (defined $n) { substr $c->{out}, 0, $n, '' } elsif ($! != EAGAIN) { $c->{out} = '' }
        }
        conn_read($_) for grep { !$_->{over} } map { $of{$_} } @{ $r // [] };
        for my $c (grep { !$_->{over} && $_->{leaves_at} && $_->{leaves_at} < time } @conns) {
            check($c, 0) if $c->{now};
            over($c, 'left');
        }
        for my $c (grep { !$_->{over} && @{ $_->{asked} } } @conns) {
            next if time - $c->{asked}[0]{begun} < BOUND * (1 + @{ $c->{asked} });
            push @wrong, "stuck: $c->{asked}[0]{method} $c->{asked}[0]{path}, " . ($c->{now} ? length($c->{now}{body}) . " bytes of body" : 'no head')
                . ($c->{slow} ? ', slow' : '');
            over($c, 'stuck');
        }
    }
    return { did => \%did, wrong => \@wrong };
}

my $begun = time;
my @clients;
for my $i (1 .. PROCESSES) {
    pipe my $from, my $to or die "pipe: $!";
    my $pid = fork // die "fork: $!";
    if (!$pid) {
        my $said = eval { play(4242 + $i, $begun + SECONDS) } // { did => {}, wrong => ["died: $@"] };
        syswrite $to, freeze($said);
        POSIX::_exit(0);
    }
    CORE::close($to);
    push @clients, { pid => $pid, from => $from };
}

my ($killed, $reloads, $next_reload) = (0, 0, $begun + SECONDS / 3);
while (time < $begun + SECONDS - 1) {
    sleep 1;
    if (time > $next_reload) {
        $reloads += ctl($proxy, 'reload')->{status} eq '0';
        $next_reload += SECONDS / 3;
    }
    my @workers = $proxy->workers or next;
    $killed += kill KILL => (sort { $a <=> $b } @workers)[0];     # the one that lives longest: no back-off
}

my (%all, @all_wrong);
for my $client (@clients) {
    my $said = '';
    1 while sysread $client->{from}, $said, 65536, length $said;
    waitpid $client->{pid}, 0;
    my $told = eval { thaw($said) } // { did => {}, wrong => ['a client died'] };
    push @all_wrong, @{ $told->{wrong} };
    for (keys %{ $told->{did} }) {
        $all{$_} = $_ eq 'slowest' ? (sort { $b <=> $a } $all{$_} // 0, $told->{did}{$_})[0] : ($all{$_} // 0) + $told->{did}{$_};
    }
}
syswrite $ask_origin, 'x';
sysread $ask_origin, my $told, 65536;
waitpid $origin_pid, 0;
my $herd = thaw($told);

note join ', ', map { "$_ $all{$_}" } sort keys %all;
note "$killed workers killed, $reloads reloads, $herd->{fetches} fetches; $herd->{herds} herds with $herd->{fetched} fetches, at most $herd->{worst}";
is scalar(@all_wrong), 0, 'every answer was right, and came';
diag $_ for @all_wrong[0 .. ($#all_wrong > 20 ? 20 : $#all_wrong)];
cmp_ok $killed, '>=', SECONDS / 3, 'workers were killed';
cmp_ok $reloads, '>=', 1, 'and reloaded';
cmp_ok $all{exchanges} // 0, '>=', 20 * SECONDS, 'there was something to do';
cmp_ok $all{$_} // 0, '>=', 1, "some: $_" for qw(200 204 206 304 404 left cut);
cmp_ok $all{lost} // 0, '<=', ($killed + 1) * PROCESSES * CONNS, 'only those of a dead worker are lost';
cmp_ok $herd->{fetched}, '<=', 2 * $herd->{herds} + $killed, 'herds are fetched for once';

# --- nothing is left ------------------------------------------------------------------------------------
ok wait_for(sub { my @workers = $proxy->workers; @workers == 4 }, 60), 'four workers stand' or diag ctl($proxy, 'workers')->{output};
my $summary;
my $held = sub { ($summary) = ctl($proxy, 'cache')->{output}; my ($n) = $summary =~ /^\Q$_[0]\E\s+(\d+)/m; return $n // -1 };
ok wait_for(sub { $held->('pinned') == 0 && $held->('flights') == 0 }), 'nobody reads and nobody fetches' or diag $summary;
my $objects = $held->('objects');
cmp_ok $objects, '>=', 1, 'something is kept';
my $dropped = 0;
$dropped += ctl($proxy, purge => 'prefix', 'http://')->{output} =~ /^(\d+) dropped/ ? $1 : 0 for 1, 2;
cmp_ok $dropped, '>', 0, 'all is dropped';
ok wait_for(sub { $held->('live') == 0 && $held->('objects') == 0 }), 'memory holds what can be found, and no more' or diag $summary;
is $held->('content'), 0, 'nor of their bytes';
is $held->('pinned'), 0, 'nothing is pinned';
is stat($proxy, 'cache.ram_corrupt'), 0, 'no record made no sense';
is stat($proxy, $_), 0, "$_ is zero again" for grep { stat($proxy, $_) != 0 } qw(origin.open tunnel.open);
ok wait_for(sub { my $now = stats($proxy); $now->{'client.active'} == 0 && $now->{'cache.live'} == 0 && $now->{'cache.objects'} == 0 }, 5), 'gauges say so';
unlike $proxy->log . $proxy->output, qr/panic|Sanitizer|runtime error|signal (?:6|7|11)\b|SIGSEGV|SIGABRT/, 'no worker died of itself';
done;

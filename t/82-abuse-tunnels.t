# 82-abuse-tunnels.t - tunnels full of bytes, cut, reset, half-closed and stalled in each direction.
use Bobtail::Test;
use Digest::MD5 qw(md5_hex);
use IO::Select;
use IO::Socket::IP;
use Socket qw(SHUT_WR SOL_SOCKET SO_LINGER SO_RCVBUF);
use Time::HiRes qw(time);

# What is said to a side that stalls is more than all buffers on its way take.
use constant { SIZE => 1_500_000, MUCH => 12_000_000, PIECE => 131_072, STALL => 1.0, TUNNELS => 16 };

my $proxy = proxy('');
my $listener = IO::Socket::IP->new(LocalHost => '127.0.0.1', LocalPort => 0, Listen => 64);
my $data = join '', map { pack 'N', $_ * 2_654_435_761 & 0xffffffff } 1 .. MUCH / 4;
local $SIG{PIPE} = 'IGNORE';

# A tunnel: side 0 is the client, side 1 the origin; each has so much to say and its own plan.
sub open_tunnel
{
    my (@plan) = @_;
    my $conn = tunnel($proxy, '127.0.0.1:' . $listener->sockport);
    my $origin = $conn->response->status == 200 && $listener->accept or return;

    $origin->blocking(0);
    $plan[$_]{stalls} && setsockopt(($conn->socket, $origin)[$_], SOL_SOCKET, SO_RCVBUF, 65536) for 0, 1;
    return [map { { socket => $_, size => SIZE, sent => 0, got => '', %{ shift @plan } } } $conn->socket, $origin];
}

sub leave
{
    my ($side) = @_;
    setsockopt $side->{socket}, SOL_SOCKET, SO_LINGER, pack('ii', 1, 0) if ($side->{leaves} // '') eq 'reset';
    close $side->{socket};
    $side->{gone} = 1;
    return;
}

sub say_more
{
    my ($side) = @_;
    my $n = syswrite $side->{socket}, $data, $side->{size} < $side->{sent} + PIECE ? $side->{size} - $side->{sent} : PIECE,
        $side->{sent};

    if (defined $n) {
        $side->{sent} += $n;
    } elsif (!$!{EAGAIN}) {
        $side->{sent} = $side->{size};
        $side->{refused} = 1;
    }
    shutdown $side->{socket}, SHUT_WR if $side->{sent} >= $side->{size};
    return;
}

sub hear_more
{
    my ($side) = @_;
    my $n = sysread $side->{socket}, $side->{got}, PIECE, length $side->{got};

    return leave($side) if $side->{leaves} && length $side->{got} >= $side->{after};
    return if $n || (!defined $n && $!{EAGAIN});
    $side->{end} = defined $n ? 'end' : 'reset';
    return;
}

# Everybody says and hears what he can, until nobody has anything to do.
sub run_all
{
    my (@sides) = @_;
    my $start = time;
    my $pipes = 0;

    while (time < $start + 3 * patience()) {
        my @live = grep { !$_->{gone} } @sides;
        my @in = grep { !$_->{end} && !($_->{stalls} && time < $start + STALL) } @live;
        my @out = grep { $_->{sent} < $_->{size} } @live;
        last if !grep({ !$_->{end} } @live) && !@out;
        my ($can_read, $can_write) = IO::Select->select(
            IO::Select->new(map { $_->{socket} } @in), IO::Select->new(map { $_->{socket} } @out), undef, 0.1);
        my %ready = map { $_ => 1 } @{ $can_read // [] };
        my %room = map { $_ => 1 } @{ $can_write // [] };
        $room{ $_->{socket} } and say_more($_) for @out;
        !$_->{gone} && $ready{ $_->{socket} } and hear_more($_) for @in;
        $pipes = stat($proxy, 'bulk.pipes') if !$pipes && time > $start + STALL / 2;
    }
    return $pipes;
}

# What a side heard is what the other said, from its beginning, and all of it when nobody left.
sub whole { my ($got, $size) = @_; return length $got == $size && md5_hex($got) eq md5_hex(substr $data, 0, $size) }
sub prefix { my ($got) = @_; return md5_hex($got) eq md5_hex(substr $data, 0, length $got) }

my @kinds = (
    ['both whole', {}, {}],
    ['the client ends early', { size => 1000 }, {}],
    ['the origin ends early', {}, { size => 1000 }],
    ['the client stalls', { stalls => 1 }, { size => MUCH }],
    ['the origin stalls', { size => MUCH }, { stalls => 1 }],
    ['both stall', { stalls => 1 }, { stalls => 1 }],
    ['the client resets', { leaves => 'reset', after => 700_000 }, {}],
    ['the origin resets', {}, { leaves => 'reset', after => 700_000 }],
    ['the client closes', { leaves => 'close', after => 700_000 }, {}],
    ['the origin closes', {}, { leaves => 'close', after => 700_000 }],
    ['a stalled client is left by its origin', { stalls => 1 }, { leaves => 'close', after => 700_000 }],
    ['the client has nothing to say', { size => 0 }, {}],
);

my @tunnels = map { [$kinds[$_ % @kinds], open_tunnel(@{ $kinds[$_ % @kinds] }[1, 2])] } 0 .. TUNNELS - 1;
is scalar(grep { $_->[1] } @tunnels), TUNNELS, TUNNELS . ' tunnels stand';
for my $side (map { @{ $_->[1] } } @tunnels) {
    shutdown $side->{socket}, SHUT_WR if $side->{size} == 0;
}
my $pipes = run_all(map { @{ $_->[1] } } @tunnels);
cmp_ok $pipes, '>', 0, 'stalled tunnels hold pipes';
for my $tunnel (@tunnels) {
    my ($kind, $sides) = @$tunnel;
    my $left = grep { $_->{leaves} } @$sides;

    for my $i (0, 1) {
        my ($to, $from) = ($sides->[$i], $sides->[!$i]);
        my $who = (qw(client origin))[$i];
        next if $to->{gone};
        my $good = $left ? prefix($to->{got}) : whole($to->{got}, $from->{size});
        ok $good, "$kind->[0]: the $who has " . ($left ? 'right bytes' : 'every byte')
            or diag length($to->{got}) . " of $from->{size}";
        ok $to->{end}, "$kind->[0]: the $who hears of the end";
    }
    !$_->{gone} && close $_->{socket} for @$sides;
}
counters($proxy, 'tunnel.opened' => TUNNELS, 'tunnel.open' => 0, 'bulk.pipes' => 0, 'client.open' => 0,
    'origin.open' => 0);
cmp_ok stat($proxy, 'bulk.spliced'), '>', SIZE, 'most of it was not copied';

# A tunnel that is open and silent after bulk holds no pipe, and little talk takes none.
my $idle = open_tunnel({ size => SIZE }, { size => 0 });
my $spliced = stat($proxy, 'bulk.spliced');
my ($sent, $got) = (0, 0);
my $end = time + patience();
while ($got < SIZE && time < $end) {
    my $n = syswrite $idle->[0]{socket}, $data, SIZE - $sent < PIECE ? SIZE - $sent : PIECE, $sent;
    $sent += $n // 0;
    $n = sysread $idle->[1]{socket}, my $piece, PIECE;
    $got += $n // 0;
    readable($idle->[1]{socket}, 0.1) unless $n;
}
is $got, SIZE, 'bulk through an open tunnel';
counters($proxy, 'tunnel.open' => 1, 'bulk.pipes' => 0);
my $before = stat($proxy, 'bulk.spliced');
cmp_ok $before, '>', $spliced, 'it was spliced';
for (1 .. 20) {
    syswrite $idle->[0]{socket}, "line $_" . '.' x 100 . "\n";
    readable($idle->[1]{socket});
    sysread $idle->[1]{socket}, my $piece, 200;
}
cmp_ok stat($proxy, 'bulk.spliced') - $before, '<', 400, 'and what is small hardly is';

# The end of one direction is heard while the other is open.
shutdown $idle->[0]{socket}, SHUT_WR;
ok readable($idle->[1]{socket}), 'the origin hears of the end at once';
is sysread($idle->[1]{socket}, my $nothing, 100), 0, 'which is an end';
syswrite $idle->[1]{socket}, 'still here';
ok readable($idle->[0]{socket}), 'and has the last word';
sysread $idle->[0]{socket}, my $word, 100;
is $word, 'still here', 'which arrives';
close $_->{socket} for @$idle;
done;

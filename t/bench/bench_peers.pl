# bench_peers.pl - what a parent costs: microseconds of CPU a kept-alive request, directly and through one
# parent; nginx is the origin and the parent, so that only this proxy differs. From a build directory:
#
#   BT_BUILDDIR=$PWD BOBTAIL=$PWD/bobtail BOBTAILCTL=$PWD/bobtailctl PERL5LIB=SRC/t/lib \
#       perl SRC/t/bench/bench_peers.pl [REQUESTS] [ROUNDS]
#
# The least of many short rounds counts: a busy machine only ever adds.
# SPDX-License-Identifier: GPL-2.0-or-later
use Bobtail::Test;

my ($requests, $rounds) = @ARGV;
$requests //= 2000;
$rounds //= 20;
my $nginx = nginx("location / { return 200 \"hello\\n\"; }\nkeepalive_requests 1000000;\n");
my $plain = "cache_mem 0\naccess_log none\n";
my %proxy = (
    direct => proxy($plain),
    parent => proxy($plain . 'cache_peer 127.0.0.1 parent ' . $nginx->port . " 0 no-query default\nnever_direct allow all\n"),
);
my $ask = 'GET ' . $nginx->url('/x') . " HTTP/1.1\r\nHost: " . $nginx->addr . "\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n";

sub cpu_ns { my ($pid) = @_; open my $file, '<', "/proc/$pid/schedstat" or die; return (split ' ', <$file>)[0] }
my %least;
for my $round (1 .. $rounds) {
    for my $way ($round % 2 ? qw(direct parent) : qw(parent direct)) {
        my $socket = client($proxy{$way})->{socket};
        my ($before, $answer);
        $socket->blocking(1);
        for my $i (0 .. $requests) {
            $before = cpu_ns($proxy{$way}->pid) if $i == 1;
            syswrite $socket, $ask;
            sysread $socket, $answer, 65536;
        }
        my $us = (cpu_ns($proxy{$way}->pid) - $before) / $requests / 1000;
        die $answer if $answer !~ /hello/;
        $least{$way} = $us if !defined $least{$way} || $us < $least{$way};
        close $socket;
    }
}
printf "# %s: %.2f us\n", $_, $least{$_} for qw(direct parent);
printf "# ratio: %.3f\n", $least{parent} / $least{direct};
ok $least{parent} < 1.1 * $least{direct}, 'a parent costs at most a tenth';
done;

# Bobtail::Net - network namespaces for tests of redirected connections (use it by itself; root only).
#
# Three machines in a row, of which the test itself and its servers are the one in the middle:
#
#   client 10.9.0.2, fd09::2  --  proxy 10.9.0.1, fd09::1 and 10.9.1.1  --  internet 198.51.100.1 to .9, 2001:db8::1
#
#   at('client', sub { ... })      sockets that are made in there, and programs that are started, are that machine's
#   firewall(RULES)                nft -f, on the proxy
#
# A socket belongs to the machine that it was made on, wherever its process goes later: so an origin() that is
# made there listens there. Nothing of the real network is touched, and all of it goes with the process.
# SPDX-License-Identifier: GPL-2.0-or-later
package Bobtail::Net;
use strict;
use warnings;
use Exporter 'import';
use POSIX ();
use Test::More ();
use Bobtail::Peer ();
use Bobtail::Stat qw(run_program);

our @EXPORT = qw(at firewall);

# unshare(2) and setns(2), for which Perl has no words.
my %calls = (x86_64 => [272, 308], aarch64 => [97, 268], riscv64 => [97, 268], i686 => [310, 346],
    armv7l => [337, 375], ppc64le => [282, 350], s390x => [303, 339]);
my ($unshare, $setns) = @{ $calls{ (POSIX::uname())[4] } // [] };
use constant NEWNET => 0x40000000;
my %net; # open handles of namespaces, by machine

sub here { CORE::open my $handle, '<', '/proc/self/ns/net' or die "namespaces: $!"; return $handle }

sub enter { my ($name) = @_; syscall($setns, fileno $net{$name}, NEWNET) == 0 or die "setns: $!"; return }

sub at
{
    my ($name, $code) = @_;
    enter($name);
    my $wants = wantarray;
    my @result = eval { $wants ? $code->() : scalar $code->() };
    my $error = $@;
    enter('proxy');
    die $error if $error;
    return $wants ? @result : $result[0];
}

sub must
{
    my (@command) = @_;
    my $said = run_program(Bobtail::Peer::find_program($command[0]), @command[1 .. $#command]);
    die "@command: $said->{output}" if $said->{status} ne '0';
    return;
}
sub ip { must('ip', split / /, $_) for @_; return }

sub firewall
{
    my ($rules) = @_;
    Bobtail::Proxy::write_file("/tmp/bobtail-nft-$$", $rules);
    my $said = run_program(Bobtail::Peer::find_program('nft'), '-f', "/tmp/bobtail-nft-$$");
    unlink "/tmp/bobtail-nft-$$";
    die "nft: $said->{output}" if $said->{status} ne '0';
    return;
}

# Makes the three machines; why it cannot, or nothing.
sub make
{
    return 'namespaces of the network need root' if $> != 0;
    return 'the numbers of unshare(2) and setns(2) are not known on this kind of machine' unless $setns;
    for my $name (qw(internet client proxy)) { # the last one is where we stay
        return "no network namespaces: $!" if syscall($unshare, NEWNET) != 0;
        $net{$name} = here();
        ip('link set lo up');
    }
    my $pid = $$;
    for my $name (qw(client internet)) {
        my $helper = fork // die "fork: $!";
        if (!$helper) { # a namespace is named by somebody who is in it
            enter($name);
            exec { '/bin/sleep' } 'sleep', 60 or POSIX::_exit(127);
        }
        my ($ours, $its) = ("to-$name", $name);
        select undef, undef, undef, 0.02 until readlink("/proc/$helper/ns/net") ne readlink('/proc/self/ns/net');
        ip("link add $ours type veth peer name eth0 netns $helper", "link set $ours up");
        kill KILL => $helper;
        waitpid $helper, 0;
    }
    ip('addr add 10.9.0.1/24 dev to-client', 'addr add fd09::1/64 dev to-client nodad',
        'addr add 10.9.1.1/24 dev to-internet', 'addr add fd19::1/64 dev to-internet nodad',
        'route add 198.51.100.0/24 via 10.9.1.2', 'route add 2001:db8::/64 via fd19::2');
    at('client', sub {
        ip('link set eth0 up', 'addr add 10.9.0.2/24 dev eth0', 'addr add 10.9.0.3/24 dev eth0', 'addr add fd09::2/64 dev eth0 nodad',
            'route add default via 10.9.0.1', '-6 route add default via fd09::1');
    });
    at('internet', sub {
        ip('link set eth0 up', 'addr add 10.9.1.2/24 dev eth0', 'addr add fd19::2/64 dev eth0 nodad',
            'route add default via 10.9.1.1', '-6 route add default via fd19::1',
            (map { "addr add 198.51.100.$_/32 dev lo" } 1 .. 9), 'addr add 2001:db8::1/128 dev lo nodad');
    });
    for my $way (qw(net/ipv4/ip_forward net/ipv6/conf/all/forwarding)) {
        CORE::open my $file, '>', "/proc/sys/$way" or next;
        print $file '1';
    }
    return;
}

1;

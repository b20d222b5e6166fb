# Bobtail::Stat - a server under test as bobtailctl sees it: its counters, its clock, its workers.
#
#   counters($proxy, 'client.requests' => 2, ...)  one test: so much more than when it stood (or since
#                                                  the last mark()); waits a moment for the numbers
#   stat($proxy, 'client.open')                    the number itself
#   mark($proxy)                                   count from here
#   later($proxy, 61)                              its clock moves; nobody sleeps
#   ctl($proxy, WORD...)                           what bobtailctl said: { status, output }
# SPDX-License-Identifier: GPL-2.0-or-later
package Bobtail::Stat;
use strict;
use warnings;
use Exporter 'import';
use JSON::PP ();
use Test::More ();
use Bobtail::Wait;

our @EXPORT = qw(counters ctl later mark run_program stat stats);

# Runs a program to its end, without a shell: { status => exit status (or 'signal N'), output =>
# both streams in one }. A program that hangs is ended by its own pid.
sub run_program
{
    my (@command) = @_;
    my $pid = CORE::open(my $pipe, '-|') // die "fork: $!";
    my $output = '';

    if (!$pid) {
        CORE::open STDIN, '<', '/dev/null';
        CORE::open STDERR, '>&', \*STDOUT;
        exec { $command[0] } @command or do { print "cannot run $command[0]: $!\n"; POSIX::_exit(127) };
    }
    while (1) {
        my $hangs = !readable($pipe, 2 * patience());
        kill KILL => $pid if $hangs;
        $output .= "\n(ended by the test: it said nothing for " . 2 * patience() . " s)\n" if $hangs;
        last if $hangs || !sysread $pipe, $output, 65536, length $output;
    }
    CORE::close($pipe);
    return { output => $output, status => $? & 127 ? 'signal ' . ($? & 127) : $? >> 8 };
}

sub ctl
{
    my ($proxy, @words) = @_;
    return run_program($ENV{BOBTAILCTL}, '-s', $proxy->{control}, @words);
}

# All counters (or those of a kind) as { name => number }; histograms are left out.
sub stats
{
    my ($proxy, @words) = @_;
    my $said = ctl($proxy, 'stats', '--json', @words);
    my $numbers = $said->{status} eq '0' && eval { JSON::PP::decode_json($said->{output}) };

    return $numbers if ref $numbers eq 'HASH';
    Test::More::note("bobtailctl stats --json @words: status $said->{status}: $said->{output}");
    return {};
}

sub stat { my ($proxy, $name) = @_; return stats($proxy)->{$name} }

sub mark { my ($proxy) = @_; $proxy->{counted_from} = stats($proxy); return }

sub counters
{
    my ($proxy, %wanted) = @_;
    my @names = sort keys %wanted;
    my (%got, @unknown);

    # The last exchange may still be finishing when its answer is already here.
    wait_for(sub {
        my $now = stats($proxy);
        @unknown = grep { !exists $now->{$_} } @names;
        %got = map { $_ => ($now->{$_} // 0) - ($proxy->{counted_from}{$_} // 0) } @names;
        return @unknown || !grep { $got{$_} != $wanted{$_} } @names;
    }, 3);
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my $good = Test::More::ok(!@unknown && !grep({ $got{$_} != $wanted{$_} } @names), "counters: @names");
    return 1 if $good;
    Test::More::diag("there is no counter '$_'") for @unknown;
    Test::More::diag("$_: got $got{$_}, wanted $wanted{$_}")
        for grep { my $name = $_; $got{$name} != $wanted{$name} && !grep { $_ eq $name } @unknown } @names;
    return 0;
}

sub later
{
    my ($proxy, $seconds) = @_;
    my $said = ctl($proxy, 'clock', sprintf '%+d', $seconds);
    $said->{status} eq '0' or die "later: bobtailctl clock failed: $said->{output}";
    return;
}

1;

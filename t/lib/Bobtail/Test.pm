# Bobtail::Test - all that a test needs, by one `use`; it ends with `done;`.
#
# Brings strict, warnings, Test::More, and what the files beside it export:
#   Proxy   proxy parse bobtail            Client  get post request raw tunnel client
#   Origin  origin                         Peer    nginx dnsmasq curl
#   Stat    counters stat mark later ctl   Wait    wait_for patience slurp
# A test that cannot run for want of a program says need('nginx', ...) first. With CI=true a skip,
# by whatever name, is a failure. SPDX-License-Identifier: GPL-2.0-or-later
package Bobtail::Test;
use strict;
use warnings;
use Test::More ();
use Bobtail::Client;
use Bobtail::Origin;
use Bobtail::Peer;
use Bobtail::Proxy;
use Bobtail::Stat;
use Bobtail::Wait;

my %own = map { $_ => 1 } qw(skip plan todo_skip done_testing);
my @from_more = grep { !/^\W/ && !$own{$_} } @Test::More::EXPORT;
my @exported = (@Bobtail::Client::EXPORT, @Bobtail::Origin::EXPORT, @Bobtail::Peer::EXPORT,
    @Bobtail::Proxy::EXPORT, @Bobtail::Stat::EXPORT, @Bobtail::Wait::EXPORT);

sub import
{
    my $caller = caller;
    no strict 'refs';

    strict->import;
    warnings->import;
    $SIG{PIPE} = 'IGNORE';
    *{"${caller}::$_"} = \&{"Test::More::$_"} for @from_more;
    *{"${caller}::$_"} = \&{$_} for qw(done done_testing need plan skip), @exported;
    *{"${caller}::TODO"} = \${"${caller}::TODO"};
    return;
}

sub in_ci { return ($ENV{CI} // '') eq 'true' }

# Ends the test: each server is stopped and looked over, and that is a test, too.
sub done
{
    Bobtail::Proxy::check_all();
    Bobtail::Peer::stop_all();
    Bobtail::Origin::stop_all();
    Test::More::done_testing();
    return;
}
sub done_testing { return done() }

# need(PROGRAM or Perl::Module, ...): all of them, or the whole file is skipped.
sub need
{
    my (@things) = @_;
    my @missing = grep { /::/ ? !eval "require $_; 1" : !Bobtail::Peer::find_program($_) } @things;
    plan(skip_all => "not on this machine: @missing") if @missing;
    return;
}

sub plan
{
    my ($what, $why) = @_;
    return Test::More::plan(@_) unless $what eq 'skip_all' && in_ci();
    Test::More::plan(tests => 1);
    Test::More::fail("skipped, which counts as a failure in CI: $why");
    exit 1;
}

sub skip
{
    my ($why, $count) = @_;
    return Test::More::skip(@_) unless in_ci();
    Test::More::fail("skipped, which counts as a failure in CI: $why");
    no warnings 'exiting';
    last SKIP;
}

1;

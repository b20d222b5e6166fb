# Bobtail::Wait - waiting that ends: for a condition, for bytes; never longer than patience().
#
# Nothing here sleeps for a fixed time. A condition is looked at every 10 ms, and the limit only
# says when a test has failed; it is long, since a slow machine is no fault of the server's.
# SPDX-License-Identifier: GPL-2.0-or-later
package Bobtail::Wait;
use strict;
use warnings;
use Exporter 'import';
use IO::Select;
use Time::HiRes qw(sleep time);

our @EXPORT = qw(patience wait_for readable writable slurp);

# Seconds until a test gives up: more under a sanitizer or valgrind.
sub patience { return $ENV{BT_WRAP} ? 90 : $ENV{SAN} ? 60 : 30 }

# wait_for(sub { ... }, seconds): what the condition returned, or undef when it never held.
sub wait_for
{
    my ($holds, $seconds) = @_;
    my $end = time + ($seconds // patience());

    while (1) {
        my $result = $holds->();
        return $result if $result;
        return if time > $end;
        sleep 0.01;
    }
}

sub readable { my ($socket, $seconds) = @_; return IO::Select->new($socket)->can_read($seconds // patience()) }
sub writable { my ($socket, $seconds) = @_; return IO::Select->new($socket)->can_write($seconds // patience()) }

sub slurp
{
    my ($path) = @_;
    open my $file, '<:raw', $path or return '';
    local $/;
    return scalar(<$file>) // '';
}

1;

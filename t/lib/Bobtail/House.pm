# Bobtail::House - the tree as the house tests see it: its C files, their includes and functions.
# SPDX-License-Identifier: GPL-2.0-or-later
package Bobtail::House;
use strict;
use warnings;
use Exporter 'import';
use File::Find ();
use Bobtail::Wait;

our @EXPORT = qw(files_of functions_of includes_of lines_of offenders);

# Paths below the top of the tree whose names match, without what a build in the tree leaves there.
sub files_of
{
    my ($pattern, @folders) = @_;
    my @found;
    File::Find::find({ no_chdir => 1, wanted => sub {
        my $path = $File::Find::name;
        $File::Find::prune = 1 if -d && m{/(?:\.libs|\.deps|modules/built)$};
        push @found, substr $path, 1 + length $ENV{BT_SRCDIR} if -f && $path =~ $pattern;
    } }, map { "$ENV{BT_SRCDIR}/$_" } grep { -e "$ENV{BT_SRCDIR}/$_" } @folders);
    return sort @found;
}

sub lines_of { my ($path) = @_; return split /\n/, slurp("$ENV{BT_SRCDIR}/$path"), -1 }

# [line number, text between the quotes or brackets, '"' or '<'] of each include.
sub includes_of
{
    my ($path) = @_;
    my @lines = lines_of($path);
    return map { $lines[$_] =~ /^\s*#\s*include\s*(["<])([^">]+)/ ? [$_ + 1, $2, $1] : () } 0 .. $#lines;
}

# [name, first line, number of lines] of each function: from a brace in column 0 to its end.
sub functions_of
{
    my ($path) = @_;
    my @lines = lines_of($path);
    my ($start, @found);

    for my $at (0 .. $#lines) {
        $start = $at if $lines[$at] eq '{';
        next unless defined $start && $lines[$at] =~ /^\}/;
        push @found, [name_before(\@lines, $start), $start + 1, $at - $start + 1];
        undef $start;
    }
    return @found;
}

# The name of the function whose brace is on this line: before the parenthesis that opens its
# arguments, which may have begun some lines above.
sub name_before
{
    my ($lines, $brace) = @_;
    my $first = $brace - 1;
    $first-- while $first > 0 && $lines->[$first - 1] =~ /\S/ && $lines->[$first - 1] !~ m{^[#\}/ ]|\*/$|;$};
    return join(' ', @{$lines}[$first .. $brace - 1]) =~ /(\w+)\s*\(/ ? $1 : '(unnamed)';
}

# One test for a rule: its offenders are listed when there are any.
sub offenders
{
    my ($rule, @offenders) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    Test::More::ok(!@offenders, $rule) or Test::More::diag(join "\n", map { "  $_" } @offenders);
    return;
}

1;

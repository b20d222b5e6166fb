# Bobtail::Mmdb - tiny databases in MaxMind's format, for tests of acl_geoip.
#
#   my $bytes = mmdb('127.50.0.0/16' => { country => { iso_code => 'DE' } },
#                    '2001:db8::/32' => { autonomous_system_number => 64500 }, ...);
#
# A value is a hash (map), a text, or a number (uint32). Narrower prefixes must come after wider ones.
# SPDX-License-Identifier: GPL-2.0-or-later
package Bobtail::Mmdb;
use strict;
use warnings;
use Exporter 'import';
use Socket qw(AF_INET AF_INET6 inet_pton);

our @EXPORT = qw(mmdb);

# Type and size, then what there is: https://maxmind.github.io/MaxMind-DB/
sub control
{
    my ($type, $size) = @_;
    my $extended = $type > 7;
    my $low = $size < 29 ? $size : 29;
    return pack('C', ($extended ? 0 : $type << 5) | $low) . ($extended ? pack('C', $type - 7) : '')
        . ($low == 29 ? pack('C', $size - 29) : '');
}

sub text { my ($text) = @_; return control(2, length $text) . $text }

sub uint16 { my ($n) = @_; my $packed = control(5, 2) . pack 'n', $n; return \$packed }
sub uint64 { my ($n) = @_; my $packed = control(9, 8) . pack 'Q>', $n; return \$packed }

sub value
{
    my ($value) = @_;
    return control(7, scalar keys %$value) . join '', map { text($_) . value($value->{$_}) } sort keys %$value
        if ref $value eq 'HASH';
    return control(11, scalar @$value) . join '', map { value($_) } @$value if ref $value eq 'ARRAY';
    return $$value if ref $value eq 'SCALAR';    # packed already
    return text($value) if $value !~ /^\d+$/;
    return control(6, 4) . pack 'N', $value;
}

# The bits of "ADDR/N", in a tree of IPv6: IPv4 lies in ::/96.
sub bits
{
    my ($prefix) = @_;
    my ($addr, $len) = split m{/}, $prefix;
    my $v6 = $addr =~ /:/;
    my $packed = inet_pton($v6 ? AF_INET6 : AF_INET, $addr) or die "mmdb: '$prefix' is no prefix";
    return substr(('0' x ($v6 ? 0 : 96)) . unpack('B*', $packed), 0, $len + ($v6 ? 0 : 96));
}

# Every leaf is [data offset]; what is not there is undef.
sub insert
{
    my ($node, $bits, $leaf) = @_;
    my @bits = split //, $bits;
    my $last = pop @bits;
    for (@bits) {
        my $next = $node->[$_];
        # A prefix within a wider one: both halves go on saying what it said.
        $next = [ $next, $next ] if ref $next eq 'SCALAR';
        $node = $node->[$_] = $next // [ undef, undef ];
    }
    $node->[$last] = $leaf;
    return;
}

sub mmdb
{
    my (@rows) = @_;
    my $root = [ undef, undef ];
    my ($data, $tree) = ('', '');

    while (my ($prefix, $value) = splice @rows, 0, 2) {
        my $offset = length $data;
        insert($root, bits($prefix), \$offset);
        $data .= value($value);
    }
    my @nodes = ($root);
    my %number = ($root => 0);
    for (my $i = 0; $i < @nodes; $i++) {
        for (grep { ref eq 'ARRAY' } @{ $nodes[$i] }) {
            next if exists $number{$_};
            $number{$_} = @nodes;
            push @nodes, $_;
        }
    }
    for my $node (@nodes) {
        for (@$node) {
            my $record = !defined ? @nodes : ref eq 'ARRAY' ? $number{$_} : @nodes + 16 + $$_;
            $tree .= substr pack('N', $record), 1;
        }
    }
    return $tree . ("\0" x 16) . $data . "\xab\xcd\xefMaxMind.com" . value({
        node_count => scalar @nodes,
        record_size => uint16(24),
        ip_version => uint16(6),
        database_type => 'Bobtail-Test',
        languages => ['en'],
        binary_format_major_version => uint16(2),
        binary_format_minor_version => uint16(0),
        build_epoch => uint64(1700000000),
        description => { en => 'for a test' },
    });
}

1;

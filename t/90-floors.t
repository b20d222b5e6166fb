# 90-floors.t - includes go down, libraries stay in their rooms, files stay readable.
use Bobtail::Test;
use Bobtail::House;

my @floor = qw(api base stat conf http net plug flow proc);          # bottom to top
my %height = map { $floor[$_] => $_ } 0 .. $#floor;
my %only = (api => [], http => [qw(base)]);                          # stricter than "down"
my @sources = files_of(qr/\.[ch]$/, qw(server modules));
my (@up, @out, @wandering, @headers);

# Whether a file of floor $here may include one of folder $there.
sub goes_down
{
    my ($here, $there) = @_;
    return 0 unless exists $height{$there};
    return 1 if $here eq $there || $there eq 'api';
    return $only{$here} ? scalar grep({ $_ eq $there } @{ $only{$here} }) : $height{$there} < $height{$here};
}

for my $path (@sources) {
    for (includes_of($path)) {
        my ($line, $what, $mark) = @$_;
        my $offence = "$path:$line includes $what";

        if ($path =~ m{^modules/([^/]+)/}) {
            my $folder = $1;
            next if $mark eq '<';
            push @out, $offence
                if $what =~ m{/} || ($what ne 'bt.h' && !-f "$ENV{BT_SRCDIR}/modules/$folder/$what");
        } elsif ($path =~ m{^server/([^/]+)/} && exists $height{$1}) {
            my $here = $1;
            push @up, $offence
                if $mark eq '"' && ($what =~ m{^(.*)/[^/]+$} ? !goes_down($here, $1)
                    : !-f "$ENV{BT_SRCDIR}/server/api/$what" && !-f "$ENV{BT_SRCDIR}/server/$here/$what");
        }
    }
}
offenders('includes of server/ go down, and http/ knows base/ only', @up);
offenders('a module includes bt.h and its own folder', @out);

# [what is included, where it may be]
my @rooms = (
    [qr{^event2/|^event\.h|^ares}, qr{^server/net/}],
    [qr{^pcre2}, qr{^server/base/regex[^/]*\.c$}],
    [qr{^hs/}, qr{^server/(?:base|plug)/}],
    [qr{^openssl/}, qr{^modules/tls/}],
    [qr{^maxminddb}, qr{^modules/acl/acl_geoip\.c$}],
    [qr{^(?:lua[^/]*/)?(?:lua|lauxlib|lualib|luaconf)\.h}, qr{^modules/lua/}],
);
for my $path (@sources) {
    for my $include (includes_of($path)) {
        push @wandering, "$path:$include->[0] includes $include->[1]"
            for grep { $include->[1] =~ $_->[0] && $path !~ $_->[1] } @rooms;
    }
}
offenders('each library is included in its own room only', @wandering);

for my $path (grep { /\.h$/ } @sources) {
    # A table that is too long for its file, included once, in the middle of an array.
    my $text = slurp("$ENV{BT_SRCDIR}/$path");
    push @headers, "$path has no include guard"
        unless $text =~ /^#ifndef (\w+)\n#define \1$/m || $text =~ m{^/\* \S+ - a piece of \w+\.c: };
}
offenders('headers are guarded', @headers);

offenders('files have at most 800 lines', map { my $n = lines_of($_) - 1; $n > 800 ? "$_: $n" : () }
    files_of(qr/\.(?:[ch]|pm|t|lua)$/, qw(server modules t lua)));

offenders('files say what they are for, and under which licence', grep {
    my $head = join "\n", grep defined, (lines_of($_))[0 .. 29];
    my ($name) = m{([^/]+)$};
    $head !~ m{^/\* \Q$name\E - \S} || $head !~ /SPDX-License-Identifier: GPL-2\.0-or-later/
} files_of(qr/\.[ch]$/, qw(server modules t/unit t/fuzz)));
done;

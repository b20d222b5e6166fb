# 94-format.t - clang-format has nothing to say (`make format`), and neither has a careful reader.
use Bobtail::Test;
use Bobtail::House;

need('clang-format');
my @sources = files_of(qr/\.[ch]$/, qw(server modules t));
my (@blanks, @tabs, @places, @noise);

my $said = run_program('clang-format', '--style=file', '--dry-run', '-Werror',
    map { "$ENV{BT_SRCDIR}/$_" } @sources);
my %ugly;
$ugly{$_}++ for $said->{output} =~ m{^\Q$ENV{BT_SRCDIR}\E/(.*?):\d+:\d+: error: }mg;
offenders('clang-format has nothing to say (make format)', map { "$_: $ugly{$_} places" } sort keys %ugly);
is $said->{status}, %ugly ? 1 : 0, 'clang-format ran' or diag $said->{output};

my @all = (files_of(qr/./, qw(server modules lua etc t .ci)),
    grep { -f "$ENV{BT_SRCDIR}/$_" } qw(README autogen.sh configure.ac Makefile.am .gitignore .clang-format));
# Built in the tree, and bytes that are as they are.
@all = grep { !m{^t/fuzz/corpus/|\.(?:o|lo|la|a|so|stamp)$|/\.dirstamp$}
    && !(m{^t/(?:unit/test|fuzz/fuzz)_\w+$}) } @all;
for my $path (@all) {
    my @lines = lines_of($path);
    for my $at (0 .. $#lines) {
        my $where = "$path:" . ($at + 1);
        push @blanks, $where if $lines[$at] =~ /[ \t\r]$/;
        push @tabs, $where if $lines[$at] =~ /\t/ && $path =~ /\.(?:[ch]|pm|t|lua|sh)$/;
        # Somebody's own folders; what every machine has may be named.
        push @places, "$where: $lines[$at]" if $lines[$at] =~ m{(?<![\w.@])/(?:work|home/\w+|root/\w+|tmp/(?:brief|build))\b};
    }
    push @blanks, "$path ends without a newline" if @lines && $lines[-1] ne '';
}
@places = grep { !m{^t/94-format\.t:} } @places;
offenders('no blanks at the ends of lines', @blanks);
offenders('no tabs', @tabs);
offenders("no file names a folder of somebody's machine", @places);
done;

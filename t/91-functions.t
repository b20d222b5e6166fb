# 91-functions.t - a function has at most 100 lines; exceptions are named here, with the reason.
use Bobtail::Test;
use Bobtail::House;

# Function => why it is long.
my %long = ();

my (@long, %met, $count);
for my $path (files_of(qr/\.[ch]$/, qw(server modules t/unit t/fuzz))) {
    for (functions_of($path)) {
        my ($name, $line, $lines) = @$_;
        $count++;
        next if $lines <= 100;
        $met{$name} = 1;
        push @long, "$path:$line: $name() has $lines lines" unless $long{$name};
    }
}
ok $count, 'there are functions';
offenders('functions have at most 100 lines', @long);
offenders('exceptions are long still', grep { !$met{$_} } sort keys %long);
done;

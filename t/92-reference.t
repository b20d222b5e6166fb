# 92-reference.t - etc/reference says what the rows say; `make reference` writes it.
use Bobtail::Test;

for my $kind (qw(directives counters fields acl_types phases log_writers)) {
    my $said = bobtail('--reference', $kind);
    my $kept = slurp("$ENV{BT_SRCDIR}/etc/reference/$kind.txt");

    is $said->{status}, 0, "bobtail --reference $kind" or diag $said->{output};
    next if ok $kept ne '' && $said->{output} eq $kept, "$kind.txt is what the rows say (make reference)";
    my %is_kept = map { $_ => 1 } split /\n/, $kept;
    diag "not in the file: $_" for grep defined, (grep { !$is_kept{$_} } split /\n/, $said->{output})[0 .. 9];
}
done;

# 92-reference.t - etc/reference says what the rows say; `make reference` writes it.
use Bobtail::Test;

my @kinds = qw(directives counters fields acl_types phases log_writers);
push @kinds, 'lua' if !bobtail('--explain', 'lua_script')->{status};
for my $kind (@kinds) {
    my $said = bobtail('--reference', $kind);
    my $kept = slurp("$ENV{BT_SRCDIR}/etc/reference/$kind.txt");

    is $said->{status}, 0, "bobtail --reference $kind" or diag $said->{output};
    # Without its library a module is not built, and is missing from what is printed.
    my %named = map { $_ => 1 } $kept =~ /^ +module: (\S+)$/mg;
    if (grep { bobtail('--explain', $_)->{status} } keys %named) {
        my %there = map { $_ => 1 } split /\n/, $kept;
        ok !(grep { !$there{$_} } split /\n/, $said->{output}), "$kind.txt has what the rows say, of what is built";
        next;
    }
    next if ok $kept ne '' && $said->{output} eq $kept, "$kind.txt is what the rows say (make reference)";
    my %is_kept = map { $_ => 1 } split /\n/, $kept;
    diag "not in the file: $_" for grep defined, (grep { !$is_kept{$_} } split /\n/, $said->{output})[0 .. 9];
}
done;

# 01-corpus.t - each fuzzer takes each file of its corpus, with whatever compiler built it.
use Bobtail::Test;
use File::Basename qw(basename);

my $tls = -e "$ENV{BT_BUILDDIR}/modules/built/tls.so";    # not without OpenSSL
my @sources = grep { $tls || !/fuzz_forge/ } glob "$ENV{BT_SRCDIR}/t/fuzz/fuzz_*.c";
my @corpora = grep { -d } glob "$ENV{BT_SRCDIR}/t/fuzz/corpus/*";

ok scalar @sources, 'there are fuzzers';
for my $corpus (@corpora) {
    ok -f "$ENV{BT_SRCDIR}/t/fuzz/fuzz_" . basename($corpus) . '.c', basename($corpus) . ' has its fuzzer';
}
for my $source (@sources) {
    my $name = basename($source, '.c');
    my @seeds = grep { -f } glob "$ENV{BT_SRCDIR}/t/fuzz/corpus/" . $name =~ s/^fuzz_//r . '/*';

    ok scalar @seeds, "$name has a corpus";
    # All at once is fast; one by one is asked only to name the culprit.
    my $said = run_program("$ENV{BT_BUILDDIR}/t/fuzz/$name", @seeds);
    next if is $said->{status}, 0, "$name took " . @seeds . ' files';
    for my $seed (@seeds) {
        $said = run_program("$ENV{BT_BUILDDIR}/t/fuzz/$name", $seed);
        diag "$seed: status $said->{status}: " . substr $said->{output}, -3000 if $said->{status} ne '0';
    }
}
done;

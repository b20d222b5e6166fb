# 00-unit.t - runs the unit programs of t/unit and passes on what they say.
use Bobtail::Test;
use File::Basename qw(basename);
use TAP::Parser;

my $tls = -e "$ENV{BT_BUILDDIR}/modules/built/tls.so";    # not without OpenSSL
my @sources = grep { $tls || !/test_tls_/ } glob "$ENV{BT_SRCDIR}/t/unit/test_*.c";
my @programs = map { "$ENV{BT_BUILDDIR}/t/unit/" . basename($_, '.c') } @sources;

plan(skip_all => 'built without cmocka') if @programs && !grep { -x } @programs;
ok scalar @programs, 'there are unit programs';

for my $program (@programs) {
    subtest basename($program) => sub {
        my $said = run_program($program);
        my $parser = TAP::Parser->new({ tap => $said->{output} });
        my $run = 0;

        while (my $result = $parser->next) {
            if ($result->is_test) {
                $run++;
                ok $result->is_ok, $result->description =~ s/^- //r;
            } elsif ($result->is_comment || $result->is_unknown) {
                note $result->as_string;
            }
        }
        ok $run, 'it ran tests';
        ok !$parser->parse_errors, 'as many as it planned' or diag $parser->parse_errors;
        is $said->{status}, 0, 'it ended well' or diag $said->{output};
    };
}
done;

# 93-covered.t - each directive, ACL type, field, counter and log writer is named in some test.
#
# The names come from the rows (only of what works: the other rows are walked by a table test), so
# that a new row without a test fails here.
use Bobtail::Test;
use Bobtail::House;

my %word;                                       # every word of every test, this one excepted
for my $path (files_of(qr{/[^/]+\.(?:t|c)$}, 't')) {
    next if $path =~ m{/93-covered\.t$|^t/lib/};
    my $text = slurp("$ENV{BT_SRCDIR}/$path");
    $word{$_} = 1 for $text =~ /[\w.:%>-]+/g;       # client.requests, ssl::>sni
    $word{$_} = 1 for $text =~ /\w+(?:[.:-]+\w+)*/g;
}

for my $kind (qw(directives acl_types fields counters log_writers)) {
    my $said = bobtail('--reference', $kind, '--names');
    my @names = split /\n/, $said->{output};

    is $said->{status}, 0, "bobtail --reference $kind --names" or diag $said->{output};
    ok scalar @names, "there are $kind";
    offenders("all $kind are named in some test", grep { !$word{$_} } @names);
}
done;

# 7D-examples.t - the configurations in etc/examples: this version takes each without a word.
use Bobtail::Test;

my $folder = "$ENV{BT_SRCDIR}/etc/examples";
my $lists = Bobtail::Proxy::new_directory();
sub put { my ($name, $text) = @_; open my $out, '>', "$lists/$name" or die "$name: $!"; print $out $text; close $out; return }

put('passwd', 'joe:$apr1$aaaaaaaa$xW0Zp1vEwAwSd1Hz7NQnA0' . "\n");
put('management.txt', "joe\n");
put('banned.txt', ".bad.example\n");
put('allowed.txt', ".good.example\n");
put('words.txt', "casino\n");
put('nobump.txt', ".bank.example\n");
put('store-id', "#!/bin/sh\nwhile read -r url rest; do echo ERR; done\n");
chmod 0755, "$lists/store-id";
mkdir "$lists/conf.d";
put('conf.d/local.conf', "http_access allow localnet\n");
my $made = Bobtail::Stat::run_program($ENV{BOBTAILCTL}, 'ca', 'init', "$lists/ca.pem");
is $made->{status}, 0, 'an authority is made' or diag($made->{output});

my @examples = sort glob "$folder/*.conf";
is @examples, 10, 'ten uses';
my %readme = slurp("$folder/README") =~ /^(\S+\.conf) +(\S.*)$/mg;
for my $file (@examples) {
    my ($name) = $file =~ m{([^/]+)$};
    ok $readme{$name}, "$name is in README";
    my $text = slurp($file) =~ s/\@LISTS\@/$lists/gr;
    # Places that a test has no rights to.
    $text =~ s{/var/log/bobtail}{$lists}g;
    $text =~ s{/var/cache/bobtail}{$lists}g;
    $text =~ s{/usr/share/bobtail/error}{$ENV{BT_SRCDIR}/etc/error}g;
    $text =~ s{/etc/bobtail}{$lists}g;
    my $said = parse($text);
    is $said->{status}, 0, "$name is taken";
    is $said->{output}, '', 'without a word';
}
done;

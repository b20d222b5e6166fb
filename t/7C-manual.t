# 7C-manual.t - the manual pages, printed out of the rows: they are sound, and nothing is left out.
use Bobtail::Test;

need('mandoc', 'man');
my $dir = Bobtail::Proxy::new_directory();
my %pages = ('bobtail' => 8, 'bobtail.conf' => 5, 'bobtail-module' => 7, 'bobtail-lua' => 7, 'bobtailctl' => 8);
my %text;

for my $page (sort keys %pages) {
    my $said = $page eq 'bobtailctl' ? Bobtail::Stat::run_program($ENV{BOBTAILCTL}, 'manual') : bobtail('--manual', $page);
    is $said->{status}, 0, "$page($pages{$page})";
    my $file = "$dir/$page.$pages{$page}";
    open my $out, '>', $file or die;
    print $out $said->{output};
    close $out;
    my $lint = Bobtail::Stat::run_program('mandoc', '-T', 'lint', '-W', 'warning', $file);
    is $lint->{output}, '', 'mandoc finds nothing to say';
    local $ENV{MANWIDTH} = 200;
    local $ENV{LC_ALL} = 'C.UTF-8';
    my $shown = Bobtail::Stat::run_program('man', '--nh', '-l', $file);
    is $shown->{status}, 0, 'man shows it';
    $shown->{output} =~ s/^troff:.*can't break line\n//mg;    # a long word
    unlike $shown->{output}, qr/^(?:troff|mandoc|man): /m, 'without complaint';
    ($text{$page} = $shown->{output}) =~ s/.\x08//g;
    like $text{$page}, qr/^NAME\n +\Q$page\E +(?:-|\xe2\x80\x94|\x{2014})/m, 'by its name';
}

# Every row is in one of them.
my %where = (directives => 'bobtail.conf', acl_types => 'bobtail.conf', fields => 'bobtail.conf',
    log_writers => 'bobtail.conf', counters => 'bobtail', phases => 'bobtail-module');
for my $kind (sort keys %where) {
    my @names = split /\s+/, bobtail('--reference', $kind, '--names')->{output};
    cmp_ok scalar(@names), '>', 3, "there are $kind";
    my @missing = grep { $text{ $where{$kind} } !~ /(?:^|[\s,])\Q$_\E(?:[\s,]|$)/m } @names;
    is "@missing", '', "all $kind are in $where{$kind}";
}
my @commands = Bobtail::Stat::run_program($ENV{BOBTAILCTL}, 'help')->{output} =~ /^  ([a-z]\S*)/mg;
is join(' ', grep { $text{bobtailctl} !~ /^ +\Q$_\E\b/m } @commands), '', 'all commands are in bobtailctl';
like $text{bobtail}, qr/^ +SIG$_\b/m, "SIG$_ is told of" for qw(HUP USR1 USR2 TERM INT);

# Those that are installed; the one about Lua has its functions, too.
my @built = glob "$ENV{BT_BUILDDIR}/man/*.[578]";
cmp_ok scalar(@built), '>=', 5, 'the pages are built';
is Bobtail::Stat::run_program('mandoc', '-T', 'lint', '-W', 'warning', grep { !/bobtail-ca/ } @built)->{output}, '', 'and sound';

my $said = bobtail('--manual', 'nonsense');
is $said->{status}, 1, 'a page that there is not';
like $said->{output}, qr/there are: bobtail bobtail\.conf/, 'and what there is';
done;

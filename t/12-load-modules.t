# 12-load-modules.t - which modules are loaded, by what, and each way in which one is refused.
use Bobtail::Test;
use File::Basename qw(basename);
use File::Temp ();

need('cc');
my $top = $ENV{BT_SRCDIR};
my $folder = File::Temp::tempdir(CLEANUP => 1);    # modules of this test, beside the built ones
my $aside = File::Temp::tempdir(CLEANUP => 1);     # modules that lie elsewhere
symlink $_, "$folder/" . basename($_) for glob "$ENV{BT_BUILDDIR}/modules/built/*.so";

# Compiles a module: so(NAME, C, ...) into the folder of this test, aside(NAME, C) elsewhere.
sub compile
{
    my ($dir, $name, $code) = @_;
    open my $out, '>', "$aside/$name.c" or die "$aside/$name.c: $!";
    print $out "#include \"bt.h\"\n$code\n";
    close $out;
    my @command = ('cc', '-std=c11', '-D_GNU_SOURCE', '-fvisibility=hidden', '-fPIC', '-shared',
        "-I$top/server/api", '-o', "$dir/$name.so", "$aside/$name.c");
    system(@command) == 0 or die "cannot compile $name\n";
    return "$dir/$name.so";
}
sub so { return compile($folder, @_) }
sub aside { return compile($aside, @_) }

# The index of the folder, made anew.
sub make_index
{
    my $said = bobtail('--make-index', $folder);
    is $said->{status}, 0, 'the index is made' or diag($said->{output});
    open my $out, '>', "$folder/modules.index" or die "$folder/modules.index: $!";
    print $out $said->{output};
    close $out;
    return $said->{output};
}

$ENV{BOBTAIL_MODULES} = $folder;

# What -k parse and --modules say of a configuration that is sound but for its module lines.
sub checked { return parse("@_\nhttp_port 127.0.0.1:0\npid_filename none\n") }
sub listed
{
    my $dir = File::Temp::tempdir(CLEANUP => 1);
    open my $out, '>', "$dir/bobtail.conf" or die $!;
    print $out "@_\nhttp_port 127.0.0.1:0\npid_filename none\n";
    close $out;
    return bobtail('--modules', '-f', "$dir/bobtail.conf")->{output} =~ s/\Q$dir\E/\@DIR\@/gr;
}

sub refused
{
    my ($conf, $name, @patterns) = @_;
    my $said = checked($conf);
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my @missing = grep { $said->{output} !~ $_ } @patterns;
    ok($said->{status} eq '1' && !@missing, $name)
        or diag("status $said->{status}; without @missing:\n$said->{output}");
    return;
}

sub good
{
    my ($conf, $name) = @_;
    my $said = checked($conf);
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    ok($said->{status} eq '0' && $said->{output} !~ /module/, $name)
        or diag("status $said->{status}:\n$said->{output}");
    return;
}

my $rows = <<'C';
struct conf { bt_str word; };
static const struct bt_directive directives[] = {
    BT_SET(struct conf, word, "NAME_word", "one", "A word.") };
static enum bt_match match(const void *words, struct bt_txn *txn) { (void)words; (void)txn; return BT_YES; }
static const struct bt_acl_type types[] = {
    { .name = "NAME_type", .args = "word...", .doc = "All of them.", .match = match } };
static bool get(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{ (void)txn; (void)arg; *out = (struct bt_value){ .text = BT_STR("here") }; return true; }
static const struct bt_field fields[] = {
    { "NAME.field", "CODE", "A field.", BT_AT_ACCEPT, get } };
BT_MODULE(NAME, "For a test.", .conf_size = sizeof(struct conf), .directives = BT_ROWS(directives),
    .acl_types = BT_ROWS(types), .fields = BT_ROWS(fields));
C
sub rows_of { my ($name, $code) = @_; return $rows =~ s/NAME/$name/gr =~ s/CODE/$code/gr }

# --- loaded on first use ----------------------------------------------------------------------

so('tfirst', rows_of('tfirst', 'tfc'));
so('tsecond', rows_of('tsecond', 'tsc'));
my $index = make_index();
like $index, qr/^directive tfirst_word tfirst$/m, 'the index has directives';
like $index, qr/^acl tfirst_type tfirst$/m, 'ACL types';
like $index, qr/^field tfirst\.field tfirst$/m, 'fields';
like $index, qr/^code tfc tfirst$/m, 'and logformat codes';

like listed(''), qr/^tfirst +auto +not needed$/m, 'nothing of it is used: not loaded';
my $list = listed("# a comment\ntfirst_word two");
like $list, qr/^tfirst +auto +loaded for the directive tfirst_word at \@DIR\@\/bobtail\.conf:2$/m,
    'loaded for a directive, and it is said for which';
like $list, qr/^tsecond +auto +not needed$/m, 'the other is not';
like listed('acl a tsecond_type x'), qr/^tsecond +auto +loaded for the ACL type tsecond_type at/m,
    'loaded for an ACL type';
like listed("logformat f %tfc\naccess_log stdio:/dev/null logformat=f"),
    qr/^tfirst +auto +loaded for the logformat code tfc at/m, 'loaded for a logformat code';
like listed('tfirst_word two'), qr/^core +on +built in$/m, 'what is part of the server is listed, too';
good('tfirst_word two', 'the line is taken');

# --- by name and by path ----------------------------------------------------------------------

like listed('module tfirst on'), qr/^tfirst +on +asked for at \@DIR\@\/bobtail\.conf:1$/m, 'on: loaded though unused';
my $elsewhere = aside('telse', rows_of('telse', 'tec'));
like listed("module $elsewhere on"), qr/^telse +on +asked for at/m, 'one from elsewhere, by its path';
good("telse_word two\nmodule $elsewhere on", 'its lines may stand before the module line');
refused('telse_word two', 'without the line its directive is unknown', qr/:1:1: .*telse_word/);
refused('module tfrist on', 'an unknown name, with a suggestion',
    qr/bobtail\.conf:1:8: error: there is no module 'tfrist' in \Q$folder\E; did you mean 'tfirst'\?/);
refused("module $aside/nothere.so on", 'a path where nothing is, with the reason',
    qr/:1:8: error: module \Q$aside\E\/nothere\.so cannot be opened: .*No such file or directory/);
refused('module tfirst', 'on or off is missing', qr/:1:\d+: error: .*on or off/);
refused('module tfirst on loud', 'options are none yet', qr/:1:18: error: .*loud/);

# --- off --------------------------------------------------------------------------------------

like listed('module tfirst off'), qr/^tfirst +off +forbidden at \@DIR\@\/bobtail\.conf:1$/m, 'off is listed';
good('module tfirst off', 'what is not used can be off');
refused("tfirst_word two\nmodule tfirst off", 'a directive of a module that is off, named with its place',
    qr/:1:1: error: the directive 'tfirst_word' is of module tfirst, which is switched off at \S+:2;/);
refused("module tfirst off\nacl a tfirst_type x", 'an ACL type of it',
    qr/:2:7: error: .*ACL type 'tfirst_type' is of module tfirst, which is switched off at \S+:1/);
refused("module tfirst off\nlogformat f %tfc\naccess_log stdio:/dev/null logformat=f", 'a code of it',
    qr/:[23]:\d+: error: .*tfc.* module tfirst, which is switched off at \S+:1/);
refused("module tfirst on\nmodule tfirst off", 'on and off',
    qr/:2:8: error: module tfirst was switched on at \S+:1/);
refused('module core off', 'the server itself cannot be off', qr/:1:8: error: module core is part of the server/);

# --- refused by what they are -----------------------------------------------------------------

my $major = aside('tmajor', "#undef BT_ABI_MAJOR\n#define BT_ABI_MAJOR 77\nBT_MODULE(tmajor, \"Old.\");");
refused("module $major on", 'another ABI: file, symbol, found, spoken, what to do',
    qr/:1:8: error: module \Q$major\E: its symbol bt_module is made for ABI 77\.\d+, and this server speaks \d+\.0 to \d+\.\d+: rebuild it against this server/);
my $minor = aside('tminor', "#undef BT_ABI_MINOR\n#define BT_ABI_MINOR 99\nBT_MODULE(tminor, \"New.\");");
refused("module $minor on", 'a newer ABI', qr/\Q$minor\E: its symbol bt_module is made for ABI \d+\.99/);
my $size = aside('tsize', 'BT_MODULE(tsize, "Short.", .size = 24);');
refused("module $size on", 'a table of another size', qr/\Q$size\E: its symbol bt_module is a table of 24 bytes, .*rebuild/);
my $symbol = aside('tsymbol', 'int nothing_of_ours;');
refused("module $symbol on", 'no symbol bt_module', qr/\Q$symbol\E has no symbol bt_module/);
my $name = aside('tname', 'BT_MODULE(tother, "Misnamed.");');
refused("module $name on", 'another name than its file', qr/\Q$name\E: its symbol bt_module names itself 'tother', and the file's name asks for 'tname'/);
my $unresolved = aside('tlack', 'void bt_no_such_function(void); static bool setup(void *c, struct bt_arena *a, struct bt_error *e) '
    . '{ (void)c; (void)a; (void)e; bt_no_such_function(); return true; } BT_MODULE(tlack, "Lacks.", .setup = setup);');
refused("module $unresolved on", 'a function that is not here: the loader says which', qr/\Q$unresolved\E cannot be opened: .*bt_no_such_function/);
open my $text, '>', "$aside/ttext.so" or die $!;
print $text "a text\n" x 20;
close $text;
refused("module $aside/ttext.so on", 'no shared object at all', qr/\Q$aside\E\/ttext\.so cannot be opened: .*invalid ELF header/);
my $whole = -s $major;
for my $part (0.3, 0.7, 0.99) {
    my $short = "$aside/tcut.so";
    open my $in, '<:raw', $major or die $!;
    read $in, my $bytes, int $whole * $part;
    open my $cut, '>:raw', $short or die $!;
    print $cut $bytes;
    close $cut;
    refused("module $short on", "a file of which $part is there", qr/\Q$short\E cannot be opened: the file is cut short: it has \d+ bytes, and its headers speak of $whole; copy/);
}
refused("module $major on\nmodule $size on\nnonsense 1", 'all at once',
    qr/:1:8: .*tmajor/, qr/:2:8: .*tsize/, qr/:3:1: .*nonsense/);

# --- refused by their rows --------------------------------------------------------------------

my $preset = aside('tpreset', 'struct conf { bt_size room; }; static const struct bt_directive d[] = { '
    . 'BT_SET(struct conf, room, "tpreset_room", "plenty", "Room.") }; '
    . 'BT_MODULE(tpreset, "Bad preset.", .conf_size = sizeof(struct conf), .directives = BT_ROWS(d));');
refused("module $preset on", 'a preset that its own grammar rejects', qr/tpreset_room/);
my $undocumented = aside('tdoc', 'struct conf { bool b; }; static const struct bt_directive d[] = { '
    . 'BT_SET(struct conf, b, "tdoc_b", "on", NULL) }; '
    . 'BT_MODULE(tdoc, "No doc.", .conf_size = sizeof(struct conf), .directives = BT_ROWS(d));');
refused("module $undocumented on", 'a row without a sentence', qr/module tdoc: directive 'tdoc_b' has no doc/);
my $silent = aside('tsilent', 'static bool setup(void *c, struct bt_arena *a, struct bt_error *e) '
    . '{ (void)c; (void)a; (void)e; return false; } BT_MODULE(tsilent, "Silent.", .setup = setup);');
refused("module $silent on", 'a setup that says no, and not why', qr/module tsilent refused the configuration/);
my $shadow = aside('tshadow', rows_of('tfirst', 'tfc') =~ s/BT_MODULE\(tfirst/BT_MODULE(tshadow/r);
refused("module $shadow on\nmodule tfirst on", 'two modules with one name: both are told',
    qr/modules tshadow and tfirst both provide the directive 'tfirst_word'/);
mkdir "$aside/twin" or die $!;
rename aside('tfirst', rows_of('tfirst', 'tfc')), "$aside/twin/tfirst.so" or die $!;
refused("module tfirst on\nmodule $aside/twin/tfirst.so on", 'two files for one module', qr/:2:8: error: two modules are named tfirst/);
like listed("module $aside/twin/tfirst.so on"), qr/^tfirst +on +asked for/m, 'a path goes before the folder';

# --- a known name is taken over ---------------------------------------------------------------

my $taker = aside('ttaker', 'struct conf { bool b; }; static const struct bt_directive d[] = { '
    . 'BT_SET(struct conf, b, "pinger_enable", "off", "Ours.") }; '
    . 'BT_MODULE(ttaker, "Takes over.", .conf_size = sizeof(struct conf), .directives = BT_ROWS(d));');
like checked('pinger_enable on')->{output}, qr/pinger_enable/, 'a name without effect: a warning';
good("module $taker on\npinger_enable on", 'until a module makes it work');

# --- the index --------------------------------------------------------------------------------

so('tambiguous', rows_of('tsecond', 'tsc') =~ s/BT_MODULE\(tsecond/BT_MODULE(tambiguous/r);
make_index();
refused('tsecond_word x', 'two in the folder provide it: which one?',
    qr/modules tambiguous and tsecond both provide the directive 'tsecond_word': say 'module tambiguous off' or 'module tsecond off'/);
like listed("module tambiguous off\ntsecond_word x"), qr/^tsecond +auto +loaded/m, 'one is off: the other';
like listed("module tambiguous on\ntsecond_word x"), qr/^tsecond +auto +not needed/m, 'one is on: that one';
unlink "$folder/tambiguous.so";
so('tgone', rows_of('tgone', 'tgo'));
make_index();
unlink "$folder/tgone.so";
refused($_->[0], "a module that the index knows and the folder lacks is named: $_->[0]",
    qr/$_->[1] is of module tgone, which is missing: there is no \Q$folder\E\/tgone\.so; install it, or leave this out/)
    for ['tgone_word x', qr/the directive 'tgone_word'/], ['acl x tgone_type y', qr/the ACL type 'tgone_type'/];

so('tlate', rows_of('tlate', 'tlc'));
utime time + 5, time + 5, "$folder/tlate.so";
good('tlate_word x', 'a module that came after the index is found');
unlink "$folder/modules.index";
my $without = checked('tfirst_word x');
is $without->{status}, 0, 'without an index the modules are opened';
like $without->{output}, qr/warning: .*modules\.index: No such file.*--make-index/, 'with a warning that says what to do';

rename "$aside/tmajor.so", "$folder/tmajor.so" or die $!;
my $broken = bobtail('--make-index', $folder);
isnt $broken->{status}, 0, 'no index is made while a module cannot be opened';
like $broken->{output}, qr/tmajor\.so: its symbol bt_module is made for ABI 77/, 'and it is said which';
unlink "$folder/tmajor.so";
make_index();

# --- what a hook may say ----------------------------------------------------------------------

my $stray = aside('tstray', 'static enum bt_verdict hook(struct bt_txn *t) { (void)t; return (enum bt_verdict)42; } '
    . 'static const struct bt_hook h[] = { { BT_AT_REQUEST, "Strays.", hook } }; BT_MODULE(tstray, "Strays.", .hooks = BT_ROWS(h));');
my $origin = origin('/' => { body => 'one' });
my $proxy = proxy("module $stray on\n");
$proxy->expect_log(qr/module tstray said 42 in phase REQUEST, which is no verdict/);
is get($proxy, $origin->url('/'))->status, 403, 'a stray verdict lets nobody pass';
is $origin->hits('/'), 0, 'and nothing reaches the origin';
counters($proxy, 'core.bad_verdicts' => 1, 'client.denied' => 1);

done;

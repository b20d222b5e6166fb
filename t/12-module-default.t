# 12-module-default.t - a module that is there though no line needs it.
use Bobtail::Test;
use File::Basename qw(basename);
use File::Temp ();

need('cc');
my $top = $ENV{BT_SRCDIR};
my $folder = File::Temp::tempdir(CLEANUP => 1);
chmod 0755, $folder;
symlink $_, "$folder/" . basename($_) for glob "$ENV{BT_BUILDDIR}/modules/built/*.so";
$ENV{BOBTAIL_MODULES} = $folder;

sub so
{
    my ($name, $more) = @_;
    open my $out, '>', "$folder/$name.c" or die $!;
    print $out <<"C";
#include "bt.h"
static enum bt_verdict run(struct bt_txn *txn) { bt_reply_add(txn, BT_STR("X-There"), BT_STR("$name")); return BT_PASS; }
static const struct bt_hook hooks[] = { {BT_AT_LOOKUP, "Says that it is there.", run} };
struct conf { bool b; };
static const struct bt_directive rows[] = { BT_SET(struct conf, b, "${name}_word", "off", "A word.") };
BT_MODULE($name, "For a test.", .conf_size = sizeof(struct conf), .directives = BT_ROWS(rows), .hooks = BT_ROWS(hooks), $more);
C
    close $out;
    system('cc', '-std=c11', '-D_GNU_SOURCE', '-fvisibility=hidden', '-fPIC', '-shared', "-I$top/server/api",
        '-o', "$folder/$name.so", "$folder/$name.c") == 0 or die "cannot compile $name\n";
}
so('tthere', '.by_default = true');
so('tnot', '.by_default = false');

sub listed
{
    my $dir = File::Temp::tempdir(CLEANUP => 1);
    open my $out, '>', "$dir/bobtail.conf" or die $!;
    print $out "@_\nhttp_port 127.0.0.1:0\npid_filename none\n";
    close $out;
    return bobtail('--modules', '-f', "$dir/bobtail.conf")->{output};
}

for my $indexed (0, 1) {
    my $with = $indexed ? 'by the index' : 'without an index';
    if ($indexed) {
        my $said = bobtail('--make-index', $folder);
        like $said->{output}, qr/^default tthere tthere$/m, 'the index says it';
        unlike $said->{output}, qr/^default (?!tthere|cache|page|tls)/m, 'and of no other';
        open my $out, '>', "$folder/modules.index" or die $!;
        print $out $said->{output};
        close $out;
    }
    like listed(''), qr/^tthere +auto +loaded by default$/m, "it is loaded, $with";
    like listed(''), qr/^tnot +auto +not needed$/m, "the other is not, $with";
    like listed('module tthere off'), qr/^tthere +off +forbidden at/m, "unless it is forbidden, $with";
    like listed('module tthere on'), qr/^tthere +on +asked for at/m, "or asked for, $with";
    like listed('tthere_word on'), qr/^tthere +auto +loaded for the directive tthere_word at/m, "or used, $with";
}
so('tlate', '.by_default = true');
utime time + 5, time + 5, "$folder/tlate.so";
like listed(''), qr/^tlate +auto +loaded by default$/m, 'one that came after the index, too';
unlink "$folder/tlate.so";

my $origin = origin('/a' => { body => 'one' });
my $proxy = proxy('');
is get($proxy, $origin->url('/a'))->header('X-There'), 'tthere', 'its hooks run';
my $off = proxy('module tthere off');
is get($off, $origin->url('/a'))->header('X-There'), undef, 'or not';

unlink "$folder/tthere.so";
open my $broken, '>', "$folder/tthere.so" or die $!;
print $broken "no module\n";
close $broken;
utime 1, 1, "$folder/tthere.so";
my $said = parse("http_port 127.0.0.1:0\npid_filename none\n");
is $said->{status}, 0, 'one that cannot be opened is no reason not to start';
like $said->{output}, qr/warning: .*tthere\.so cannot be opened/, 'but a warning';
done;

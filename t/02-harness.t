# 02-harness.t - a server that ends badly fails its test: each way of it, by a server that is none.
use Bobtail::Test;

my $dir = Bobtail::Proxy::new_directory();
END { File::Path::remove_tree($dir) if defined $dir }

# Does what lines `fake WORD...` of its configuration say, when it is told by SIGUSR1 or SIGTERM.
Bobtail::Proxy::write_file("$dir/bobtail", <<"FAKE");
#!$^X
use strict; use warnings;
my %option; while (\@ARGV) { my \$o = shift; \$option{\$o} = shift if \$o =~ /^(?:-f|--ready-fd)\$/ }
open my \$conf, '<', \$option{-f} or die; my \@lines = <\$conf>; close \$conf;
my (\$home) = \$option{-f} =~ m{^(.*)/};
my \@kept;
sub act {
    my (\$when) = \@_;
    for (grep { /^fake \$when / } \@lines) {
        my (\$what, \$rest) = /^fake \\w+ (\\w+) ?(.*)/;
        if (\$what eq 'say') { open my \$log, '>>', "\$home/cache.log"; print \$log "\$rest\\n" }
        if (\$what eq 'leak') { open \$kept[\@kept], '<', '/dev/zero' or die }
        if (\$what eq 'gauge') { open my \$gauge, '>', "\$home/gauge"; print \$gauge \$rest }
        if (\$what eq 'mute') { open my \$mute, '>', "\$home/mute" }
        if (\$what eq 'exit') { exit \$rest }
        if (\$what eq 'signal') { kill \$rest => \$\$; sleep 10 }
    }
}
\$SIG{USR1} = sub { act('told'); open my \$done, '>', "\$home/done" };
\$SIG{TERM} = sub { act('end'); exit 0 };
open my \$ready, '>&=', \$option{'--ready-fd'} or die "no descriptor: \$!";
print \$ready "port a 127.0.0.1:1\\nready\\n"; close \$ready;
select undef, undef, undef, 0.05 while 1;
FAKE
Bobtail::Proxy::write_file("$dir/bobtailctl", <<"FAKE");
#!$^X
my (\$home) = \$ARGV[1] =~ m{^(.*)/};
exit 0 if \$ARGV[2] ne 'stats';
exit 1 if -e "\$home/mute";
my (\$open, \$count) = (1, 7);
if (open my \$gauge, '<', "\$home/gauge") { \$open = <\$gauge>; \$count = 9 }
print "{\\"g.open\\": \$open", "\@ARGV" =~ /--kind gauge/ ? '' : ", \\"g.count\\": \$count", "}\\n";
FAKE
chmod 0755, "$dir/bobtail", "$dir/bobtailctl";
local $ENV{BOBTAIL} = "$dir/bobtail";
local $ENV{BOBTAILCTL} = "$dir/bobtailctl";
local $ENV{BT_WRAP};
$Bobtail::Proxy::moment = 1;

sub ending
{
    my ($name, $conf, $wrong, @expected) = @_;
    my $proxy = proxy($conf);
    $proxy->expect_log(@expected) if @expected;
    $proxy->signal('USR1');
    wait_for(sub { -e $proxy->file('done') }) or fail "$name: told";
    my @said = $proxy->stop;
    is scalar @said, defined $wrong ? 1 : 0, "$name: " . (defined $wrong ? 'found' : 'nothing is wrong');
    like $said[0], $wrong, '... and told of' if defined $wrong;
}

my $line = '2026/11/30 19:13:59.123 w1 #12 127.0.0.1 module|';
ending('a good server', '', undef);
ending('a warning', "fake told say $line warning: look\n", undef);
ending('an error line', "fake told say $line error: act\n", qr/it said: .*error: act/);
ending('an error line that was expected', "fake told say $line error: act\n", undef, qr/error: act/);
ending('an error line that did not come', '', qr/it never said/, qr/error: act/);
ending('a panic', "fake told say w1 panic: never\n", qr/it said: .*panic/);
ending('a sanitizer', "fake told say ==1==ERROR: AddressSanitizer: heap-use-after-free\n", qr/AddressSanitizer/);
ending('undefined behaviour', "fake told say x.c:1:2: runtime error: overflow\n", qr/runtime error/);
ending('a descriptor', "fake told leak\n", qr/has left open: .*zero/);
ending('a gauge', "fake told gauge 2\n", qr/gauge g\.open is 2, and was 1/);
ending('no word from bobtailctl', "fake told mute\n", qr/bobtailctl told no gauges/);
ending('an exit status', "fake end exit 3\n", qr/exit status is 3/);
ending('a signal', "fake end signal KILL\n", qr/died of signal 9/);

# counters() and a skip in CI are tests that can fail, too.
my $proxy = proxy('');
Bobtail::Proxy::write_file($proxy->file('gauge'), '1');
counters($proxy, 'g.count' => 2);
my $skipping = <<'INNER';
use Bobtail::Test;
SKIP: { skip 'no such thing', 1; fail 'reached' }
done;
INNER
{
    local $ENV{CI} = '';
    is run_program($^X, '-e', $skipping)->{status}, 0, 'a skip passes elsewhere';
    local $ENV{CI} = 'true';
    isnt run_program($^X, '-e', $skipping)->{status}, 0, 'and fails in CI';
    my $said = run_program($^X, '-e', "use Bobtail::Test; need('no-such-program')");
    like $said->{output}, qr/^not ok/m, 'so does a program that is not there';
}
done;

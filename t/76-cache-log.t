# 76-cache-log.t - cache_log: how many old files are kept, and what a full disk costs.
use Bobtail::Test;

sub rotated
{
    my ($proxy, $times) = @_;
    for my $round (1 .. $times) {
        is ctl($proxy, 'rotate')->{status}, 0, "rotated, $round";
        ok wait_for(sub { $proxy->log =~ /logs are rotated/ }), 'and said so in the new file';
    }
    return join ' ', map { -e $proxy->file("cache.log.$_") ? $_ : () } 0 .. 9;
}

is rotated(proxy("logfile_rotate 2\n"), 4), '0 1', 'as many as logfile_rotate says';
is rotated(proxy("logfile_rotate 2\ndebug_options ALL,1 rotate=3\n"), 5), '0 1 2', 'or debug_options';
is rotated(proxy("logfile_rotate 0\n"), 2), '', 'logfile_rotate 0: none';

# A disk that is full: what is lost is counted, and told by the first line that can be written again.
my $full = proxy("logfile_rotate 0\n");
my $log = $full->file('cache.log');
rename $log, "$log.away" or die $!;
symlink '/dev/full', $log or die $!;
ctl($full, 'rotate');
ctl($full, 'rotate');
ok wait_for(sub { (stat($full, 'diagnostics.lost') // 0) >= 2 }), 'counted: diagnostics.lost';
unlink $log;
ctl($full, 'rotate');
ctl($full, 'rotate');
ok wait_for(sub { $full->log =~ /\n.*logs are rotated/ }), 'it can be written again';
like $full->log, qr/\A\S+ \S+ log\| warning: [2-9] lines could not be written here: No space left on device\n/,
    'and its first line says what is missing';
is scalar(() = $full->log =~ /could not be written/g), 1, 'once';
done;

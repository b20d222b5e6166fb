# 71-proc-shared.t - what workers share survives a reload, and a worker that was killed is buried once.
use Bobtail::Test;

# Which memory it is: the inode of a memfd of the master, by its name; and how many descriptors there are.
sub zones
{
    my ($proxy) = @_;
    my (%zone, $wakes);
    for my $fd (glob '/proc/' . $proxy->pid . '/fd/*') {
        my $what = readlink($fd) // next;
        $zone{$1} = (CORE::stat $fd)[1] if $what =~ m{^/memfd:bobtail-(\S+)};
        $wakes++ if $what eq 'anon_inode:[eventfd]';
    }
    return (\%zone, $wakes);
}
sub workers { my ($proxy) = @_; my @workers = $proxy->workers; return @workers }
sub burials { my ($proxy) = @_; my @lines = $proxy->log =~ /member (\d+) is gone/g; return @lines }

my $conf = "workers 2\n";
my $proxy = proxy("workers 4\n", workers => 4);
my ($before, $wakes) = zones($proxy);
ok $before->{members}, 'the master has the page of members';
is $wakes, 10, 'and a descriptor to wake each of two generations, and two more';
$proxy->write_conf($conf);
ctl($proxy, 'reload');
my ($after, $then) = zones($proxy);
is $after->{members}, $before->{members}, 'the same memory after a reload';
is $then, 6, 'with descriptors for fewer workers';
$proxy->write_conf("workers 4\n");
ctl($proxy, 'reload');
($after, $then) = zones($proxy);
is $after->{members}, $before->{members}, 'also with more workers';
is $then, 10, 'and more descriptors';
$proxy->write_conf($conf);
ctl($proxy, 'reload');
($after, $then) = zones($proxy);
is $after->{members}, $before->{members}, 'or with fewer again';
is $then, 6, 'and fewer descriptors';
ctl($proxy, 'reload');
is +(zones($proxy))[1], 6, 'again and again';
is burials($proxy), 0, 'those who leave are not buried';

# A configuration that is refused leaves all as it was.
$proxy->expect_log(qr/reload: /);
$proxy->write_conf("workers 2\nno_such_directive\n");
isnt ctl($proxy, 'reload')->{status}, 0, 'a bad configuration is refused';
($after, $then) = zones($proxy);
is $after->{members}, $before->{members}, 'and the memory is as it was';
$proxy->write_conf($conf);

$proxy->expect_log(qr/was ended by signal 9/);
ok wait_for(sub { workers($proxy) == 2 }), 'two workers';
my ($victim) = $proxy->workers;
kill KILL => $victim;
ok wait_for(sub { burials($proxy) }), 'one that was killed is buried';
ok wait_for(sub { workers($proxy) == 2 && !grep { $_ == $victim } $proxy->workers }), 'and another one is there';
is ctl($proxy, 'reload')->{status}, 0, 'a reload later on';
is burials($proxy), 1, 'it was buried once';
is stat($proxy, 'shared.buried'), 1, 'which is counted';

# All at once: nobody is left to bury them but those who come after.
kill KILL => $proxy->workers;
ok wait_for(sub { burials($proxy) == 3 }), 'those who died together are buried by the next ones';
ok wait_for(sub { workers($proxy) == 2 }), 'who serve';
counters($proxy, 'shared.buried' => 3, 'shared.emptied' => 0);

my $alone = proxy('');
is +(zones($alone))[1], 1, 'one process of -N has a descriptor for itself';
like parse("http_port 127.0.0.1:0\nworkers 200\n")->{output}, qr/200 workers are more than there can be; there will be 128/,
    'numbers are for two generations of 128';
done;

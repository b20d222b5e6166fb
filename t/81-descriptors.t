# 81-descriptors.t - without free descriptors: nobody is dropped, those inside are served, all recovers.
use Bobtail::Test;

my $origin = origin('/a' => { body => 'one' });
my $other = origin('/a' => { body => 'other' });
my $proxy = proxy(<<'CONF');
cache deny all
max_filedescriptors 41
CONF

my $inside = client($proxy);
is get($proxy, $origin->url('/a'), on => $inside)->body, 'one', 'a client that is inside';

# More clients than there are descriptors; those that do not get in wait in the kernel.
my @crowd = map { client($proxy) } 1 .. 50;
ok wait_for(sub { $proxy->log =~ /no connections are accepted.*max_filedescriptors/ }), 'the log says so';
is get($proxy, $origin->url('/a'), on => $inside)->body, 'one', 'is served all the same';
# Each that leaves makes room for one, and not for one more, who would take one of the last.
for (1 .. 12) {
    my $came = stat($proxy, 'client.connections') // 0;
    (shift @crowd)->close;
    wait_for(sub { (stat($proxy, 'client.connections') // 0) > $came });
}
is get($proxy, $other->url('/a'), on => $inside)->body, 'other', 'and when many have come and gone';
my $last = pop @crowd;
$last->send('GET ' . $origin->url('/a') . " HTTP/1.1\r\nHost: x\r\n\r\n");
$_->close for @crowd;
is $last->response(to => 'GET')->body, 'one', 'one that waited is served when there is room';
$_->close for $last, $inside;
ok stat($proxy, 'client.accept_paused') > 0, 'that was counted: client.accept_paused';
is stat($proxy, 'client.accept_failed'), 0, 'and nothing failed: client.accept_failed';
is stat($proxy, 'client.connections'), 51, 'nobody was lost';

# Kept connections to origins give their descriptors to those that are needed.
my $wide = origin('/a' => { body => 'two' }, '/hold' => { body => 'late', hold => 1 }, listen => '0.0.0.0');
my $port = $wide->port;
my $one = client($proxy);
my @good = grep { get($proxy, "http://127.3.0.$_:$port/a", on => $one)->status == 200 } 1 .. 60;
is @good, 60, 'more origins than descriptors';
ok stat($proxy, 'origin.evicted') > 20, 'since idle connections were closed: origin.evicted';
$one->close;

# When each is in use, it is said.
mark($proxy);
my @held = map { client($proxy) } 1 .. 30;
wait_for(sub { (stat($proxy, 'client.accept_paused') // 0) > $proxy->{counted_from}{'client.accept_paused'} });
$_->send("GET http://127.0.0.1:$port/hold HTTP/1.1\r\nHost: x\r\n\r\n") for @held;
ok wait_for(sub { grep { $_->fill(0); $_->{buffer} ne '' } @held }), 'more exchanges than descriptors';
my @refused = grep { $_->{buffer} ne '' } @held;
my $answer = $refused[0]->response(to => 'GET');
is $answer->status, 503, 'some are refused';
like $answer->header('X-Squid-Error'), qr/^ERR_CONNECT_FAIL 24/, 'since there were too many open files';
$wide->release('/hold');
$_->close for @refused;
my %refused = map { $_ => 1 } @refused;
# Each that leaves lets in one who waits in the kernel.
my (@late, @others);
for my $conn (grep { !$refused{$_} } @held) {
    my $got = $conn->response(to => 'GET');
    push @{ $got->body eq 'late' ? \@late : \@others }, $got->status;
    $conn->close;
}
cmp_ok @late, '>', 7, 'others are served';
is_deeply [grep { $_ != 503 } @others], [], 'and all have an answer';
# Until they have left there may be no descriptor for bobtailctl either, which `done` needs.
ok wait_for(sub { (stat($proxy, 'client.open') // 1) == 0 }), 'all leave';
done;

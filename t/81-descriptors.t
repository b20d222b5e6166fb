# 81-descriptors.t - without free descriptors: nobody is dropped, those inside are served, all recovers.
use Bobtail::Test;

my $origin = origin('/a' => { body => 'one' });
my $proxy = proxy(<<'CONF');
max_filedescriptors 40
CONF

my $inside = client($proxy);
is get($proxy, $origin->url('/a'), on => $inside)->body, 'one', 'a client that is inside';

# More clients than there are descriptors; those that do not get in wait in the kernel.
my @crowd = map { client($proxy) } 1 .. 50;
ok wait_for(sub { $proxy->log =~ /no connections are accepted.*max_filedescriptors/ }), 'the log says so';
is get($proxy, $origin->url('/a'), on => $inside)->body, 'one', 'is served all the same';
my $last = pop @crowd;
$last->send('GET ' . $origin->url('/a') . " HTTP/1.1\r\nHost: x\r\n\r\n");
$_->close for @crowd;
is $last->response(to => 'GET')->body, 'one', 'one that waited is served when there is room';
$_->close for $last, $inside;
ok stat($proxy, 'client.accept_paused') > 0, 'that was counted: client.accept_paused';
is stat($proxy, 'client.accept_failed'), 0, 'and nothing failed: client.accept_failed';
is stat($proxy, 'client.connections'), 51, 'nobody was lost';
done;

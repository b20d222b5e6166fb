# 7G-tops.t - top domains and clients: whatever is frequent is there, however many others come, in bounded memory.
use Bobtail::Test;
use JSON::PP ();

my $proxy = proxy(<<'CONF');
admin_port 127.0.0.1:0
http_access deny all
CONF
my $client = client($proxy);
sub ask
{
    my ($host) = @_;
    $client->send("GET http://$host/ HTTP/1.1\r\nHost: $host\r\n\r\n");
    return $client->response->status;
}
# Three that are frequent, among a thousand that come once.
for my $n (1 .. 1000) {
    ask("rare$n.test");
    ask('often.test') if $n % 2 == 0;
    ask('sometimes.test') if $n % 4 == 0;
    ask('Now-And-Then.test.') if $n % 8 == 0;
}
my $long = join '.', ('x' x 60) x 4, 'end', 'test';
is ask($long), 403, 'a long name';
$client->close;
get($proxy, 'http://often.test/', from => '127.0.0.2') for 1 .. 3;

my $status = JSON::PP::decode_json(get($proxy->addr('admin'), '/status')->body);
my @top = @{ $status->{domains} };
is join(' ', map { $_->{name} } @top[0, 1, 2]), 'often.test sometimes.test now-and-then.test', 'the frequent ones, in order'
    or diag explain \@top;
my %true = ('often.test' => 503, 'sometimes.test' => 250, 'now-and-then.test' => 125);
for (@top[0, 1, 2]) {
    cmp_ok $_->{requests}, '>=', $true{ $_->{name} }, "$_->{name}: not too few";
    cmp_ok $_->{requests} - $_->{over}, '<=', $true{ $_->{name} }, 'and at most so many too many as is told';
    cmp_ok $_->{denied}, '<=', $true{ $_->{name} }, 'refused';
}
is @top, 20, 'no more than twenty are told';
is_deeply [ map { "$_->{name} $_->{requests}" } @{ $status->{clients} } ], [ '127.0.0.1 1876', '127.0.0.2 3' ], 'clients';
done;

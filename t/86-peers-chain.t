# 86-peers-chain.t - three levels: a child shares its requests out to two parents by CARP, all of them with a
# cache; 2,000 requests, while one parent is killed and comes back. Each body is a function of its URL.
use Bobtail::Test;
use IO::Socket::IP;
use POSIX ();
use Socket qw(SOCK_STREAM);

use constant { CLIENTS => 4, EACH => 500, URLS => 150 };

my $origin = origin('*' => sub {
    my ($request) = @_;
    my ($n) = $request->{path} =~ m{^/(\d+)$};
    return { status => 204 } if $request->{method} eq 'POST';
    return { body => join(' ', map { $_ * $n } 1 .. 200), 'Cache-Control' => 'max-age=600' };
});
sub body_of { my ($n) = @_; return join ' ', map { $_ * $n } 1 .. 200 }

# Bound and not listening: nobody else gets that port while a parent is away.
my @held = map { IO::Socket::IP->new(LocalHost => '127.0.0.1', LocalPort => 0, Proto => 'tcp', Type => SOCK_STREAM, ReuseAddr => 1) // die "no socket: $@" } 1, 2;
sub parent
{
    my ($i) = @_;
    return proxy("http_port 127.0.0.1:" . $held[$i]->sockport . "\ncache_mem 16 MB\nvisible_hostname parent$i.test\n");
}
my @parents = map { parent($_) } 0, 1;
my $child = proxy(<<"CONF", workers => 2);
cache_mem 256 KB
dead_peer_timeout 1 second
never_direct allow all
nonhierarchical_direct off
cache_peer 127.0.0.1 parent @{[$held[0]->sockport]} 0 no-query carp name=left connect-fail-limit=2
cache_peer 127.0.0.1 parent @{[$held[1]->sockport]} 0 no-query carp name=right connect-fail-limit=2
logformat way %Sh %<A
access_log stdio:\@DIR\@/access.log way
CONF

# Through a kept connection; a dot for each that is done. What is odd is told in a letter.
sub storm
{
    my ($seed, $out) = @_;
    my $conn;
    for my $i (1 .. EACH) {
        my $n = 1 + ($seed * 7919 + $i * 104_729) % URLS;
        my $kind = $i % 25 == 0 ? 'POST' : 'GET';
        $conn //= client($child);
        my $answer = eval { request($child, $kind, $origin->url("/$n"), on => $conn, $kind eq 'POST' ? (body => 'x') : ()) };
        my $said = !$answer || $answer->status == 0 ? 'c'
            : $kind eq 'POST' ? ($answer->status == 204 ? '.' : 'p')
            : $answer->status != 200 ? 'e'
            : $answer->body eq body_of($n) ? '.'
            : length $answer->body < length body_of($n) ? 'c' : 'W';
        undef $conn if $said ne '.';
        syswrite $out, $said;
    }
    return;
}

pipe my $in, my $out or die "pipe: $!";
my @pids = map {
    my $pid = fork // die "fork: $!";
    if (!$pid) { close $in; storm($_, $out); POSIX::_exit(0) }
    $pid;
} 1 .. CLIENTS;
close $out;

my $said = '';
sub storm_until
{
    my ($n) = @_;
    my $vector = '';
    vec($vector, fileno $in, 1) = 1;
    while (length $said < $n) {
        select(my $ready = $vector, undef, undef, 60) or die 'the storm stands still after ' . length $said;
        sysread $in, $said, 4096, length $said or last;
    }
    return;
}
storm_until(500);
$parents[0]->kill_it;
storm_until(1200);
my $dead = ctl($child, 'peers')->{output};
like $dead, qr/^left \S+ dead/m, 'a parent is killed in the middle of it, and known to be dead';
$parents[0] = parent(0);
storm_until(CLIENTS * EACH);
waitpid $_, 0 for @pids;

is length $said, CLIENTS * EACH, 'each request has an end';
is scalar($said =~ tr/W//), 0, 'no answer is somebody else\'s';
is scalar($said =~ tr/e//), 0, 'no GET fails: it goes to the other parent';
cmp_ok scalar($said =~ tr/cp//), '<=', 8, 'what was under way when it was killed is cut at most: ' . ($said =~ tr/cp//);
ok wait_for(sub { later($child, 2); ctl($child, 'peers')->{output} =~ /^left \S+ up/m }), 'it is found again';
cmp_ok stats($child)->{'peer.revived'}, '>=', 1, '... by a probe';

my %way;
$way{$_}++ for split /\n/, $child->text('access.log');
cmp_ok $way{"CARP $_"} // 0, '>', 50, "$_ had its share" for qw(left right);
my $lonely = grep { !/CARP|ANY_OLD_PARENT|HIER_NONE/ } keys %way;
is $lonely, 0, 'nothing went another way' or diag join "\n", %way;

my $n = 0;
for (1 .. 40) { $n++ if get($child, $origin->url("/$_"))->body eq body_of($_) }
is $n, 40, 'after it all is as before';
ctl($child, 'idle', 'close'); # what it keeps open are its parents' clients
done;

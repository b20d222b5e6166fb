# 3C-shared.t - what one worker has learnt of logins and of external ACLs, the others know: credentials,
# nonces and their counts, addresses of users, failures, answers of helpers.
use Bobtail::Test;
use Digest::MD5 qw(md5_hex);
use JSON::PP ();
use MIME::Base64 qw(encode_base64);

my $origin = origin('*' => { body => 'ok' });
my $url = $origin->url('/');
my $one = 'children 1 startup=1 idle=0';
sub sh { my ($body) = @_; return "while read -r line; do $body\ndone\n" }
sub workers { my ($proxy) = @_; return @{ JSON::PP::decode_json(ctl($proxy, 'workers', '--json')->{output}) } }

# The answer to a request that worker number $row has got. Connections of old workers do not count.
sub by
{
    my ($row, $proxy, %how) = @_;
    my $open = sub { return map { $_->{worker} => $_->{open} } grep { $_->{state} eq 'accepting' } workers($proxy) };
    my ($client, $answer, @others);

    wait_for(sub { stat($proxy, 'client.open') == 0 });
    for (1 .. 60) {
        my %before = $open->();
        my $got;
        $client = client($proxy, from => $how{from} // '127.0.0.1');
        wait_for(sub { my %now = $open->(); ($got) = grep { $now{$_} > $before{$_} } keys %now; $got });
        last if ($got // 0) == $row;
        push @others, $client;
        undef $client;
    }
    die "no connection to worker $row" if !$client;
    $answer = request($proxy, GET => $how{url} // $url, on => $client, headers => $how{headers} // []);
    $_->close for $client, @others;
    return $answer;
}
sub by_status { return by(@_)->status }
sub told { my ($proxy, $file) = @_; my @lines = split /\n/, -e $proxy->file($file) ? $proxy->text($file) : ''; return @lines }

# --- external ACLs --------------------------------------------------------------------------------

my $external = proxy(<<"CONF", workers => 2, files => { 'x.sh' => sh('echo "$line" >> $0.told; case "$line" in *no*) echo "ERR message=why" ;; *) echo "OK user=joe tag=gold clt_conn_tag=\"a b\"" ;; esac') });
workers 2
external_acl_type x ttl=100 negative_ttl=10 grace=20 children-startup=1 children-max=1 children-idle=0 %PATH /bin/sh \@DIR\@/x.sh
acl x external x
acl gold tag gold
http_access allow x gold
logformat t %ue|%et|%note{clt_conn_tag}|
access_log stdio:\@DIR\@/access.log logformat=t
CONF
is by_status(1, $external), 200, 'an external ACL, asked by one worker';
is by_status(2, $external), 200, '... and remembered by the other';
is told($external, 'x.sh.told'), 1, 'the helper was asked once';
counters($external, 'external.questions' => 1, 'external.cached' => 1);
ok wait_for(sub { $external->text('access.log') =~ /^(joe\|gold\|a%20b\b.*\|)\n\1$/m }), 'with all that it said';
is by_status(2, $external, url => $origin->url('/no')), 403, 'a refusal';
is by_status(1, $external, url => $origin->url('/no')), 403, '... is remembered, too';
is told($external, 'x.sh.told'), 2, 'and asked once';
later($external, 11);
is by_status(1, $external, url => $origin->url('/no')), 403, 'after negative_ttl';
is told($external, 'x.sh.told'), 3, '... it is asked again';
later($external, 74);
mark($external);
is by_status(1, $external), 200, 'within grace';
is by_status(2, $external), 200, '... from both';
wait_for(sub { told($external, 'x.sh.told') == 4 });
is told($external, 'x.sh.told'), 4, 'it is asked ahead of time, once';
counters($external, 'external.refreshed' => 1);
later($external, 50);
is by_status(2, $external), 200, 'after the first ttl the new answer stands';
is told($external, 'x.sh.told'), 4, '... for both';
ctl($external, 'reload');
is by_status(1, $external), 200, 'a reload forgets';
is told($external, 'x.sh.told'), 5, '... so that helpers are asked';

my $few = proxy(<<"CONF", workers => 2, files => { 'x.sh' => sh('echo "$line" >> $0.told; echo OK') });
workers 2
external_acl_type x ttl=100 cache=2 children-startup=1 children-max=1 children-idle=0 %PATH /bin/sh \@DIR\@/x.sh
acl x external x
http_access allow x
CONF
is by_status($_->[0], $few, url => $origin->url($_->[1])), 200, "cache=2: $_->[1]" for [1, '/a'], [2, '/b'], [1, '/a'], [2, '/c'], [1, '/a'];
is_deeply [told($few, 'x.sh.told')], ['/a -', '/b -', '/c -'], 'two are remembered by all together';
is by_status(1, $few, url => $origin->url('/b')), 200, 'the one that was used least recently';
is +(told($few, 'x.sh.told'))[3], '/b -', '... was forgotten';

# --- Basic ----------------------------------------------------------------------------------------

sub basic { my ($user, $password) = @_; return ('Proxy-Authorization', 'Basic ' . encode_base64("$user:$password", '')) }

# All that the server has in shared memory.
sub memory
{
    my ($proxy) = @_;
    my $all = '';
    for my $fd (glob '/proc/' . $proxy->pid . '/fd/*') {
        next unless (readlink($fd) // '') =~ m{^/memfd:bobtail-};
        open my $in, '<:raw', $fd or die "$fd: $!";
        local $/;
        my $text = <$in>;
        $all .= $text =~ s/\0{64,}/\0/gr;
    }
    return $all;
}

my $basic = proxy(<<"CONF", workers => 2, files => { 'b.sh' => sh('echo "$line" >> $0.told; case "$line" in *unforgettable*) echo "OK user=Joseph" ;; *) echo ERR ;; esac') });
workers 2
auth_param basic program /bin/sh \@DIR\@/b.sh
auth_param basic $one
auth_param basic credentialsttl 1 minute
acl known proxy_auth Joseph
http_access allow known
CONF
my @joe = (headers => [basic('joe', 'unforgettable')]);
is by_status(1, $basic, @joe), 200, 'Basic: asked by one worker';
is by_status(2, $basic, @joe), 200, '... and known to the other, by the name that the helper gave';
is told($basic, 'b.sh.told'), 1, 'the helper was asked once';
counters($basic, 'auth.cached' => 1, 'auth.good' => 1);
is by_status(2, $basic, headers => [basic('joe', 'other')]), 407, 'another password is another question';
my $memory = memory($basic);
like $memory, qr/Joseph/, 'the name stands in shared memory';
unlike $memory, qr/unforgettable|dW5mb3JnZXR0YWJsZ/, 'the password does not';
later($basic, 61);
is by_status(1, $basic, @joe), 200, 'after credentialsttl';
is told($basic, 'b.sh.told'), 3, '... it is asked again';
ctl($basic, 'reload');
is by_status(2, $basic, @joe), 200, 'and after a reload';
is told($basic, 'b.sh.told'), 4, '... which may have brought another helper';

# Failures from one address are those at all workers together.
is by_status(1 + $_ % 2, $basic, from => '127.9.9.9', headers => [basic('joe', "no$_")]), 407, "wrong, $_" for 1 .. 3;
is stat($basic, 'auth.slowed'), 0, 'three are free';
is by_status(2, $basic, from => '127.9.9.9', headers => [basic('joe', 'no4')]), 407, 'wrong, 4';
is stat($basic, 'auth.slowed'), 1, 'the fourth is held back';

# --- Digest ---------------------------------------------------------------------------------------

my $ha1 = md5_hex('joe:house:secret');
my $digest = proxy(<<"CONF", workers => 2, files => { 'd.sh' => sh(qq{echo "\$line" >> \$0.told; echo 'OK ha1="$ha1"'}) });
workers 2
auth_param digest program /bin/sh \@DIR\@/d.sh
auth_param digest $one
auth_param digest realm house
acl known proxy_auth joe
http_access allow known
CONF
sub nonce { my ($answer) = @_; return ($answer->header('Proxy-Authenticate') =~ /nonce="([^"]+)"/)[0] }
sub digest
{
    my ($nonce, $count) = @_;
    my $nc = sprintf '%08x', $count;
    my $response = md5_hex("$ha1:$nonce:$nc:abc:auth:" . md5_hex('GET:/'));
    return (headers => ['Proxy-Authorization', qq{Digest username="joe", realm="house", nonce="$nonce", uri="/", }
        . qq{response="$response", qop=auth, nc=$nc, cnonce="abc", algorithm=MD5}]);
}
my $nonce = nonce(by(1, $digest));
is by_status(2, $digest, digest($nonce, 1)), 200, 'Digest: a nonce of the other worker';
is by_status(1, $digest, digest($nonce, 2)), 200, '... and the next count, at the first';
is told($digest, 'd.sh.told'), 1, 'the helper was asked once';
my $replay = by(1, $digest, digest($nonce, 1));
is $replay->status, 407, 'a request that the other one has had is a replay';
like $replay->header('Proxy-Authenticate'), qr/stale=true/, '... for which a new nonce is enough';
is by_status(2, $digest, digest($nonce, 2)), 407, 'everywhere';
unlike memory($digest), qr/\Q$ha1\E|\Q@{[pack 'H*', $ha1]}\E/, 'what stands for the password is not in shared memory';
ctl($digest, 'reload');
is by_status(1, $digest, digest($nonce, 3)), 200, 'a nonce outlives a reload';
is by_status(2, $digest, digest($nonce, 2)), 407, '... and so do its counts';
my %nonces = map { nonce(by(1 + $_ % 2, $digest)) => 1 } 1 .. 8;
is keys %nonces, 8, 'no two nonces are the same';

# A worker that is killed takes nothing along that the others know.
$digest->expect_log(qr/was ended by signal 9/);
my ($victim) = map { $_->{pid} } grep { $_->{worker} == 1 && $_->{state} eq 'accepting' } workers($digest);
kill KILL => $victim;
ok wait_for(sub { stat($digest, 'shared.buried') == 1 && grep { $_->{worker} == 1 && $_->{pid} != $victim && $_->{state} eq 'accepting' } workers($digest) }), 'a worker is killed';
is by_status(1, $digest, digest($nonce, 3)), 407, 'its successor knows the counts';
is by_status(1, $digest, digest($nonce, 4)), 200, '... and takes the next one';

# --- max_user_ip ----------------------------------------------------------------------------------

my $moving = proxy(<<"CONF", workers => 2, files => { passwd => "joe:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n" });
workers 2
auth_param basic program basic_ncsa_auth \@DIR\@/passwd
authenticate_ip_ttl 60 seconds
acl known proxy_auth REQUIRED
acl desk max_user_ip -s 1
http_access deny desk
http_access allow known
CONF
my @secret = (headers => [basic('joe', 'secret')]);
is by_status(1, $moving, from => '127.0.0.1', @secret), 200, 'max_user_ip: one address';
is by_status(2, $moving, from => '127.0.0.2', @secret), 403, '... and no other, at any worker';
is by_status(2, $moving, from => '127.0.0.1', @secret), 200, 'the first is welcome at each';
later($moving, 61);
is by_status(1, $moving, from => '127.0.0.2', @secret), 200, 'after authenticate_ip_ttl it may be another';
is by_status(2, $moving, from => '127.0.0.1', @secret), 403, '... but one';
done;

# 3B-auth-schemes.t - Digest with its nonces and counts; Negotiate and NTLM, bound to connections;
# the order in which schemes are offered.
use Bobtail::Test;
use Digest::MD5 qw(md5_hex);
use Digest::SHA qw(sha256_hex);

my $origin = origin('*' => { body => 'ok' });
my $url = $origin->url('/');
my $one = 'children 1 startup=1 idle=0';
sub sh { my ($body, $read) = @_; return "while read -r $read; do $body\ndone\n" }

# --- Digest ---------------------------------------------------------------------------------------

sub params { my ($header) = @_; return { $header =~ /(\w+)="?([^",]+)"?/g } }

# The header of a client that knows the password. %how overrides single parameters.
sub digest
{
    my ($challenge, %how) = @_;
    my $hash = ($how{algorithm} // 'MD5') eq 'MD5' ? \&md5_hex : \&sha256_hex;
    my %p = (username => 'joe', realm => 'house', nonce => $challenge->{nonce}, uri => '/', qop => 'auth', nc => '00000001',
        cnonce => 'abc', password => 'secret', method => 'GET', algorithm => 'MD5', %how);
    my $ha1 = $hash->("$p{username}:$p{realm}:$p{password}");
    my $ha2 = $hash->("$p{method}:$p{uri}");
    $p{response} //= defined $p{qop} ? $hash->("$ha1:$p{nonce}:$p{nc}:$p{cnonce}:$p{qop}:$ha2") : $hash->("$ha1:$p{nonce}:$ha2");
    my @quoted = map { "$_=\"$p{$_}\"" } grep { defined $p{$_} } qw(username realm nonce uri response), defined $p{qop} ? 'cnonce' : ();
    my @bare = map { "$_=$p{$_}" } grep { defined $p{$_} } 'algorithm', defined $p{qop} ? qw(qop nc) : ();
    return 'Digest ' . join(', ', @quoted, @bare) . ($p{more} // '');
}

for my $algorithm (qw(MD5 SHA-256)) {
    my $hash = $algorithm eq 'MD5' ? \&md5_hex : \&sha256_hex;
    my $ha1 = $hash->('joe:house:secret');
    my $helper = sh(qq{echo "\$line" >> \$0.told; case "\$line" in '"joe":"house"') echo 'OK ha1="$ha1" group_=7' ;; *) echo ERR ;; esac}, 'line');
    my $proxy = proxy(<<"CONF", files => { 'd.sh' => $helper });
auth_param digest program /bin/sh \@DIR\@/d.sh
auth_param digest $one
auth_param digest realm house
auth_param digest algorithm $algorithm
auth_param digest nonce_max_count 4
auth_param digest nonce_max_duration 10 minutes
acl known proxy_auth joe
http_access allow known
logformat t %ul|%>Hs
access_log stdio:\@DIR\@/access.log logformat=t
CONF
    my $from = 0;
    my $try = sub {
        my ($challenge, %how) = @_;
        my $address = '127.5.0.' . ++$from;     # so that nothing is held back
        return get($proxy, $url, from => $address, headers => ['Proxy-Authorization', digest($challenge, algorithm => $algorithm, %how)]);
    };
    my $fresh = sub { return params(get($proxy, $url)->header('Proxy-Authenticate')) };
    my $first = $fresh->();
    is_deeply { %$first, nonce => '' }, { nonce => '', realm => 'house', qop => 'auth', algorithm => $algorithm, stale => 'false' }, "$algorithm: the challenge";
    isnt $fresh->()->{nonce}, $first->{nonce}, 'nonces differ';
    is $try->($first)->status, 200, 'the right response';
    is $proxy->text('d.sh.told'), qq{"joe":"house"\n}, 'what the helper is told';
    my $again = $try->($first);
    is $again->status, 407, 'the same count is a replay';
    like $again->header('Proxy-Authenticate'), qr/stale=true/, '... for which a new nonce is enough';
    is $try->($first, nc => '00000003')->status, 200, 'a count ahead';
    is $try->($first, nc => '00000002')->status, 200, '... may overtake another';
    is $try->($first, nc => '00000004')->status, 407, 'nonce_max_count';
    is $proxy->text('d.sh.told'), qq{"joe":"house"\n}, 'the helper was asked once';

    my $second = $fresh->();
    is $try->($second, password => 'wrong')->status, 407, 'a wrong password';
    unlike $try->($second, password => 'wrong')->header('Proxy-Authenticate'), qr/stale=true/, '... is not stale';
    is $try->($second, username => 'jim')->status, 407, 'a user whom the helper does not know';
    is $try->({ nonce => $second->{nonce} =~ s/.$/x/r })->status, 407, 'a nonce that is not ours';
    is $try->($second, realm => 'other')->status, 407, 'another realm';
    is $try->($second, qop => 'auth-int')->status, 407, 'another qop';
    is $try->($second, nc => '1')->status, 407, 'a count of the wrong length';
    is $try->($second, nc => '00000001' x 40)->status, 407, 'a count that is far too long';
    is $try->($second, nc => '00000000')->status, 407, 'no count';
    is $try->($second, response => 'x' x 32)->status, 407, 'a response that is none';
    is $try->($second, more => ', nonce="x"')->status, 407, 'a parameter twice';
    is $try->($second, more => ', x="')->status, 407, 'a quote that is not closed';
    is $try->($second, uri => '/"')->status, 407, 'a quote within';
    is $try->($second, more => ' , , unknown=1')->status, 200, 'others do not matter';
    is $try->($fresh->(), qop => undef)->status, 200, 'as RFC 2069 had it';
    my $old = $fresh->();
    later($proxy, 601);
    my $late = $try->($old);
    is $late->status, 407, 'nonce_max_duration';
    like $late->header('Proxy-Authenticate'), qr/stale=true/, '... is stale';
    cmp_ok stat($proxy, 'auth.stale'), '>=', 3, 'auth.stale';
    wait_for(sub { $proxy->text('access.log') =~ /joe/ });
    like $proxy->text('access.log'), qr/^joe\|200$/m, 'the name is in the log';
}

# --- Negotiate ------------------------------------------------------------------------------------

my $dialogue = sh('echo "$word $token" >> $0.told; case "$word $token" in "YR begin="*) echo "TT next=" ;; '
    . '"KK proof="*) echo "AF final= joe@REALM" ;; "YR at-once"*) echo "OK token=done user=jim" ;; '
    . '"YR ask") echo "TT token=more" ;; "YR bad") echo "NA no such user" ;; "YR sick") echo "BH broken" ;; '
    . '"YR die") exit 1 ;; *) echo "ERR message=what" ;; esac', 'word token');
my $nego = proxy(<<"CONF", files => { 'n.sh' => $dialogue, passwd => "basil:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n" });
auth_param negotiate program /bin/sh \@DIR\@/n.sh
auth_param negotiate children 2 startup=2 idle=0
auth_param basic program basic_ncsa_auth \@DIR\@/passwd
auth_param basic realm house
auth_param ntlm program /bin/sh \@DIR\@/n.sh
auth_param ntlm $one
acl known proxy_auth REQUIRED
http_access allow known
logformat t %ul|%>Hs
access_log stdio:\@DIR\@/access.log logformat=t
CONF
delete $nego->{gauges}{"helper.auth_$_.processes"} for qw(negotiate ntlm);
$nego->{descriptors} = {};
my @offered = get($nego, $url)->headers('Proxy-Authenticate');
is_deeply \@offered, ['Negotiate', 'Basic realm="house"', 'NTLM'], 'schemes in order of their first lines';

my $conn = client($nego);
sub say_on { my ($on, $word, $scheme) = @_; $scheme //= 'Negotiate'; return get($nego, $url, on => $on, headers => [defined $word ? ('Proxy-Authorization', "$scheme $word") : ()]) }
my $step = say_on($conn, 'begin=');
is $step->status, 407, 'the first word';
is_deeply [$step->headers('Proxy-Authenticate')], ['Negotiate next='], '... is answered by the helper alone';
is say_on($conn, 'proof=')->status, 200, 'the last one';
is say_on($conn, undef)->status, 200, 'the connection is logged in';
is say_on($conn, 'proof=')->status, 200, '... and the same word again changes nothing';
is say_on($conn, 'bad')->status, 407, 'another one begins anew';
is say_on($conn, undef)->status, 407, '... and the connection is not logged in any more';
$conn->close;
is get($nego, $url)->status, 407, 'nor are others';
for my $try (['at-once', 200], ['bad', 407], ['sick', 407], ['die', 407], ['other', 407]) {
    my $other = client($nego, from => '127.6.0.' . ++$nego->{tries});
    is say_on($other, $try->[0])->status, $try->[1], "one word: $try->[0]";
    $other->close;
}
my @open = map { client($nego, from => "127.7.0.$_") } 1 .. 3;
is say_on($open[$_], 'begin=')->status, 407, 'a dialogue takes a process' for 0, 1;
$open[2]->send("GET $url HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Negotiate begin=\r\n\r\n");
is say_on($open[0], 'proof=')->status, 200, '... until it is over';
is $open[2]->response(to => 'GET')->status, 407, 'then the next has it';
$_->close for @open;
my $left = client($nego, from => '127.7.1.1');
ok wait_for(sub { say_on($left, 'begin=')->status == 407 }), 'and a connection that is closed gives it back';
$left->close;
my $ntlm = client($nego);
is_deeply [say_on($ntlm, 'begin=', 'NTLM')->headers('Proxy-Authenticate')], ['NTLM next='], 'NTLM';
is say_on($ntlm, 'proof=', 'NTLM')->status, 200, '... likewise';
$ntlm->close;
is get($nego, $url, headers => ['Proxy-Authorization', 'Basic YmFzaWw6c2VjcmV0'])->status, 200, 'Basic beside them';
wait_for(sub { $nego->text('access.log') =~ /basil/ });
like $nego->text('access.log'), qr/^joe\@REALM\|200$/m, 'the name is in the log';

# --- Squid's own, where it is -----------------------------------------------------------------------

my $own = '/usr/lib/squid/digest_file_auth';
if (-x $own) {
    my $proxy = proxy(<<"CONF", files => { users => "joe:house:" . md5_hex('joe:house:secret') . "\n" });
auth_param digest program $own -c \@DIR\@/users
auth_param digest $one
auth_param digest realm house
acl known proxy_auth REQUIRED
http_access allow known
CONF
    my $challenge = params(get($proxy, $url)->header('Proxy-Authenticate'));
    is get($proxy, $url, headers => ['Proxy-Authorization', digest($challenge)])->status, 200, $own;
}
done;

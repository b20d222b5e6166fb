# 28-http-pinned.t - logins that are bound to a connection: the origin's belongs to one client alone.
use Bobtail::Test;

# An origin that does as NTLM does: 401, 401 with a challenge, and then the connection is logged in.
my %state;
my $origin = origin(
    '/open' => sub { return { body => "conn $_[0]{conn}" } },
    '/basic' => { status => 401, 'WWW-Authenticate' => 'Basic realm="NTLM, Negotiate"' },
    '/kerberos' => sub {
        my ($r) = @_;
        return { status => 401, 'WWW-Authenticate' => 'Negotiate' } if $r->{head} !~ /^Authorization: Negotiate/mi;
        $state{ $r->{conn} } = 3;
        return { body => "conn $r->{conn}" };
    },
    '*' => sub {
        my ($r) = @_;
        my ($token) = $r->{head} =~ /^Authorization: NTLM (\w+)/mi;
        my $at = \$state{ $r->{conn} };
        $$at //= 0;
        $$at = 1 if ($token // '') eq 'one';
        $$at = 3 if ($token // '') eq 'three' && $$at == 1;
        return { body => "conn $r->{conn} as somebody" } if $$at == 3;
        return { status => 401, 'X-Conn' => $r->{conn}, 'WWW-Authenticate' => $$at == 1 ? 'NTLM challenge' : ['Negotiate', 'NTLM'] };
    },
);
my $other = origin('*' => { body => 'another' });
my $proxy = proxy(<<'CONF');
http_port 127.0.0.1:0 name=with
http_port 127.0.0.1:0 name=without connection-auth=off
server_idle_pconn_timeout 30 seconds
CONF
sub login
{
    my ($conn, $whom) = @_;
    my @answers = map { get($proxy, $origin->url('/in'), on => $conn,
            headers => $_ eq '' ? {} : { Authorization => "NTLM $_" }) } '', 'one', 'three';
    is join(' ', map { $_->status } @answers), '401 401 200', "$whom logs in";
    is $answers[0]->header('Proxy-Support'), 'Session-Based-Authentication', 'as it is told that it can';
    return ($answers[2]->body =~ /conn (\d+)/)[0];
}

get($proxy, $origin->url('/open'));           # a kept connection that is nobody's
my $alice = client($proxy);
my $hers = login($alice, 'one client');
is get($proxy, $origin->url('/in'), on => $alice)->body, "conn $hers as somebody", 'and stays logged in';
is post($proxy, $origin->url('/in'), 'x', on => $alice)->body, "conn $hers as somebody", 'with a body too';
is get($proxy, $other->url('/'), on => $alice)->body, 'another', 'goes elsewhere';
is get($proxy, $origin->url('/in'), on => $alice)->body, "conn $hers as somebody", 'and comes back';

my $bob = client($proxy);
is get($proxy, $origin->url('/in'), on => $bob)->status, 401, 'another client is not logged in';
isnt get($proxy, $origin->url('/open'), on => $bob)->body, "conn $hers", 'nor is its connection that one';
my $his = login($bob, 'it');
isnt $his, $hers, 'on a connection of its own';
isnt get($proxy, $origin->url('/open'))->body, "conn $_", 'a third one gets neither' for $hers, $his;
ok stat($proxy, 'origin.pinned') > 2, 'that was counted: origin.pinned';

# The offer alone binds: what the client says next belongs to the same connection.
my $dora = client($proxy);
my $offered = get($proxy, $origin->url('/in'), on => $dora)->header('X-Conn');
isnt get($proxy, $origin->url('/open'))->body, "conn $offered", 'an offer is bound, too';
is get($proxy, $origin->url('/in'), on => $dora)->header('X-Conn'), $offered, 'to whom it was made';
$dora->close;

wait_for(sub { stat($proxy, 'client.open') == 2 });
my $open = $origin->open;
$alice->close;
ok wait_for(sub { $origin->open == $open - 1 }), 'the connection goes with its client';
is get($proxy, $origin->url('/in'))->status, 401, 'and was not kept for others';
is get($proxy, $origin->url('/in'), on => $bob)->body, "conn $his as somebody", 'the other one stays';
later($proxy, 31);
is get($proxy, $origin->url('/in'), on => $bob)->status, 401, 'for server_idle_pconn_timeout';
$his = login($bob, 'he');
$origin->drop;
is get($proxy, $origin->url('/in'), on => $bob)->status, 401, 'one that the origin closes is gone';
$bob->close;

# Negotiate in one go, the login being sent unasked.
my $carol = client($proxy);
my $answer = get($proxy, $origin->url('/kerberos'), on => $carol, headers => { Authorization => 'Negotiate abc' });
like $answer->body, qr/^conn \d+$/, 'Negotiate unasked';
isnt get($proxy, $origin->url('/open'))->body, $answer->body, 'is bound likewise';
is get($proxy, $origin->url('/open'), on => $carol)->body, $answer->body, 'to its client';
$carol->close;
is get($proxy, $origin->url('/basic'))->header('Proxy-Support'), undef, 'Basic is not such a login';

# connection-auth=off
my $off = $proxy->addr('without');
my $plain = client($off);
my $denied = get($off, $origin->url('/in'), on => $plain);
is $denied->status, 401, 'connection-auth=off: the answer passes';
is $denied->header('WWW-Authenticate'), undef, 'without the offers';
$answer = get($off, $origin->url('/kerberos'), on => $plain, headers => { Authorization => 'Negotiate abc' });
isnt get($off, $origin->url('/open'), on => $plain)->body, $answer->body, 'a connection with a login is not used again';
$plain->close;
done;

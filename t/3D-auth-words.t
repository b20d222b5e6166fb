# 3D-auth-words.t - what passes between clients and logins: a Digest response is for one target, the last
# word of Negotiate reaches the client, keep_alive off ends connections.
use Bobtail::Test;
use Digest::MD5 qw(md5_hex);

my $origin = origin('*' => { body => 'ok' });
my $url = $origin->url('/');
my $port = $origin->port;
my $one = 'children 1 startup=1 idle=0';
sub sh { my ($body, $read) = @_; return "while read -r $read; do $body\ndone\n" }

# --- Digest: the target ---------------------------------------------------------------------------

my $ha1 = md5_hex('joe:house:secret');
my $digest = proxy(<<"CONF", files => { 'd.sh' => sh(qq{echo 'OK ha1="$ha1"'}, 'line') });
auth_param digest program /bin/sh \@DIR\@/d.sh
auth_param digest $one
auth_param digest realm house
auth_param digest nonce_max_count 1000
acl known proxy_auth joe
http_access allow known
CONF
my ($nonce) = get($digest, $url)->header('Proxy-Authenticate') =~ /nonce="([^"]+)"/;
my ($count, $from) = (0, 0);
sub credentials
{
    my ($method, $uri) = @_;
    my $nc = sprintf '%08x', ++$count;
    my $response = md5_hex("$ha1:$nonce:$nc:abc:auth:" . md5_hex("$method:$uri"));
    return qq{Digest username="joe", realm="house", nonce="$nonce", uri="$uri", response="$response", qop=auth, nc=$nc, cnonce="abc"};
}
sub with_uri
{
    my ($target, $uri, %how) = @_;
    my $method = $how{method} // 'GET';
    my $client = client($digest, from => '127.5.0.' . ++$from);
    $client->send("$method $target HTTP/1.1\r\nHost: 127.0.0.1:$port\r\nProxy-Authorization: " . credentials($method, $uri) . "\r\n\r\n");
    my $answer = $client->response(to => $method);
    $client->close;
    return $answer->status;
}
my $there = "http://127.0.0.1:$port";
is with_uri("$there/a?b=c", $_), 200, "for /a?b=c: $_" for '/a?b=c', "$there/a?b=c", "HTTP://127.0.0.1:$port/a?b=c";
is with_uri("$there/a?b=c", $_), 407, "not for /a?b=c: $_" for '/a', '/a?b=d', '/', "http://127.0.0.2:$port/a?b=c", "http://127.0.0.1/a?b=c", "$there/a?b=c&d", "https://127.0.0.1:$port/a", "127.0.0.1:$port", '*', '';
is with_uri("$there/", $_), 200, "for /: $_" for '/', "$there/", $there;
is with_uri("$there/%7Ea/../b//c%2fd", $_), 200, "as it was sent: $_" for "$there/%7Ea/../b//c%2fd", '/%7Ea/../b//c%2fd';
is with_uri("127.0.0.1:$port", "127.0.0.1:$port", method => 'CONNECT'), 200, 'CONNECT has host and port';
is with_uri("127.0.0.1:$port", $_, method => 'CONNECT'), 407, "CONNECT: not $_" for '127.0.0.1:1', '/', $there;
is stat($digest, 'auth.malformed'), 13, 'another target is counted: auth.malformed';

# --- Negotiate: the last word ---------------------------------------------------------------------

my $dialogue = sh('case "$word $token" in "YR begin="*) echo "TT next=" ;; "KK proof="*) echo "AF final= joe@REALM" ;; '
    . '"YR at-once"*) echo "OK token=done user=jim" ;; "YR silent"*) echo "OK user=jack" ;; *) echo "ERR message=what" ;; esac', 'word token');
my $nego = proxy(<<"CONF", files => { 'n.sh' => $dialogue });
auth_param negotiate program /bin/sh \@DIR\@/n.sh
auth_param negotiate children 2 startup=2 idle=0
auth_param ntlm program /bin/sh \@DIR\@/n.sh
auth_param ntlm $one
acl closed urlpath_regex ^/closed
acl others urlpath_regex ^/others
acl joe proxy_auth joe\@REALM
acl known proxy_auth REQUIRED
http_access deny closed known closed
http_access deny others !joe
http_access allow known
CONF
sub say_on { my ($on, $word, %how) = @_; return get($nego, $how{url} // $url, on => $on, headers => ['Proxy-Authorization', ($how{scheme} // 'Negotiate') . " $word"]) }
my $conn = client($nego);
is_deeply [say_on($conn, 'begin=')->headers('Proxy-Authenticate')], ['Negotiate next='], 'a word of the dialogue';
my $last = say_on($conn, 'proof=');
is $last->status, 200, 'the last one is good';
is_deeply [$last->headers('Proxy-Authenticate')], ['Negotiate final='], '... and the answer has the last word of the other side';
is_deeply [say_on($conn, 'proof=')->headers('Proxy-Authenticate')], [], 'once';
$conn->close;
$conn = client($nego);
my $refused = say_on($conn, 'at-once', url => $origin->url('/closed'));
is $refused->status, 403, 'also with a refusal';
is_deeply [$refused->headers('Proxy-Authenticate')], ['Negotiate done'], '... for the login was good';
$conn->close;
$conn = client($nego);
my $again = say_on($conn, 'at-once', url => $origin->url('/others'));
is $again->status, 407, 'who has to be somebody else';
is_deeply [$again->headers('Proxy-Authenticate')], ['NTLM', 'Negotiate done'], '... gets it beside the other ways';
$conn->close;
$conn = client($nego);
is_deeply [say_on($conn, 'silent')->headers('Proxy-Authenticate')], [], 'a helper that says none';
$conn->close;
$conn = client($nego);
say_on($conn, 'begin=', scheme => 'NTLM');
is_deeply [say_on($conn, 'proof=', scheme => 'NTLM')->headers('Proxy-Authenticate')], [], 'NTLM has none';
$conn->close;
$conn = client($nego);
$conn->send("CONNECT 127.0.0.1:$port HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Negotiate at-once\r\n\r\n");
like $conn->upto("\r\n\r\n"), qr/^HTTP\/1.1 200 .*\r\nProxy-Authenticate: Negotiate done\r\n/, 'and a tunnel begins with it';
$conn->close;

# --- keep_alive off -------------------------------------------------------------------------------

for my $scheme (qw(negotiate ntlm)) {
    my $name = $scheme eq 'ntlm' ? 'NTLM' : 'Negotiate';
    my $proxy = proxy(<<"CONF", files => { 'n.sh' => $dialogue });
auth_param $scheme program /bin/sh \@DIR\@/n.sh
auth_param $scheme $one
auth_param $scheme keep_alive off
acl known proxy_auth REQUIRED
http_access allow known
CONF
    my $first = client($proxy);
    my $challenge = get($proxy, $url, on => $first);
    is $challenge->status, 407, "keep_alive off: $name is offered";
    is $challenge->header('Connection'), 'close', '... and the connection ends';
    ok $first->closed, 'it does';
    $first->close;
    my $on = client($proxy);
    my $next = get($proxy, $url, on => $on, headers => ['Proxy-Authorization', "$name begin="]);
    is $next->header('Connection') // '', '', 'a dialogue keeps its connection';
    is get($proxy, $url, on => $on, headers => ['Proxy-Authorization', "$name proof="])->status, 200, '... to its end';
    is get($proxy, $url, on => $on)->status, 200, 'and beyond';
    $on->close;
}
my $kept = client($nego);
is get($nego, $url, on => $kept)->header('Connection') // '', '', 'otherwise it stays';
$kept->close;
done;

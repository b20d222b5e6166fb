# 3E-auth-notes.t - what a helper says of a user beside its verdict holds for all requests of that login,
# not for the one that made it ask; and key_extras are part of who asks.
use Bobtail::Test;
use Digest::MD5 qw(md5_hex);
use MIME::Base64 qw(encode_base64);

my $origin = origin('*' => { body => 'ok' });
my $url = $origin->url('/');
sub sh { my ($body) = @_; return "while read -r line; do echo \"\$line\" >> \$0.told; $body\ndone\n" }
sub told { my ($proxy) = @_; my @lines = split /\n/, $proxy->text('h.sh.told'); return scalar @lines }
sub of_scheme
{
    my ($scheme, $helper, @more) = @_;
    return proxy(<<"CONF", files => { 'h.sh' => sh($helper) });
auth_param $scheme program /bin/sh \@DIR\@/h.sh
auth_param $scheme children 1 startup=1 idle=0
@{[map { "auth_param $scheme $_\n" } @more]}
acl known proxy_auth REQUIRED
acl staff note group_ staff
http_access deny !known
http_access allow staff
http_access deny all
CONF
}

# --- Basic -----------------------------------------------------------------------------------------

my @joe = (headers => ['Proxy-Authorization', 'Basic ' . encode_base64('joe:secret', '')]);
my $basic = of_scheme('basic', 'case "$line" in *127.0.0.1) echo "OK group_=staff" ;; *127.0.0.2) echo OK ;; *) echo ERR ;; esac',
    'key_extras "%>a"', 'credentialsttl 1 minute');
is get($basic, $url, @joe)->status, 200, 'Basic: a note of the helper';
is get($basic, $url, @joe)->status, 200, '... holds when the login is remembered';
is told($basic), 1, 'the helper was asked once';
is get($basic, $url, @joe, from => '127.0.0.3')->status, 407, 'with other key_extras it is another question';
is get($basic, $url, @joe, from => '127.0.0.2')->status, 403, '... with an answer of its own';
is get($basic, $url, @joe, from => '127.0.0.2')->status, 403, '... that is remembered';
is get($basic, $url, @joe)->status, 200, '... beside the first';
is told($basic), 3, 'three questions';

# --- Digest ----------------------------------------------------------------------------------------

my $ha1 = md5_hex('joe:house:secret');
my $digest = of_scheme('digest', "case \"\$line\" in *127.0.0.2) echo 'OK ha1=\"$ha1\"' ;; *) echo 'OK ha1=\"$ha1\" group_=staff' ;; esac",
    'realm house', 'key_extras "%>a"');
my ($nonce) = get($digest, $url)->header('Proxy-Authenticate') =~ /nonce="([^"]+)"/;
my $count = 0;
sub digest
{
    my $nc = sprintf '%08x', ++$count;
    my $response = md5_hex("$ha1:$nonce:$nc:abc:auth:" . md5_hex('GET:/'));
    return (headers => ['Proxy-Authorization', qq{Digest username="joe", realm="house", nonce="$nonce", uri="/", }
        . qq{response="$response", qop=auth, nc=$nc, cnonce="abc", algorithm=MD5}]);
}
is get($digest, $url, digest())->status, 200, 'Digest: a note of the helper';
is get($digest, $url, digest())->status, 200, '... holds when the login is remembered';
is told($digest), 1, 'the helper was asked once';
is get($digest, $url, digest(), from => '127.0.0.2')->status, 403, 'with other key_extras it is another question';
is get($digest, $url, digest())->status, 200, '... and the first answer is remembered beside it';
is told($digest), 2, 'two questions';

# --- Negotiate -------------------------------------------------------------------------------------

my $nego = of_scheme('negotiate', 'echo "OK token=done user=jim group_=staff"');
my $client = client($nego);
my @word = (headers => ['Proxy-Authorization', 'Negotiate once']);
is request($nego, GET => $url, on => $client, @word)->status, 200, 'Negotiate: a note of the helper';
is request($nego, GET => $url, on => $client, @word)->status, 200, '... holds with the same word again';
is request($nego, GET => $url, on => $client)->status, 200, '... and without one';
is told($nego), 1, 'the helper was asked once';
$client->close;
done;

# 3A-auth-basic.t - Basic logins: by password file and by helper; when a refusal is a challenge; what
# is remembered; brute force; proxy_auth, proxy_auth_regex, max_user_ip, %LOGIN.
use Bobtail::Test;
use MIME::Base64 qw(encode_base64);

my $origin = origin('*' => { body => 'ok' });
my $url = $origin->url('/');
my $one = 'children 1 startup=1 idle=0';

sub basic { my ($user, $password) = @_; return ('Proxy-Authorization', 'Basic ' . encode_base64("$user:$password", '')) }
sub login { my ($proxy, $user, $password, %how) = @_; return request($proxy, $how{method} // 'GET', $how{url} // $url, %how, headers => [basic($user, $password), @{ $how{headers} // [] }]) }
sub sh { my ($body, $read) = @_; return "while read -r $read; do $body\ndone\n" }

# Everybody's password is "secret"; one entry for each kind of hash.
my %hashes = (
    bcrypt => '$2y$05$abcdefghijklmnopqrstuuHzVZNKrhV.k.7YCO/rxhd5/ARTrLUyG',
    apr1 => undef, md5crypt => undef, sha256 => undef, sha512 => undef,
    sha => '{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=', des => undef,
);
my %salts = (md5crypt => '$1$saltsalt$', sha256 => '$5$saltsalt$', sha512 => '$6$rounds=1000$saltsalt$', des => 'ab',
    bcrypt => '$2y$05$abcdefghijklmnopqrstuu');
$hashes{$_} = crypt('secret', $salts{$_}) for keys %salts;
my $apr1 = `openssl passwd -apr1 -salt saltsalt secret 2>/dev/null`;
chomp($hashes{apr1} = $apr1);
delete $hashes{$_} for grep { ($hashes{$_} // '') !~ /./ || $hashes{$_} =~ /^\*/ } keys %hashes;
my $passwd = join '', "# users\n", map { "$_:$hashes{$_}\n" } sort keys %hashes;
$passwd .= "locked:*\nempty:\nmore:$hashes{sha}:Full Name:\n";

my $proxy = proxy(<<"CONF", files => { passwd => $passwd });
auth_param basic program /usr/lib/squid/basic_ncsa_auth \@DIR\@/passwd
auth_param basic realm The "house"
acl known proxy_auth REQUIRED
acl sha proxy_auth sha MORE
acl folded proxy_auth -i SHA512
acl pattern proxy_auth_regex ^sha
acl pattern_i proxy_auth_regex -i ^BCR
acl for_sha urlpath_regex ^/sha
acl for_folded urlpath_regex ^/folded
acl for_pattern urlpath_regex ^/pattern
acl for_i urlpath_regex ^/i
acl shut urlpath_regex ^/shut
acl open urlpath_regex ^/open
http_access allow open
http_access deny shut known
http_access deny for_sha !sha
http_access deny for_folded !folded
http_access deny for_pattern !pattern
http_access deny for_i !pattern_i
http_access allow known
logformat t %un|%ul|%credentials|%>Hs|%rp
access_log stdio:\@DIR\@/access.log logformat=t
CONF
my $answer = get($proxy, $url);
is $answer->status, 407, 'who is not known is asked';
is $answer->header('Proxy-Authenticate'), 'Basic realm="The \"house\""', 'by a challenge';
like $answer->header('X-Squid-Error'), qr/^ERR_CACHE_ACCESS_DENIED /, '... with its page';
is get($proxy, $origin->url('/open'))->status, 200, 'not where nobody asks';
is request($proxy, CONNECT => $origin->addr)->status, 407, 'tunnels, too';
for my $kind (sort keys %hashes) {
    is login($proxy, $kind, 'secret')->status, 200, "$kind: good";
    is login($proxy, $kind, 'wrong', from => '127.1.0.' . ord $kind)->status, 407, '... and wrong';
}
is login($proxy, 'more', 'secret')->status, 200, 'other fields of the line do not matter';
is login($proxy, 'SHA', 'secret')->status, 200, 'names are folded';
is login($proxy, $_, 'secret', from => '127.1.1.1')->status, 407, "no such login: $_" for qw(nobody locked);
is login($proxy, 'empty', '', from => '127.1.1.2')->status, 407, 'no password at all';
is login($proxy, 'sha', 'secret')->status, 200, 'remembered';
unlike $origin->seen('/'), qr/Proxy-Authorization/i, 'the origin learns nothing of it';

is login($proxy, 'sha', 'secret', url => $origin->url('/sha'))->status, 200, 'a name of a list';
is login($proxy, 'bcrypt', 'secret', url => $origin->url('/sha'))->status, 407, 'another one may try with another name';
is login($proxy, 'sha512', 'secret', url => $origin->url('/folded'))->status, 200, 'without regard to case';
is login($proxy, 'sha', 'secret', url => $origin->url('/folded'))->status, 407, '... but not all';
is login($proxy, 'sha256', 'secret', url => $origin->url('/pattern'))->status, 200, 'a pattern';
is login($proxy, 'bcrypt', 'secret', url => $origin->url('/pattern'))->status, 407, '... that does not fit';
is login($proxy, 'bcrypt', 'secret', url => $origin->url('/i'))->status, 200, 'a pattern without regard to case';
is login($proxy, 'bcrypt', 'secret', url => $origin->url('/shut'))->status, 407, 'refused by an ACL about logins';

my $n = 0;
for my $bad ('Bearer x', 'Basic', 'Basic !!!', 'Basic ' . encode_base64('nocolon', ''), 'Basic ' . encode_base64(':x', ''),
    'Basic ' . encode_base64("a\0b:x", ''), 'Basic ' . encode_base64("a\nb:x", ''), 'Basic ' . 'QUFB' x 2000, 'Digest x') {
    is get($proxy, $url, from => '127.2.0.' . ++$n, headers => ['Proxy-Authorization', $bad])->status, 407, 'malformed: ' . substr $bad, 0, 20;
}
wait_for(sub { $proxy->text('access.log') =~ m{/i$}m });
like $proxy->text('access.log'), qr{^bcrypt\|bcrypt\|bcrypt\|200\|/i$}m, 'the name is in the log';
cmp_ok stat($proxy, 'auth.good'), '>', 0, 'counted';
cmp_ok stat($proxy, $_), '>', 0, $_
    for qw(auth.checks auth.cached auth.bad auth.malformed auth.challenges);

# --- the file changes ------------------------------------------------------------------------------

CORE::open my $file, '>', $proxy->file('passwd.new') or die;
print $file "newcomer:$hashes{sha}\n";
CORE::close $file;
is login($proxy, 'newcomer', 'secret', from => '127.3.0.1')->status, 407, 'not there yet';
rename $proxy->file('passwd.new'), $proxy->file('passwd');
is login($proxy, 'newcomer', 'secret', from => '127.3.0.1')->status, 200, 'there as soon as the file is';
is login($proxy, 'more', 'secret')->status, 200, 'who is remembered';
later($proxy, 2 * 3600 + 1);
is login($proxy, 'more', 'secret', from => '127.3.0.2')->status, 407, '... is asked anew after credentialsttl';

# --- when it is not a challenge --------------------------------------------------------------------

my $rules = proxy(<<"CONF", files => { passwd => "joe:$hashes{sha}\njim:$hashes{sha}\n" });
auth_param basic program basic_ncsa_auth \@DIR\@/passwd
auth_param basic casesensitive on
auth_param basic credentialsttl 0 seconds
authenticate_ip_ttl 60 seconds
acl known proxy_auth REQUIRED
acl joe proxy_auth joe
acl desk max_user_ip -s 1
acl moves max_user_ip 1
acl bad urlpath_regex ^/bad
acl desk_path urlpath_regex ^/desk
acl moves_path urlpath_regex ^/moves
http_access deny bad known bad
http_access deny desk_path desk
http_access deny moves_path moves
http_access allow joe
http_access deny all
CONF
is login($rules, 'joe', 'secret')->status, 200, 'joe may';
is login($rules, 'jim', 'secret')->status, 403, 'jim may not, and another name would not help: the last ACL is not about logins';
is login($rules, 'joe', 'secret', url => $origin->url('/bad'))->status, 403, 'the last one is a path';
is login($rules, 'JOE', 'secret')->status, 407, 'casesensitive on';
is login($rules, 'joe', 'secret', url => $origin->url('/desk'), from => '127.0.0.1')->status, 200, 'one address';
is login($rules, 'joe', 'secret', url => $origin->url('/desk'), from => '127.0.0.2')->status, 403, 'max_user_ip -s: not from another';
is login($rules, 'joe', 'secret', url => $origin->url('/desk'), from => '127.0.0.1')->status, 200, '... and still from the first';
later($rules, 61);
is login($rules, 'joe', 'secret', url => $origin->url('/desk'), from => '127.0.0.2')->status, 200, 'authenticate_ip_ttl';
is login($rules, 'joe', 'secret', url => $origin->url('/moves'), from => '127.0.0.3')->status, 403, 'max_user_ip: refused once';
is login($rules, 'joe', 'secret', url => $origin->url('/moves'), from => '127.0.0.3')->status, 200, '... then the user has moved';

# --- brute force -----------------------------------------------------------------------------------

is login($rules, 'joe', "no$_", from => '127.9.9.9')->status, 407, "wrong, $_" for 1 .. 3;
my $conn = client($rules, from => '127.9.9.9');
$conn->send("GET $url HTTP/1.1\r\nHost: x\r\nProxy-Authorization: " . (basic('joe', 'no4'))[1] . "\r\n\r\n");
wait_for(sub { stat($rules, 'auth.slowed') == 1 });
is stat($rules, 'auth.slowed'), 1, 'the fourth is held back';
is login($rules, 'joe', 'secret', from => '127.9.9.9')->status, 200, 'who knows the password is not';
is login($rules, 'joe', 'no', from => '127.9.9.8')->status, 407, 'nor is anybody else';
is $conn->response(to => 'GET')->status, 407, 'until its time has come';
$conn->close;

# --- helpers ---------------------------------------------------------------------------------------

my $helper = sh('echo "$line" >> $0.told; case "$line" in "joe%20b pass%25w%20%22"*) echo "OK user=Joseph level_=7" ;; '
    . '"old x"*) echo OK ;; "sick "*) echo "BH message=\"no database\"" ;; "slow "*) sleep 0.3; echo OK ;; '
    . '*) echo "ERR message=\"try again\"" ;; esac', 'line');
my $by_helper = proxy(<<"CONF", files => { 'h.sh' => $helper, 'e.sh' => sh('echo "$line" >> $0.told; echo OK', 'line') });
auth_param basic program /bin/sh \@DIR\@/h.sh
auth_param basic $one
auth_param basic key_extras "%>a"
auth_param basic utf8 on
auth_param basic credentialsttl 1 minute
external_acl_type who ttl=0 children-max=1 children-startup=1 children-idle=0 %LOGIN /bin/sh \@DIR\@/e.sh
acl known proxy_auth REQUIRED
acl seven note level_ 7
acl who external who
acl path urlpath_regex ^/seven
acl ext urlpath_regex ^/ext
http_access allow path known seven
http_access deny path !all
http_access allow ext who
http_access allow known !ext
deny_info ERR_ACCESS_DENIED path
CONF
is get($by_helper, $url)->header('Proxy-Authenticate'), 'Basic realm="Bobtail proxy-caching web server", charset="UTF-8"', 'realm and charset';
is login($by_helper, 'joe b', 'pass%w "')->status, 200, 'a helper says OK';
is login($by_helper, 'joe b', 'pass%w "', url => $origin->url('/seven'))->status, 200, 'and more, also when it is remembered no more'
    if later($by_helper, 61) || 1;
is login($by_helper, 'jim', 'x', from => '127.4.0.1')->status, 407, 'ERR';
is login($by_helper, 'sick', 'x', from => '127.4.0.2')->status, 407, 'BH';
is login($by_helper, "\xe9", 'x', from => '127.4.0.3')->status, 407, 'Latin 1';
my @told = split /\n/, $by_helper->text('h.sh.told');
is $told[0], 'joe%20b pass%25w%20%22 127.0.0.1', 'what it is told';
is $told[-1], '%C3%A9 x 127.4.0.3', '... in UTF-8';
counters($by_helper, 'auth.broken' => 1);
my @crowd = map { client($by_helper) } 1 .. 4;
$_->send("GET $url HTTP/1.1\r\nHost: x\r\nProxy-Authorization: " . (basic('slow', 'y'))[1] . "\r\n\r\n") for @crowd;
is $_->response(to => 'GET')->status, 200, 'several at once' for @crowd;
$_->close for @crowd;
is scalar(grep { /^slow / } split /\n/, $by_helper->text('h.sh.told')), 1, '... ask once';
is get($by_helper, $origin->url('/ext'))->status, 407, '%LOGIN of an external ACL asks for a login';
is login($by_helper, 'joe b', 'pass%w "', url => $origin->url('/ext'))->status, 200, '... and is told the name';
is $by_helper->text('e.sh.told'), "Joseph -\n", '... that the helper gave';

# --- lines that are wrong --------------------------------------------------------------------------

for (['auth_param basic program /usr/lib/squid/basic_ncsa_auth /nowhere/passwd', 1, 57, 'cannot be read'],
    ['auth_param basic program /nowhere/helper', 1, 26, '/nowhere/helper'], ['auth_param basic relm x', 1, 18, "did you mean 'realm'"],
    ['auth_param basic children many', 1, 27, 'many'], ['auth_param basic nonce_max_count 3', 1, 18, 'nonce_max_count'],
    ['acl x proxy_auth REQUIRED', 1, 18, 'nobody can log in'], ['acl x max_user_ip -s', 1, 19, 'takes a number'],
    ["auth_param basic program /bin/true\nacl x proxy_auth REQUIRED\nfollow_x_forwarded_for allow x", 3, 30, 'cannot wait']) {
    my ($text, $line, $column, $mention) = @$_;
    my $said = parse("$text\nhttp_port 3128\n");
    isnt $said->{status}, 0, "refused: $text";
    like $said->{output}, qr/bobtail\.conf:$line:$column: error: .*\Q$mention\E/, '... with place and reason'
        or diag $said->{output};
}
like parse("auth_param basic realm x\nhttp_port 3128\n")->{output}, qr/:1:12: warning: Basic is not offered/, 'a scheme without a program';

# --- Squid's own, where it is ----------------------------------------------------------------------

my $fake = '/usr/lib/squid/basic_fake_auth';
if (-x $fake) {
    my $own = proxy("auth_param basic program $fake\nauth_param basic $one\nacl known proxy_auth REQUIRED\nhttp_access allow known\n");
    is login($own, 'anybody', 'x')->status, 200, $fake;
}
done;

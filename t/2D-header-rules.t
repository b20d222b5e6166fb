# 2D-header-rules.t - headers are taken out, replaced and added, on their way up and down.
# request_header_access, reply_header_access, request_header_replace (header_replace),
# reply_header_replace, request_header_add, reply_header_add.
use Bobtail::Test;

my $early = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nServer: o\r\n\r\n";
my $origin = origin(
    '/kept' => { body => 'kept', 'Cache-Control' => 'max-age=60', Server => 'o', 'X-Powered-By' => 'p' },
    '/track' => { body => 'x', 'Set-Cookie' => ['a=1', 'track=2'], Server => 'o' },
    '/early' => { interim => [$early], body => 'late', Server => 'o' },
    '/ws' => { raw => "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nServer: o\r\n"
            . "Connection: Upgrade\r\n\r\nframe" },
    '/named' => { body => 'x', 'X-Named' => "n", 'X-Powered-By' => 'p', 'X-Forwarded-Host' => 'h' },
    '*' => { body => 'ok', Server => 'o', 'X-Seen' => 'yes' },
);
sub sent { my ($proxy, $path, @headers) = @_; return get($proxy, $origin->url($path), headers => \@headers) }
sub seen { my ($path, $name) = @_; return $origin->seen_header($path, $name) }

# --- requests -------------------------------------------------------------------------------------

my $up = proxy(<<'CONF');
acl local src 127.0.0.1
acl second src 127.0.0.2
acl marked req_header X-Mark .
acl spelled req_header X-Secret ^s3$
acl post method POST
cache deny all
request_header_access Host deny all
request_header_access Accept allow all
request_header_access Cookie allow second
request_header_access Cookie deny all
request_header_access Authorization allow post
request_header_access Authorization deny all
request_header_access user-agent deny all
request_header_access Referer deny !marked
request_header_access X-Mark allow all
request_header_access x-both allow all
request_header_access All deny all
request_header_replace User-Agent Nobody/1.0 (none; "at all")
header_replace Referer http://first.test/
request_header_replace Referer http://referrer.test/
request_header_add X-Plain plain second
request_header_add X-Literal 100%
request_header_add X-Client "%>a %{X-Secret}>h" spelled
request_header_add X-Both "ours"
request_header_add X-Empty ""
request_header_add X-None "%{X-Nothing}>h"
access_log stdio:@DIR@/access.log logformat=f
logformat f %{User-Agent}>h %{X-Secret}>h
CONF
like $up->output . $up->log, qr/bobtail\.conf:7:23: warning: .*Host is always sent/, 'Host stays, and that is said';
like $up->output . $up->log, qr/bobtail\.conf:22:30: warning: .*only in quotes/, 'so is a percent sign that is no code';

sent($up, '/up', 'User-Agent' => 'Real/1.0', Accept => 'text/html', Cookie => 'c=1', Referer => 'http://from.test/',
    Authorization => 'Basic eDp5', 'X-Secret' => 's3', 'X-Both' => 'theirs', DNT => '1', 'X-Forwarded-For' => '10.1.1.1');
is seen('/up', 'Host'), $origin->addr, 'Host is always sent';
is seen('/up', 'Accept'), 'text/html', 'what a line of its own allows passes, whatever All says';
is seen('/up', $_), undef, "$_ is taken out" for qw(Cookie Authorization DNT X-Secret Via X-Forwarded-For);
is seen('/up', 'User-Agent'), 'Nobody/1.0 (none; "at all")', 'a replacement is the rest of its line';
is seen('/up', 'Referer'), 'http://referrer.test/', 'and the last one stands';
is seen('/up', 'X-Plain'), undef, 'an addition needs its ACLs';
is seen('/up', 'X-Literal'), '100%', 'without quotes it is taken as it stands';
is seen('/up', 'X-Client'), '127.0.0.1 s3', 'codes and ACLs see the header that was taken out';
is seen('/up', 'X-Both'), 'theirs, ours', 'an addition leaves others of its name alone';
is seen('/up', $_), '-', "$_: nothing is said with -" for qw(X-Empty X-None);

get($up, $origin->url('/bare'), from => '127.0.0.2', headers => [Cookie => 'c=1', 'X-Mark' => '1']);
is seen('/bare', 'Cookie'), 'c=1', 'who may keep it keeps it';
is seen('/bare', 'X-Plain'), 'plain', 'ACLs of an addition count';
is seen('/bare', 'X-Client'), undef, 'each its own';
is seen('/bare', $_), undef, "no $_ came, and none is put there" for qw(User-Agent Referer);
sent($up, '/marked', Referer => 'http://from.test/', 'X-Mark' => '1');
is seen('/marked', 'Referer'), 'http://from.test/', 'without a match the opposite of the last line counts';

my $posted = request($up, POST => $origin->url('/post'), chunked => ['ab', 'c'], headers => [Authorization => 'Basic eDp5']);
is $posted->status, 200, 'a body passes, though All is denied';
is $origin->body('/post'), 'abc', 'whole, since its framing is no header to be ruled';
is seen('/post', 'Authorization'), 'Basic eDp5', 'by method';
(my $login = $origin->url('/login')) =~ s{//}{//u:p@};
get($up, $login);
is seen('/login', 'Authorization'), undef, 'a login out of the URL is a header as any other';
is((split /\n/, do { wait_for(sub { $up->text('access.log') =~ /\n/ }); $up->text('access.log') })[0], 'Real/1.0 s3', 'logs say what the client sent');

# --- All, Other, names that only one of two tables knows -----------------------------------------

my $other = proxy(<<'CONF');
cache deny all
request_header_access Other deny all
request_header_access X-Own allow all
request_header_access X-Never allow all
request_header_access X-Never deny all
reply_header_access Other deny all
reply_header_access All allow all
CONF
my $named = sent($other, '/named', 'X-Odd' => '1', 'X-Own' => '2', 'X-Never' => '3', Accept => 'a', 'Content-MD5' => 'm',
    'X-Forwarded-Host' => 'h', Cookie2 => 'c');
is seen('/named', 'X-Odd'), undef, 'Other means uncommon ones';
is seen('/named', 'X-Forwarded-Host'), undef, 'those too that are known here and not in Squid';
is seen('/named', 'X-Own'), 2, 'a name goes before Other';
is seen('/named', 'X-Never'), 3, 'its first line decides';
is seen('/named', $_), { Accept => 'a', 'Content-MD5' => 'm', Cookie2 => 'c' }->{$_}, "$_ is a common one"
    for qw(Accept Content-MD5 Cookie2);
like seen('/named', 'Via'), qr/^1\.1 /, 'so is Via';
is $named->header($_), undef, "$_ of the answer is not" for qw(X-Named X-Powered-By X-Forwarded-Host);

# --- answers --------------------------------------------------------------------------------------

my $down = proxy(<<'CONF');
acl forbidden urlpath_regex ^/forbidden
acl track rep_header Set-Cookie ^track=
acl own http_status 403
acl early http_status 103
acl refused urlpath_regex ^/refused
http_access deny forbidden
http_access allow all
http_reply_access deny own
http_reply_access deny refused
http_reply_access allow all
reply_header_add X-Early "yes" early
reply_header_access Server deny all
reply_header_replace Server hidden
reply_header_access X-Powered-By deny all
reply_header_access Via deny all
reply_header_access Set-Cookie deny track
reply_header_access X-Squid-Error deny own
reply_header_add X-Checked "%>a %>Hs %{Server}<h"
reply_header_add X-Own "yes" own
CONF
for my $turn ('from the origin', 'out of the cache') {
    my $answer = sent($down, '/kept');
    is $answer->body, 'kept', $turn;
    is $answer->header('Server'), 'hidden', 'replaced';
    is $answer->header($_), undef, "without $_" for qw(X-Powered-By Via X-Own);
    is $answer->header('X-Checked'), '127.0.0.1 200 o', 'added; codes see what came';
}
is $origin->hits('/kept'), 1, 'it was a hit';
is sent($down, '/track')->header('Set-Cookie'), 'a=1', 'by what the answer says, each cookie for itself';
my $own = sent($down, '/forbidden');
is $own->status, 403, 'an answer of our own';
is $own->header('Server'), 'hidden', 'obeys, too';
is $own->header($_), undef, "without $_" for qw(Via X-Squid-Error);
is $own->header('X-Own'), 'yes', 'ACLs see what is sent';
is raw($down, "GARBAGE\r\n\r\n")->header('Server'), 'hidden', 'so does one about what was no request';
my $dead = get($down, 'http://127.0.0.1:1/');
is $dead->status, 503, 'and one about a failure';
is $dead->header('Server'), 'hidden', 'likewise';
my $late = sent($down, '/early');
is $late->header('X-Own'), undef, 'after an interim answer';
like $late->interim->[0], qr/^Server: hidden\r\n/m, 'which is subject to the rules';
like $late->interim->[0], qr/^X-Early: yes/m, 'ACLs see it';
is $late->header('X-Early'), undef, 'and are asked anew about the final one';
is sent($down, '/refused')->header('X-Own'), 'yes', 'and about a page in place of what was kept back';
is $late->header('Server'), 'hidden', 'as the final one is';
my $tunnel = client($down);
$tunnel->send('CONNECT ' . $origin->addr . " HTTP/1.1\r\nHost: x\r\n\r\n");
is $tunnel->upto("\r\n\r\n"), "HTTP/1.1 200 Connection established\r\n\r\n",
    'nothing is added to the answer that opens a tunnel';
$tunnel->close;

# --- Upgrade --------------------------------------------------------------------------------------

my $ask = 'GET ' . $origin->url('/ws') . " HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
my $switch = client($down);
$switch->send($ask);
my $head = $switch->upto("\r\n\r\n");
like $head, qr{^HTTP/1\.1 101 .*^Server: hidden\r\n}ms, 'a switch of protocols obeys';
like $head, qr{^X-Checked: 127}m, 'and is added to';
like $head, qr{^Upgrade: websocket\r\n}m, 'what it is about stays';
$switch->close;
my $stuck = proxy("request_header_access Upgrade deny all\n");
is raw($stuck, $ask)->status, 502, 'Upgrade is denied: nobody asked to switch';
is seen('/ws', 'Upgrade'), undef, 'since it was not sent';

# --- line ends ------------------------------------------------------------------------------------

my $one = 'children-startup=1 children-max=1 children-idle=0';
my $evil = proxy(<<"CONF", files => { 'h.sh' => "while read -r l; do echo 'OK tag=a%0d%0aX-Evil:%001 message=\"b%0aX-Evil: 2\"'; done\n" });
cache deny all
external_acl_type e ttl=0 $one %SRC /bin/sh \@DIR\@/h.sh
acl e external e
http_access allow e
request_header_add X-Tag "%'et"
request_header_add X-Message "%'external.message"
request_header_add X-Url "%'ru"
reply_header_add X-Tag "[%'et]"
CONF
my $answer = sent($evil, '/evil%0d%0aX-Evil:3');
unlike $origin->seen('/evil%0d%0aX-Evil:3'), qr/^X-Evil/mi, 'no code brings a line of its own';
unlike $origin->seen('/evil%0d%0aX-Evil:3'), qr/[^\r]\n|\r[^\n]|\0/, 'nor half of a line end, nor NUL';
like seen('/evil%0d%0aX-Evil:3', 'X-Tag'), qr/^a\\r\\nX-Evil/, 'it is told what they were';
like $answer->header('X-Tag'), qr/^\[a\\r\\nX-Evil/, 'in answers, too';
is $answer->header('X-Evil'), undef, 'which have no line of theirs';

# --- sizes ----------------------------------------------------------------------------------------

my $long = 'r' x 3000;
my $big = proxy(<<"CONF");
cache deny all
request_header_access Other deny all
request_header_replace Other $long
request_header_add X-Cut "%{X-Long}>h%{X-Long}>h%{X-Long}>h"
CONF
sent($big, '/big', 'X-Long' => 'l' x 4000, map { ("X-$_" => 1) } 1 .. 80);
is seen('/big', "X-$_"), $long, "X-$_: many small ones may become large" for 1, 80;
is length seen('/big', 'X-Cut'), 8192, 'what codes bring is cut off';

# --- cookies, each for itself; a pattern with a blank in brackets -----------------------------------

my $jar = proxy(<<'CONF');
acl tracks rep_header Set-Cookie (^|[ ;])track=
acl mobile browser Phone[ /]7
reply_header_access Set-Cookie deny tracks
http_access deny mobile
http_access allow all
CONF
my $baker = origin('*' => { body => 'x', 'Set-Cookie' => ['lang=de', 'track=2', 'a=b; track=3', 'untrack=4'] });
my $cookies = get($jar, $baker->url('/'));
is join('|', $cookies->headers('Set-Cookie')), 'lang=de|untrack=4', 'of several cookies those that a rule names are taken out, and no others';
is get($jar, $baker->url('/'), headers => { 'User-Agent' => 'Phone 7' })->status, 403, 'a blank within brackets is a part of a pattern';
is get($jar, $baker->url('/'), headers => { 'User-Agent' => 'Phone' })->status, 200, '... and is needed';

# --- lines that cannot be -------------------------------------------------------------------------

sub says
{
    my ($line, $column, $text, $status) = @_;
    my $said = parse("http_port 127.0.0.1:0\nacl slow srcdomain .a.test\nacl late http_status 200\n$line\n");
    is $said->{status}, $status // 1, "$line: " . ($status // 1 ? 'refused' : 'taken') or diag $said->{output};
    like $said->{output}, qr/bobtail\.conf:4:$column: .*$text/, 'and why';
    return;
}
says("request_header_add $_ x", 20, "$_ cannot be set: it belongs to the connection")
    for qw(Content-Length transfer-encoding Connection Keep-Alive Proxy-Connection TE Trailer Upgrade);
says('request_header_replace Content-Length 0', 24, 'Content-Length cannot be set');
says('reply_header_replace Transfer-Encoding chunked', 22, 'Transfer-Encoding cannot be set');
says('reply_header_add Connection close', 18, 'Connection cannot be set');
says('request_header_add Host a.test', 20, 'Host cannot be set: it says the host of the URL');
says('request_header_replace Host a.test', 24, 'Host cannot be set');
says('request_header_add X:Y x', 20, "'X:Y' cannot be the name of a header");
says('request_header_access X:Y deny all', 23, "'X:Y' cannot be the name of a header");
says('request_header_add X-A "a\r\nX-B: c"', 24, 'cannot hold control characters');
says('request_header_add X-A "%{X-B"', 26, 'never closed');
says('request_header_access X-A deny slow', 32, 'cannot wait: ACL slow', 0);
says('request_header_add X-A x slow', 26, 'cannot wait: ACL slow', 0);
says('request_header_access X-A deny late', 32, 'late');
says('request_header_access X-A permit all', 27, "did you mean");
says('request_header_access X-A', 1, 'missing');
says('reply_header_add X-A', 1, 'missing');
says('request_header_replace X-A b', 24, 'no line of \*_header_access names X-A', 0);
says('request_header_access Content-Length deny all', 23, 'changes nothing', 0);
says('acl cut req_header X-A a[ ]b[ c', 24, 'unmatched \[.*a blank ends the value');
says('acl cut url_regex /a[ ]b', 19, 'unmatched \[.*a blank ends the value');
says('acl cut browser a[ ]b', 17, 'taken as a part of it', 0);
says('request_header_add X-A "%>Hs"', 24, 'not known yet when the request leaves', 0);
done;

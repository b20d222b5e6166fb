# 37-deny-info.t - what a refused client gets: a page, another place, or a reset.
use Bobtail::Test;

my $origin = origin('*' => { body => 'ok' });
my $proxy = proxy(<<'CONF', files => {
error_directory @DIR@
cache_mgr help@proxy.test
access_log stdio:@DIR@/access.log logformat=what
logformat what %rm %ru %Ss/%>Hs %err_code %<st
acl seized dstdomain .seized.test
acl moved dstdomain old.test
acl perm dstdomain older.test
acl temp dstdomain busy.test
acl other dstdomain see.test
acl silent dstdomain .tracker.test
acl tea dstdomain tea.test
acl gone dstdomain gone.test
acl login dstdomain login.test
acl plain dstdomain plain.test
acl twice dstdomain twice.test
acl file dstdomain file.test
acl codes dstdomain codes.test
acl LONG dstdomain long.test
acl odd dstdomain odd.test
acl post method POST
acl news dstdomain news.test
acl here src 127.0.0.1
acl nobody src 127.9.9.9
deny_info 451:ERR_SEIZED seized
deny_info http://portal.test/moved?from=%u&who=%i moved
deny_info 301:http://newer.test%R perm
deny_info 307:http://wait.test/%H/%p?m=%M temp
deny_info 303:https://see.test/%%20%20x other
deny_info TCP_RESET silent
deny_info 418:ERR_PLAIN tea
deny_info 410:ERR_ACCESS_DENIED gone
deny_info ERR_CACHE_ACCESS_DENIED login
deny_info ERR_PLAIN plain twice
deny_info 404:ERR_SEIZED twice
deny_info 200:ERR_PLAIN file
deny_info 302:http://codes.test/?a=%a&b=%B&c=%c&e=%e&E=%E&h=%h&s=%s&S=%S&w=%w&W=%W&l=%l&o=%o&P=%P&U=%U&T=%T codes
deny_info http://long.test/%u?%u&%u long
deny_info 302:/moved%R odd
deny_info ERR_SEIZED here
deny_info 429:ERR_PLAIN nobody
http_access deny seized
http_access deny moved
http_access deny perm
http_access deny temp
http_access deny other
http_access deny silent
http_access deny tea
http_access deny gone
http_access deny login
http_access deny plain
http_access deny twice
http_access deny file
http_access deny codes
http_access deny long
http_access deny odd
http_access deny news here
http_access deny here post
http_access allow nobody
CONF
    ERR_SEIZED => '<p>%U is closed to %i, %c. Ask %w.</p>',
    ERR_PLAIN => "<p>No.</p>\n",
});

# A page.
my $answer = get($proxy, 'http://x.seized.test/a?secret');
is $answer->status, 451, 'a status of its own';
is $answer->header('X-Squid-Error'), '451:ERR_SEIZED 0', 'the page is named as it was written';
is $answer->body, '<p>http://x.seized.test/a? is closed to 127.0.0.1, ERR_SEIZED. Ask help@proxy.test.</p>',
    'a page of error_directory';
is $answer->header('Cache-Control'), 'no-store', 'it is not to be stored';
like $answer->header('Server'), qr/^bobtail/, 'Server';
like $answer->header('Date'), qr/GMT$/, 'Date';
like $answer->header('Via'), qr/^1\.1 proxy\.test/, 'Via';
is $answer->header('Content-Language'), undef, 'nobody said which language it is in';
my $length = $answer->header('Content-Length');
$answer = request($proxy, HEAD => 'http://x.seized.test/a?secret');
is $answer->status, 451, 'HEAD';
is $answer->body, '', '... has no body';
is $answer->header('Content-Length'), $length, '... and says how long it would be';
my $tunnel = tunnel($proxy, 'x.seized.test:443');
is $tunnel->{response}->status, 451, 'CONNECT';
like $tunnel->{response}->body, qr{^<p>https://x\.seized\.test/\* is closed}, '... with a page';
$tunnel->close;
counters($proxy, 'deny.pages' => 3, 'page.html' => 3, 'client.denied' => 3);

sub refused
{
    my ($host, $status, $error) = @_;
    my $said = get($proxy, "http://$host/");
    is $said->status, $status, "$host: $status";
    is $said->header('X-Squid-Error'), "$error 0", "$host: $error";
    return $said;
}
is refused('tea.test', 418, '418:ERR_PLAIN')->body, "<p>No.</p>\n", 'a status without a phrase';
$answer = refused('gone.test', 410, '410:ERR_ACCESS_DENIED');
like $answer->body, qr/<h1>Access is denied/, 'a page of ours with another status';
is $answer->header('Content-Language'), 'en', '... is in English';
refused('login.test', 403, 'ERR_CACHE_ACCESS_DENIED');
refused('plain.test', 403, 'ERR_PLAIN');
refused('twice.test', 403, 'ERR_PLAIN');
refused('file.test', 200, '200:ERR_PLAIN');
$tunnel = tunnel($proxy, 'file.test:443');
is $tunnel->{response}->status, 403, 'no 200 to a CONNECT that was refused';
$tunnel->close;

# The ACL that was looked at last.
refused('news.test', 403, 'ERR_SEIZED');
$answer = post($proxy, 'http://x.test/', 'x');
is $answer->header('X-Squid-Error'), 'ERR_ACCESS_DENIED 0', 'the last ACL has no page: the one before it is of no account';
refused('x.test', 429, '429:ERR_PLAIN');

# Another place.
sub sent_to
{
    my ($how, $method, $url, $status, $to, %how) = @_;
    my $said = request($proxy, $method => $url, %how);
    is $said->status, $status, "$how: $status";
    is $said->header('Location'), $to, "$how: $to";
    is $said->header('X-Squid-Error'), "$status Access Denied", "$how: marked";
    is $said->header('Content-Length'), 0, "$how: empty";
    is $said->header('Cache-Control'), 'no-store', "$how: not to be stored";
    return;
}
my $from = 'http://portal.test/moved?from=http%3A%2F%2Fold.test';
sent_to('GET', GET => 'http://old.test/a?b=c&d=%22e', 302, "$from%2Fa%3Fb%3Dc%26d%3D%2522e&who=127.0.0.1");
sent_to('HEAD', HEAD => 'http://old.test/', 302, "$from%2F&who=127.0.0.1");
sent_to('POST', POST => 'http://old.test/', 307, "$from%2F&who=127.0.0.1", body => 'abc');
sent_to('PUT of 1.0', PUT => 'http://old.test/', 302, "$from%2F&who=127.0.0.1", body => 'abc', version => '1.0');
sent_to('markup', GET => q{http://old.test/<b>'x}, 302, "$from%2F%3Cb%3E%27x&who=127.0.0.1");
sent_to('bytes', GET => "http://old.test/\xe4", 302, "$from%2F%E4&who=127.0.0.1");
sent_to('CONNECT', CONNECT => 'old.test:443', 307, 'http://portal.test/moved?from=old.test%3A443&who=127.0.0.1', host => 'old.test:443');
sent_to('the path', GET => 'http://older.test/p/x?y=1&z=%41', 301, 'http://newer.test/p/x?y=1&z=%41');
sent_to('the path with quotes', GET => q{http://older.test/"<x>}, 301, 'http://newer.test/%22%3Cx%3E');
sent_to('no path to add', CONNECT => 'older.test:443', 301, 'http://newer.test', host => 'older.test:443');
sent_to('host, port, method', GET => 'http://busy.test:8080/', 307, 'http://wait.test/busy.test/8080?m=GET');
sent_to('the port of the scheme', GET => 'http://busy.test/', 307, 'http://wait.test/busy.test/80?m=GET');
sent_to('percent signs', GET => 'http://see.test/', 303, 'https://see.test/%2520%20x');
sent_to('within the site', GET => 'http://odd.test/x', 302, '/moved/x');
$answer = get($proxy, 'http://codes.test/?x');
like $answer->header('Location'), qr{^http://codes\.test/\?a=&b=&c=&e=0&E=&h=proxy\.test&s=http%3A%2F%2Fcodes\.test%2F%3Fx&S=bobtail[^&]*&w=help%40proxy\.test&W=&l=&o=&P=http&U=http%3A%2F%2Fcodes\.test%2F%3F&T=\w+%2C%20\d\d%20[^&]*GMT$},
    'every code, or nothing';
$answer = get($proxy, 'http://long.test/' . 'x' x 4000);
is $answer->status, 403, 'a Location that no client would take';
is $answer->header('X-Squid-Error'), 'ERR_ACCESS_DENIED 0', '... the usual page instead';
counters($proxy, 'deny.redirects' => 15, 'deny.pages' => 12);

# Nothing at all.
sub is_reset
{
    my ($what, $bytes) = @_;
    my $conn = client($proxy);
    $conn->send($bytes);
    is $conn->rest, '', "$what: no byte";
    ok $conn->{was_reset}, "$what: a reset";
    $conn->close;
    return;
}
is_reset('GET', "GET http://a.tracker.test/p HTTP/1.1\r\nHost: a.tracker.test\r\n\r\n");
is_reset('CONNECT', "CONNECT a.tracker.test:443 HTTP/1.1\r\nHost: a.tracker.test:443\r\n\r\n");
is_reset('POST, its body not yet there',
    "POST http://a.tracker.test/ HTTP/1.1\r\nHost: a.tracker.test\r\nContent-Length: 100\r\n\r\nabc");
counters($proxy, 'deny.resets' => 3);

# In logs.
wait_for(sub { $proxy->text('access.log') =~ /POST http:\/\/a\.tracker/ });
my $log = $proxy->text('access.log');
like $log, qr{^GET http://x\.seized\.test/a\?\S* TCP_DENIED/451 451:ERR_SEIZED \d+$}m, 'a page in the log';
like $log, qr{^GET http://see\.test/ TCP_DENIED/303 - \d+$}m, 'a redirect in the log';
like $log, qr{^GET http://a\.tracker\.test/p TCP_DENIED/0 TCP_RESET 0$}m, 'a reset in the log';

# Without any line nothing changes.
my $quiet = proxy("acl a dstdomain a.test\nhttp_access deny a\nhttp_access allow all\n");
is get($quiet, 'http://a.test/')->header('X-Squid-Error'), 'ERR_ACCESS_DENIED 0', 'no line, no page of its own';
is get($quiet, $origin->url('/'))->body, 'ok', 'who is not refused notices nothing';

# Mistakes.
sub mistaken
{
    my ($line, $column, $kind, $text) = @_;
    my $said = parse("acl lan src 127.0.0.1\n$line\nhttp_access allow lan\nhttp_port 127.0.0.1:0\n");
    is $said->{status}, $kind eq 'error' ? 1 : 0, "$line: $kind" or diag $said->{output};
    like $said->{output}, qr/^\@DIR\@\/bobtail\.conf:2:$column: $kind: .*$text/m, "... $text";
    return;
}
mistaken('deny_info 999:ERR_ACCESS_DENIED lan', 11, 'error', "200 to 599 expected, not '999'");
mistaken('deny_info 100:ERR_ACCESS_DENIED lan', 11, 'error', '200 to 599');
mistaken('deny_info 304:http://x.test/ lan', 11, 'error', 'has no body');
mistaken('deny_info 302:ERR_ACCESS_DENIED lan', 11, 'error', 'a URL is needed');
mistaken('deny_info 403:http://x.test/ lan', 11, 'error', 'needs a page, not a URL');
mistaken('deny_info 200:http://x.test/ lan', 11, 'error', 'needs a page, not a URL');
mistaken('deny_info 403: lan', 11, 'error', 'is missing');
mistaken('deny_info 403:TCP_RESET lan', 11, 'error', 'has no status');
mistaken('deny_info /etc/passwd lan', 11, 'error', 'neither a URL nor a page');
mistaken('deny_info ../../x lan', 11, 'error', 'neither a URL nor a page');
mistaken('deny_info ERR_ACESS_DENIED lan', 11, 'warning', "did you mean 'ERR_ACCESS_DENIED'");
mistaken('deny_info 404:ERR_MINE lan', 15, 'warning', "no page 'ERR_MINE'");
mistaken('deny_info http://x.test/%k lan', 25, 'warning', '%k is no code');
mistaken('deny_info ERR_ACCESS_DENIED !lan', 29, 'warning', 'does not depend on a !');
mistaken('deny_info ERR_ACCESS_DENIED lann', 29, 'error', 'there is no ACL lann');
mistaken('deny_info ERR_ACCESS_DENIED', 1, 'error', 'missing');
is get(proxy("deny_info 451:ERR_ACCESS_DENIED late\nacl late dstdomain a.test\nhttp_access deny late\n"), 'http://a.test/')->status,
    451, 'an ACL may be defined below';
unlike parse("acl lan src ::1\ndeny_info http://x.test/%20%u?50%25 lan\nhttp_access deny lan\n")->{output}, qr/deny_info|is no code/,
    'escapes of a URL are no codes';
done;

# 38-error-pages.t - what error pages say, in HTML and JSON, from our folder and from others.
use Bobtail::Test;

my $ours = "$ENV{BT_SRCDIR}/etc/error";

# ---- the pages that come with the server ----
my $proxy = proxy(<<'CONF', files => { hosts => "127.0.0.1 known.test\n" });
hosts_file @DIR@/hosts
dns_nameservers 127.255.255.53
dns_timeout 1 second
cache_mgr a&b<@proxy.test
err_html_text <p id="more">Call <b>4711</b> & wait.</p>
acl denied dstdomain denied.test
http_access deny denied
http_access allow all
CONF

my $answer = get($proxy, 'http://127.0.0.1:1/x?secret=1');
is $answer->status, 503, 'a page';
is $answer->header('Content-Type'), 'text/html;charset=utf-8', '... in HTML';
is $answer->header('Content-Language'), 'en', '... in English';
is $answer->header('Cache-Control'), 'no-store', '... not to be stored';
like $answer->body, qr{<title>The server could not be reached</title>}, 'its title';
like $answer->body, qr{<h1>The server could not be reached</h1>}, 'the same above it';
like $answer->body, qr{The system says: \(\d+\) \w}, 'what the system said';
like $answer->body, qr{<code>http://127\.0\.0\.1:1/x\?</code>}, 'the URL, without its query';
unlike $answer->body, qr{secret}, '... anywhere';
like $answer->body, qr{<p id="more">Call <b>4711</b> & wait\.</p>}, 'err_html_text, as it is';
like $answer->body, qr{a&amp;b&lt;\@proxy\.test}, 'the mail address, quoted';
like $answer->body, qr{prefers-color-scheme: dark}, 'light and dark';
unlike $answer->body, qr{(?:src|href)="?http|url\(|\@import|<script|%[a-zA-Z]\b|\@Page|\@Squid}, 'nothing from elsewhere, no code left';
cmp_ok length $answer->body, '<', 3000, 'small';

is request($proxy, HEAD => 'http://127.0.0.1:1/x?secret=1')->body, '', 'HEAD has no body';
my $tunnel = tunnel($proxy, '127.0.0.1:1');
is $tunnel->{response}->status, 503, 'CONNECT';
like $tunnel->{response}->body, qr/could not be reached/, '... has a page';
$tunnel->close;

# Whatever strangers write is text and no markup.
my $evil = q{<script>alert('x')</script>"&};
for (
    ['path', "GET http://denied.test/$evil HTTP/1.1\r\nHost: denied.test\r\n\r\n"],
    ['query', "GET http://denied.test/?$evil HTTP/1.1\r\nHost: denied.test\r\n\r\n"],
    ['user', "GET http://$evil:pw\@denied.test/ HTTP/1.1\r\nHost: denied.test\r\n\r\n"],
    ['host', "GET http://$evil.test/ HTTP/1.1\r\nHost: denied.test\r\n\r\n"],
    ['host of CONNECT', "CONNECT $evil:443 HTTP/1.1\r\nHost: denied.test\r\n\r\n"],
    ['scheme', "GET javascript://x/$evil HTTP/1.1\r\nHost: denied.test\r\n\r\n"],
    ['method', "<script>x</script> http://denied.test/ HTTP/1.1\r\nHost: denied.test\r\n\r\n"],
    ['version', "GET http://denied.test/ <script>/1.1\r\nHost: denied.test\r\n\r\n"],
    ['field', "GET http://denied.test/ HTTP/1.1\r\nHost: denied.test\r\nX-Evil: $evil\r\nCookie: s3cret\r\n\r\n"],
    ['bytes', "GET http://denied.test/\xff\xfe\x80 HTTP/1.1\r\nHost: denied.test\r\n\r\n"],
) {
    my ($what, $bytes) = @$_;
    my $said = raw($proxy, $bytes);
    cmp_ok $said->status, '>=', 400, "markup in the $what: refused with $1" if $said->status =~ /(\d+)/;
    unlike $said->whole, qr/<script|alert\('|s3cret/, "... and not given back";
}

is get($proxy, q{http://denied.test/"x'})->body =~ m{<code>http://denied\.test/(.*)</code>} ? $1 : '', '&quot;x&#39;',
    'quotation marks, too';
unlike raw($proxy, "GET http://me:s3cret\@a b/ HTTP/1.1\r\nHost: x\r\n\r\n")->whole, qr/s3cret/, 'no password of a URL that is none';
unlike raw($proxy, "GET http://me:s3cret\@-/%zz|/ HTTP/1.1\r\nHost: x\r\n\r\n")->whole, qr/s3cret/, 'nor of a strange one';

# A long URL makes no long page.
$answer = get($proxy, 'http://denied.test/' . '<' x 6000);
is $answer->status, 403, 'a long URL';
cmp_ok length $answer->body, '<', 16_384, '... is cut';
like $answer->body, qr{&lt;\.\.\.</code>}, '... and says so';

# ---- JSON ----
sub kind
{
    my ($accept) = @_;
    my $said = get($proxy, 'http://denied.test/', headers => { Accept => $accept });
    is $said->status, 403, 'refused';
    return $said->header('Content-Type') =~ /json/ ? 'json' : 'html';
}
my %prefers = (
    'application/json' => 'json',
    'application/problem+json' => 'json',
    'APPLICATION/JSON; charset=utf-8' => 'json',
    'application/json, text/plain, */*' => 'json',
    'text/html;q=0.5, application/json;q=0.6' => 'json',
    'application/json, text/html;q=0.999' => 'json',
    'text/*;q=0.3, application/json;q=0.4' => 'json',
    '*/*' => 'html',
    'text/html, application/json' => 'html',
    'application/json;q=0.5, text/html' => 'html',
    'application/json;q=0' => 'html',
    'application/json;q=0, application/problem+json;q=0' => 'html',
    'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' => 'html',
    'application/*' => 'html',
    'application/json;q=x' => 'json',
    'x' => 'html',
    ',;q=,' => 'html',
);
is kind($_), $prefers{$_}, "Accept: $_" for sort keys %prefers;

$answer = get($proxy, 'http://denied.test/<b>?secret', headers => { Accept => 'application/json' });
is $answer->header('Content-Type'), 'application/problem+json', 'its type';
is $answer->header('X-Squid-Error'), 'ERR_ACCESS_DENIED 0', 'its name';
is $answer->body, '{"type":"about:blank","status":403,"title":"Forbidden","detail":"Access is denied: '
    . 'the access rules of this proxy forbid it","error":"ERR_ACCESS_DENIED"}' . "\n", 'what it says';
$answer = request($proxy, HEAD => 'http://denied.test/', headers => { Accept => 'application/json' });
is $answer->body, '', 'HEAD has no body';
my $json = grep { $_ eq 'json' } values %prefers;
counters($proxy, "page.json" => $json + 2);

$answer = get(proxy("http_access deny all\nerror_show_rule on\n"), 'http://denied.test/',
    headers => { Accept => 'application/json' });
like $answer->body, qr{"rule":"/[^"]+/bobtail\.conf:1"\}}, 'error_show_rule tells the line';

# ---- pages of others ----
my @codes = ('a' .. 'z', 'A' .. 'Z');
my $theirs = proxy(<<'CONF', files => {
error_directory @DIR@
error_default_language de
err_page_stylesheet @DIR@/style
cache_mgr me@proxy.test
acl all_codes dstdomain codes.test
acl part dstdomain part.test
acl long dstdomain long.test
deny_info ERR_CODES all_codes
deny_info ERR_PART part
deny_info ERR_LONG long
http_access deny all_codes
http_access deny part
http_access deny long
http_access allow all
CONF
    ERR_CODES => join("\n", (map "$_=%$_", grep !/[CGjJkKnNqQrvVXyYZ]/, @codes), q{%%|%;|100%|@x|@Squid{%>a %rm %'{X-A}>h}|@Page{body}}) . "\n",
    ERR_PART => "Title: Part & parcel of %M\n<p>The middle of %H</p>\n",
    ERR_LONG => '%u' x 3000,
    ERR_ACCESS_DENIED => "mine\n",
    style => 'p { color: red }',
});
$answer = get($theirs, 'http://u:secret@codes.test/a/<b>?q', headers => { 'X-A' => '<i>', Cookie => 'secret' });
is $answer->header('Content-Language'), 'de', 'error_default_language';
my %said = $answer->body =~ /^(\w)=(.*)$/gm;
is $said{$_->[0]}, $_->[1], "%$_->[0]" for (
    ['a', '-'], ['A', '127.0.0.1'], ['b', $theirs->port], ['B', ''], ['c', 'ERR_CODES'], ['d', '0'],
    ['D', 'the access rules of this proxy forbid it'], ['e', '0'], ['E', '[No Error]'], ['f', 'nothing'],
    ['F', 'nothing'], ['g', ''], ['h', 'proxy.test'], ['H', 'codes.test'], ['i', '127.0.0.1'],
    ['I', '[unknown]'], ['l', 'p { color: red }'], ['L', ''], ['m', '[not available]'], ['M', 'GET'],
    ['o', ''], ['O', ''], ['p', '80'], ['P', 'http'], ['R', 'GET /a/&lt;b&gt;?q HTTP/1.1'],
    ['u', 'http://codes.test/a/&lt;b&gt;?q'], ['U', 'http://codes.test/a/&lt;b&gt;?'], ['w', 'me@proxy.test'],
    ['W', ''], ['x', '[Unknown Error Code]'], ['z', '[unknown]'],
);
like $said{s}, qr{^bobtail/}, '%s';
like $said{S}, qr{^Generated .* by proxy\.test \(bobtail/}, '%S';
like $said{t}, qr{^\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}$}, '%t';
like $said{T}, qr{^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$}, '%T';
like $answer->body, qr/^%\|%;\|100%\|\@x\|127\.0\.0\.1 GET &lt;i&gt;\|\@Page\{body\}$/m, 'what is no code, and logformat codes';
unlike $answer->body, qr/secret/, 'no login, no field';

$answer = get($theirs, 'http://part.test/');
like $answer->body, qr{<title>Part & parcel of GET</title>.*<h1>Part & parcel of GET</h1>\n<p>The middle of part\.test</p>}s,
    'a part of a page is set into our BASE';
$answer = get($theirs, 'http://long.test/' . 'x' x 2000);
is $answer->status, 403, 'a page that would be longer than 64 KB';
cmp_ok length $answer->body, '<', 65_536, '... is not';
like get($theirs, 'http://127.0.0.1:1/')->body, qr/could not be reached/, 'what is missing there comes from us';
is get($theirs, 'http://127.0.0.1:1/')->header('Content-Language'), 'en', '... in English';
counters($theirs, 'page.html' => 5);

# ---- what the configuration is told ----
sub said { return parse("http_port 127.0.0.1:0\nhttp_access deny all\n$_[0]\n", files => $_[1])->{output} }
like said('error_directory /no/such/folder'), qr{bobtail\.conf:3:17: error: /no/such/folder: No such file}, 'no such folder';
like said('error_directory @DIR@', { ERR_DNS_FAIL => 'x' x 70_000 }), qr{:3:17: error: the page \S+/ERR_DNS_FAIL is larger than 64 KB}, 'a page that is too large';
like said('error_directory @DIR@', { ERR_DNS_FAIL => "a\nbc %k\n" }), qr{/ERR_DNS_FAIL:2:4: warning: %k is no code}, 'a letter that is no code';
like said('error_directory @DIR@', { ERR_DNS_FAIL => "a\n\@Squid{%>a" }), qr{/ERR_DNS_FAIL:2:1: error: the closing \}}, 'an unfinished @Squid{}';
like said('error_directory @DIR@', { ERR_DNS_FAIL => "\n b \@Squid{%>q}" }), qr{/ERR_DNS_FAIL:2:12: error: }, 'an unknown log code';
like said('err_page_stylesheet /no/such/style'), qr{:3:21: warning: the stylesheet cannot be read}, 'no such stylesheet';
like said('error_default_language de'), qr{:3:24: warning: .*in English}, 'a language that we do not speak';
unlike said("error_directory $ours\nerror_default_language en"), qr/error:|warning:/, 'our own folder';
SKIP: {
    my $squid = '/usr/share/squid/errors/en';
    skip 'there are no pages of Squid here', 1 unless -d $squid;
    unlike said("error_directory $squid"), qr/error:|ERR_\w+:\d/, 'pages of Squid';
}

# ---- our files ----
opendir my $folder, $ours or die "$ours: $!";
my @files = grep { /^ERR_/ } readdir $folder;
cmp_ok scalar @files, '>=', 30, 'there are pages';
is_deeply [grep { slurp("$ours/$_") !~ /^Title: [A-Z][^\n%<]+\n<p>/ } @files], [], 'each has a title and says something';
done;

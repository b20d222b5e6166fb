# 77-log-formats.t - access logs: our own formats, what hostile bytes do to any format, old spellings.
use Bobtail::Test;
use JSON::PP ();
use MIME::Base64 qw(encode_base64);

my $origin = origin(
    '/odd' => { body => 'odd', 'Content-Type' => 'text/plain x; charset=utf-8' },
    '*' => { body => 'any', 'Content-Type' => 'text/plain' },
);

# The lines of a file, when so many are there.
sub lines_of
{
    my ($proxy, $file, $n) = @_;
    wait_for(sub { scalar(() = $proxy->text($file) =~ /\n/g) >= $n });
    return split /\n/, $proxy->text($file);
}

my $proxy = proxy(<<'CONF');
strip_query_terms off
logformat one %j{X-Odd}>h
logformat two "%{X-Odd}>h" [%[{X-Odd}>h] %#{X-Odd}>h %/{X-Odd}>h %'{X-Odd}>h %{X-Odd}>h
logformat three [x a="%]{X-Odd}>h"]
logformat four %jst %j05st %j-9{None}>h
access_log stdio:@DIR@/json.log json
access_log stdio:@DIR@/logfmt.log logformat=logfmt
access_log stdio:@DIR@/rfc.log rfc5424
access_log stdio:@DIR@/squid.log squid
access_log stdio:@DIR@/one.log one
access_log stdio:@DIR@/two.log two
access_log stdio:@DIR@/three.log three
access_log stdio:@DIR@/four.log four
CONF
my $json = JSON::PP->new->utf8;

# --- one line of each ------------------------------------------------------------------------------

get($proxy, $origin->url('/odd?q="]'), headers => [ 'User-Agent' => "a \"b\" \\ \xc3\xa9 \xff", 'X-Odd' => 'a"b\\c]d' ]);
my ($line) = lines_of($proxy, 'json.log', 1);
my $said = eval { $json->decode($line) } // {};
is $@, '', 'a line of format json is JSON';
ok exists $said->{$_}, "with $_" for qw(request result hierarchy rule wait_ms tls sni bump server_tls);
is $said->{url}, $origin->url('/odd?q="]'), 'its text is what was said';
is $said->{agent}, "a \"b\" \\ \x{e9} \x{ff}", 'UTF-8 stays, other bytes become characters';
ok $line =~ /"status":200,/ && $line =~ /"took_ms":\d+,/ && $line =~ /"user":null,/, 'numbers are numbers, nothing is null';
is $said->{type}, 'text/plain', 'a media type ends at its first blank';
is_deeply [ @$said{qw(result hierarchy server client method)} ], [ qw(TCP_MISS HIER_DIRECT 127.0.0.1 127.0.0.1 GET) ], 'and says the rest';
($line) = lines_of($proxy, 'logfmt.log', 1);
like $line, qr{^time=\d+\.\d{3} request=\d+ client="127\.0\.0\.1" user=null method="GET" url="http://[^ ]*\\"\]" version="1\.1" status=200 }, 'format logfmt';
($line) = lines_of($proxy, 'rfc.log', 1);
like $line, qr{^<134>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z - bobtail - access \[access\@32473 request="\d+" client="127\.0\.0\.1" (?:[a-z_]+="(?:[^"\\\]]|\\["\\\]])*" ?)*\] GET \S+ 200$},
    'format rfc5424, with its parameters escaped';
is((lines_of($proxy, 'one.log', 1))[0], '"a\"b\\\\c]d"', '%j is a JSON string');
is((lines_of($proxy, 'three.log', 1))[0], '[x a="a\"b\\\\c\]d"]', '%] escapes what RFC 5424 says');
like((lines_of($proxy, 'four.log', 1))[0], qr/^(\d+) \1 null$/, 'a value of JSON has no width');

# --- hostile bytes: as many lines as requests, each with all its fields --------------------------------

my @evil = ("\x01\x02\x1b[31m", "\xe2\x80\xa8", "\xc2\x85", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\xaf", "%0a%0d", '\\n\\', '"]}', "\t", "\xff" x 3000, '"' x 9000, "\\" x 9001);
srand 7;
push @evil, join '', map { chr(33 + int rand 223) } 1 .. 200 for 1 .. 40;
my $sent = 1;
for my $evil (@evil) {
    my $path = $evil =~ s/[\x00-\x20\x7f#]/_/gr;
    raw($proxy, 'GET ' . $origin->url("/e?$path") . " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nUser-Agent: $evil\r\nX-Odd: x$evil\r\nReferer: $evil\r\n\r\n");
    $sent++;
}
my %files = (json => undef, logfmt => undef, rfc => undef, squid => undef, one => undef, two => undef, three => undef);
for my $name (sort keys %files) {
    my @lines = lines_of($proxy, "$name.log", $sent);
    is scalar @lines, $sent, "$name: a line a request";
    is scalar(grep { /[\x00\r]/ } @lines), 0, "$name: no NUL and no CR";
    $files{$name} = \@lines;
}
is scalar(grep { !eval { $json->decode($_); 1 } } @{ $files{json} }), 0, 'each line of format json parses';
is scalar(grep { !eval { JSON::PP->new->utf8->allow_nonref->decode($_); 1 } } @{ $files{one} }), 0, 'each %j parses';
is scalar(grep { (() = /\S+/g) != 10 } @{ $files{squid} }), 0, 'each line of format squid has ten fields';
is scalar(grep { !/^<134>1 \S+ - bobtail - access \[access\@32473( [a-z_]+="([^"\\\]]|\\["\\\]])*")*\] / } @{ $files{rfc} }), 0, 'each line of rfc5424 has its data whole';
is scalar(grep { /[^\x20-\x7e]/ } @{ $files{rfc} }), 0, 'and is ASCII';
is scalar(grep { !/ rule=(null|"[^"]*") agent=(null|".*")$/ } @{ $files{logfmt} }), 0, 'each line of logfmt has all its fields';

# --- a line that is too long keeps its fields ----------------------------------------------------------

my $long = proxy(<<'CONF');
request_header_max_size 64 KB
logformat long {"a":%j{A}>h,"b":%j{B}>h,"end":%j>Hs}
access_log stdio:@DIR@/long.log long
CONF
get($long, $origin->url('/'), headers => [ A => '"' x 20000, B => 'b' x 20000 ]);
($line) = lines_of($long, 'long.log', 1);
$said = eval { $json->decode($line) } // {};
is $said->{end}, 200, 'a value that is too long is cut, and the others stay';
ok length($said->{a} // '') > 100 && ($said->{a} // '') =~ /^"+$/, 'it is not empty';

# --- codes of what is not here ---------------------------------------------------------------------------

# Each is "-" and nothing but that, whatever becomes of its beginning.
my @later = map { ("ssl::$_", "tls::$_") } qw(>sni bump_mode <cert_errors >negotiated_version);
push @later, qw(icap::tt icap::to icap::<service_name us http::us busy_time transport::>connection_id adapt::sum_trs proxy_protocol::>h);
my $bare = proxy("logformat later " . join(' ', map { "%$_" } @later) . "\naccess_log stdio:\@DIR\@/later.log later\naccess_log stdio:\@DIR\@/icap.log icap_squid\n");
get($bare, $origin->url('/x'));
my ($got) = lines_of($bare, 'later.log', 1);
my @values = split / /, $got;
is scalar @values, scalar @later, 'a word for each';
is scalar(grep { /::|[a-z]_[a-z]/ } @values), 0, 'none is its own name';
like((lines_of($bare, 'icap.log', 1))[0], qr{^\d+\.\d{3} - 127\.0\.0\.1 -/- - - - - -/- -$}, 'icap_squid is known');

# --- a name that was not proven is logged, and nothing else believes it ---------------------------------------

my $login = proxy(<<'CONF', files => { passwd => "kim:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n" });
auth_param basic program /usr/lib/squid/basic_ncsa_auth @DIR@/passwd
acl known proxy_auth REQUIRED
http_access allow known
logformat who %un %ul %credentials %>Hs
access_log stdio:@DIR@/who.log who
CONF
for my $password (qw(secret wrong)) {
    get($login, $origin->url('/'), headers => [ 'Proxy-Authorization' => 'Basic ' . encode_base64("kim:$password", '') ]);
}
get($login, $origin->url('/'));
is_deeply [ lines_of($login, 'who.log', 3) ], [ 'kim kim kim 200', 'kim kim - 407', '- - - 407' ], 'names of logins';

# --- whom logs show, and spellings of other times ----------------------------------------------------------

my $old = proxy(<<'CONF');
client_netmask 255.255.0.0
emulate_httpd_log on
useragent_log @DIR@/agent.log
referrer_log @DIR@/referer.log
referer_log none
logformat who %>a %client.direct %>A
cache_access_log @DIR@/common.log
access_log @DIR@/who.log who
CONF
get($old, $origin->url('/x'), headers => [ 'User-Agent' => 'me', Referer => 'http://r/' ]);
like((lines_of($old, 'common.log', 1))[0], qr{^127\.0\.0\.0 - - \[.*\] "GET \S+ HTTP/1\.1" 200 \d+ TCP_MISS:HIER_DIRECT$}, 'emulate_httpd_log');
is((lines_of($old, 'who.log', 1))[0], '127.0.0.0 127.0.0.0 127.0.0.0', 'client_netmask');
like((lines_of($old, 'agent.log', 1))[0], qr{^127\.0\.0\.0 \[.*\] "me"$}, 'useragent_log');
like((lines_of($old, 'referer.log', 1))[0], qr{^\d+\.\d{3} 127\.0\.0\.0 http://r/ \S+$}, 'referer_log');
unlike $old->output . $old->log, qr/known and ignored|obsolete/, 'nothing of that is warned about';
for (['client_netmask 10', qr/mask of IPv4/], ['access_log syslog:nobody.info', qr/no facility of syslog/], ['access_log syslog:user.loud', qr/no priority of syslog/],
    ['access_log udp://127.0.0.1', qr/host and its port/], ['access_log tcp://127.0.0.1:9?x=y', qr/framing=octets/]) {
    like parse("http_port 1\n$_->[0]\n")->{output}, $_->[1], "refused: $_->[0]";
}
done();

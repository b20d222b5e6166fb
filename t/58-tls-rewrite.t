# 58-tls-rewrite.t - other URLs, and limited rates, within a CONNECT that is looked into; and https URLs
# that a proxy is asked for, or makes of others.
use Bobtail::Test;
BEGIN { need('IO::Socket::SSL') }
use Bobtail::Tls;
use File::Temp ();

my $dir = File::Temp->newdir('bobtail-rewrite-XXXXXXXX', TMPDIR => 1);
run_program($ENV{BOBTAILCTL}, 'ca', 'init', "$dir/ca.pem", '--name', 'The CA');

# a.test and b.test are two places, each with its own certificate; the plain one has none.
my %cert = map { $_ => server_certificate("$_.test") } qw(a b);
my $a = origin('*' => { body => 'a' }, '/big' => { body => 'x' x 60000 }, tls => $cert{a});
my $b = origin('*' => { body => 'b' }, tls => $cert{b});
my $plain = origin('*' => { body => 'plain' });
my ($pa, $pb, $pp) = map { $_->port } $a, $b, $plain;

my $proxy = proxy(<<"CONF", files => { hosts => "127.0.0.1 a.test b.test plain.test\n", map => <<"MAP" });
http_port 127.0.0.1:0 ssl-bump tls-cert=$dir/ca.pem
hosts_file \@DIR\@/hosts
tls_outgoing_options cafile=@{[ca_file()]} default-ca=off
ssl_bump bump all
url_rewrite_map \@DIR\@/map
cache_mem 0
acl secret urlpath_regex ^/secret
adapted_http_access deny secret
delay_pools 1
delay_class 1 1
delay_parameters 1 1000/20000
delay_initial_bucket_level 0
acl big urlpath_regex ^/big
delay_access 1 allow big
logformat l %rm %>ru %ru %Ss
access_log stdio:\@DIR\@/log logformat=l
CONF
https://a.test:$pa/path      https://a.test:$pa/other
https://a.test:$pa/b         https://b.test:$pb/from-a
https://a.test:$pa/lies      https://b.test:$pa/nobody
https://a.test:$pa/plain     http://plain.test:$pp/from-a
https://a.test:$pa/refused   https://a.test:$pa/secret
https://a.test:$pa/away      302:https://b.test:$pb/
http://plain.test:$pp/tls    https://b.test:$pb/from-plain
MAP

my $conn = start_tls(tunnel($proxy, "a.test:$pa"), 'a.test', SSL_verify_mode => 0);
sub inside { my ($path) = @_; return request(undef, GET => $path, headers => { Host => "a.test:$pa" }, on => $conn) }
is inside('/')->body, 'a', 'within a CONNECT';
is inside('/path')->body, 'a', 'another path';
is $a->hits('/other'), 1, '... of the same host';
is inside('/b')->body, 'b', 'another host';
is $b->seen_header('/from-a', 'Host'), "b.test:$pb", '... by its name, and with its certificate';
is inside('/plain')->body, 'plain', 'or without TLS';
is inside('/lies')->status, 503, 'an origin that is not who it should be is not asked';
is inside('/refused')->status, 403, 'adapted_http_access holds';
is inside('/away')->header('Location'), "https://b.test:$pb/", 'a redirect';
is inside('/')->body, 'a', 'and the connection goes on';
$conn->close;
is get($proxy, "http://plain.test:$pp/tls")->body, 'b', 'http becomes https';
ok wait_for(sub { $proxy->text('log') =~ m{^GET https://a\.test:$pa/b https://b\.test:$pb/from-a TCP_MISS$}m }), 'logged'
    or diag $proxy->text('log');

$conn = start_tls(tunnel($proxy, "a.test:$pa"), 'a.test', SSL_verify_mode => 0);
$conn->send("GET /big HTTP/1.1\r\nHost: a.test:$pa\r\n\r\n");
sub has { 1 while $conn->fill(0.1); return length $conn->{buffer} }
has();
later($proxy, 10);
my $got = has();
ok $got > 9000 && $got < 13000, 'at a limited rate, too' or diag $got;
$conn->close;
done;

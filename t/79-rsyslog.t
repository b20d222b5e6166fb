# 79-rsyslog.t - access logs as a real rsyslog gets them: over its socket, UDP and TCP, in each format.
use Bobtail::Test;
use JSON::PP ();
need('rsyslogd');

my $syslog = rsyslogd();
my $origin = origin('*' => { body => 'any', 'Content-Type' => 'text/plain' });

# Those that fit, once there are so many.
sub arrived
{
    my ($n, $fits) = @_;
    my @got;
    wait_for(sub { @got = grep { $_->{msg} =~ $fits } $syslog->lines; @got >= $n });
    return @got;
}

# --- a configuration of 2011, with nothing changed but where its daemon listens -------------------

my $old = proxy(<<"CONF");
icp_port 0
visible_hostname old.test
cache_effective_user nobody
cache_effective_group nogroup
append_domain .example.test
pid_filename \@DIR\@/pid
cache_dir null /tmp
client_db off
cache_access_log syslog:\@${\$syslog->socket} squid
cache_log \@DIR\@/cache.log
cache_store_log none
coredump_dir none
no_cache deny all
CONF
get($old, $origin->url('/2011'));
my ($line) = arrived(1, qr{/2011});
is $line->{pri}, 'local4.info', 'the facility and priority of old';
like $line->{msg}, qr{^ ?\d+\.\d{3} +\d+ 127\.0\.0\.1 TCP_MISS/200 \d+ GET http://\S+/2011 - HIER_DIRECT/127\.0\.0\.1 text/plain$},
    'the line is a line of access.log';
is $line->{app}, 'bobtail', 'who says it';
my $pid = $old->pid;
is $line->{procid}, $pid, 'and its number';
like $line->{time}, qr/^20\d\d-\d\d-\d\dT/, 'the time is understood';

# --- each way, each format --------------------------------------------------------------------------

my $proxy = proxy(<<"CONF");
access_log syslog:daemon.warning\@${\$syslog->socket} json
access_log tcp://${\$syslog->tcp} rfc5424
access_log tcp://${\$syslog->tcp}?framing=octets logformat=rfc5424
access_log udp://${\$syslog->udp} rfc5424
access_log syslog:local1.info\@${\$syslog->socket} logfmt
CONF
my $nasty = q{a"b]c\\d=e};
get($proxy, $origin->url('/each'), headers => { 'User-Agent' => $nasty });
my @got = arrived(5, qr{/each});
my ($json) = grep { $_->{pri} eq 'daemon.warning' } @got;
my $is = eval { JSON::PP::decode_json($json->{msg} =~ s/^ //r) };
is $is->{status}, 200, 'json by the socket' or diag explain $json;
is $is->{agent}, $nasty, 'as it was said';
my @structured = grep { $_->{data} ne '-' } @got;
is @structured, 3, 'rfc5424 over TCP in both framings, and over UDP';
for (@structured) {
    is $_->{pri}, 'local0.info', 'its priority';
    is "$_->{app} $_->{msgid}", 'bobtail access', 'what it is';
    like $_->{data}, qr{^\[access\@32473 request="\d+" client="127\.0\.0\.1" user="-" method="GET" url="http://[^"]*/each" status="200" .*\]$},
        'structured data is understood';
    is $_->{msg} =~ s/^ //r, 'GET ' . $origin->url('/each') . ' 200', 'with a message for people';
}
like +(grep { $_->{pri} eq 'local1.info' } @got)[0]{msg}, qr{ method="?GET"? url="?http://\S+/each"? }, 'logfmt';

# Brackets and quotation marks end no element early.
get($proxy, $origin->url('/odd%5D%22?x=]"'));
for (grep { $_->{data} ne '-' } arrived(5, qr{/odd})) {
    like $_->{data}, qr{^\[access\@32473 (?:[a-z_]+="(?:[^"\\\]]|\\["\\\]])*" ?)+\]$}, 'one element, whatever is in a value';
}

# --- many ---------------------------------------------------------------------------------------------

my $many = 500;
my $client = client($proxy);
for my $n (1 .. $many) {
    $client->send('GET ' . $origin->url("/many/$n") . " HTTP/1.1\r\nHost: x\r\n\r\n");
    $client->response;
}
$client->close;
# UDP may lose some.
my $there = sub { my ($pri) = @_; return grep { $_->{msg} =~ m{/many/} && $_->{pri} eq $pri } $syslog->lines };
wait_for(sub { $there->('daemon.warning') == $many && $there->('local1.info') == $many && $there->('local0.info') >= 2 * $many });
@got = arrived(1, qr{/many/});
my %each;
for (@got) {
    my ($n) = $_->{msg} =~ m{/many/(\d+)} or next;
    push @{ $each{"$_->{pri} $_->{data}" =~ /^(\S+) -$/ ? $1 : 'rfc5424'} }, $n;
}
is join(' ', @{ $each{'daemon.warning'} }), join(' ', 1 .. $many), 'by the socket all of them, in order';
is join(' ', @{ $each{'local1.info'} }), join(' ', 1 .. $many), 'in both formats';
cmp_ok scalar @{ $each{rfc5424} }, '>=', 2 * $many, 'and over TCP';
is stat($proxy, 'log.lost'), 0, 'none is lost';

# --- it ends, and a new one comes -------------------------------------------------------------------

$syslog->away;
get($proxy, $origin->url('/while-away'));
$proxy->expect_log(qr/cannot be reached/, qr/not taken by their receiver/);    # the port of TCP is another one then
ok wait_for(sub { $proxy->log =~ /cannot be reached/ }), 'a daemon that is away is told of';
is stat($proxy, 'log.lost'), 0, 'and what comes meanwhile waits';
$syslog->again;
ok wait_for(sub { grep { $_->{msg} =~ m{/while-away} && $_->{pri} eq 'daemon.warning' } $syslog->lines }), 'for the next one';
done;

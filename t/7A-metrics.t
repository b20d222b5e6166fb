# 7A-metrics.t - an admin_port: health, status and metrics, and what a scrape is held to.
use Bobtail::Test;
use IO::Socket::UNIX;
use JSON::PP ();

my $origin = origin(
    (map { ("/$_" => { status => $_, body => $_ == 204 || $_ == 304 ? '' : 'x' }) }
        200, 204, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 405, 408, 410, 413, 429, 500, 502, 503, 504, 418),
    '/cached' => { body => 'one', 'Cache-Control' => 'max-age=60' },
);
my $proxy = proxy(<<'CONF', workers => 2);
workers 2
admin_port 127.0.0.1:0
admin_port unix:@DIR@/admin
acl no urlpath_regex ^/denied
http_access deny no
http_access allow all
CONF
my $admin = $proxy->addr('admin');
like $admin, qr/^unix:/, 'the last of its name is told last';
($admin) = grep { /^127/ && $_ ne $proxy->addr } $proxy->ports_told('admin');

sub page { my ($path, %how) = @_; return get($admin, $path, %how) }

# --- small pages --------------------------------------------------------------------------------

my $answer = page('/healthz');
is $answer->status . ' ' . $answer->body, "200 ok\n", '/healthz';
is page('/readyz')->body, "ready\n", '/readyz';
is page('/nothing')->status, 404, 'there is no such page';
like page('/nothing')->body, qr{/metrics}, 'and which there are';
is request($admin, POST => '/metrics', body => 'x')->status, 405, 'pages are only read';
is request($admin, HEAD => '/status')->body, '', 'HEAD has no body';
is get($admin, $origin->url('/200'))->status, 404, 'it is no proxy';
is $origin->hits('/200'), 0, 'nothing went out';
like page('/stats')->body, qr/^client\.requests\s+0 requests$/m, 'what was asked here is not counted among the requests';
is page('/healthz?x=1')->status, 200, 'a query does not matter';

my $socket = IO::Socket::UNIX->new(Peer => $proxy->file('admin')) or die "unix socket: $!";
print $socket "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
like join('', <$socket>), qr{^HTTP/1\.1 200 OK\r\n.*\r\n\r\nok\n$}s, 'over a socket of this machine';
is +(CORE::stat($proxy->file("admin")))[2] & 07777, 0660, 'which is for its owner and group';

# --- never through the proxy ----------------------------------------------------------------------

is get($proxy, "http://$admin/metrics")->status, 403, 'a client cannot reach it through the proxy';
is get($proxy, '/metrics')->status, 400, 'nor are pages on a port of clients';

# --- counting ---------------------------------------------------------------------------------

get($proxy, $origin->url("/$_")) for qw(204 301 302 303 304 307 308 400 401 403 404 405 408 410 413 429 500 502 503 504 418);
get($proxy, $origin->url('/cached')) for 1, 2;
get($proxy, $origin->url('/denied')) for 1 .. 3;
request($proxy, $_ => $origin->url('/200')) for qw(HEAD OPTIONS DELETE PATCH PROPFIND);
request($proxy, $_ => $origin->url('/200'), body => 'x') for qw(POST PUT);
request($proxy, TRACE => $origin->url('/200'), headers => { 'Max-Forwards' => 0 });
request($proxy, PURGE => $origin->url('/200'));
tunnel($proxy, $origin->addr)->close;
counters($proxy, 'status.400' => 2, map { ("status.$_" => 1) } qw(204 301 302 303 304 307 308 401 405 408 410 413 429 500 502 503 504));
counters($proxy, 'method.head' => 1, 'method.post' => 1, 'method.put' => 1, 'method.delete' => 1, 'method.options' => 1,
    'method.patch' => 1, 'method.trace' => 1, 'method.purge' => 1, 'method.other' => 1, 'method.connect' => 1,
    'result.tcp_mem_hit' => 1, 'client.hits' => 1, 'result.tcp_tunnel' => 1, 'admin.refused' => 0);
cmp_ok stats($proxy)->{'client.hit_bytes_out'}, '>', 100, 'bytes of hits';

# --- /status ------------------------------------------------------------------------------------

my $status = JSON::PP::decode_json(page('/status')->body);
is $status->{hostname}, 'proxy.test', 'who it is';
is @{ $status->{workers} }, 2, 'both workers';
is_deeply [ map { $_->{state} } @{ $status->{workers} } ], [ ('accepting') x 2 ], 'which serve';
is_deeply [ sort map { $_->{pid} } @{ $status->{workers} } ], [ sort $proxy->workers ], 'and have numbers';
cmp_ok $status->{workers}[0]{resident_bytes}, '>', 1000000, 'and memory';
is $status->{stats}{'status.204'}, 1, 'all counters are in it';
my ($rule) = grep { $_->{deny} } @{ $status->{rules} };
is "$rule->{text} $rule->{hits}", 'http_access deny no 3', 'the rules that decided, with how often' or diag explain $status->{rules};
is $status->{domains}[0]{name}, '127.0.0.1', 'top domains';
is $status->{domains}[0]{denied}, 5, 'with what was refused';
is $status->{domains}[0]{hits}, 1, 'and hits';
is $status->{clients}[0]{name}, '127.0.0.1', 'top clients';
is $status->{lately}{hits}, 1, 'what came lately';
later($proxy, 61);
wait_for(sub { @{ JSON::PP::decode_json(page('/status')->body)->{history} } == 1 });
$status = JSON::PP::decode_json(page('/status')->body);
is $status->{history}[0]{denied}, 5, 'a minute later it is history' or diag explain $status->{history};

# --- /metrics, by the grammar of OpenMetrics 1.0 -------------------------------------------------

my $page = page('/metrics');
like $page->header('Content-Type'), qr{^application/openmetrics-text; version=1\.0\.0}, 'its type';
my (%type, %unit, %help, %sample, @order, $family, @wrong);
my @lines = split /\n/, $page->body;
is pop @lines, '# EOF', 'the end is told';
for (@lines) {
    if (/^# TYPE (\S+) (counter|gauge|histogram)$/) {
        push @wrong, "twice: $_" if $type{$1};
        ($family, $type{$1}) = ($1, $2);
        push @order, $1;
    } elsif (/^# UNIT (\S+) (\S+)$/) {
        $unit{$1} = $2;
        push @wrong, "not of its family: $_" if $1 ne $family;
        push @wrong, "the unit is no end of the name: $_" if $1 !~ /_\Q$2\E$/;
    } elsif (/^# HELP (\S+) [^"\\]+$/) {
        $help{$1} = 1;
        push @wrong, "not of its family: $_" if $1 ne $family;
    } elsif (/^([a-z][a-z0-9_]*)(?:\{((?:[a-z_]+="[^"\\\n]*",?)+)\})? (-?[0-9.]+(?:e[-+]?[0-9]+)?)$/) {
        my ($name, $labels, $value) = ($1, $2 // '', $3);
        my %ends = (counter => '_total', gauge => '', histogram => '_(?:bucket|count|sum)');
        push @wrong, "not of its family $family: $_" if $name !~ /^\Q$family\E$ends{ $type{$family} }$/;
        push @wrong, "twice: $_" if exists $sample{"$name\{$labels}"};
        $sample{"$name\{$labels}"} = $value;
    } else {
        push @wrong, "no line of OpenMetrics: $_";
    }
}
is_deeply \@wrong, [], 'every line is as it must be';
is_deeply [ grep { !$help{$_} } @order ], [], 'every family has a sentence';
is_deeply [ grep { !/^bobtail_/ } @order ], [], 'and its name begins with bobtail_';
# Buckets: each has what the one below it has, and more.
my %bucket;
for (keys %sample) {
    my ($of, $rest, $le) = /^(\w+)_bucket\{(.*?),?le="([^"]+)"\}$/ or next;
    push @{ $bucket{"$of $rest"} }, [ $le eq '+Inf' ? 9e99 : $le, $sample{$_} ];
}
cmp_ok scalar keys %bucket, '>', 10, 'histograms';
for my $of (sort keys %bucket) {
    my @in_order = sort { $a->[0] <=> $b->[0] } @{ $bucket{$of} };
    my ($name, $rest) = split / /, $of, 2;
    my $count = $sample{ $name . '_count{' . ($rest // '') . '}' };
    ok !(grep { $in_order[ $_ - 1 ][1] > $in_order[$_][1] } 1 .. $#in_order) && $in_order[-1][1] == $count
        && $in_order[-2][1] == $count && @in_order > 25, "$of: buckets grow, up to all";
}
is $sample{'bobtail_client_responses_total{code="204"}'}, 1, 'answers by status';
is $sample{'bobtail_client_results_total{result="tcp_mem_hit"}'}, 1, 'exchanges by result';
is $sample{'bobtail_access_decisions_total{list="http_access",verdict="deny"}'}, 3, 'decisions';
is $sample{'bobtail_worker_up{worker="2"}'}, 1, 'workers';
ok exists $sample{'bobtail_client_bytes_total{direction="in"}'}, 'bytes by direction';
ok exists $sample{'bobtail_request_duration_seconds_sum{result="hit"}'}, 'times by result';

# Each row of these lists is there.
my %label = (result => 'bobtail_client_results_total{result=', method => 'bobtail_client_methods_total{method=',
    status => 'bobtail_client_responses_total{code=');
for (qw(
    result.tcp_hit result.tcp_mem_hit result.tcp_ims_hit result.tcp_inm_hit result.tcp_negative_hit
    result.tcp_offline_hit result.tcp_refresh_unmodified result.tcp_refresh_modified
    result.tcp_refresh_fail_old result.tcp_refresh_fail_err result.tcp_client_refresh_miss
    result.tcp_miss result.tcp_denied result.tcp_denied_reply result.tcp_redirect result.tcp_tunnel
    result.none result.other method.get method.head method.post method.put method.delete
    method.options method.connect method.patch method.trace method.purge method.other status.200
    status.204 status.206 status.301 status.302 status.303 status.304 status.307 status.308
    status.400 status.401 status.403 status.404 status.405 status.407 status.408 status.410
    status.413 status.416 status.429 status.500 status.502 status.503 status.504 status.other
)) {
    my ($list, $what) = split /\./, $_, 2;
    ok exists $sample{ qq($label{$list}"$what"}) }, $_;
}
my $stats = stats($proxy);
ok exists $stats->{$_}, $_ for qw(client.errors client.hit_time client.miss_time client.near_time client.unmodified_time
    client.tunnel_time origin.response_time worker.cpu_user worker.cpu_system worker.page_faults worker.resident
    worker.resident_max worker.descriptors worker.descriptors_max worker.busy worker.lag admin.requests);

# --- a reload keeps the places -------------------------------------------------------------------

my $said = ctl($proxy, 'reload');
is $said->{status}, 0, 'a reload' or diag explain $said;
is page('/healthz')->body, "ok\n", 'the port is still there';
$socket = IO::Socket::UNIX->new(Peer => $proxy->file('admin')) or die "unix socket: $!";
print $socket "GET /status HTTP/1.0\r\n\r\n";
like join('', <$socket>), qr/"generation": 2/, 'and so is the socket';
is JSON::PP::decode_json(page('/status')->body)->{history}[0]{denied}, 5, 'history is kept';

# --- limits of clients are not those of whoever looks ----------------------------------------------

my $limited = proxy(<<'CONF');
admin_port 127.0.0.1:0
client_ip_max_connections 1
CONF
my @many = map { client($limited->addr('admin')) } 1 .. 4;
$_->send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n") for @many;
is join(' ', map { $_->response->status } @many), '200 200 200 200', 'client_ip_max_connections is about clients';
$_->close for @many;
counters($limited, 'client.connections' => 0, 'client.too_many' => 0, 'admin.requests' => 4);

# --- what is wrong with a line ----------------------------------------------------------------------

like parse("admin_port unix:relative\n")->{output}, qr/a whole path/, 'a path must be whole';
like parse("admin_port 0.0.0.0:9999\n")->{output}, qr/warning: .*whoever can reach this address/s, 'an open address is warned about';
like parse("admin_port unix:/a\nadmin_port unix:/a\n")->{output}, qr/given twice/, 'twice is a mistake';
like parse("page_tops perhaps\n")->{output}, qr/page_tops/, 'page_tops is on, off or auto';
done;

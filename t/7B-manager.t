# 7B-manager.t - the pages of Squid's cache manager, and who may read them.
use Bobtail::Test;
use MIME::Base64;

my $origin = origin('/a' => { body => 'x' x 2000, 'Cache-Control' => 'max-age=600' }, '/slow' => { body => 'y', hold => 1 });
my $proxy = proxy(<<'CONF');
access_log stdio:@DIR@/access.log
page_tops on
cachemgr_passwd geheim info config
cachemgr_passwd disable mem
cachemgr_passwd none idns
acl outside src 127.0.0.2
http_access deny outside manager
http_access allow all
CONF
my $port = $proxy->port;
my $base = '/squid-internal-mgr';

# --- ways to ask ---------------------------------------------------------------------------------

like get($proxy, "$base/menu")->body, qr/^ counters\s+Traffic and Resource Counters\s+public$/m, 'as a client of a web server';
for my $url ("http://127.0.0.1:$port$base/menu", "http://proxy.test:$port$base/menu", "http://localhost:$port$base/menu",
    'cache_object://anybody/menu', 'cache_object://localhost:80/') {
    my $answer = get($proxy, $url);
    like $answer->body, qr/^ 5min\s/m, $url;
    is $answer->header('Content-Type'), 'text/plain; charset=utf-8', 'as text';
}
is raw($proxy, "GET cache_object://localhost/counters HTTP/1.0\r\n\r\n")->status, 200, 'as squidclient of old did';
isnt get($proxy, "http://other.test:$port$base/menu")->status, 200, 'of another host it is not ours';
is get($proxy, $origin->url("$base/menu"))->status, 404, 'nor at another port';
is get($proxy, "$base/nothing")->status, 404, 'there is no such page';
is request($proxy, POST => "$base/menu", body => 'x')->status, 405, 'pages are only read';
is get($proxy, '/other')->status, 400, 'other paths are none of ours';
is get($proxy, "$base/menu", from => '127.0.0.2')->status, 403, 'http_access decides who may';
is get($proxy, "/squid-internal-mg%72/menu", from => '127.0.0.2')->status, 400, 'in whatever spelling';

# --- passwords -----------------------------------------------------------------------------------

my $answer = get($proxy, "$base/info");
is $answer->status, 401, 'info wants one';
is $answer->header('WWW-Authenticate'), 'Basic realm="info"', 'and says so';
sub basic { return { Authorization => 'Basic ' . encode_base64($_[0], '') } }
is get($proxy, "$base/info", headers => basic('any:geheim'))->status, 200, 'it is given';
is get($proxy, "$base/info", headers => basic(":$_"))->status, 401, "not '$_'"
    for 'falsch', '', 'geheimgeheim', 'gehei', "geheim\0", 'geheim ';
is get($proxy, "$base/info", headers => { Authorization => $_ })->status, 401, "not '$_'" for 'Basic', 'Basic ', 'Basic !', 'Bearer geheim';
is get($proxy, "$base/info\@geheim")->status, 200, 'behind the name of the page';
is get($proxy, 'cache_object://x/info@geheim')->status, 200, 'in the old way, too';
is get($proxy, "$base/info\@x")->status, 401, 'a wrong one';
is get($proxy, "$base/mem")->status, 404, 'mem is disabled';
is get($proxy, "$base/idns")->status, 200, 'none: none is wanted';
is get($proxy, "$base/config\@geheim")->status, 200, 'config is protected';
is get($proxy, "$base/shutdown")->status, 401, 'and so is what changes something, when no line names it';
is get($proxy, "$base/shutdown\@geheim")->status, 401, 'with no password at all';
counters($proxy, 'admin.refused' => 14);
wait_for(sub { $proxy->text('access.log') =~ /shutdown/ });
unlike $proxy->text('access.log'), qr/geheim/, 'no password is logged';
like $proxy->text('access.log'), qr{GET http://proxy\.test:$port/squid-internal-mgr/info - HIER_NONE/- }, 'but the page';

# --- what programs read --------------------------------------------------------------------------

get($proxy, $origin->url('/a')) for 1 .. 4;
sub values_of { return { get($proxy, "$base/$_[0]")->body =~ /^(\S+) = (\S+)/mg } }
my $is = values_of('counters');
my @names = qw(client_http.requests client_http.hits client_http.errors client_http.kbytes_in client_http.kbytes_out
    client_http.hit_kbytes_out server.all.requests server.all.errors server.all.kbytes_in server.all.kbytes_out
    server.http.requests server.http.errors server.http.kbytes_in server.http.kbytes_out server.ftp.requests
    server.other.requests icp.pkts_sent icp.times_used cd.times_used unlink.requests page_faults select_loops cpu_time wall_time
    swap.outs swap.ins swap.files_cleaned aborted_requests hit_validation.attempts sample_time);
is_deeply [ grep { !defined $is->{$_} } @names ], [], 'counters has the names that exporters look for';
is $is->{'client_http.hits'}, 3, 'hits';
is $is->{'server.http.requests'}, 1 + $is->{'server.all.errors'} * 0 + stats($proxy)->{'origin.dials'} + stats($proxy)->{'origin.reused'} - 1,
    'requests to origins';
cmp_ok $is->{'client_http.hit_kbytes_out'}, '>=', 6, 'kilobytes of hits';

later($proxy, 61);
wait_for(sub { values_of('5min')->{'client_http.requests'} =~ m{^0\.\d+/sec} });
my $average = values_of('5min');
like $average->{'client_http.requests'}, qr{^0\.[1-9]\d*/sec$}, '5min is an average';
ok defined $average->{$_}, "with $_" for qw(client_http.all_median_svc_time client_http.miss_median_svc_time client_http.nm_median_svc_time
    client_http.nh_median_svc_time client_http.hit_median_svc_time dns.median_svc_time cpu_usage cpu_time wall_time sample_start_time
    sample_end_time server.all.requests aborted_requests);
cmp_ok values_of('60min')->{wall_time}, '>=', 61, '60min reaches back as far';
like get($proxy, "$base/utilization")->body, qr/^Last 5 minutes:\nsample_start_time = .*^Last hour:.*^Totals since cache startup:\nsample_time = /ms,
    'utilization has all of them';

my $info = get($proxy, "$base/info\@geheim")->body;
like $info, $_, $_ for qr/^Squid Object Cache: Version \S+$/m, qr/^Start Time:\t\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/m,
    qr/^\tNumber of clients accessing cache:\t2$/m, qr/^\tNumber of HTTP requests received:\t\d+$/m,
    qr/^\tRequest failure ratio:\t [0-9.]+$/m, qr/^\tHits as % of all requests:\t5min: \d+\.\d%, 60min: \d+\.\d%$/m,
    qr/^\tHits as % of bytes sent:\t5min: \d+\.\d%, 60min: \d+\.\d%$/m, qr/^\tStorage Mem size:\t\d+ KB$/m,
    qr/^\tHTTP Requests \(All\):\s+[0-9.]+\s+[0-9.]+$/m, qr/^\tDNS Lookups:\s+[0-9.]+\s+[0-9.]+$/m,
    qr/^\tUP Time:\t[0-9.]+ seconds$/m, qr/^\tCPU Usage, 5 minute avg:\t[0-9.]+%$/m, qr/^\tMaximum Resident Size: \d+ KB$/m,
    qr/^\tMaximum number of file descriptors:   \d+$/m, qr/^\tNumber of file desc currently in use: \d+$/m;

like get($proxy, "$base/client_list")->body, qr/^Address: 127\.0\.0\.1\nName: .*\n    ICP  Requests 0\n    HTTP Requests \d+\n(?:        TCP_\w+ +\d+ +\d+%\n)+/m,
    'client_list';
like get($proxy, "$base/client_list")->body, qr/^HTTP: \d+ Requests, 3 Hits \(/m, 'with totals';
my $waiting = client($proxy);
$waiting->send("GET " . $origin->url('/slow') . " HTTP/1.1\r\nHost: x\r\n\r\n");
wait_for(sub { $origin->hits('/slow') });
my $active = get($proxy, "$base/active_requests")->body;
like $active, qr{^Connection: \S+\n\tremote: 127\.0\.0\.1\n\tlocal: 127\.0\.0\.1\nuri http://127\.0\.0\.1:\d+/slow\nlogType \w+\nout\.offset \d+, out\.size \d+\nreq_sz \d+\nstart \d+\.\d+ \(\d+\.\d+ seconds ago\)\nusername -\n}m,
    'active_requests';
$waiting->close;
like get($proxy, "$base/storedir")->body, qr/^Store Entries          : 1$/m, 'storedir';
like get($proxy, "$base/ipcache")->body, qr/^IPcache Requests: \d+$/m, 'ipcache';
like get($proxy, "$base/fqdncache")->body, qr/^FQDNcache Requests: \d+$/m, 'fqdncache';
like get($proxy, "$base/server_list")->body, qr/^There are no neighbors installed\.$/m, 'server_list';
like get($proxy, "$base/histograms")->body, qr/^client_http\.hitSvcTime histogram:\n\t +\d+\/[0-9.]+\t\d+$/m, 'histograms';
like get($proxy, "$base/service_times")->body, qr/ 50% +[0-9.]+ +[0-9.]+$/m, 'service_times';
like get($proxy, "$base/pconn")->body, qr/^Opened: \d+$/m, 'pconn';
like get($proxy, "$base/stats")->body, qr/^client\.requests /m, 'all counters';

# Every page of the menu answers.
my @menu = get($proxy, "$base/menu")->body =~ /^ (\S+)\s/mg;
cmp_ok @menu, '>', 50, 'the menu is long';
for (grep { !/^(?:info|mem|config|shutdown|reconfigure|rotate|offline_toggle)$/ } @menu) {
    my $page = get($proxy, "$base/$_");
    ok $page->status == 200 && length $page->body, $_;
}
my %kind = get($proxy, "$base/menu")->body =~ /^ (\S+)\s.*\s(\w+)$/mg;
is "$kind{info} $kind{mem} $kind{idns} $kind{shutdown} $kind{counters}", 'protected disabled public hidden public', 'the menu says who may';
like parse("cachemgr_passwd x nothing\n")->{output}, qr/no page of that name/, 'a page that is none';
done;

# 64-lua-places.t - hooks besides those of requests: clients that connect, TLS hellos, workers, timers.
use Bobtail::Test;
BEGIN { need('IO::Socket::SSL') }
use Bobtail::Tls;
use File::Temp ();

my $script = <<'LUA';
local seen = 0
function on_init() ready = true end
function on_worker(id)
  assert(ready and math.type(id) == "integer")
  bt.sleep(0.01)
  bt.log("worker has slept")
end
function on_accept(txn)
  seen = seen + 1
  bt.sleep(0.001)
  if txn.client_addr == "127.0.0.9" then return bt.deny() end
  if txn.client_addr == "127.0.0.8" then return bt.redirect("http://x/") end
  if txn.client_addr == "127.0.0.7" then return txn.url:byte() end
  txn.ctx.number = seen
end
function on_request(txn)
  txn:log("ctx", tostring(txn.ctx.number))
end
function on_hello(txn)
  bt.log("hello for " .. txn.tls_sni)
  bt.sleep(0.001)
  if txn.tls_sni == "bad.test" then return bt.deny() end
end
local ticks = 0
bt.every(0.02, function()
  ticks = ticks + 1
  bt.sleep(0.001)
  if ticks == 2 then error("a tick fails") end
  if ticks == 4 then bt.log("ticks go on") end
end)
LUA

my $dir = File::Temp->newdir('bobtail-lua-XXXXXXXX', TMPDIR => 1);
my $ca = "$dir/ca.pem";
run_program($ENV{BOBTAILCTL}, 'ca', 'init', $ca, '--name', 'The CA');
my $origin = origin('*' => { body => 'fine' });
my $secret = origin('*' => { body => 'secret' }, tls => server_certificate('good.test', 'bad.test'));
my $proxy = proxy(<<"CONF", files => { 'policy.lua' => $script, hosts => "127.0.0.1 good.test\n127.0.0.1 bad.test\n" });
http_port 127.0.0.1:0 ssl-bump tls-cert=$ca
hosts_file \@DIR\@/hosts
ssl_bump peek all
ssl_bump splice all
lua_script \@DIR\@/policy.lua
logformat test %rm %{ctx}lua
access_log \@DIR\@/access.log test
CONF
$proxy->expect_log(qr/bt\.every of .*policy\.lua.* failed: .*a tick fails/);
$proxy->expect_log(qr/on_accept of .* failed: .*cannot be said in on_accept/);
$proxy->expect_log(qr/on_accept of .* failed: .*not known yet in on_accept/);

ok wait_for(sub { $proxy->log =~ /worker has slept/ }), 'on_worker may wait';
ok wait_for(sub { $proxy->log =~ /ticks go on/ }), 'bt.every goes on after an error';

my $conn = client($proxy);
is get($proxy, $origin->url('/a'), on => $conn)->status, 200, 'a client is let in';
is get($proxy, $origin->url('/b'), on => $conn)->status, 200, 'for more than one request';
$conn->close;
for my $from (qw(127.0.0.9 127.0.0.8 127.0.0.7)) {
    my $other = client($proxy, from => $from);
    $other->send("GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n");
    is $other->rest, '', "$from is not";
    $other->close;
}
wait_for(sub { $proxy->text('access.log') =~ /GET.*GET/s });
like $proxy->text('access.log'), qr/^GET 1\nGET nil$/m, 'txn.ctx is that of the first exchange of a connection';

my $port = $secret->port;
my $tls = start_tls(tunnel($proxy, "good.test:$port"), 'good.test');
is get($proxy, '/x', on => $tls)->body, 'secret', 'a hello that may pass';
$tls->close;
is eval { start_tls(tunnel($proxy, "bad.test:$port"), 'bad.test'); 1 }, undef, 'one that may not';
like $proxy->log, qr/hello for bad\.test/, 'by its name';
ok wait_for(sub { stats($proxy)->{'lua.hello.calls'} == 2 }), 'counted';
counters($proxy, 'lua.hello.waits' => 2, 'lua.accept.errors' => 2);
cmp_ok stats($proxy)->{'lua.timer.calls'}, '>', 3, 'and the ticks';
is stats($proxy)->{'lua.timer.errors'}, 1, 'of which one failed';
done;

# 68-lua-limits.t - limits of waiting, of time by hook, what an error means; the same with 1 and 4 workers.
use Bobtail::Test;

my $origin = origin('*' => { body => 'fine', 'Cache-Control' => 'no-store' });
my $script = <<'LUA';
function on_request(txn)
  if txn.path == "/sleep" then bt.sleep(2) end
  if txn.path == "/long" then bt.sleep(60) end
  if txn.path == "/many" then for i = 1, 100 do bt.sleep(0.2) end end
  if txn.path == "/caught" then pcall(bt.sleep, 60) return bt.allow() end
  if txn.path == "/error" then error("wrong") end
  if txn.path == "/busy" then for i = 1, 1e9 do end end
  txn:log("seen", txn.path)
end
function busy(txn) if txn.path == "/acl" then while true do end end return txn.path == "/yes" end
LUA

for my $workers (0, 4) { # 0: one process
    my $proxy = proxy(<<'CONF', files => { 'policy.lua' => $script }, workers => $workers);
lua_script @DIR@/policy.lua
lua_wait_timeout 1 second
lua_max_waiting 3
lua_cpu_limit 30 milliseconds
lua_cpu_limit 2 milliseconds hook=acl
acl busy lua busy
http_access deny busy
http_access allow all
logformat test %rp %{seen}lua.value %{seen}lua
access_log @DIR@/access.log test
CONF
    $proxy->expect_log(qr/ failed: /);
    is get($proxy, $origin->url('/fine'))->status, 200, "$workers: one passes";
    wait_for(sub { $proxy->text('access.log') =~ m{/fine} });
    like $proxy->text('access.log'), qr{^/fine /fine /fine$}m, 'with what it noted';
    is get($proxy, $origin->url('/yes'))->status, 403, 'an ACL matches';
    for my $path (qw(/long /many /caught)) {
        is get($proxy, $origin->url($path))->status, 403, "$path waits for too long";
    }
    like $proxy->log, qr/waited longer than it may \(lua_wait_timeout\)/, 'which is told';
    is get($proxy, $origin->url($_))->status, 403, "$_ is refused" for qw(/error /busy /acl);
    is stats($proxy)->{'lua.request.limits'}, 4, 'three of patience, one of time';
    is stats($proxy)->{'lua.acl.limits'}, 1, 'and one of time in an ACL';

    # More than may wait: of one worker so many.
    my $may = 3 * ($workers || 1);
    my @conn = map { my $conn = client($proxy); $conn->send("GET " . $origin->url('/sleep') . " HTTP/1.1\r\nHost: x\r\n\r\n"); $conn }
        1 .. $may + 10;
    ok wait_for(sub { stats($proxy)->{'lua.refused'} >= ($workers ? 5 : 10) }), 'too many at once are refused';
    cmp_ok stats($proxy)->{'lua.waiting'}, '<=', $may, 'while others wait';
    $_->close for @conn;
    ok wait_for(sub { stats($proxy)->{'lua.waiting'} == 0 }), 'who leave wait no more';
    is get($proxy, $origin->url('/fine'))->status, 200, 'and all is as before';
}

# --- what an error means ---

for my $word (qw(deny allow ignore)) {
    my $proxy = proxy(<<"CONF", files => { 'policy.lua' => $script });
lua_script \@DIR\@/policy.lua on-error=$word
http_access deny all
CONF
    $proxy->expect_log(qr/wrong/);
    my $status = get($proxy, $origin->url('/error'))->status;
    is $status, $word eq 'allow' ? 200 : 403, "on-error=$word before a list that denies all";
}
my $proxy = proxy(<<'CONF', files => { 'policy.lua' => $script });
lua_script @DIR@/policy.lua on-error=ignore
CONF
$proxy->expect_log(qr/wrong/);
is get($proxy, $origin->url('/error'))->status, 200, 'on-error=ignore before one that allows';

# --- counters: each is there ---

my $stats = stats($proxy);
ok defined $stats->{$_}, $_ for qw(
    lua.init.calls lua.init.time lua.init.errors lua.init.limits lua.init.waits lua.worker.calls
    lua.worker.time lua.worker.errors lua.worker.limits lua.worker.waits lua.accept.calls
    lua.accept.time lua.accept.errors lua.accept.limits lua.accept.waits lua.hello.calls
    lua.hello.time lua.hello.errors lua.hello.limits lua.hello.waits lua.request.calls
    lua.request.time lua.request.errors lua.request.limits lua.request.waits lua.lookup.calls
    lua.lookup.time lua.lookup.errors lua.lookup.limits lua.lookup.waits lua.upstream.calls
    lua.upstream.time lua.upstream.errors lua.upstream.limits lua.upstream.waits lua.response.calls
    lua.response.time lua.response.errors lua.response.limits lua.response.waits lua.error.calls
    lua.error.time lua.error.errors lua.error.limits lua.error.waits lua.finish.calls
    lua.finish.time lua.finish.errors lua.finish.limits lua.finish.waits lua.acl.calls lua.acl.time
    lua.acl.errors lua.acl.limits lua.acl.waits lua.timer.calls lua.timer.time lua.timer.errors
    lua.timer.limits lua.timer.waits lua.test.calls lua.test.time lua.test.errors lua.test.limits
    lua.test.waits lua.waiting lua.refused lua.slices lua.memory lua.reloads
);
done;

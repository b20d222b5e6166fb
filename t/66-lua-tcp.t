# 66-lua-tcp.t - bt.tcp: connections of scripts, judged as a CONNECT.
use Bobtail::Test;
plan(skip_all => 'built without Lua') unless -e "$ENV{BT_BUILDDIR}/modules/built/lua.so";

# A CONNECT makes an origin an echo.
my $echo = origin('/a' => { body => 'one', close => 1 }, '/slow' => { body => 'x', hold => 1 }, '/big' => { body => 'y' x 900_000, close => 1 });
my $script = <<'LUA';
local PORT = tonumber("@PORT@")
local function open(path)
  local c, why = bt.tcp("127.0.0.1", PORT)
  if not c then return nil, why end
  assert(c:send("GET " .. path .. " HTTP/1.1\r\nHost: x\r\n\r\n"))
  return c
end
local function show(...) local t = table.pack(...) for i = 1, t.n do t[i] = tostring(t[i]) end return table.concat(t, " ") end
local kept
local tests = {
  lines = function()
    local c = open("/a")
    local first, n = c:receive("line"), 0
    repeat local line = c:receive("line") n = n + 1 until line == ""
    return show(first, n > 1, c:receive(2), c:receive(1), c:receive(), select(2, c:receive()))
  end,
  any = function() local c = open("/a") local t = c:receive() return show(#t > 10, c:close(), c:send("x"), c:receive()) end,
  big = function()
    local c, n = open("/big"), 0
    while true do local t = c:receive() if not t then break end n = n + #t bt.sleep(0) end
    return show(n > 900000)
  end,
  late = function() local c = open("/slow") return show(c:receive(1, 0.1)) end,
  refused = function() return show(bt.tcp("127.0.0.1", 1)) end,
  denied = function() return show(bt.tcp("secret.test", PORT)) end,
  dns = function() return show(bt.tcp("none.invalid", 80)) end,
  own = function() return show(bt.tcp("127.0.0.1", tonumber("@OWN@"))) end,
  invalid = function() return show(bt.tcp("", 80)) .. show(bt.tcp("x y", 80)) .. show(bt.tcp("x", 0)) .. show(bt.tcp("x", 70000)) end,
  keep = function() kept = open("/slow") return show(kept ~= nil) end,
  kept = function() return show(kept:receive(1, 0.1)) end,
  scope = function() do local c <close> = open("/slow") end return "closed" end,
  drop = function() open("/slow") collectgarbage("count") return "dropped" end,
  wait = function() local c = open("/slow") return show(c:receive(1, 4)) end,
  two = function() local c = open("/slow") return show(pcall(bt.all, {function() c:receive(1, 0.2) end, function() c:receive(1) end})) end,
  closing = function() local c = open("/slow") local r = table.pack(bt.all{function() local t, why = c:receive() return why end, function() bt.sleep(0) c:close() end}) return r[1] end,
}
local wrong = {
  function() bt.tcp() end, function() bt.tcp("x") end, function() bt.tcp("x", 80, -1) end, function() local c = open("/slow") c:receive(0) end,
  function() local c = open("/slow") c:receive("all") end, function() local c = open("/slow") c:send({}) end, function() local c = open("/slow") c.close("x") end,
}
function on_request(txn)
  if txn.host ~= "lua.test" then return end
  local what, n = txn.path:match("^/(%w+)/?(%d*)")
  if what == "wrong" then return bt.respond{body = tostring(select(2, pcall(wrong[tonumber(n)])))} end
  return bt.respond{body = tests[what]()}
end
LUA
for my $workers (1, 4) {
    my $proxy = proxy(<<'CONF' . "shutdown_lifetime 1 second\n", files => { 'policy.lua' => $script =~ s/\@PORT\@/$echo->port/er, hosts => "127.0.0.9 secret.test\n" }, $workers > 1 ? (workers => $workers) : ());
hosts_file @DIR@/hosts
lua_script @DIR@/policy.lua
acl script transaction_initiator script
acl secret dstdomain secret.test
http_access deny script secret
http_access allow all
logformat who %>a %Ss/%>Hs %rm %ru
access_log stdio:@DIR@/access.log logformat=who
CONF
    my $said = sub { get($proxy, "http://lua.test/$_[0]")->body };
    is $said->('lines'), 'HTTP/1.1 200 OK true on e nil closed', "lines, so many bytes, the end, $workers";
    ok wait_for(sub { $proxy->text('access.log') =~ m{^- TCP_TUNNEL/200 CONNECT 127\.0\.0\.1:@{[$echo->port]}$}m }), 'logged as a tunnel of nobody';
    is $said->("any"), "true nil false nil closed", "any; then it is closed";
    is $said->('big'), 'true', 'more than is held at once';
    is $said->('late'), 'nil timeout', 'late';
    is $said->('refused'), 'nil connect', 'nobody there';
    is $said->('denied'), 'nil denied', 'by the rules';
    is $said->('dns'), 'nil dns', 'no such name';
    is $said->('invalid'), 'nil invalid' x 4, 'no host and port';
    is $said->('scope'), 'closed', 'a local that is closed';
    ok wait_for(sub { stat($proxy, 'lua.connections') == 0 }), '... is';
    is $said->('drop'), 'dropped', 'one that is forgotten';
    ok wait_for(sub { stat($proxy, 'lua.connections') == 0 }), '... is closed with its exchange';
    if ($workers == 1) {
        is $said->('keep'), 'true', 'one that is kept';
        ok wait_for(sub { stat($proxy, 'lua.connections') == 0 && stat($proxy, 'fetch.open') == 0 }), '... likewise';
        is $said->('kept'), 'nil closed', '... which the object knows';
    }
    like $said->('two'), qr/^false .*another one waits for this connection/, 'two wait';
    is $said->('closing'), 'closed', 'closed while somebody waits';
    my @wrong = (qr/number expected|string expected/, qr/number expected/, qr/from 0 to 3600/, qr/from 1 to 262144/, qr/number expected/, qr/string expected/, qr/connection expected/);
    like $said->('wrong/' . ($_ + 1)), $wrong[$_], "wrong: $wrong[$_]" for 0 .. $#wrong;
    my $leaver = client($proxy);
    $leaver->send("GET http://lua.test/wait HTTP/1.1\r\nHost: x\r\n\r\n");
    ok wait_for(sub { stat($proxy, 'lua.connections') == 1 && stat($proxy, 'tunnel.open') >= 1 }), 'one waits';
    $leaver->close;
    ok wait_for(sub { stat($proxy, 'lua.connections') == 0 && stat($proxy, 'tunnel.open') == 0 }), '... whose client leaves';
    is join(', ', $proxy->stop), '', 'ends clean';
}
done;

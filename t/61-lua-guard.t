# 61-lua-guard.t - a script that goes wild harms nobody but its own request.
use Bobtail::Test;
use Time::HiRes qw(time);

my $origin = origin('*' => { body => 'fine' });
my $script = <<'LUA';
local tests = {
  loop = function() while true do end end,
  caught = function() while true do pcall(function() while true do end end) end end,
  coroutine = function() local co = coroutine.wrap(function() while true do end end) while true do co() end end,
  sorted = function() local t = {} for i = 1, 1000 do t[i] = i % 7 end
    table.sort(t, function(a, b) while true do end end) end,
  rep = function() return ("x"):rep(1e9) end,
  double = function() local s = "x" while true do s = s .. s end end,
  doubles = function() while true do pcall(function() local s = "x" while true do s = s .. s end end) end end,
  storm = function() local t = {} while true do t[#t + 1] = {#t} end end,
  deep = function() local function f() return 1 + f() end return f() end,
  deeper = function() local function f() return pcall(f) end return f() end,
  tail = function() local function f() return f() end return f() end,
  pattern = function() return (("a"):rep(3000)):find(("a-"):rep(10) .. "b") end,
  patterns = function() while true do pcall(string.find, ("a"):rep(3000), ("a-"):rep(10) .. "b") end end,
  gsub = function() return (("a"):rep(2000)):gsub(("a*"):rep(10) .. "b", "") end,
  balance = function() return (("("):rep(1000000)):find("%b()") end,
  handler = function() xpcall(error, function() error("again") end) error("at last") end,
  meta = function() local t = setmetatable({}, {__index = function(t, k) return t[k .. "x"] end}) return t.a end,
  tostring = function() error(setmetatable({}, {__tostring = function() while true do end end})) end,
  yields = function() coroutine.yield(1) end,
  move = function() table.move({}, 1, 2^31, 1) end,
  insert = function() local t = {} for i = 1, 2000000 do table.insert(t, 1, i) end end,
  lower = function() local s = ("A"):rep(4000000) for i = 1, 1000000 do s = s:lower() end end,
  concat = function() local t = {} for i = 1, 300000 do t[i] = "x" end return table.concat(t, ("y"):rep(1000)) end,
  finalizer = function() setmetatable({}, {__gc = function() while true do end end}) end,
  close = function() local x <close> = setmetatable({}, {__close = function() while true do end end}) error("x") end,
  format = function() return ("%99.99f"):rep(100000):format(1) end,
  unpack = function() return table.unpack({}, 1, 1e7) end,
  nothing = function() return 7 end,
}
function on_request(txn)
  local name = txn.path:match("^/t/(%w+)")
  if name then return tests[name]() end
end
LUA
my $proxy = proxy(<<'CONF', files => { 'policy.lua' => $script });
lua_script @DIR@/policy.lua
lua_memory_limit 32 MB
CONF
$proxy->expect_log(qr/on_request of .* failed: /);
my @names = $script =~ /^  (\w+) = function/mg;
my ($worst, $which) = (0, '');
for my $name (@names) {
    my $other = client($proxy);
    $other->send("GET " . $origin->url('/other') . " HTTP/1.1\r\nHost: x\r\n\r\n");
    my $from = time;
    is get($proxy, $origin->url("/t/$name"))->status, 403, "$name is contained";
    my $took = time - $from;
    ($worst, $which) = ($took, $name) if $took > $worst;
    is $other->response(to => 'GET')->status, 200, 'and another exchange goes on';
    $other->close;
}
cmp_ok $worst, '<', 2, "the longest took $worst s ($which)";
is get($proxy, $origin->url('/after'))->status, 200, 'the worker lives';
counters($proxy, 'lua.request.errors' => scalar @names, 'proc.panics' => 0);
my $said = ctl($proxy, 'stats', 'lua.request.limits');
diag $proxy->log if $ENV{SHOW};
done;

# 61-lua-wild.t - ways around the guards: what runs with hooks off or in C, and calls nobody waits for.
use Bobtail::Test;
use Time::HiRes qw(time);

my $origin = origin('*' => { body => 'fine', 'Cache-Control' => 'no-store' });
my $script = <<'LUA';
local big = ("x"):rep(4000000)
local function endless() while true do end end
local liar = {__len = function() return 1 << 60 end, __index = type, __newindex = type}
local function list(n) local t = {} for i = 1, n do t[i] = "x" end return t end
local tests = {
  handler = function() table.sort({3, 2, 1}, function() xpcall(endless, endless) end) end,
  insert = function() table.insert(setmetatable({}, liar), 1, "x") end,
  remove = function() table.remove(setmetatable({}, liar), 1) end,
  sort = function() table.sort(setmetatable({}, liar)) end,
  concat = function() table.concat(setmetatable({}, {__index = table.concat}), "", 1, 1 << 60) end,
  unpack = function() table.unpack(setmetatable({}, {__index = type}), 1, 900000) end,
  values = function(txn) txn.req.headers["X-A"] = list(101) end,
  respond = function() return bt.respond{headers = {A = list(100000)}} end,
  print = function() print(table.unpack(list(100000))) end,
  date = function() os.date(("%c"):rep(2000000)) end,
  header = function(txn) while true do txn.req.headers["X-A"] = big end end,
  add = function(txn) while true do txn.req.headers:add("X-A", big) end end,
  note = function(txn) while true do txn:note("a", big) end end,
  tag = function(txn) while true do txn:tag(big) end end,
  peer = function(txn) while true do txn:set_peer(big) end end,
  log = function(txn) while true do txn:log("a", big) end end,
  every = function() while true do bt.every(0.01, endless) end end,
  number = function() while true do tonumber(big, 36) end end,
  sum = function() local s = ("9"):rep(4000000) while true do local n = s + 0 end end,
  all = function() local function f() return bt.all{f, f} end f() end,
  coroutines = function()
    local function f()
      for _ = 1, 2 do coroutine.resume(coroutine.create(f)) end
    end
    f()
  end,
}
function on_request(txn)
  local name = txn.path:match("^/t/(%w+)")
  if name then return tests[name](txn) end
  if txn.path == "/many" then -- no more than 100, and as many lists as there are
    txn.req.headers["X-A"] = list(100)
    txn.req.headers["X-B"] = setmetatable({}, liar) -- of which nothing is asked
    local handled, why = xpcall(error, function(text) return "handled " .. text end, "it")
    assert(not handled and why == "handled it")
    assert(select("#", table.unpack({1, 2, nil, 4}, 1, 4)) == 4 and table.concat({1, 2, 3}, ",", 2) == "2,3")
  end
end
LUA
my $proxy = proxy(<<'CONF', files => { 'policy.lua' => $script });
lua_script @DIR@/policy.lua
CONF
$proxy->expect_log(qr/on_request of .* failed: /);
my @names = $script =~ /^  (\w+) = function/mg;
for my $name (@names) {
    my $from = time;
    my $conn = client($proxy);
    $conn->send("GET " . $origin->url("/t/$name") . " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    my $answer = eval { $conn->response(to => 'GET') };
    is $answer && $answer->status, 403, "$name is contained";
    cmp_ok time - $from, '<', 2, 'soon';
    $answer or BAIL_OUT("$name never ends");
}
is get($proxy, $origin->url('/many'))->status, 200, 'what is allowed works';
counters($proxy, 'lua.request.errors' => scalar @names, 'proc.panics' => 0);

# --- calls that end, and what they waited for is garbage by then ---

my $waits = proxy(<<'CONF', files => { 'policy.lua' => <<'LUA' });
lua_script @DIR@/policy.lua
lua_max_waiting 3
lua_cpu_limit 1 second
CONF
local set, why = pcall(bt.every, -1, print)
assert(not set and why:find("from 0.01"), why)
local function waste() local t = {} for i = 1, 3000 do t[i] = {i} end end
local function one() bt.sleep(0.02) waste() end
local nested
function nested() bt.sleep(0.001) return bt.all{nested, nested} end
function on_request(txn)
  if txn.path == "/after" then bt.sleep(0.01) waste() waste() end
  if txn.path == "/orphans" then
    local done = pcall(bt.all, {one, one, one}) -- there is no room left for bt.all itself
    assert(not done)
    for i = 1, 100 do pcall(bt.sleep, 0.001) waste() end
  end
  if txn.path == "/nested" then pcall(nested) waste() end
end
LUA
for (1 .. 5) {
    for my $path (qw(/after /orphans /nested)) {
        is get($waits, $origin->url($path))->status, 200, "$path: what waited is forgotten";
    }
}
is stats($waits)->{'lua.waiting'}, 0, 'nothing waits';

# --- while a script is loaded ---

my $said = eval {
    local $SIG{ALRM} = sub { die "late\n" };
    alarm 20;
    my $of = parse(<<'CONF', files => { 'load.lua' => <<'LUA' });
lua_script @DIR@/load.lua
lua_cpu_limit 20 milliseconds hook=on_init
CONF
local function endless() while true do end end
xpcall(endless, endless)
LUA
    alarm 0;
    $of->{output};
};
like $said // $@, qr/load\.lua.*the time that a call may take is over/s, 'a handler does not outlive it';
done;

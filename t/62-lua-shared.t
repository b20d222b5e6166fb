# 62-lua-shared.t - what scripts of all workers share: bt.shared, bt.limit, bt.counter, bt.histogram.
use Bobtail::Test;
plan(skip_all => 'built without Lua') unless -e "$ENV{BT_BUILDDIR}/modules/built/lua.so";

my $script = <<'LUA';
local d = bt.shared("test")
local small = bt.shared("small", 65536)
assert(#tostring(bt.shared("test")) > 0)
local seen = bt.counter("seen", "Requests seen.")
local more = bt.counter("a.b_2")
local sizes = bt.histogram("sizes", "bytes", "How long paths are.")
local function show(...) local t = table.pack(...) for i = 1, t.n do t[i] = math.type(t[i]) and t[i] or tostring(t[i]) end return table.concat(t, " ") end
local tests = {
  ["/kinds"] = function()
    d:set("s", "text\0\255") d:set("e", "") d:set("i", -7) d:set("n", 1.5) d:set("t", true) d:set("f", false)
    return show(d:get("s") == "text\0\255", d:get("e") == "", d:get("i"), d:get("n"), d:get("t"), d:get("f"), d:get("none"))
  end,
  ["/see"] = function() return show(d:get("i"), d:get("n")) end,
  ["/long"] = function() local t = string.rep("x", 5000) d:set("long", t) return show(d:get("long") == t, d:set("long", string.rep("x", 4000000)), d:get("long")) end,
  ["/nil"] = function() return show(d:set("i", nil), d:set("i", nil), d:get("i")) end,
  ["/add"] = function() return show(d:add("a", 1), d:add("a", 2), d:get("a")) end,
  ["/incr"] = function() return show(d:incr("c")) end,
  ["/incr5"] = function() return show(d:incr("c5", 5), d:incr("c5", -7), d:incr("s"), d:set("m", math.maxinteger), d:incr("m", 1) == math.maxinteger) end,
  ["/ttl"] = function() return show(d:set("short", 1, 10), d:incr("shorti", 1, 10), d:add("shorta", 1, 10), d:set("longer", 1, 10), d:expire("longer", 100), d:expire("none", 1)) end,
  ["/gone"] = function() return show(d:get("short"), d:get("shorti"), d:get("shorta"), d:get("longer")) end,
  ["/full"] = function()
    for i = 1, 2000 do small:set("k" .. i, string.rep("v", 100)) end
    local s = small:state()
    return show(s.entries < 2000, s.evicted > 0, s.bytes <= s.room, s.room <= 65536, small:get("k2000") ~= nil, small:get("k1"))
  end,
  ["/limit"] = function() local a, b = bt.limit("x", 1, 3) return show(a, math.floor(b + 0.1)) end,
  ["/other"] = function() return show((bt.limit("y", 0.5))) end,
  ["/count"] = function() seen:add() more:add(4) sizes:observe(100) sizes:observe(0.4) return "counted" end,
  ["/w1"] = function() return bt.shared("new") end, ["/w2"] = function() return bt.shared("a b") end, ["/w3"] = function() return bt.shared("x", 1) end,
  ["/w4"] = function() return bt.shared("small", 70000) end, ["/w5"] = function() return d:set("x", {}) end, ["/w6"] = function() return d:set("x", 1, 0) end,
  ["/w7"] = function() return d.get({}, "x") end, ["/w8"] = function() return d:incr("x", 1.5) end, ["/w9"] = function() return bt.limit("x", 0) end,
  ["/w10"] = function() return bt.limit("x", 1, 0.5) end, ["/w11"] = function() return bt.counter("new") end, ["/w12"] = function() return bt.counter("A b") end,
  ["/w13"] = function() return bt.histogram("seen") end, ["/w14"] = function() seen:add(-1) end, ["/w15"] = function() sizes:observe(-1) end,
  ["/w16"] = function() d:get() end, ["/w17"] = function() sizes:observe(0/0) end,
}
function on_request(txn)
  local _, body = pcall(tests[txn.path])
  return bt.respond{body = body, headers = {["X-Worker"] = tostring(bt.member)}}
end
LUA
sub said { my ($proxy, $path) = @_; return get($proxy, "http://lua.test$path")->body }

my $conf = "lua_script \@DIR\@/policy.lua\nlua_cpu_limit 2 seconds\n";    # sanitizers are slow
for my $workers (1, 4) {
    my $proxy = proxy($conf, files => { 'policy.lua' => $script }, $workers > 1 ? (workers => $workers) : ());
    is said($proxy, '/kinds'), 'true true -7 1.5 true false nil', "kinds of values, $workers";
    is join(',', map { said($proxy, '/see') } 1 .. 8), join(',', ('-7 1.5') x 8), 'seen by all';
    is said($proxy, '/long'), 'true false nil', 'long ones; too long';
    is said($proxy, '/nil'), 'true false nil', 'nil removes';
    is said($proxy, '/add'), 'true false 1', 'add';
    is join(' ', map { said($proxy, '/incr') } 1 .. 12), '1 2 3 4 5 6 7 8 9 10 11 12', 'incr, by all';
    is said($proxy, '/incr5'), '5 -2 nil true true', 'by more and less; of text; to the end';
    is said($proxy, '/ttl'), 'true 1 true true true false', 'lives of 10 and 100 seconds';
    later($proxy, 50);
    is said($proxy, '/gone'), 'nil nil nil 1', '... are over and not';
    later($proxy, 60);
    is said($proxy, '/gone'), 'nil nil nil nil', '... are over';
    is said($proxy, '/full'), 'true true true true true nil', 'the least recently used goes';
    is join(',', map { said($proxy, '/limit') } 1 .. 4), 'true 2,true 1,true 0,false 0', 'three at once, and no more';
    later($proxy, 2);
    is join(',', map { said($proxy, '/limit') =~ s/ .*//r } 1 .. 3), 'true,true,false', 'one a second';
    is join(',', map { said($proxy, '/other') } 1 .. 2), 'true,false', 'another bucket';
    counters($proxy, 'lua.limited' => 3);
    said($proxy, '/count') for 1 .. 6;
    counters($proxy, 'script.seen' => 6, 'script.a.b_2' => 24);
    like ctl($proxy, 'stats')->{output}, qr/^script\.sizes\b.*\b12\b/m, 'in bobtailctl stats' ;
    my @wrong = (qr/'new' is new; it needs a reload/, qr/a name has 1 to/, qr/65536 bytes at least/, qr/another size/, qr/not table/, qr/ttl must be more/,
        qr/shared expected/, qr/no integer representation/, qr/rate must be/, qr/rate must be/, qr/'new' is new/, qr/small letters/,
        qr/another kind/, qr/only grows/, qr/must be from 0/, qr/string expected/, qr/must be from 0/);
    like said($proxy, '/w' . ($_ + 1)), $wrong[$_], "wrong: $wrong[$_]" for 0 .. $#wrong;
    if ($workers > 1) {
        ctl($proxy, 'reload');
        ok wait_for(sub { said($proxy, '/incr') =~ /^1[3-9]$/ }), 'a reload keeps it';
    }
    is join(', ', $proxy->stop), '', 'ends clean';
}
like parse("lua_script \@DIR\@/x.lua\n", files => { 'x.lua' => "bt.shared('x', 'y')\n" })->{output}, qr/x\.lua:1:1: error: bad argument #2/, 'a mistake when it is loaded';
like parse("lua_script \@DIR\@/x.lua\n", files => { 'x.lua' => "bt.limit('x', 1)\n" })->{output}, qr/cannot be used in on_init/, 'no bucket before there is a worker';
done;

# 64-lua-text.t - what scripts do with text: bt.json, bt.base64, bt.sha256, bt.hmac, bt.regex, bt.time, bt.date, bt.geo.
use Bobtail::Test;
plan(skip_all => 'built without Lua') unless -e "$ENV{BT_BUILDDIR}/modules/built/lua.so";
use Digest::SHA qw(sha256_hex hmac_sha256_hex);
use MIME::Base64 qw(encode_base64);
use Bobtail::Mmdb;

my $script = <<'LUA';
local word, small = bt.regex("^ab+c$"), bt.regex("x.y", "i")
local again = bt.regex("^ab+c$")
local function show(...) local t = table.pack(...) for i = 1, t.n do t[i] = tostring(t[i]) end return table.concat(t, " ") end
local tests = {
  base64 = function(t) return bt.base64(t) end, base64url = function(t) return bt.base64(t, true) end, unbase64 = function(t) return bt.unbase64(t) end,
  sha = function(t) return bt.sha256(t) end, hmac = function(t) return bt.hmac(t, "text") end,
  raw = function() return show(#bt.sha256("x", true), #bt.hmac("x", "y", true), bt.same("a", "a"), bt.same("a", "b"), bt.same("a", "ab")) end,
  regex = function(t) return show(word:match(t), small:match(t), again:match(t)) end,
  time = function() return bt.time() end, now = function() return show(bt.date(), bt.date(bt.time())) end,
  date = function() return show(bt.date(784111777), bt.date("Sun, 06 Nov 1994 08:49:37 GMT"), bt.date("Sunday, 06-Nov-94 08:49:37 GMT"), bt.date("soon")) end,
  decode = function(t) local v, why = bt.unjson(t) return why or bt.json(v) end,
  encode = function()
    return show(bt.json({}), bt.json({1, 2.5, "x", true, {a = false}}), bt.json("a\"\\\n\127\0"), bt.json(nil), bt.json(math.mininteger), bt.json(1e300), bt.json(0.1))
  end,
  types = function() local v = bt.unjson('{"i": 1, "f": 1.0, "n": null, "a": [null, 2], "big": 123456789012345678901, "t": "\\u00e4\\ud83d\\ude00\\n"}')
    return show(math.type(v.i), math.type(v.f), v.n, v.a[1], #v.a, math.type(v.big), v.t == "ä😀\n") end,
  deep = function() return select(2, bt.unjson(string.rep("[", 1000))) end,
  deep64 = function() return show(bt.json(bt.unjson(string.rep("[", 64) .. string.rep("]", 64))) ~= nil) end,
  ring = function() local t = {} t[1] = t return select(2, pcall(bt.json, t)) end,
  large = function() local t = {} for i = 1, 20000 do t[i] = string.rep("x", 300) end return select(2, pcall(bt.json, t)) end,
  geo = function(t) local g = bt.geo(t) return show(g.country, g.asn, g.org) end,
}
local wrong = {
  function() bt.json() end, function() bt.json(print) end, function() bt.json({1, x = 2}) end, function() bt.json({[1.5] = 2}) end, function() bt.json(0/0) end,
  function() bt.unjson({}) end, function() bt.base64({}) end, function() bt.sha256() end, function() bt.hmac("x") end, function() bt.regex("new") end,
  function() bt.regex("x", "q") end, function() word:match() end, function() bt.date(1e15) end, function() bt.date({}) end, function() bt.geo() end, function() word.match("x", "y") end,
}
function on_request(txn)
  local what = txn.path:match("^/(%w+)")
  local body
  if what == "wrong" then body = select(2, pcall(wrong[tonumber(txn.req.headers["X-Text"])])) else body = tests[what](txn.req.headers["X-Text"]) end
  return bt.respond{body = tostring(body)}
end
LUA
my $proxy = proxy("lua_script \@DIR\@/policy.lua\nlua_cpu_limit 2 seconds\n", files => { 'policy.lua' => $script });
sub said { my ($what, $text) = @_; return get($proxy, "http://lua.test/$what", headers => { defined $text ? ('X-Text' => $text) : () })->body }

for my $text (qw(a ab abc abcd f? >>>), 'x' x 1000) {
    my $code = encode_base64($text, '');
    is said('base64', $text), $code, 'base64';
    is said('base64url', $text), $code =~ tr{+/=}{-_}dr, '... for URLs';
    is said('unbase64', $code), $text, '... and back';
    is said('unbase64', $code =~ tr{+/=}{-_}dr), $text, '... from URLs';
}
is said('unbase64', $_), 'nil', "not base64: $_" for qw(a a=== ab= YQ=x Y!== YR==);
is said('sha', $_), sha256_hex($_), 'sha256 of ' . length for '', 'abc', map { 'x' x $_ } 55, 56, 63, 64, 65, 119, 120, 1000;
is said('hmac', $_), hmac_sha256_hex('text', $_), 'hmac with a key of ' . length for 'k', map { 'x' x $_ } 63, 64, 65, 200;
is said('raw'), '32 32 true false false', 'bytes; bt.same';
is said('regex', $_->[0]), $_->[1], "regex: $_->[0]" for ['abbc', 'true false true'], ['ABBC', 'false false false'], ['aXbY', 'false true false'];
is said('date'), 'Sun, 06 Nov 1994 08:49:37 GMT 784111777 784111777 nil', 'dates';
ok abs(said('time') - time) < 5, 'time';
later($proxy, 1000);
ok abs(said('time') - time - 1000) < 5, '... of the clock that tests move';
like said('now'), qr/^(.*GMT) \g1$/, 'now';

is said('encode'), '{} [1,2.5,"x",true,{"a":false}] "a\\"\\\\\\u000a\\u007f\\u0000" null -9223372036854775808 1.0000000000000001e+300 0.10000000000000001', 'to JSON';
is said('types'), 'integer float nil false 2 float true', 'from JSON';
is said('decode', $_), $_, "round: $_" for '[1,[],"x"]' =~ s/\[\]/{}/r, '{"a":{"b":[true,false]}}', '"\\u0001"', '-0.5', '12', 'true', 'null';
my %bad = (
    '' => 'no value (byte 1)', '[1,]' => 'a word that is none (byte 4)', '[1 2]' => 'neither , nor ] after an element (byte 4)', '{"a":1,}' => 'no name in an object (byte 8)',
    '{"a" 1}' => 'no : after a name (byte 6)', '{a:1}' => 'no name in an object (byte 2)', '{"a":1,"a":2}' => 'a name twice in one object (byte 11)', '01' => 'a number that is none (byte 3)',
    '-' => 'a number that is none (byte 2)', '1.' => 'a number that is none (byte 3)', '1e' => 'a number that is none (byte 3)', '1e999' => 'a number that is too large (byte 6)',
    '"a' => 'a text without an end (byte 3)', '"\\x"' => 'an escape that is none (byte 3)', '"\\ud800"' => 'half of a pair of escapes (byte 8)', '"\\udc00"' => 'half of a pair of escapes (byte 8)',
    '"\\u12g4"' => 'an escape that is none (byte 7)', 'tru' => 'a word that is none (byte 1)', 'nul' => 'a word that is none (byte 1)', '1 1' => 'something behind the value (byte 3)', '+1' => 'a word that is none (byte 1)',
    "\"\xff\"" => 'a text that is no UTF-8 (byte 2)', "\"\xc0\x80\"" => 'a text that is no UTF-8 (byte 2)', "\"\xed\xa0\x80\"" => 'a text that is no UTF-8 (byte 2)', "\"\xc3\"" => 'a text that is no UTF-8 (byte 2)',
    "\"a\tb\"" => 'a control character in a text (byte 3)',
);
is said('decode', $_), $bad{$_}, 'not JSON: ' . s/[^ -~]/?/gr for sort grep { length } keys %bad;
is said('deep'), 'too much within each other (byte 66)', 'too deep';
is said('deep64'), 'true', '... but not quite';
like said('ring'), qr/more than 64 tables/, 'a ring';
like said('large'), qr/more than 4194304 bytes/, 'too large';
my @wrong = (qr/value expected/, qr/a function has no place/, qr/and others, too/, qr/must be texts, not number/, qr/no infinity/, qr/string expected/, qr/string expected/, qr/string expected/,
    qr/string expected/, qr/'new' is new/, qr/invalid option 'q'/, qr/string expected/, qr/years 0 to 9999/, qr/number expected/, qr/string expected/, qr/regex expected/);
like said('wrong', $_ + 1), $wrong[$_], "wrong: $wrong[$_]" for 0 .. $#wrong;
like parse("http_port 127.0.0.1:0\nlua_script \@DIR\@/x.lua\n", files => { 'x.lua' => "bt.regex('(')\n" })->{output}, qr/x\.lua:1:1: error: bt\.regex: '\(': .* \(byte \d\)/, 'a pattern that is none';
is said('geo', '192.0.2.1'), 'nil nil nil', 'nothing is known without a database';
SKIP: {
    skip 'built without libmaxminddb', 2 unless -e "$ENV{BT_BUILDDIR}/modules/built/acl_geoip.so";
    my $known = mmdb('192.0.2.0/24' => { country => { iso_code => 'DE' }, autonomous_system_number => 64500, autonomous_system_organization => 'Example' });
    $proxy = proxy("geoip_database \@DIR\@/geo.mmdb\nlua_script \@DIR\@/policy.lua\n", files => { 'policy.lua' => $script, 'geo.mmdb' => $known });
    is said('geo', '192.0.2.77'), 'DE 64500 Example', 'bt.geo';
    is said('geo', $_), 'nil nil nil', "... of $_" for '198.51.100.1', '192.0.2.0/24', 'nonsense', '::1';
}
done;

# 62-lua-life.t - scripts are loaded with the configuration, or anew, or not at all; and can be tested.
use Bobtail::Test;

my $origin = origin('*' => { body => 'fine', 'Cache-Control' => 'no-store' });
my $dir = File::Temp::tempdir(CLEANUP => 1);
chmod 0755, $dir; # a server that root has started reads it as somebody else

sub script
{
    my ($name, $text) = @_;
    open my $file, '>', "$dir/$name" or die;
    print $file $text;
    close $file;
    return "$dir/$name";
}

sub told { return parse(@_)->{output} }
sub run { my $said = bobtail(@_); return @$said{qw(output status)} }

# --- what is wrong is told with its place ---

my $bad = script('bad.lua', "function on_request()\n  x = = 1\nend\n");
like told("lua_script $bad\n"), qr{bad\.lua:2:1: .*unexpected symbol near '='}, 'a syntax error';
script('bad.lua', "local x = nil\nlocal y = x.z\n");
like told("lua_script $bad\n"), qr{bad\.lua:2:1: .*attempt to index a nil value}, 'an error when it is loaded';
script('bad.lua', "function on_init() error('no database') end\n");
like told("lua_script $bad\n"), qr{bad\.lua:1:1: .*no database}, 'an error of on_init';
script('bad.lua', "function on_requset() end\n");
like told("lua_script $bad\n"), qr{there is no hook on_requset; did you mean on_request}, 'a hook that is none';
script('bad.lua', "on_request = 3\n");
like told("lua_script $bad\n"), qr{on_request must be a function, not number}, 'a hook that is no function';
script('bad.lua', "while true do end\n");
like told("lua_script $bad\nlua_cpu_limit 50 milliseconds hook=on_init\n"), qr{time that a call may take is over}, 'one that does not end';
script('bad.lua', "local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end\n");
like told("lua_script $bad\n"), qr{not enough memory}, 'one that wants all memory';
script('bad.lua', "\x1bLua");
like told("lua_script $bad\n"), qr{attempt to load a binary chunk}, 'byte code';
like told("lua_script $dir/none.lua\n"), qr{none\.lua: No such file}, 'no file';
like told("acl a lua f\nhttp_access deny a\n"), qr{no lua_script has a function f}, 'an ACL without its function';
like told("lua_cpu_limit 5 milliseconds hook=on_requets\n"), qr{no hook on_requets; did you mean on_request}, 'a limit of no hook';
like told("lua_script $bad on-error=maybe\n"), qr{deny, allow or ignore|maybe}, 'a way to fail that there is not';
like told("lua_memory_limit 1 KB\nlua_script $bad\n"), qr{too small for Lua itself}, 'no room for Lua';

# --- the sandbox ---

my $sandbox = script('sandbox.lua', <<'LUA');
for _, name in ipairs{"io", "debug", "package", "load", "loadfile", "dofile", "loadstring"} do
  assert(_G[name] == nil, name)
end
for _, name in ipairs{"execute", "getenv", "remove", "rename", "exit", "tmpname", "setlocale"} do
  assert(os[name] == nil, name)
end
assert(string.dump == nil and getmetatable("") == false)
assert(not pcall(setmetatable, {}, {__gc = function() end}))
assert(not pcall(collectgarbage, "stop") and collectgarbage("count") > 0)
assert(not pcall(require, "../x") and not pcall(require, "/etc/passwd") and not pcall(require, "none"))
assert(require("helper").add(1, 2) == 3 and require("helper") == require("helper"))
assert(require("sub.part") == "part")
assert(helper_global == nil, "files have globals of their own")
assert(os.time() > 1e9 and os.date("!%Y", 0) == "1970")
LUA
script('helper.lua', "helper_global = 1\nreturn {add = function(a, b) return a + b end}\n");
mkdir "$dir/sub";
script('sub/part.lua', "return 'part'\n");
is told("http_port 127.0.0.1:0\nlua_script $sandbox\nlua_path /nowhere:$dir\n"), '', 'what is left out, and require';
is told("http_port 127.0.0.1:0\nlua_script $sandbox\nlua_path $dir/?.lua\n"), '', 'lua_path with a template';

# --- two files: hooks in their order ---

my $one = script('one.lua', <<'LUA');
count = (count or 0) + 1
function on_request(txn)
  if txn.path == "/one" then return bt.deny{status = 401} end
  if txn.path == "/allow" then return bt.allow() end
  if txn.path == "/fail" then error("one fails") end
  txn:note("order", "one")
end
function is_even(txn) return #txn.path % 2 == 0 end
LUA
my $two = script('two.lua', <<'LUA');
count = (count or 0) + 1
assert(count == 1)
lib = {deep = {odd = function(txn, n) return #txn.path % 2 == tonumber(n) end}}
function on_request(txn)
  if txn.path == "/one" or txn.path == "/allow" then error("not asked") end
  if txn.path == "/fail" then return bt.deny{status = 402} end
  txn:note("order", txn:note("order") .. " two")
end
LUA
my $proxy = proxy(<<"CONF", workers => 2);
lua_script $one on-error=ignore
lua_script $two
acl even lua is_even
acl odd lua lib.deep.odd 1
acl far url_regex far
http_access deny even far
http_access deny odd far
http_access allow all
logformat test %rp %note{order}
access_log \@DIR\@/access.log test
CONF
$proxy->expect_log(qr/one\.lua.*one fails/);
is get($proxy, $origin->url('/one'))->status, 401, 'the first file says something';
is get($proxy, $origin->url('/allow'))->status, 200, 'also when it allows';
is get($proxy, $origin->url('/fail'))->status, 402, 'on-error=ignore: the next is asked';
is get($proxy, $origin->url('/x'))->status, 200, 'both are';
is get($proxy, $origin->url('/far'))->status, 403, 'an ACL of one file';
is get($proxy, $origin->url('/farr'))->status, 403, 'and one in a table of the other, with an argument';

# --- anew ---

script('one.lua', "function on_request( txn");
my $said = ctl($proxy, 'reload-lua')->{output};
like $said, qr{one\.lua:1: }, 'a syntax error is told';
is get($proxy, $origin->url('/one'))->status, 401, 'and the old scripts stay';
script('one.lua', "function is_even() return true end function on_request(txn) return bt.deny{status = 418} end");
is ctl($proxy, 'reload-lua')->{output}, '', 'loaded anew';
wait_for(sub { my %s = map { $_ => 1 } map { get($proxy, $origin->url('/one'))->status } 1 .. 20; "@{[keys %s]}" eq '418' })
    or fail 'all workers have them';
is get($proxy, $origin->url('/one'))->status, 418, 'in all workers';
my @was = $proxy->workers;
kill KILL => $was[0];
wait_for(sub { my @now = $proxy->workers; @now == 2 && !grep { $_ == $was[0] } @now });
my %seen = map { get($proxy, $origin->url('/one'))->status => 1 } 1 .. 20;
is join(' ', keys %seen), '418', 'and in one that is started later';
script('one.lua', "function is_odd() return true end");
like ctl($proxy, 'reload-lua')->{output}, qr{no lua_script has a function is_even, for acl even}, 'an ACL would lose its function';
like ctl($proxy, 'reload-lua', 'now')->{output}, qr{nothing may follow}, 'words that mean nothing';

# --- checked, and tested ---

my $policy = script('policy.lua', <<'LUA');
function on_request(txn)
  if txn.host == "bad.test" then return bt.deny{status = 451, reason = "why not"} end
  txn.req.headers["X-A"] = "1"
end
function on_response(txn)
  if txn.status == 500 then return bt.respond{body = "nicer", headers = {["X-B"] = "2"}} end
  txn.rep.headers["Server"] = nil
end
function test_denied()
  local r = bt.test.request{url = "http://bad.test/x"}
  assert(r.verdict == "deny" and r.status == 451 and r.reason == "why not")
end
function test_passed()
  local r = bt.test.request{method = "POST", url = "http://good.test/x", client = "10.0.0.1", user = "me",
    headers = {Cookie = "a"}, response = {headers = {Server = "x", Other = "y"}}}
  assert(r.verdict == nil and r.status == nil)
  assert(r.txn.req.headers["X-A"] == "1" and r.txn.req.headers.cookie == "a")
  assert(r.txn.rep.headers["Server"] == nil and r.txn.rep.headers["Other"] == "y")
  assert(r.txn.ip == "10.0.0.1" and r.txn.method == "POST" and r.txn.user == "me")
end
function test_replaced()
  local r = bt.test.request{response = {status = 500}}
  assert(r.verdict == "answer" and r.status == 200 and r.body == "nicer" and r.head == "X-B: 2\r\n")
end
LUA
my ($text, $status) = run('--lua-check', $policy);
is $status, 0, 'a good script';
($text, $status) = run('--lua-check', $bad);
isnt $status, 0, 'a bad one';
($text, $status) = run('--lua-test', $policy);
is $status, 0, 'its tests pass' or diag $text;
is join(' ', $text =~ /^ok (\S+)$/mg), 'test_denied test_passed test_replaced', 'each is told';
script('policy.lua', "function test_a() error('as it should') end function test_b() local r = bt.test.request{url='::'} end");
($text, $status) = run('--lua-test', $policy);
isnt $status, 0, 'tests that fail';
like $text, qr{^not ok test_a: .*policy\.lua:1: as it should}m, 'with what they said';
like $text, qr{^not ok test_b: .*bt\.test\.request: }m, 'also when a request is none';
($text, $status) = run('--lua-test', $one);
isnt $status, 0, 'no test is no success';
done;

# 60-lua-hooks.t - functions of scripts decide about exchanges, and change them.
use Bobtail::Test;

my $origin = origin(
    '/a' => { body => 'one', 'X-Old' => 'o', 'Cache-Control' => 'no-store' },
    '/b' => { body => 'two', 'Cache-Control' => 'no-store' });
my $script = <<'LUA';
local notes = 0
function on_request(txn)
  notes = notes + 1
  local path = txn.path
  if path == "/deny" then return bt.deny{status = 451, reason = "because of the law"} end
  if path == "/page" then return bt.deny{page = "ERR_TOO_BIG"} end
  if path == "/away" then return bt.redirect("http://elsewhere.test/x", 307) end
  if path == "/own" then
    return bt.respond{status = 201, headers = {["X-A"] = "1", ["X-B"] = {"2", "3"}}, body = "made here"}
  end
  if path == "/bad" then error("no such luck") end
  txn.req.headers["X-User"] = "u" .. #txn.host
  txn.req.headers:add("X-Two", "2")
  txn.req.headers["Referer"] = nil
  txn.ctx.path = path
  txn:log("path", path)
end
function on_response(txn)
  txn.rep.headers["X-Old"] = "new " .. txn.status
  txn.rep.headers:add("X-Path", txn.ctx.path or "none")
end
function on_finish(txn)
  return {client = txn.client.addr, n = 3}
end
function is_post(txn, a, b) return txn.method == "POST" and a == "x" and b == "y" end
LUA
my $proxy = proxy(<<'CONF', files => { 'policy.lua' => $script });
lua_script @DIR@/policy.lua
acl post lua is_post x y
http_access deny post
http_access allow all
logformat test %rm %rp %{path}lua %{client}lua %{n}lua %{none}lua
access_log @DIR@/access.log test
CONF
$proxy->expect_log(qr/on_request of .* failed: .*policy\.lua:11: no such luck/);

my $answer = get($proxy, $origin->url('/a'), headers => { Referer => 'http://x/', 'X-Two' => 1 });
is $answer->status, 200, 'it passes';
is $origin->seen_header('/a', 'X-User'), 'u9', 'a header set for the origin';
is $origin->seen_header('/a', 'X-Two'), '1, 2', 'one more beside that of the client';
is $origin->seen_header('/a', 'Referer'), undef, 'one that is gone';
is $answer->header('X-Old'), 'new 200', 'a header of the answer replaced';
is $answer->header('X-Path'), '/a', 'one added; txn.ctx is kept between hooks';

$answer = get($proxy, $origin->url('/deny'));
is $answer->status, 451, 'denied with a status';
like $answer->body, qr/because of the law/, 'and the reason';
is get($proxy, $origin->url('/page'))->status, 413, 'denied with the status of a page';
$answer = get($proxy, $origin->url('/away'));
is $answer->status . ' ' . $answer->header('Location'), '307 http://elsewhere.test/x', 'redirected';
$answer = get($proxy, $origin->url('/own'));
is $answer->status . $answer->body, '201made here', 'answered';
is $answer->header('X-A'), '1', 'with its headers';
is get($proxy, $origin->url('/bad'))->status, 403, 'an error denies';
is post($proxy, $origin->url('/b'), 'x')->status, 403, 'an ACL in Lua';
is get($proxy, $origin->url('/b'))->body, 'two', 'which does not match others';
wait_for(sub { $proxy->text('access.log') =~ m{^GET /b}m });
like $proxy->text('access.log'), qr{^GET /a /a 127.0.0.1 3 -$}m, 'values for the log';
counters($proxy, 'lua.request.calls' => 8, 'lua.request.errors' => 1, 'lua.acl.calls' => 3);
done;

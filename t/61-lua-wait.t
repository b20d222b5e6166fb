# 61-lua-wait.t - functions of scripts that wait: bt.http, bt.sleep, bt.all.
use Bobtail::Test;
plan(skip_all => 'built without Lua') unless -e "$ENV{BT_BUILDDIR}/modules/built/lua.so";

my $origin = origin(
    '/a' => { body => 'one', 'X-Seen' => ['a', 'b'], 'Cache-Control' => 'no-store' },
    '/echo' => sub { { body => "$_[0]{method} $_[0]{body} " . join ',', sort $_[0]{head} =~ /^X-\w+: ([^\r\n]*)/mg } },
    '/404' => { status => 404, body => '' }, '/large' => { body => 'x' x 300_000 }, '/bytes' => { body => "\0\xff\r\n" },
    '/hold' => { body => 'held', hold => 1 }, '/leave' => { body => 'held', hold => 1 }, '/last' => { body => 'held', hold => 1 },
    map { ("/slow$_" => { body => $_, hold => 1 }) } 1 .. 4);
my $script = <<'LUA';
local origin = "ORIGIN"
local function get(path, more)
  local ask = more or {}
  ask.url = origin .. path
  return bt.http(ask)
end
local function says(answer, why, phrase)
  if not answer then return why .. ": " .. phrase end
  return answer.status .. " " .. answer.body
end
local tests = {
  ["/get"] = function() local r = get("/a") return says(r) .. " " .. r.headers["x-seen"] .. " " .. tostring(r.headers["X-Seen"]) end,
  ["/post"] = function() return says(get("/echo", {method = "POST", body = "twelve", headers = {["X-One"] = 1, ["X-Two"] = {"2", 3}}})) end,
  ["/404"] = function() return says(get("/404")) end,
  ["/large"] = function() return says(get("/large")) end,
  ["/larger"] = function() return #get("/large", {max = 300000}).body end,
  ["/bytes"] = function() return get("/bytes").body == "\0\255\r\n" end,
  ["/late"] = function() return says(get("/hold", {timeout = 0.2})) end,
  ["/connect"] = function() return says(bt.http{url = "http://127.0.0.1:1/"}) end,
  ["/denied"] = function() return says(get("/secret")) end,
  ["/url"] = function() return says(bt.http{url = "ftp://x/"}) end,
  ["/field"] = function() return says(get("/a", {headers = {["X-A"] = "b\r\nX-C: d"}})) end,
  ["/host"] = function() return says(get("/a", {headers = {Host = "x"}})) end,
  ["/acl"] = function() return says(get("/acl")) end,
  ["/sleep"] = function() bt.sleep(0.01) bt.sleep(0) return "slept" end,
  ["/all"] = function()
    local a, b, c, d = bt.all{function() return get("/slow1").body end, function() bt.sleep(0) return 2, 3 end,
      function() return get("/slow2").body end, function() end}
    return a .. b .. c .. tostring(d)
  end,
  ["/nested"] = function()
    return bt.all{function() local a, b = bt.all{function() return get("/slow3").body end, function() return get("/slow4").body end} return a .. b end}
  end,
  ["/fails"] = function()
    local fine, why = pcall(bt.all, {function() error("no luck", 0) end, function() bt.sleep(1) end})
    return tostring(fine) .. " " .. why
  end,
  ["/catch"] = function() local fine, r = pcall(get, "/a") return says(r) end,
  ["/co"] = function() return coroutine.wrap(function() return says(get("/a")) end)() end,
  ["/sort"] = function() local t = {2, 1} return tostring(select(2, pcall(table.sort, t, function(a, b) bt.sleep(0) return a < b end))) end,
  ["/hold"] = function() return says(get("/leave")) end,
  ["/many"] = function() local t = {} for i = 1, 64 do t[i] = function() bt.sleep(0.001) return i end end local s = 0
    for _, n in ipairs{bt.all(t)} do s = s + n end return s end,
}
local wrong = {
  ["/w1"] = function() bt.http("http://x/") end, ["/w2"] = function() bt.http{} end,
  ["/w3"] = function() bt.http{url = "http://x/", timeout = -1} end, ["/w4"] = function() bt.http{url = "http://x/", max = 1e9} end,
  ["/w5"] = function() bt.http{url = "http://x/", headers = {"a"}} end, ["/w6"] = function() bt.http{url = "http://x/", headers = {a = true}} end,
  ["/w7"] = function() bt.http{url = "http://x/", body = {}} end, ["/w8"] = function() bt.http{url = "http://x/", timeout = "x"} end,
  ["/w9"] = function() bt.sleep("x") end, ["/w10"] = function() bt.sleep(-1) end, ["/w11"] = function() bt.sleep(0/0) end,
  ["/w12"] = function() bt.all{} end, ["/w13"] = function() bt.all{1} end, ["/w14"] = function() bt.all(print) end,
  ["/w15"] = function() local h = {} for i = 1, 65 do h["x" .. i] = i end bt.http{url = "http://x/", headers = h} end,
  ["/w16"] = function() local t = {} for i = 1, 65 do t[i] = print end bt.all(t) end,
}
function on_request(txn)
  if txn.host ~= "lua.test" then return end
  if txn.path == "/deadline" then bt.sleep(3600) end
  local body
  if wrong[txn.path] then body = select(2, pcall(wrong[txn.path])) else body = tests[txn.path]() end
  return bt.respond{body = tostring(body)}
end
function judge(txn)
  if txn.path ~= "/acl" then return true end
  return bt.http{url = origin .. "/a"} ~= nil
end
function on_finish(txn)
  if txn.path == "/get" then bt.sleep(1) end
end
LUA
$script =~ s/ORIGIN/http:\/\/@{[$origin->addr]}/;

for my $workers (1, 4) {
    my $proxy = proxy(<<'CONF', files => { 'policy.lua' => $script }, $workers > 1 ? (workers => $workers) : ());
lua_script @DIR@/policy.lua
acl script transaction_initiator script
acl secret urlpath_regex ^/secret
acl judged lua judge
http_access deny script secret
http_access deny script !judged
http_access allow all
CONF
    $proxy->expect_log(qr/on_finish of .* failed: .*bt\.sleep\(seconds\) cannot be used in on_finish/);
    $proxy->expect_log(qr/ failed: .*bt\.http cannot be used for a request that a script has made/);
    $proxy->expect_log(qr/on_request of .* failed: it waited longer than it may/);
    my $said = sub { get($proxy, "http://lua.test$_[0]")->body };
    my %want = (
        get => '200 one a, b nil', post => '200 POST twelve 1,2,3', 404 => '404 ', large => 'large: its body is larger than it may be',
        larger => 300_000, bytes => 'true', late => 'timeout: it took too long', connect => qr/^connect: /, url => 'invalid: only http and https URLs can be fetched',
        denied => 'denied: the access rules of this proxy forbid it', field => qr/^invalid: there is a colon or a line/,
        host => 'invalid: it has a field that only the server may write', acl => qr/^denied/, sleep => 'slept',
        fails => 'false no luck', catch => '200 one', co => '200 one', sort => qr/nothing can be waited for within a function that C code calls/,
        many => 2080,
    );
    for my $what (sort keys %want) {
        my $body = $said->("/$what");
        ref $want{$what} ? like($body, $want{$what}, "$what, $workers") : is($body, $want{$what}, "$what, $workers");
    }
    my @wrong = (qr/table expected/, qr/there is no url/, qr/seconds must be/, qr/max must be from 1 to/, qr/headers must have names/,
        qr/the header a must be a text, not boolean/, qr/body must be a text, not table/, qr/timeout must be a number, not string/, qr/number expected/,
        qr/seconds must be/, qr/seconds must be/, qr/1 to 64 functions/, qr/number 1 is no function, but number/, qr/table expected/,
        qr/more than 64 headers/, qr/1 to 64 functions/);
    like $said->('/w' . ($_ + 1)), $wrong[$_], "wrong: $wrong[$_]" for 0 .. $#wrong;

    for (['/all', '/slow1', '/slow2', '122nil'], ['/nested', '/slow3', '/slow4', '34']) {
        my ($path, $one, $two, $body) = @$_;
        my $hits = $origin->hits($one);
        my $asks = client($proxy);
        $asks->send("GET http://lua.test$path HTTP/1.1\r\nHost: x\r\n\r\n");
        ok wait_for(sub { $origin->hits($one) > $hits && $origin->hits($two) > $hits }), "bt.all: both are asked at the same time";
        $origin->release($_) for $two, $one;
        is $asks->response->body, $body, "... $path";
        $asks->close;
    }
    my $leaver = client($proxy);
    my $hits = $origin->hits('/leave');
    $leaver->send("GET http://lua.test/hold HTTP/1.1\r\nHost: x\r\n\r\n");
    ok wait_for(sub { $origin->hits('/leave') > $hits && stat($proxy, 'lua.waiting') == 1 }), 'one waits';
    $leaver->close;
    ok wait_for(sub { stat($proxy, 'lua.waiting') == 0 && stat($proxy, 'fetch.open') == 0 }), '... whose client leaves: so does its fetch';
    my $asks = client($proxy);
    $asks->send("GET http://lua.test/deadline HTTP/1.1\r\nHost: x\r\n\r\n");
    ok wait_for(sub { stat($proxy, 'lua.waiting') == 1 }), 'one waits too long';
    later($proxy, 6);
    is $asks->response->status, 403, '... lua_wait_timeout: refused';
    $asks->close;
    counters($proxy, 'lua.request.limits' => 1);
    is join(', ', $proxy->stop), '', 'ends clean';
}
done;

# 63-lua-change.t - what scripts may change, in which hooks, and that nothing else can be smuggled in.
use Bobtail::Test;

my $origin = origin(
    '/new' => { body => 'new' }, map({; "/k?$_" => { body => 'k', 'Cache-Control' => 'max-age=100' } } 1 .. 3),
    '/bypass' => { body => 'b', 'Cache-Control' => 'max-age=100' },
    '/long' => { body => 'l', 'Cache-Control' => 'max-age=10' },
    '/never' => { body => 'n', 'Cache-Control' => 'max-age=100' },
    '/private' => { body => 'p', 'Cache-Control' => 'no-store' },
    '*' => { body => 'fine', 'Content-Type' => 'text/plain', 'Set-Cookie' => ['a=1', 'b=2'], 'Cache-Control' => 'no-store' });
my $addr = $origin->addr;

# Each path runs a function; what it returns is told in a header of the answer.
my $script = <<'LUA';
local tries = {request = {}, lookup = {}, upstream = {}, response = {}, error = {}, finish = {}, accept = {}}
local result = {}
local function try(txn, hook)
  local fn = tries[hook][txn.path:match("^/t/(.*)")]
  if not fn then return end
  local good, why = pcall(fn, txn)
  bt.log("RESULT " .. txn.path:match("^/t/(.*)") .. " " .. hook .. ": " .. tostring(good and "good" or why))
end
function on_request(txn)
  if txn.path == "/old" then txn:set_url("http://@ADDR@/new") end
  if txn.path == "/kept" then txn:set_url("http://@ADDR@/host", true) end
  if txn.path == "/hostless" then txn:set_url("http://@ADDR@/host") end
  if txn.path == "/long" then txn:set_ttl(50) end
  try(txn, "request")
end
function on_lookup(txn)
  if txn.path:find("^/k%?") then txn:set_store_key("the key") end
  if txn.path == "/bypass" then txn:bypass_cache() end
  try(txn, "lookup")
end
function on_upstream(txn)
  if txn.path == "/denied-late" then return bt.deny{status = 429} end
  try(txn, "upstream")
end
function on_response(txn)
  if txn.path == "/never" then txn:set_ttl(0) end
  if txn.path == "/private" then txn:set_ttl(100) end
  if txn.path == "/cookies" then
    local h = txn.rep.headers
    txn:log("cookies", table.concat(h:all("set-cookie"), "+"))
    h["Set-Cookie"] = {"c=3", "d=4"}
    h["X-Gone"] = nil
    assert(table.concat(h:all("Set-Cookie"), "+") == "c=3+d=4")
  end
  if txn.path == "/replaced" then return bt.respond{status = 203, body = "another"} end
  if txn.path == "/denied-last" then return bt.deny{status = 410} end
  try(txn, "response")
end
function on_error(txn, page, status)
  if txn.path == "/down" then return bt.respond{status = 299, body = page .. " " .. status} end
  try(txn, "error")
end
function on_finish(txn)
  try(txn, "finish")
end

local function everywhere(name, fn)
  for _, hook in ipairs{"request", "lookup", "upstream", "response", "error", "finish"} do
    tries[hook][name] = fn
  end
end
everywhere("url", function(txn) txn:set_url("http://@ADDR@/t/url") end)
everywhere("key", function(txn) txn:set_store_key("x") end)
everywhere("bypass", function(txn) txn:bypass_cache() end)
everywhere("ttl", function(txn) txn:set_ttl(1) end)
everywhere("peer", function(txn) txn:set_peer("DIRECT") end)
everywhere("reqhead", function(txn) txn.req.headers["X-A"] = "1" end)
everywhere("rephead", function(txn) txn.rep.headers["X-A"] = "1" end)
everywhere("field", function(txn) return assert(txn.origin.status) end)
everywhere("bytes", function(txn) return assert(txn.rep.bytes) end)
everywhere("sleep", function(txn) bt.sleep(0.001) end)
local function bad(name, fn) tries.request[name] = fn end
bad("crlf", function(txn) txn.req.headers["X-A"] = "1\r\nX-B: 2" end)
bad("nul", function(txn) txn.req.headers["X-A"] = "1\0" end)
bad("name", function(txn) txn.req.headers["X A"] = "1" end)
bad("colon", function(txn) txn.req.headers["X-A: 1\r\nB"] = "1" end)
bad("host", function(txn) txn.req.headers["Host"] = "other" end)
bad("length", function(txn) txn.req.headers["content-length"] = "5" end)
bad("coding", function(txn) txn.rep.headers["Transfer-Encoding"] = "chunked" end)
bad("connection", function(txn) txn.rep.headers:add("Connection", "close") end)
bad("type", function(txn) txn.req.headers["X-A"] = true end)
bad("list", function(txn) txn.req.headers["X-A"] = {"a", {}} end)
bad("badurl", function(txn) txn:set_url("not a url") end)
bad("crlfurl", function(txn) txn:set_url("http://x/\r\nb") end)
bad("longkey", function(txn) txn:set_store_key(("x"):rep(5000)) end)
bad("badttl", function(txn) txn:set_ttl(-1) end)
bad("unknown", function(txn) return txn.usr end)
bad("unknown2", function(txn) return txn.client.adr end)
bad("unknown3", function(txn) return txn:field("none") end)
bad("write", function(txn) txn.path = "/x" end)
bad("denystatus", function(txn) bt.deny{status = 200} end)
bad("denypage", function(txn) bt.deny{page = "ERR_NONE_SUCH"} end)
bad("denyword", function(txn) bt.deny{reasons = "x"} end)
bad("redirect", function(txn) bt.redirect("http://x/\r\nX: y") end)
bad("redirectcode", function(txn) bt.redirect("http://x/", 200) end)
bad("respond", function(txn) bt.respond{headers = {["X\r\n"] = "1"}} end)
bad("respondhead", function(txn) bt.respond{headers = {["Content-Length"] = "1"}} end)
bad("respondbody", function(txn) bt.respond{status = 204, body = "x"} end)
bad("respondstatus", function(txn) bt.respond{status = 100} end)
bad("note", function(txn) txn:note("a\nb", "c") end)
bad("level", function(txn) bt.log("loud", "x") end)
bad("every", function(txn) bt.every(-1, print) end)
bad("method", function(txn) txn.note("a", "b") end)
LUA
$script =~ s/\@ADDR\@/$addr/g;
my $proxy = proxy(<<"CONF", files => { 'policy.lua' => $script });
lua_script \@DIR\@/policy.lua
cache_mem 8 MB
logformat test %rp %{cookies}lua
access_log \@DIR\@/access.log test
connect_timeout 1 second
CONF

# --- URL ---

is get($proxy, 'http://nowhere.test/old')->body, 'new', 'another URL is asked for';
get($proxy, 'http://first.test/hostless');
is $origin->seen_header('/host', 'Host'), $addr, 'with its own host';
get($proxy, 'http://second.test/kept');
is $origin->seen_header('/host', 'Host'), 'second.test', "or the client's";

# --- cache ---

get($proxy, $origin->url("/k?$_")) for 1 .. 3;
is $origin->hits('/k?1') + $origin->hits('/k?2') + $origin->hits('/k?3'), 1, 'one key for three URLs';
get($proxy, $origin->url('/bypass')) for 1 .. 2;
is $origin->hits('/bypass'), 2, 'not looked up, nor kept';
get($proxy, $origin->url('/long'));
later($proxy, 30);
get($proxy, $origin->url('/long'));
is $origin->hits('/long'), 1, 'a longer life';
later($proxy, 30);
get($proxy, $origin->url('/long'));
is $origin->hits('/long'), 2, 'that ends';
get($proxy, $origin->url('/never')) for 1 .. 2;
is $origin->hits('/never'), 2, 'not kept';
get($proxy, $origin->url('/private')) for 1 .. 2;
is $origin->hits('/private'), 2, 'what must not be kept is not kept for a ttl';

# --- the other hooks ---

is get($proxy, $origin->url('/denied-late'))->status, 429, 'denied by on_upstream';
is $origin->hits('/denied-late'), 0, 'before the origin was asked';
my $answer = get($proxy, $origin->url('/replaced'));
is $answer->status . $answer->body, '203another', 'on_response has another answer';
is get($proxy, $origin->url('/denied-last'))->status, 410, 'or denies';
$answer = get($proxy, $origin->url('/cookies'));
is join('+', $answer->headers('Set-Cookie')), 'c=3+d=4', 'a list of values instead of another';
wait_for(sub { $proxy->text('access.log') =~ /cookies/ });
like $proxy->text('access.log'), qr{^/cookies a=1\+b=2$}m, 'which was read before';
my $down = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1') or die;
my $port = $down->sockport;
close $down;
$answer = get($proxy, "http://127.0.0.1:$port/down");
is $answer->status . ' ' . $answer->body, '299 ERR_CONNECT_FAIL 503', 'on_error answers when nobody else does';

# --- where what is allowed ---

my %where = (
    url => 'request', key => 'request lookup', bypass => 'request lookup',
    ttl => 'request lookup upstream response', peer => 'request lookup upstream',
    reqhead => 'request lookup upstream', rephead => 'request lookup upstream response',
    field => 'response finish', bytes => 'finish', sleep => 'request lookup upstream response');
for my $name (sort keys %where) {
    get($proxy, $origin->url("/t/$name"));
    wait_for(sub { $proxy->log =~ /RESULT $name finish: / });
    my @good = $proxy->log =~ /RESULT $name (\w+): good/g;
    is "@good", $where{$name}, "$name: $where{$name}";
    my ($why) = $proxy->log =~ /RESULT $name finish: (.*)/;
    like $why, qr/in on_finish/, 'and the error names the hook' if $where{$name} !~ /finish/;
}

# --- what is refused ---

my %why = (
    crlf => 'control character \(byte 13\)', nul => 'control character \(byte 0\)', name => 'no name of a header',
    colon => 'no name of a header', host => "server's own", length => "server's own", coding => "server's own",
    connection => "server's own", type => 'string expected', list => 'string expected', badurl => 'no URL',
    crlfurl => 'line ends or NUL', longkey => '1 to 4096', badttl => 'from 0', unknown => "has no 'usr'",
    unknown2 => 'no field client\.adr', unknown3 => 'no field none', write => 'cannot be written to',
    denystatus => 'from 400 to 599', denypage => "no error page 'ERR_NONE_SUCH'", denyword => "no option 'reasons'",
    redirect => 'control character', redirectcode => '301, 302', respond => 'no name of a header',
    respondhead => 'not for scripts', respondbody => 'has no body', respondstatus => 'from 200 to 599',
    note => 'line ends', level => "invalid option 'loud'", every => 'cannot be used in on_request', method => 'txn expected');
for my $name (sort keys %why) {
    is get($proxy, $origin->url("/t/$name"))->status, 200, "$name is caught";
    wait_for(sub { $proxy->log =~ /RESULT $name request: / });
    my ($said) = $proxy->log =~ /RESULT $name request: (.*)/;
    like $said, qr/$why{$name}/, 'and told';
}
done;

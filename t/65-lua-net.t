# 65-lua-net.t - what scripts ask of others: bt.dns, bt.helper.
use Bobtail::Test;
plan(skip_all => 'built without Lua') unless -e "$ENV{BT_BUILDDIR}/modules/built/lua.so";
use IO::Socket::IP;

my $script = <<'LUA';
local upper = bt.helper("upper", {command = "@DIR@/helper.pl word", children = 2, startup = 1, timeout = 5})
local many = bt.helper("many", {command = "@DIR@/helper.pl", children = 1, concurrency = 4})
assert(bt.helper("upper", {command = "@DIR@/helper.pl word"}))
local function show(...) local t = table.pack(...) for i = 1, t.n do t[i] = type(t[i]) == "table" and table.concat(t[i], ",") or tostring(t[i]) end return table.concat(t, " ") end
local tests = {
  dns = function(t) return show(bt.dns(t)) end,
  ask = function(t) local word, text, pairs = upper:ask(t) return show(word, text, pairs.user, pairs.note) end,
  four = function() return show(bt.all{function() return (select(2, many:ask("a"))) end, function() return (select(2, many:ask("b"))) end}) end,
}
local wrong = {
  function() bt.dns() end, function() bt.dns("") end, function() bt.dns(string.rep("x", 300)) end, function() bt.helper("new", {command = "/bin/cat"}) end,
  function() bt.helper("A", {command = "/bin/cat"}) end, function() bt.helper("upper", {command = "/bin/cat"}) end, function() bt.helper("x") end,
  function() bt.helper("x", {}) end, function() upper:ask() end, function() upper:ask("a\nb") end, function() upper.ask("x", "y") end,
}
function on_request(txn)
  local what, text = txn.path:match("^/(%w+)"), txn.req.headers["X-Text"]
  if what == "wrong" then return bt.respond{body = tostring(select(2, pcall(wrong[tonumber(text)])))} end
  return bt.respond{body = tests[what](text)}
end
LUA
my $helper = <<'PERL';
#!/usr/bin/perl
$| = 1;
while (<STDIN>) {
    chomp;
    my $channel = @ARGV ? '' : s/^(\d+) // ? "$1 " : '';
    print $channel, /^err/ ? "ERR message=no\n" : /^bh/ ? "BH\n" : /^odd/ ? "nothing of the kind\n" : /^die/ ? exit(0) : /^silent/ ? next : "OK user=anna note=\"a b\" \U$_\E\n";
}
PERL
my $silent = IO::Socket::IP->new(LocalHost => '127.0.0.1', LocalPort => 0, Proto => 'udp') or die $@;
for my $workers (1, 4) {
    my $dir = Bobtail::Proxy::new_directory();
    Bobtail::Proxy::write_file("$dir/helper.pl", $helper);
    chmod 0755, "$dir/helper.pl";
    my $proxy = proxy("lua_script \@DIR\@/policy.lua\nhosts_file \@DIR\@/hosts\ndns_nameservers 127.0.0.1:@{[$silent->sockport]}\nlua_wait_timeout 20 seconds\n",
        files => { 'policy.lua' => $script =~ s/\@DIR\@/$dir/gr, hosts => "192.0.2.1 one.test\n192.0.2.2 two.test\n192.0.2.3 two.test\n2001:db8::1 six.test\n" },
        $workers > 1 ? (workers => $workers) : ());
    my $said = sub { my ($what, $text) = @_; get($proxy, "http://lua.test/$what", headers => { defined $text ? ('X-Text' => $text) : () })->body };
    is $said->(dns => 'one.test'), '192.0.2.1', "an address, $workers";
    is $said->(dns => 'TWO.test'), '192.0.2.2,192.0.2.3', 'two';
    is $said->(dns => 'six.test'), '2001:db8::1', 'one of IPv6';
    is $said->(dns => '192.0.2.1'), 'one.test', 'the name of an address';
    is $said->(dns => '2001:db8::1'), 'six.test', '... of IPv6';
    like $said->(dns => 'a..b'), qr/^nil no such name/, 'no name';

    is $said->(ask => 'hello'), 'OK HELLO anna a b', 'OK, text and pairs';
    is $said->(ask => 'err'), 'ERR  nil nil', 'ERR';
    is $said->(ask => 'bh'), 'BH  nil nil', 'BH';
    is $said->(ask => 'odd'), 'TEXT nothing of the kind nil nil', 'something else';
    is $said->(ask => 'die'), 'LOST  nil nil', 'nobody';
    is $said->('four'), 'A B', 'two at the same time';
    ok stat($proxy, 'helper.script_upper.requests') >= 5, 'counted by name';

    for (['dns', 'slow.test', 'dns'], ['ask', 'silent', 'helper']) {
        my ($what, $text, $name) = @$_;
        my $leaver = client($proxy);
        $leaver->send("GET http://lua.test/$what HTTP/1.1\r\nHost: x\r\nX-Text: $text\r\n\r\n");
        ok wait_for(sub { stat($proxy, 'lua.waiting') == 1 }), "$name: one waits";
        $leaver->close;
        ok wait_for(sub { stat($proxy, 'lua.waiting') == 0 }), '... and leaves';
    }
    my @wrong = (qr/string expected/, qr/1 to 255 bytes/, qr/1 to 255 bytes/, qr/'new' is new/, qr/small letters/, qr/another command/, qr/table expected/,
        qr/command must be/, qr/string expected/, qr/one line/, qr/helper expected/);
    like $said->(wrong => $_ + 1), $wrong[$_], "wrong: $wrong[$_]" for 0 .. $#wrong;
    later($proxy, 120);
    local $Bobtail::Proxy::moment = 0.2;    # programs come and go
    is join(', ', grep { !/helper\.|left open/ } $proxy->stop), '', 'ends clean, but for programs';
}
sub mistake { my ($text) = @_; return parse("http_port 127.0.0.1:0\nlua_script \@DIR\@/x.lua\n", files => { 'x.lua' => $text })->{output} }
like mistake("bt.helper('x', {command = '/no/such'})"), qr/x\.lua:1:1: error: bt\.helper: \/no\/such is no program/, 'no such program';
like mistake("bt.helper('x', {command = '/bin/cat', children = -1})"), qr/children must be an integer from 0 to 256/, 'a number that is none';
like mistake("bt.dns('x')"), qr/cannot be used in on_init/, 'nothing waits while a script is loaded';
done;

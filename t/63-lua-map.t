# 63-lua-map.t - bt.map: large lists out of files, read again while clients are served.
use Bobtail::Test;
plan(skip_all => 'built without Lua') unless -e "$ENV{BT_BUILDDIR}/modules/built/lua.so";

my $script = <<'LUA';
local domains, again = bt.map("@DIR@/domains"), bt.map("@DIR@/domains", "domain")
local nets = bt.map("@DIR@/nets", "address")
local words, any = bt.map("@DIR@/words", "regex"), bt.map("@DIR@/words", "regex-i")
local empty = bt.map("@DIR@/empty")
local kinds = {domain = domains, again = again, net = nets, word = words, any = any, empty = empty}
local wrong = {
  w1 = function() return bt.map("/new") end, w2 = function() return bt.map("") end, w3 = function() return bt.map("/x", "other") end,
  w4 = function() return domains.match({}, "x") end, w5 = function() return domains:match({}) end, w6 = function() return bt.map() end,
}
function on_request(txn)
  local what, text = txn.path:match("^/(%w+)/?(.*)")
  if wrong[what] then return bt.respond{body = select(2, pcall(wrong[what]))} end
  if text == "" then text = nil end
  return bt.respond{body = tostring(kinds[what]:match(text))}
end
LUA
my %lists = (
    domains => "# a list\n.example.com\nwww.Example.ORG\n\n  10.1.2.3  \n",
    nets => "10.0.0.0/8\n192.0.2.5-192.0.2.7\n2001:db8::/32\n::1\nnonsense\n", words => "^ab+c\$\nx.y\n", empty => "",
);

for my $workers (1, 4) {
    my $dir = Bobtail::Proxy::new_directory();
    Bobtail::Proxy::write_file("$dir/$_", $lists{$_}) for keys %lists;
    my $proxy = proxy("lua_script \@DIR\@/policy.lua\nacl_list_watch off\n", files => { 'policy.lua' => $script =~ s/\@DIR\@/$dir/gr },
        $workers > 1 ? (workers => $workers) : ());
    my $said = sub { get($proxy, "http://lua.test/$_[0]")->body };
    my @want = (
        'domain/example.com' => 1, 'domain/www.EXAMPLE.com' => 1, 'domain/a.b.example.com.' => 1, 'domain/example.org' => 0, 'domain/www.example.org' => 1,
        'domain/a.www.example.org' => 0, 'domain/xexample.com' => 0, 'domain/10.1.2.3' => 1, 'domain/' . 'x' x 300 => 0, 'domain' => 0, 'again/example.com' => 1,
        'net/10.200.0.1' => 1, 'net/11.0.0.0' => 0, 'net/192.0.2.6' => 1, 'net/192.0.2.8' => 0, 'net/2001:db8::5' => 1, 'net/::1' => 1, 'net/::ffff:10.1.1.1' => 1,
        'net/10.0.0.0%2F8' => 0, 'net/nonsense' => 0, 'net' => 0, 'word/abbc' => 1, 'word/ABBC' => 0, 'any/ABBC' => 1, 'word/xay' => 1, 'word/zz' => 0, 'empty/x' => 0,
    );
    while (my ($ask, $is) = splice @want, 0, 2) {
        is $said->($ask), $is ? 'true' : 'false', substr "$ask, $workers", 0, 40;
    }
    my @wrong = (qr/\/new is new; it needs a reload/, qr/no name of a file/, qr/invalid option 'other'/, qr/map expected/, qr/string expected/, qr/string expected/);
    like $said->('w' . ($_ + 1)), $wrong[$_], "wrong: $wrong[$_]" for 0 .. $#wrong;

    Bobtail::Proxy::write_file("$dir/domains", ".example.net\n");
    Bobtail::Proxy::write_file("$dir/empty", "x\n");
    like ctl($proxy, 'reload-lists')->{output}, qr{/domains: 1 value\n}, 'read again';
    is join(',', map { $said->('domain/example.com') . $said->('domain/a.example.net') . $said->('empty/x') } 1 .. 6), join(',', ('falsetruetrue') x 6), '... in all workers';
    is $said->('net/10.200.0.1'), 'true', '... and the others are as they were';
    is join(', ', $proxy->stop), '', 'ends clean';
}

my $watched = proxy("lua_script \@DIR\@/policy.lua\nacl_list_watch on\nacl some dstdomain \"\@DIR\@/hosts\"\nhttp_access deny some\nhttp_access allow all\n",
    files => { hosts => "x.test\n", names => "a.test\n", 'policy.lua' => 'local m = bt.map("names") function on_request(txn) if m:match(txn.host) then return bt.respond{body = "in"} end end' });
is get($watched, 'http://a.test/')->body, 'in', 'a name beside the configuration';
is get($watched, 'http://x.test/')->status, 403, '... beside ACLs with lists';
select undef, undef, undef, 1.1;    # what changes in the second in which it was read is waited for
Bobtail::Proxy::write_file($watched->file('names'), "b.test\n");
ok wait_for(sub { get($watched, 'http://b.test/')->body eq 'in' }, 20), 'acl_list_watch';

sub mistake { my ($text, %files) = @_; return parse("http_port 127.0.0.1:0\nlua_script \@DIR\@/x.lua\n", files => { 'x.lua' => $text, %files })->{output} }
like mistake("\nbt.map('/no/such')\n"), qr{x\.lua:2:1: error: cannot read the list file '/no/such'}, 'a file that is not there';
like mistake("bt.map('f', 'address')\n", f => "10.0.0.1\nx\n"), qr{f:2:1: warning: 'x': }, 'a line that is no address';
like mistake("bt.map('f', 'regex')\n", f => "(\n"), qr{f:1:1: warning: '\(' is no regular expression}, 'a line that is no pattern';
unlike mistake("local m = bt.map('f') assert(m:match('a.test'))\n", f => "a.test\n"), qr/error/, 'it can be asked at once';
done;

# 67-lua-policies.t - the policies that come with the server: each passes its own tests, and one serves.
use Bobtail::Test;
use File::Temp ();

my $lua = "$ENV{BT_SRCDIR}/lua";
my $dir = File::Temp::tempdir(CLEANUP => 1);
chmod 0755, $dir;
sub put { my ($name, $text) = @_; Bobtail::Proxy::write_file("$dir/$name", $text); return "$dir/$name" }
my %lists = (HOSTS => put('hosts', ".listed.test\n"), EXCEPT => put('except', "good.listed.test\n"));
mkdir "$dir/test";
mkdir "$dir/policy";
put('policy/' . $_ =~ s{.*/}{}r, slurp($_)) for glob "$lua/policy/*.lua";

my @tests = glob "$lua/test/*.lua";
is scalar(@tests), scalar(() = glob "$lua/policy/*.lua"), 'each policy has its tests';
for (@tests) {
    my ($name) = m{([^/]+)\.lua$};
    my $said = bobtail('--lua-test', put("test/$name.lua", slurp($_) =~ s/\@(\w+)\@/$lists{$1}/gr));
    is $said->{status}, 0, $name or diag $said->{output};
    cmp_ok scalar(() = $said->{output} =~ /^ok /mg), '>=', 2, 'by tests that were run';
}

# All of them together, over a connection.
my $origin = origin('*' => { body => 'x' x 500, 'Cache-Control' => 'no-store' });
my $proxy = proxy(<<"CONF", workers => 4, files => { 'policy.lua' => <<"LUA" });
lua_path $dir
lua_script \@DIR\@/policy.lua
logformat test %rp %{egress}lua %{quota}lua
access_log \@DIR\@/access.log test
CONF
local block = require("policy.block_list").new{hosts = "$lists{EXCEPT}"}
local quota = require("policy.quota").new{bytes = 20000}
local switch = require("policy.kill_switch").new{key = "k"}
function on_request(txn) return switch(txn) or block(txn) or quota.request(txn) end
function on_finish(txn) return quota.finish(txn) end
LUA
is get($proxy, 'http://good.listed.test/')->status, 403, 'a block list';
is get($proxy, 'http://kill.switch/off', headers => { 'X-Key' => 'k' })->body, "off\n", 'a switch';
is get($proxy, $origin->url('/a'))->status, 503, 'that works in all workers' for 1 .. 8;
is get($proxy, 'http://kill.switch/on', headers => { 'X-Key' => 'k' })->body, "on\n", 'and back';
my $n = 0;
while ($n < 60) { last if get($proxy, $origin->url('/q'))->status == 403; $n++ }
cmp_ok $n, '<', 40, "a quota, used up after $n requests of all workers";
cmp_ok $n, '>', 0, 'and not before';
done;

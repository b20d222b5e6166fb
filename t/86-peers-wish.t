# 86-peers-wish.t - a script says which parent; rules and the parent's health have the last word.
use Bobtail::Test;

my %parent = map { my $name = $_; $name => origin('*' => sub { return { body => $name, 'Cache-Control' => 'no-store' } }) } qw(one two three);
my $site = origin('/direct' => { body => 'site' });
my $gone = origin('/' => {});
my $dead = $gone->port;
$gone->stop;
my $script = <<'LUA';
function on_request(txn)
  local name = txn.path:match("^/to/(%w+)")
  if name then txn:set_peer(name) end
  if txn.path == "/direct" then txn:set_peer("DIRECT") end
end
LUA
sub wishes
{
    my ($more) = @_;
    return proxy("lua_script \@DIR\@/wish.lua\n"
        . join('', map { "cache_peer 127.0.0.1 parent " . $parent{$_}->port . " 0 no-query name=$_\n" } qw(one two three))
        . "cache_peer 127.0.0.1 parent $dead 0 no-query name=dead connect-fail-limit=1\n$more", files => { 'wish.lua' => $script });
}
my $proxy = wishes("acl no urlpath_regex /no\$\ncache_peer_access three deny no\n");
is get($proxy, 'http://www.example.com/')->body, 'one', 'without a wish the first one is asked';
is get($proxy, "http://www.example.com/to/$_")->body, $_, "$_ is wished for, and asked" for qw(one two three);
is post($proxy, 'http://www.example.com/to/two', 'x')->body, 'two', '... also for what would go directly';
is get($proxy, 'http://www.example.com/to/three/no')->body, 'one', 'cache_peer_access keeps it';
is get($proxy, 'http://www.example.com/to/nobody')->body, 'one', 'a parent that there is not';
is get($proxy, 'http://www.example.com/to/dead')->body, 'one', 'one that is dead, and not known to be';
is get($proxy, 'http://www.example.com/to/dead')->body, 'one', '... and known to be';
is get($proxy, $site->url('/direct'))->body, 'site', 'DIRECT';
is get(wishes("never_direct allow all\n"), $site->url('/direct'))->body, 'one', '... where never_direct allows it';
is get(wishes("acl two urlpath_regex two\nalways_direct allow two\n"), $site->url('/to/two'))->status, 404, 'always_direct stands above wishes';
done;

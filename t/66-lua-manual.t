# 66-lua-manual.t - each example of the manual does what it says: it runs where it may, without an error.
use Bobtail::Test;

my $text = bobtail('--reference', 'lua')->{output};
my (@entries, $entry);
for (split /\n/, $text) {
    next if /^#/;
    push @entries, $entry = { usage => $_, doc => '', example => '' } if /^\S/;
    next unless $entry;
    if (/^    example:$/) { $entry->{in} = 1 }
    elsif (/^        (.*)/ && $entry->{in}) { $entry->{example} .= "$1\n" }
    elsif (/^    (.*)/) { $entry->{doc} .= "$1 " }
}
cmp_ok scalar(@entries), '>', 40, 'there are entries';
ok $_->{doc} =~ /[.:] $/, "$_->{usage} ends in a sentence" or diag $_->{doc} for @entries;

my (%code, $script, $tables);
my $n = 0;
for (grep { $_->{example} ne '' } @entries) {
    my ($hook) = $_->{doc} =~ /In (on_\w+)/;
    $hook //= 'on_request';
    $hook = 'on_request' if $_->{doc} =~ /In [^.]*\bon_request\b/;
    $_->{number} = ++$n;
    push @{ $code{$hook} }, "[\"/$n\"] = function(txn) $_->{example} end,";
}
for my $hook (sort keys %code) {
    $script .= "local ${hook}_examples = {\n@{[ join qq(\n), @{ $code{$hook} } ]}\n}\n"
        . "function $hook(txn)\n  local run = ${hook}_examples[txn.path]\n  if run then\n"
        . "    bt.log('STARTED ' .. txn.path)\n    local result = run(txn)\n    bt.log('ENDED ' .. txn.path)\n"
        . "    return result\n  end\nend\n";
}
my $origin = origin('*' => { body => 'fine' });
my $proxy = proxy(<<'CONF', files => { 'policy.lua' => $script, 'blocked.txt' => "blocked.example\n" });
lua_script @DIR@/policy.lua
CONF
for (grep { $_->{number} } @entries) {
    my $path = "/$_->{number}";
    get($proxy, $origin->url($path));
    ok wait_for(sub { $proxy->log =~ m{ENDED \Q$path\E$}m }), "the example of $_->{usage}" or diag $_->{example}, $proxy->log;
}
done;

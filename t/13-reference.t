# 13-reference.t - the manual out of the rows: names, text and JSON agree; one name is explained.
use Bobtail::Test;
use JSON::PP qw(decode_json);

for my $kind (qw(directives counters fields acl_types phases log_writers)) {
    my $names = bobtail('--reference', $kind, '--names');
    my @names = split /\n/, $names->{output};
    my $rows = eval { decode_json(bobtail('--reference', $kind, '--json')->{output}) } // [];

    is $names->{status}, 0, "$kind can be printed";
    is_deeply [map { $_->{name} } @$rows], \@names, "$kind: JSON has the rows that --names has";
    is_deeply \@names, [sort @names], "$kind are sorted" unless $kind eq 'phases';
    is scalar(grep { ($_->{doc} // $_->{'same as'} // '') eq '' } @$rows), 0, "$kind have a sentence each";
    my $text = bobtail('--reference', $kind)->{output};
    is scalar(grep { $text !~ /^\Q$_\E(?: |$)/m } @names), 0, "$kind: the text has each";
}

my $all = bobtail('--reference', 'directives', '--names', '--status', 'all')->{output};
like $all, qr/^hello_greeting built$/m, '--status all: what works';
like $all, qr/^wccp2_router (?:unbuilt|ignored|obsolete)$/m, 'and what is known only';
unlike bobtail('--reference', 'directives', '--names')->{output}, qr/^wccp2_router/m, 'which is left out otherwise';
my $none = bobtail('--reference', 'recipes');
isnt $none->{status}, 0, 'a kind that is none';
like $none->{output}, qr/no reference of 'recipes': say directives, counters,/, 'says which there are';

sub explained
{
    my ($name, @patterns) = @_;
    my $said = bobtail('--explain', $name);
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my @missing = grep { $said->{output} !~ $_ } @patterns;
    ok($said->{status} eq '0' && !@missing, "--explain $name") or diag("without @missing:\n$said->{output}");
    return;
}
explained('hello', qr/^module hello: The sample/, qr/hello\.so$/m, qr/^hello_greeting word$/m, qr/^counter hello\.greetings$/m,
    qr/^field hello\.greeting$/m, qr/^ACL type hello word\.\.\.$/m, qr/^hook in phase REQUEST$/m);
explained('hello_greeting', qr/^directive hello_greeting word\n +Greets .*\n +module: hello$/m);
explained('hello.greetings', qr/^counter hello\.greetings\n.*\n +kind: count\n +unit: requests$/m);
explained('hello.greeting', qr/^field hello\.greeting\n.*\n +known from: REQUEST$/m);
explained('client.requests', qr/^counter client\.requests/, qr/module: server/);
explained('RESPONSE', qr/^phase RESPONSE: response head complete/);
explained('wccp2_router', qr/^directive wccp2_router/, qr/^ +Not built: a configuration that uses it is refused\.$/m);
my $unknown = bobtail('--explain', 'hello_greting');
is $unknown->{status}, 1, 'what is not there';
like $unknown->{output}, qr/nothing is named 'hello_greting'; did you mean 'hello_greeting'\?/, 'with a suggestion';

my $modules = eval { decode_json(bobtail('--modules', '--json')->{output}) } // [];
my ($hello) = grep { $_->{name} eq 'hello' } @$modules;
my ($core) = grep { $_->{name} eq 'core' } @$modules;
like $hello->{file} // '', qr{/hello\.so$}, '--modules --json: file';
like $hello->{doc} // '', qr/^The sample/, 'sentence';
is $hello->{reason} // '', 'loaded when something of it is used', 'and reason';
ok !$hello->{loaded}, 'without a configuration nothing is loaded';
is $core->{reason} // '', 'built in', 'but what is part of the server';
done;

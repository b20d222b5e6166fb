# 7A-ctl.t - bobtailctl: each command right and wrong, as text and as JSON, and its exit status.
use Bobtail::Test;
use JSON::PP ();

my $origin = origin('/a' => { body => 'one' }, '/held' => { body => 'late', hold => 1 },
    '/quick' => { status => 404, body => 'no' });

sub json { my ($proxy, @words) = @_; return JSON::PP::decode_json(ctl($proxy, @words, '--json')->{output}) }

# A request that the origin holds; the client.
sub held
{
    my ($proxy) = @_;
    my $hits = $origin->hits('/held');
    my $client = client($proxy);
    $client->send('GET ' . $origin->url('/held') . " HTTP/1.1\r\nHost: x\r\n\r\n");
    wait_for(sub { $origin->hits('/held') > $hits }) or die "the request did not arrive\n";
    return $client;
}

for my $how ([ '-N', '' ], [ 'with workers', "workers 2\n", workers => 2 ]) {
    my ($name, $conf, %how) = @$how;
    my $proxy = proxy(<<"CONF", %how);
${conf}visible_hostname proxy.test
reply_body_max_size 100 MB
acl shop url_regex ^http://user:pass\@shop.example/
acl bad dstdomain shop.example
http_access deny bad
http_access deny shop
http_access allow all
CONF

    # status
    my $status = json($proxy, 'status');
    is $status->{state}, 'serving', "$name: status";
    is $status->{pid}, $proxy->pid, 'of that process';
    is $status->{workers}{accepting}, $how{workers} // 1, 'with its workers';
    is $status->{last_reload}, undef, 'and no reload so far';
    is $status->{configuration}, $proxy->file('bobtail.conf'), 'by that file';
    like ctl($proxy, 'status')->{output}, qr/^state +serving\n.*^last reload +none\n/ms, 'as text, too';
    is ctl($proxy, 'status', 'all')->{status}, 1, 'a word too many is refused';

    # top and kill
    is_deeply json($proxy, 'top'), [], 'top: nothing is under way';
    my $client = held($proxy);
    my ($one) = @{ json($proxy, 'top') };
    is $one->{url}, $origin->url('/held'), 'an exchange shows';
    is $one->{client}, '127.0.0.1', 'with its client';
    is $one->{step}, 'receive', 'and what is waited for';
    is $one->{method}, 'GET', 'and its method';
    is $one->{user}, undef, 'nobody has logged in';
    like ctl($proxy, 'top', '--once')->{output}, qr/^ID .*REQUEST\n\Q$one->{id}\E .* GET \Q$one->{url}\E$/m, 'as a table';
    is ctl($proxy, 'kill', '7.7.7')->{status}, 1, 'kill: an exchange that is not there';
    my $said = ctl($proxy, 'kill', 'x');
    is $said->{status}, 1, 'kill: no number at all';
    like $said->{output}, qr/three numbers/, 'is said';
    is ctl($proxy, 'kill')->{status}, 1, 'kill of nothing';
    is ctl($proxy, 'kill', $one->{id})->{status}, 0, 'kill ends it';
    ok $client->closed, 'its client sees the end';
    is_deeply json($proxy, 'top'), [], 'and it is gone';
    $origin->release('/held');
    $origin->set('/held' => { body => 'late', hold => 1 });

    # set and config
    is ctl($proxy, 'set', 'via', 'off')->{status}, 0, 'set';
    get($proxy, $origin->url('/a')) for 1 .. 4;
    is $origin->seen_header('/a', 'Via'), undef, 'is obeyed by all workers';
    my ($via) = @{ json($proxy, 'config', 'via') };
    is_deeply [ @$via{qw(value file)} ], [ 'off', '(bobtailctl set)' ], 'config tells it';
    $said = ctl($proxy, 'set', 'via', 'perhaps');
    is $said->{status}, 1, 'a value that does not fit';
    like $said->{output}, qr/on or off expected/, 'is refused as in a file';
    is ctl($proxy, 'set', 'http_port', '3128')->{status}, 1, 'a port cannot be set';
    like ctl($proxy, 'set', 'nonsense', '1')->{output}, qr/no directive nonsense/, 'nor what is no directive';
    is ctl($proxy, 'set', 'via')->{status}, 1, 'nor nothing';
    for my $live (['forward_max_tries', 3], ['request_body_max_size', '1 MB'], ['shutdown_lifetime', '3 seconds'],
        ['strip_query_terms', 'off'], ['logfile_rotate', 2], ['half_closed_clients', 'on'],
        ['http_access_audit', 'off'], ['client_persistent_connections', 'on'], ['server_persistent_connections', 'on']) {
        is ctl($proxy, 'set', $live->[0], split / /, $live->[1])->{status}, 0, "set $live->[0]";
    }
    is post($proxy, $origin->url('/a'), 'x' x 1_100_000)->status, 413, 'a limit that was set holds';
    my @lines = @{ json($proxy, 'config') };
    my ($name_line) = grep { $_->{name} eq 'visible_hostname' } @lines;
    is $name_line->{value}, 'proxy.test', 'config has the lines of the file';
    is $name_line->{file}, $proxy->file('bobtail.conf'), 'and says where they stand';
    like ctl($proxy, 'config')->{output}, qr/^http_access deny shop\nhttp_access allow all$/m, 'in order';
    like ctl($proxy, 'config')->{output}, qr{^acl shop url_regex \^http://user:\*+\@shop\.example/$}m, 'passwords are masked';
    like ctl($proxy, 'config', 'all')->{output}, qr/^# default: forwarded_for on$/m, 'and what stands by itself';
    is ctl($proxy, 'config', 'nonsense')->{status}, 1, 'a name that there is not';

    # log level
    is ctl($proxy, 'log', 'level')->{output}, "info\n", 'log level';
    is ctl($proxy, 'log', 'level', 'debug')->{status}, 0, 'log level debug';
    is ctl($proxy, 'log', 'level')->{output}, "debug\n", 'is in force';
    is ctl($proxy, 'log', 'level', 'info')->{status}, 0, 'and back';
    is ctl($proxy, 'log', 'level', 'debug', 'core')->{status}, 0, 'of one module';
    is ctl($proxy, 'log', 'level', 'loud')->{status}, 1, 'no such level';
    is ctl($proxy, 'log', 'level', 'warn', 'core')->{status}, 1, 'of one module debug alone';
    is ctl($proxy, 'log')->{status}, 1, 'log what?';

    # explain and the others as JSON
    my $why = json($proxy, 'explain', 'GET', 'http://shop.example/');
    ok !$why->{allowed}, 'explain as JSON';
    is $why->{steps}[-1]{acls}[0]{name}, 'bad', 'with each ACL';
    ok json($proxy, 'explain', 'GET', $origin->url('/a'))->{allowed}, 'and what is allowed';
    my $answer = json($proxy, 'rotate');
    is_deeply $answer, { good => JSON::PP::true(), text => '' }, 'any command answers as JSON';
    $answer = json($proxy, 'purge');
    is_deeply [ $answer->{good} ? 1 : 0, $answer->{text} =~ /say/ ? 1 : 0 ], [ 0, 1 ], 'also when it is refused';
    like json($proxy, 'version')->{text}, qr/Version/, 'version';

    # the rest, wrong
    is ctl($proxy, 'statu')->{status}, 2, 'a slip';
    like ctl($proxy, 'statu')->{output}, qr/did you mean "status"/, 'with a guess';
    is ctl($proxy, $_, 'now')->{status}, 1, "$_ takes no words" for qw(drain stop rotate reload-lists);
}

# --- tail ---------------------------------------------------------------------------------------

my $proxy = proxy("workers 2\nclient_netmask 255.255.255.0\n", workers => 2);

# Starts a tail, and waits until workers write for it; ->() gives what it printed.
sub tail
{
    my (@words) = @_;
    pipe my $out, my $in or die "pipe: $!";
    my $pid = fork // die "fork: $!";
    if (!$pid) {
        open STDOUT, '>&', $in;
        open STDERR, '>&', $in;
        exec $ENV{BOBTAILCTL}, '-s', $proxy->{control}, 'tail', @words or POSIX::_exit(127);
    }
    close $in;
    select undef, undef, undef, 0.3;    # it tells nobody that it looks
    return sub {
        my $text = '';
        1 while sysread $out, $text, 65536, length $text;
        waitpid $pid, 0;
        return ($text, $? >> 8);
    };
}

my $all = tail('--count', 3);
my $errors = tail('--count', 1, 'status', '4xx');
my $as_json = tail('--count', 1, '--json', 'method', 'HEAD', 'client', '127.0.0.0', 'text', '/a');
get($proxy, $origin->url($_)) for '/a', '/quick';
request($proxy, HEAD => $origin->url('/a'));
my ($text, $status) = $all->();
is $status, 0, 'tail --count 3 ends by itself';
my @lines = split /\n/, $text;
is @lines, 3, 'with three lines';
like $lines[0], qr{^\d+\.\d+ +\d+ 127\.0\.0\.0 TCP_\w+/200 \d+ GET http://\S+/a }, 'in the format squid, masked as logs are';
($text) = $errors->();
like $text, qr{^\S+ +\d+ \S+ \w+/404 \d+ GET \S+/quick [^\n]*\n\z}, 'tail status 4xx has that one alone';
($text) = $as_json->();
is JSON::PP::decode_json($text)->{method}, 'HEAD', 'tail --json';
$all = tail('--count', 2, 'host', '.0.0.1', 'user', '-', 'result', 'TCP_MISS');
is ctl($proxy, 'reload')->{status}, 0, 'a reload while somebody looks on';
get($proxy, $origin->url('/quick?' . $_)) for 1, 2;
($text) = $all->();
is(() = $text =~ /\n/g, 2, 'is no end of it');
is ctl($proxy, 'tail', 'status', 'many')->{status}, 2, 'a condition that is none';
is ctl($proxy, 'tail', 'colour', 'red')->{status}, 2, 'nor that';
is ctl($proxy, 'tail', '--count', '0')->{status}, 2, 'nor no lines at all';
is ctl($proxy, 'tail', 'user')->{status}, 2, 'nor half of one';

# --- ends ---------------------------------------------------------------------------------------

for my $how ([ '-N', '' ], [ 'with workers', "workers 2\n", workers => 2 ]) {
    my ($name, $conf, %how) = @$how;
    my $proxy = proxy("${conf}shutdown_lifetime 0 seconds\n", %how);
    my $client = held($proxy);
    pipe my $out, my $in or die "pipe: $!";
    my $pid = fork // die "fork: $!";
    if (!$pid) {
        open STDOUT, '>&', $in;
        open STDERR, '>&', $in;
        exec $ENV{BOBTAILCTL}, '-s', $proxy->{control}, '--progress', 'drain' or POSIX::_exit(127);
    }
    close $in;
    ok wait_for(sub { !eval { client($proxy->addr)->close; 1 } }), "$name: drain takes no new connections";
    is json($proxy, 'status')->{state}, 'draining', 'and says so';
    my $said = '';
    ok wait_for(sub { readable($out, 0.1) && sysread $out, $said, 4096, length $said; $said =~ /1 exchanges under way/ }),
        'who waits for it is told what is left';
    $origin->release('/held');
    is $client->response->body, 'late', 'what is under way is done, whatever shutdown_lifetime says';
    waitpid $pid, 0;
    is $? >> 8, 0, 'drain has ended';
    ok wait_for(sub { waitpid($proxy->pid, POSIX::WNOHANG()) == $proxy->pid }), 'and so has the server';
    delete $proxy->{pid};
    $origin->set('/held' => { body => 'late', hold => 1 });
}

# --- without a server ---------------------------------------------------------------------------

my $bash = Bobtail::Stat::run_program($ENV{BOBTAILCTL}, 'completion', 'bash');
is $bash->{status}, 0, 'completion for bash';
like $bash->{output}, qr/\bstatus stats workers top kill tail\b/, 'with all commands';
sub completed
{
    my (@words) = @_;
    my $script = $bash->{output} . "COMP_WORDS=(bobtailctl @words); COMP_CWORD=" . @words . "; _bobtailctl; echo \${COMPREPLY[*]}\n";
    open my $file, '>', $proxy->file('complete') or die;
    print $file $script;
    close $file;
    return Bobtail::Stat::run_program('bash', $proxy->file('complete'))->{output};
}
is completed('reload-li'), "reload-lists\n", 'a command is completed';
is completed('-s', '/x', 'stats', '--o'), "--openmetrics\n", 'and an option of its own';
is completed('ca', 'e'), "export\n", 'and a word';
SKIP: {
    skip('no zsh on this machine', 2) unless Bobtail::Peer::find_program('zsh');
    my $zsh = Bobtail::Stat::run_program($ENV{BOBTAILCTL}, 'completion', 'zsh');
    open my $file, '>', $proxy->file('_bobtailctl') or die;
    print $file $zsh->{output};
    close $file;
    is Bobtail::Stat::run_program('zsh', '-n', $proxy->file('_bobtailctl'))->{output}, '', 'zsh understands its own';
    is Bobtail::Stat::run_program('zsh', '-fc', 'autoload -U compinit; compinit -u -D; . ' . $proxy->file('_bobtailctl')
        . '; echo ${_comps[bobtailctl]}')->{output}, "_bobtailctl\n", 'and uses it';
}
like Bobtail::Stat::run_program($ENV{BOBTAILCTL}, 'completion', 'fish')->{output}, qr/^complete -c bobtailctl .* -a status /m, 'fish';
is Bobtail::Stat::run_program($ENV{BOBTAILCTL}, 'completion', 'csh')->{status}, 2, 'of another shell nothing is known';
is Bobtail::Stat::run_program($ENV{BOBTAILCTL}, 'completion')->{status}, 2, 'nor of none';
like Bobtail::Stat::run_program($ENV{BOBTAILCTL}, 'help')->{output}, qr/Exit status: 0 it is done/, 'help says what a status means';
is Bobtail::Stat::run_program($ENV{BOBTAILCTL}, '-s', '/nowhere/at/all', 'top')->{status}, 2, 'no server to ask';
is Bobtail::Stat::run_program($ENV{BOBTAILCTL}, '-s', '/nowhere/at/all', 'tail')->{status}, 2, 'for tail neither';
done;

# 10-conf-grammar.t - each kind of argument, right and wrong, in directives that work.
use Bobtail::Test;
use File::Temp ();

my $base = "http_port 127.0.0.1:0\npid_filename none\nhttp_access allow localhost\n";
sub said { return parse($base . $_[0], %{ $_[1] // {} }) }

# Fits without a word said.
sub fine
{
    my ($line, $how) = @_;
    my $said = said("$line\n", $how);
    is $said->{status}, 0, "$line: taken" or diag $said->{output};
    unlike $said->{output}, qr/(?:error|warning): (?!nothing uses ACL)/, "$line: silently"; # no rule here does
    return;
}

# Is said of this column of line 4: `error` or `warning`, with this text.
sub told
{
    my ($line, $kind, $column, $text, $how) = @_;
    my $at = $how->{line} // 4;
    my $said = said("$line\n", $how);
    is $said->{status}, $kind eq 'error' ? 1 : 0, "$line: " . ($kind eq 'error' ? 'refused' : 'taken')
        or diag $said->{output};
    like $said->{output}, qr/^\@DIR\@\/bobtail\.conf:$at:$column: $kind: .*$text/m, "$line: told why";
    return;
}

fine($_) for (
    'via off', 'forwarded_for truncate', 'forward_max_tries 10', 'request_header_max_size 32 KB',
    'request_header_max_size 32KB', 'request_header_max_size 1.5 MB', 'connect_timeout 30 seconds',
    'connect_timeout 1.5 minutes', 'connect_timeout 1minute', 'connect_timeout 500 milliseconds',
    'read_timeout 1 day # a comment', 'dns_nameservers 192.0.2.1 2001:db8::1', 'visible_hostname a.b',
    'visible_hostname "a.b"', "visible_hostname 'a.b'", 'umask 027', 'hosts_file none',
    'http_access deny !localhost CONNECT', 'ascii_port 127.0.0.1:0', 'pconn_timeout 10 seconds',
    'acl a src 10.0.0.0/8 2001:db8::/32', 'acl a url_regex -i ^http://x +i /Y$', "via \\\noff",
    "acl a dstdomain .example.com \\\n  .example.net",
);

told('via maybe', 'error', 5, "on or off expected, not 'maybe'");
told('via yes', 'error', 5, "did you mean 'on'");
told('via false', 'error', 5, "did you mean 'off'");
told('via ON', 'error', 5, "did you mean 'on'");
told('via enable', 'warning', 5, 'write on');
told('via disable', 'warning', 5, 'write off');
told('via', 'error', 1, 'on or off is missing');
told('via on off', 'warning', 8, "surplus word 'off' is ignored");
told('forwarded_for trunkate', 'error', 15, "did you mean 'truncate'");
told('forward_max_tries 0', 'error', 19, 'from 1 to 100');
told('forward_max_tries ten', 'error', 19, "'ten'");
told('request_header_max_size 10 XB', 'error', 28, "'XB'");
told('request_header_max_size 10XB', 'error', 25, "'10XB'");
told('request_header_max_size none', 'error', 25, 'a size');
told('request_header_max_size -1', 'error', 25, 'a size');
told('request_header_max_size 64', 'warning', 25, 'taken as KB');
told('connect_timeout 30 secs', 'error', 20, "did you mean 'seconds'");
told('connect_timeout 30', 'warning', 17, 'taken as second');
told('connect_timeout soon', 'error', 17, 'a time');
told('dns_nameservers 192.0.2.1 192.0.2.256', 'warning', 27, 'an IP address expected');
told('http_access permit all', 'error', 13, "did you mean 'allow'");
told('http_access allow', 'error', 1, 'all stands for everybody');
told('visible_hostname "a b', 'error', 18, 'not closed');
told('visible_hostname "a"b', 'error', 18, 'a blank is missing');
told("visible_hostname a\x01b", 'error', 19, 'control byte 1');
told('http_port 127.0.0.1:0 nmae=x', 'error', 23, "did you mean 'name'");
told('http_port 127.0.0.1:0 tproxi', 'error', 23, "did you mean 'tproxy'");
told("acl a src 10.0.0.1 \\ \n 10.0.0.2", 'error', 20, 'very last');
told('acl a url_regex /two[ ]words', 'error', 17, quotemeta '[[:space:]]');

# What Squid takes with a word, or without one.
fine($_) for ('quick_abort_pct -1', 'http_port localhost:0', 'http_port 0 ipv4', 'http_port 0 no-connection-auth',
    'access_log syslog:LOG_LOCAL4|LOG_INFO squid', "ssl_bump allow all", 'ssl_bump deny all');
told('debug_options ALL,1 33, 2', 'warning', 21, '"33," is ignored');
told('dns_nameservers /etc/resolv.conf', 'warning', 17, 'an IP address expected');
told('refresh_pattern . 0 20% 60 negative-ttl=5', 'warning', 28, 'negative-ttl.*obsolete');
told('auth_param ntlm credentialsttl 1 hour', 'warning', 17, 'ignored');
told('auth_param basic credentialstll 1 hour', 'error', 18, "did you mean 'credentialsttl'");
told("http_port 3128\nhttp_port 3128 name=x", 'warning', 11, 'given twice: line 4 has it', { line => 5 });
told("http_port a..b:3128", 'error', 11, 'neither an address nor a name');

# List files: values of their own lines, comments, CR; a list that is not there is a fault.
my %lists = (files => { 'domains.txt' => ".example.com\r\n# all of it\n  .example.net  # and this\n\n",
        'addresses.txt' => "10.0.0.1\n10.0.0.300\n" });
fine('acl a dstdomain "@DIR@/domains.txt" www.example.org', \%lists);
fine('acl a dstdomain "domains.txt"', \%lists);
told('acl a src "@DIR@/none.txt"', 'error', 11, 'none\.txt', \%lists);
my $said = said("acl a src \"\@DIR\@/addresses.txt\"\n", \%lists);
is $said->{status}, 0, 'a bad line of a list is left out, as when it is read again later';
like $said->{output}, qr{^\@DIR\@/addresses\.txt:2:1: warning: .*; this line is left out$}m, 'at the place in the list';

# Strict quoting.
fine("configuration_includes_quoted_values on\nacl a dstdomain parameters(\"\@DIR\@/domains.txt\")", \%lists);
$said = said("configuration_includes_quoted_values on\nacl a src \"\@DIR\@/addresses.txt\"\n", \%lists);
like $said->{output}, qr{bobtail\.conf:5:11: error: }, 'then a word in quotes is a value';

# Macros and conditions.
{
    local $ENV{BT_TEST_NAME} = 'proxy.example.com';
    delete local $ENV{BT_TEST_NONE};
    fine('visible_hostname ${env:BT_TEST_NAME}');
    fine("if 1 = 2\nnonsense \${env:BT_TEST_NONE}\nelse\nvia off\nendif");
    told('visible_hostname ${env:BT_TEST_NONE}', 'error', 18, "no 'BT_TEST_NONE'");
}
told('if maybe', 'error', 4, 'NUMBER = NUMBER');
told('if true', 'error', 1, 'if without endif');
told('endif', 'error', 1, 'endif without if');

# Includes: sorted, nested, and where they are looked for.
my $dir = File::Temp::tempdir(CLEANUP => 1);
for (['b.conf', "nonsense_b\n"], ['a.conf', "nonsense_a\n"], ['main', "include *.conf\n"]) {
    open my $out, '>', "$dir/$_->[0]" or die "$dir/$_->[0]: $!";
    print $out $_->[1];
    close $out;
}
$said = said("include $dir/main\n");
is $said->{status}, 1, 'what is included counts';
like $said->{output}, qr{a\.conf:1:1: error.*b\.conf:1:1: error}s, 'in the order of the names';
told("include $dir/none/*.conf", 'warning', 9, 'no file fits');
told("include $dir/none.conf", 'error', 9, 'No such file');
done;

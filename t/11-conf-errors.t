# 11-conf-errors.t - all that is wrong with a configuration is said at once, at its place, with advice.
use Bobtail::Test;
use File::Temp ();
use POSIX ();

my $said = parse(<<'CONF', files => { 'part.conf' => "via on\nread_timeuot 5 minutes\n" });
http_acess deny all
http_port 127.0.0.1:0
acl lan src 10.0.0.0/8
include part.conf
HTTP_access allow lan
http_access alow lan
http_access deny guest lann
via maybe maybe
connect_timeout 30 secs
proxy_turbo on
CONF

is $said->{status}, 1, 'refused';
my @places = $said->{output} =~ /^\@DIR\@\/(\S+): (?:error|warning):/mg;
is_deeply \@places, [sort { my ($fa, $la, $ca) = split /:/, $a; my ($fb, $lb, $cb) = split /:/, $b;
        ($fa eq 'bobtail.conf' ? 0 : 1) <=> ($fb eq 'bobtail.conf' ? 0 : 1) || $la <=> $lb || $ca <=> $cb } @places],
    'complaints are sorted by place' or diag $said->{output};
my @expected = (
    ['bobtail.conf:1:1', "did you mean 'http_access'"],
    ['part.conf:2:1', "did you mean 'read_timeout'"],
    ['bobtail.conf:5:1', 'write http_access'],
    ['bobtail.conf:6:13', "did you mean 'allow'"],
    ['bobtail.conf:7:18', 'guest'],
    ['bobtail.conf:7:24', 'lan'],
    ['bobtail.conf:8:5', "not 'maybe'"],
    ['bobtail.conf:9:20', "did you mean 'seconds'"],
    ['bobtail.conf:10:1', "unknown directive 'proxy_turbo'\$"],
);
for (@expected) {
    my ($place, $text) = @$_;
    like $said->{output}, qr/^\@DIR\@\/\Q$place\E: error: .*$text/m, "$place is told";
}

# The line itself, with a mark under the word.
like $said->{output}, qr/^  via maybe maybe\n      \^~~~~$/m, 'the word is shown in its line';
$said = parse("\tvia \xc3\xa4 # \xc3\xa4\nvisible_hostname a b\n");
like $said->{output}, qr/^  \tvia \xc3\xa4 # \xc3\xa4\n  \t    \^$/m, 'also behind tabs and in UTF-8';

# The same fault is told once, a name that does nothing once a file.
$said = parse("http_port 127.0.0.1:0\npid_filename none\n" . "memory_pools on\n" x 3 . "ie_refresh on\n" x 2);
is $said->{status}, 0, 'warnings do not stop anything' or diag $said->{output};
is scalar(() = $said->{output} =~ /warning:/g), 2, 'one warning for each name';
like $said->{output}, qr/^\@DIR\@\/bobtail\.conf:3:1: warning: memory_pools is known and ignored/m, 'at its first place';

# What must not be seen in somebody's terminal is not shown.
$said = parse("cachemgr_passwd hunter2 all\ncache_peer p.example.com parent 1 0 login=me:hunter3 nonsense\n"
        . "wccp2_service standard 0 password=hunter4 x\n");
is $said->{status}, 1, 'refused';
unlike $said->{output}, qr/hunter/, 'passwords are not printed';

# Files that are none.
$said = parse("\xff\xfev\0i\0a\0");
like $said->{output}, qr/^\@DIR\@\/bobtail\.conf:1:1: error: the file is UTF-16/m, 'UTF-16 is told as such';
unlike $said->{output}, qr/unknown directive/, 'and nothing else';
for my $name ('/no/such/file.conf', '/', '/dev/zero') {
    $said = bobtail('-k', 'parse', '-f', $name);
    is $said->{status}, 1, "$name: refused";
    like $said->{output}, qr/^\Q$name\E: error: /m, "$name: told why";
}

my $pipe = File::Temp::tempdir(CLEANUP => 1) . '/pipe';
POSIX::mkfifo($pipe, 0600) or die "$pipe: $!";
$said = bobtail('-k', 'parse', '-f', $pipe);
is $said->{status}, 1, 'a pipe that nobody writes to';
like $said->{output}, qr/error: cannot read \Q$pipe\E: it is a pipe, and nobody wrote to it, or ended, within 5 s/, 'is waited for five seconds';

# A file with very many faults ends in a number.
$said = parse("nonsense x\n" x 1000);
is $said->{status}, 1, 'a thousand faults';
ok $said->{output} =~ /^80\d more complaints are not shown$/m, 'are not all shown';

done;

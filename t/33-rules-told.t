# 33-rules-told.t - reasons: which rule decided how often, what rules would say, and lines that cannot
# be meant as they stand.
use Bobtail::Test;
use JSON::PP ();

my $origin = origin('*' => { body => 'ok' });
my $port = $origin->port;
my $proxy = proxy(<<'CONF', workers => 2, files => { hosts => "127.0.0.1 a.test b.test\n" });
workers 2
hosts_file @DIR@/hosts
acl lab src 127.50.0.0/16
acl other src 127.51.0.0/16
acl films urlpath_regex -i \.mkv$
acl a dstdomain a.test
acl here dst 127.0.0.0/8
acl agent req_header X-Agent ^robot
acl who maxconn 1000
http_access deny films !lab
http_access deny agent
http_access allow a lab
http_access deny here other
http_access deny who
http_access allow lab
CONF

# --- bobtailctl rules -----------------------------------------------------------------------------

sub rules { return @{ JSON::PP::decode_json(ctl($proxy, 'rules', '--json')->{output}) } }
sub ask { my ($url, $from, %how) = @_; return request($proxy, GET => $url, from => $from, %how)->status }

is_deeply [ map { $_->{hits} } rules() ], [ (0) x 7 ], 'nothing was asked so far';
is ask("http://a.test:$port/x.MKV", '127.0.0.1'), 403, 'films';
is ask("http://a.test:$port/", '127.50.0.1'), 200, 'a lab' for 1 .. 5;
is ask("http://b.test:$port/", '127.50.0.1'), 200, 'lab';
is ask("http://b.test:$port/", '127.0.0.1'), 403, 'the default';
my @rules = rules();
is_deeply [ map { $_->{hits} } @rules ], [ 1, 0, 5, 0, 0, 1, 1 ], 'each rule that decided, over all workers';
is_deeply [ map { $_->{never_matched} ? 1 : 0 } @rules ], [ 0, 1, 0, 1, 1, 0, 0 ], 'and those that never did';
is $rules[0]{list}, 'http_access', 'the list';
is $rules[0]{text}, 'http_access deny films !lab', 'the line in words';
like $rules[0]{file}, qr{/bobtail\.conf$}, 'its file';
is $rules[2]{line} - $rules[0]{line}, 2, 'and its place there';
is $rules[6]{text}, '(default) deny', 'the default stands at the end';
my $text = ctl($proxy, 'rules')->{output};
like $text, qr{^ +5  \S+/bobtail\.conf:\d+  http_access allow a lab$}m, 'the same for people';
like $text, qr{^ +0  \S+  http_access deny agent  \(never matched\)$}m, '... never matched';
like $text, qr{^ +1  the default of http_access: deny$}m, '... the default';
like ctl($proxy, 'rules', 'all')->{output}, qr/--json/, 'nothing else may follow';

# --- bobtailctl explain ---------------------------------------------------------------------------

sub explained { return ctl($proxy, 'explain', @_)->{output} }

my $said = explained(GET => 'http://a.test/film.mkv');
like $said, qr{\AGET http://a\.test/film\.mkv from 127\.0\.0\.1$}m, 'what is asked, from this machine';
like $said, qr{deny films !lab\n    films: yes\n    lab: no \(negated\)\n    holds, and decides\ndenied by \S+:\d+\n\z},
    'the line that decides is the last';
$said = explained(GET => 'http://a.test/', from => '127.50.0.7');
like $said, qr{deny films !lab\n    films: no\n    lab: not asked \(negated\)\n    does not hold}, 'a line that fails';
like $said, qr{allow a lab\n    a: yes\n    lab: yes\n    holds, and decides\nallowed by \S+:\d+\n\z}, 'one that allows';
$said = explained(GET => 'http://b.test/', header => 'X-Agent: robot 1.0', from => '127.50.0.7');
like $said, qr{agent: yes\n    holds, and decides\ndenied by}, 'with a header';
$said = explained(GET => 'http://no-such-host.invalid/', from => '127.51.0.1');
like $said, qr{deny here other\n    here: unknown\n    other: yes\n    would decide, if what is unknown is so}, 'an address that is not known';
like $said, qr{^it depends: on what is unknown above; if none of that holds, denied by default}m, '... leaves it open';
$said = explained(CONNECT => '127.0.0.1:443', from => '127.51.0.1');
like $said, qr{here: yes\n    other: yes\n    holds, and decides\ndenied by}, 'CONNECT to an address';
for (
    [ ['GET'], qr/say: explain METHOD URL/ ],
    [ [ GET => '/x' ], qr/Host|form|target/ ],
    [ [ 'G(T' => 'http://a.test/' ], qr/method/ ],
    [ [ GET => 'http://a.test/', from => 'nowhere' ], qr/'nowhere' is not an address/ ],
    [ [ GET => 'http://a.test/', 'from' ], qr/something must follow from/ ],
    [ [ GET => 'http://a.test/', whence => '1' ], qr/'whence' is not from, user or header/ ],
    [ [ GET => 'http://a.test/', header => 'nothing' ], qr/'nothing' is not NAME: and a value/ ],
) {
    my ($words, $why) = @$_;
    my $wrong = ctl($proxy, 'explain', @$words);
    is $wrong->{status}, 1, "refused: explain @$words";
    like $wrong->{output}, $why, '... and why';
}
is_deeply [ map { $_->{hits} } rules() ], [ 1, 0, 5, 0, 0, 1, 1 ], 'to explain is not to decide';

# --- lints of -k parse ----------------------------------------------------------------------------

sub warned
{
    my ($conf, @want) = @_;
    my $parsed = parse("http_port 3128\nacl a port 80\nacl b port 81\nacl c port 82\nacl d random 0.5\n$conf");
    is $parsed->{status}, 0, 'accepted: ' . ($conf =~ s/\n/ | /gr);
    like $parsed->{output}, $_, '... with a warning' for @want;
    unlike $parsed->{output}, qr/warning/, '... without a word' unless @want;
}
my $all = "http_access deny a\nhttp_access deny b\nhttp_access deny c\nhttp_access deny d\n";
warned($all);
warned("${all}http_access allow all\nhttp_access deny a b\nhttp_access deny c\n",
    qr{conf:11:1: warning: from here on 2 lines of this list are never looked at: \S+:10 \(http_access allow all\) holds for everybody; 2 of them would deny});
warned("http_access allow a b\n${all}http_access deny b c a\n",
    qr{conf:11:1: warning: this line never decides: whenever it holds, \S+:7 \(http_access deny a\) holds});
warned("http_access allow d\nhttp_access deny d a\nhttp_access allow a\nhttp_access allow b\nhttp_access deny c\n");
warned("${all}http_access allow b !a !b\n", qr{conf:10:1: warning: this line never holds: it contradicts itself});
warned("${all}http_access allow !all\n", qr{conf:10:1: warning: this line never holds});
warned("${all}acl e port 90\n", qr{conf:10:5: warning: nothing uses ACL e$}m);
warned("${all}acl e url_regex ^((a+)+)\\1\$\nhttp_access deny e\n",
    qr{conf:10:17: warning: '\^\(\(a\+\)\+\)\\1\$' repeats what repeats});

done;

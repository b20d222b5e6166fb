# 53-tls-bump.t - ssl_bump: each action at each step, by what is known there; what clients and logs see.
use Bobtail::Test;
BEGIN { need('IO::Socket::SSL') }
use Bobtail::Tls;
use IO::Socket::SSL ();
use IO::Socket::SSL::Utils qw(CERT_asHash);
use File::Temp ();

my $dir = File::Temp->newdir('bobtail-bump-XXXXXXXX', TMPDIR => 1);
my ($ca, $crt) = ("$dir/ca.pem", "$dir/ca.crt");
run_program($ENV{BOBTAILCTL}, 'ca', 'init', $ca, '--name', 'The CA');
Bobtail::Proxy::write_file($crt, run_program($ENV{BOBTAILCTL}, 'ca', 'export', $ca)->{output});

my @names = map { "$_.x.test" } qw(splice1 peek1 peek2 peekbump stare starebump starespl bump1 end1 end2 end3
    cert certno none client server first inner other odd slow);
my $hosts = join '', map { "127.0.0.1 $_\n" } @names;

# TLS 1.2 and 1.3: in the first one the origin's certificate is in clear.
my ($wild, $only) = (server_certificate('*.x.test'), server_certificate('cert.x.test', 'cert-only.x.test'));
my %origin = map {
    my $version = $_;
    $version => origin('*' => { body => 'inside' }, tls => { %$wild, how => { SSL_version => $version,
        SSL_cert_file => { '' => $wild->{cert}, 'cert.x.test' => $only->{cert} },
        SSL_key_file => { '' => $wild->{key}, 'cert.x.test' => $only->{key} } } })
} qw(TLSv1_2 TLSv1_3);

my $proxy = proxy(<<"CONF", files => { hosts => $hosts });
http_port 127.0.0.1:0 ssl-bump tls-cert=$ca
hosts_file \@DIR\@/hosts
tls_outgoing_options cafile=@{[ca_file()]} default-ca=off
acl step1 at_step SslBump1
acl step2 at_step SslBump2
acl step3 at_step SslBump3
acl odd dstdomain odd.x.test
on_unsupported_protocol tunnel odd
request_start_timeout 2 seconds
logformat bump %rm %Ss/%03>Hs %Sh %ssl::bump_mode %ssl::>sni %ru %ssl::<cert_subject %ssl::>negotiated_version
access_log stdio:\@DIR\@/bump.log bump
@{[ map { "acl $_ ssl::server_name $_.x.test\n" } qw(splice1 peek1 peek2 peekbump stare starebump starespl bump1
    end1 end2 end3 none client server first inner other) ]}
acl cert ssl::server_name cert.x.test certno.x.test
acl by_cert ssl::server_name --server-provided cert-only.x.test
acl no_cert ssl::server_name --client-requested certno.x.test
ssl_bump splice splice1
ssl_bump terminate end1
ssl_bump none none
ssl_bump client-first client
ssl_bump server-first server
ssl_bump bump bump1
ssl_bump peek step1 peek1
ssl_bump peek !step3 peek2
ssl_bump peek !step3 peekbump
ssl_bump bump step3 peekbump
ssl_bump peek step1 end2
ssl_bump terminate step2 end2
ssl_bump peek !step3 end3
ssl_bump terminate step3 end3
ssl_bump peek !step3 cert
ssl_bump terminate no_cert
ssl_bump splice by_cert
ssl_bump terminate cert
ssl_bump stare !step3 stare
ssl_bump stare !step3 starebump
ssl_bump bump step3 starebump
ssl_bump stare !step3 starespl
ssl_bump splice step3 starespl
ssl_bump peek step1 first
ssl_bump splice inner
ssl_bump bump other
ssl_bump stare odd
http_access allow all
CONF

my $read = 0; # of the log
sub lines
{
    my ($want) = @_;
    my @lines;
    wait_for(sub { @lines = split /\n/, substr $proxy->text('bump.log'), $read; @lines >= $want });
    $read += length join '', map { "$_\n" } @lines;
    return \@lines;
}

# CONNECT, TLS, a request: who signed what the client saw, and what came; or why not.
sub visit
{
    my ($name, $origin, %how) = @_;
    my $sni = exists $how{sni} ? $how{sni} : $name;
    my $tunnel = tunnel($proxy, "$name:" . $origin->port);
    my $status = eval { $tunnel->response->status } || 0;
    return "no connect $status" if $status != 200;
    my $conn = eval {
        start_tls($tunnel, $sni // '', SSL_verify_mode => 0, SSL_version => $how{version} // 'SSLv23:!SSLv2:!SSLv3')
    } or return 'no TLS';
    my $cert = CERT_asHash($conn->socket->peer_certificate);
    my $answer = request(undef, GET => "/page", headers => { Host => ($how{host} // $name) . ':' . $origin->port }, on => $conn);
    $conn->close;
    my $signer = $cert->{issuer}{commonName} // '';
    return join ' ', $signer eq 'The CA' ? 'bumped' : $signer eq 'Bobtail test authority' ? 'through' : $signer,
        $answer->status, $answer->status == 200 ? $answer->body : ();
}

mark($proxy);

# ---- each way, with both versions ----

my $cert = qr{/CN=\*\.x\.test};
my @rows = (
    # host, what the client sees, the lines: method and tag, hierarchy, mode, SNI
    ['splice1', 'through 200 inside', 'CONNECT TCP_TUNNEL/200 HIER_DIRECT splice -'],
    ['none', 'through 200 inside', 'CONNECT TCP_TUNNEL/200 HIER_DIRECT none -'],
    ['peek1', 'through 200 inside', 'CONNECT TCP_TUNNEL/200 HIER_DIRECT splice peek1.x.test'],
    ['peek2', 'through 200 inside', 'CONNECT TCP_TUNNEL/200 HIER_DIRECT splice peek2.x.test'],
    ['peekbump', 'through 200 inside', 'CONNECT TCP_TUNNEL/200 HIER_DIRECT splice peekbump.x.test'],
    ['end1', 'no connect 0', 'CONNECT NONE_NONE/000 HIER_NONE terminate -'],
    ['end2', 'no TLS', 'CONNECT NONE_NONE/200 HIER_NONE terminate end2.x.test'],
    ['end3', 'no TLS', 'CONNECT NONE_NONE/200 HIER_NONE terminate end3.x.test'],
    ['certno', 'no TLS', 'CONNECT NONE_NONE/200 HIER_NONE terminate certno.x.test'],
    (map { my ($host, $mode, $way) = @$_;
        [$host, 'bumped 200 inside', "CONNECT NONE_NONE/200 $way $mode $host.x.test", "GET TCP_MISS/200 HIER_DIRECT $mode $host.x.test"] }
        ['bump1', 'bump', 'HIER_NONE'], ['client', 'client-first', 'HIER_NONE'], ['server', 'server-first', 'HIER_DIRECT'],
        ['stare', 'bump', 'HIER_DIRECT'], ['starebump', 'bump', 'HIER_DIRECT'], ['starespl', 'bump', 'HIER_DIRECT']),
);
for my $version (qw(TLSv1_2 TLSv1_3)) {
    for (@rows) {
        my ($host, $sees, @logged) = @$_;
        is visit("$host.x.test", $origin{$version}), $sees, "$host, $version: $sees";
        my $lines = lines(scalar @logged);
        is_deeply [map { join ' ', (split / /)[0 .. 4] } @$lines], \@logged, "$host, $version: the log";
    }
    # What a peek has seen is the certificate, up to TLS 1.2.
    my $clear = $version eq 'TLSv1_2';
    visit('peek2.x.test', $origin{$version});
    like lines(1)->[0], $clear ? qr{ $cert - *} : qr{ - -$}, "a peek, $version: the certificate is known, or not";
    is visit('cert.x.test', $origin{$version}), $clear ? 'through 200 inside' : 'no TLS',
        "by the certificate, $version: fails closed when it cannot be seen";
    like lines(1)->[0], $clear ? qr/ splice cert\.x\.test / : qr/ terminate cert\.x\.test /, 'and the log says so';
}

my $v = 2; # versions
counters($proxy, 'tls.bump_splice' => 5 * $v + $v + 1, 'tls.bump_peek' => (1 + 2 + 2 + 1 + 2 + 2 + 2 + 2) * $v,
    'tls.bump_stare' => (1 + 2 * 3) * $v, 'tls.bump_bump' => 6 * $v, 'tls.bump_terminate' => 4 * $v + 1,
    'tls.peeks_known' => 6, 'tls.peeks_blind' => 6, 'tls.hellos_refused' => 0, 'tls.hellos_missing' => 0,
    'tls.hellos_encrypted' => 0);

# ---- names ----

is visit('first.x.test', $origin{TLSv1_3}, sni => 'inner.x.test', host => 'inner.x.test'), 'through 200 inside',
    'from step 2 on the name is that of the hello';
like lines(1)->[0], qr/ splice inner\.x\.test first\.x\.test:\d+ /, 'the log has both';
is visit('first.x.test', $origin{TLSv1_3}, sni => 'other.x.test', host => 'other.x.test'), 'bumped 200 inside', 'another one is bumped';
like lines(2)->[1], qr{^GET TCP_MISS/200 HIER_DIRECT bump other\.x\.test https://other\.x\.test:\d+/page }, 'its URLs are of that name';
is visit('first.x.test', $origin{TLSv1_3}, sni => 'other.x.test', host => 'more.x.test'), 'bumped 200 inside',
    'whom the certificate is for may be asked for as well';
lines(2);
is visit('first.x.test', $origin{TLSv1_3}, sni => 'other.x.test', host => 'stranger.y.test'), 'bumped 421', 'a stranger may not';
like lines(2)->[1], qr{^GET NONE_NONE/421 }, 'and is told so';
is visit('peek1.x.test', $origin{TLSv1_3}, sni => undef), 'through 200 inside', 'without a name in the hello it is that of CONNECT';
like lines(1)->[0], qr/ splice - /, 'and the log has none';

# ---- hellos in pieces, and none ----

# The hello one byte at a time.
{
    my $relay = origin_of_hello();
    my $tunnel = tunnel($proxy, 'peek1.x.test:' . $origin{TLSv1_3}->port);
    is $tunnel->response->status, 200, 'CONNECT';
    $tunnel->drip($relay);
    my $said = $tunnel->bytes(5);
    like $said, qr/^\x16\x03/, 'a hello that comes byte by byte is passed on whole';
    $tunnel->close;
    lines(1);
}

# What openssl says first.
sub origin_of_hello
{
    my $sink = IO::Socket::IP->new(LocalHost => '127.0.0.1', LocalPort => 0, Listen => 1) or die $@;
    my $pid = fork // die;
    if (!$pid) {
        my $socket = IO::Socket::IP->new(PeerHost => '127.0.0.1', PeerPort => $sink->sockport) or POSIX::_exit(1);
        $SIG{ALRM} = sub { POSIX::_exit(0) };
        alarm 10;
        IO::Socket::SSL->start_SSL($socket, SSL_hostname => 'peek1.x.test', SSL_verify_mode => 0, Timeout => 5);
        POSIX::_exit(0);
    }
    my ($conn, $hello) = ($sink->accept, '');
    sysread $conn, $hello, 20000;
    close $conn;
    waitpid $pid, 0;
    return $hello;
}

sub after_connect
{
    my ($name, $bytes, $port) = @_;
    my $tunnel = tunnel($proxy, "$name:$port");
    return 'no connect' if $tunnel->response->status != 200;
    $tunnel->send($bytes) if length $bytes;
    my $rest = eval { $tunnel->rest } // '';
    $tunnel->close;
    return $rest;
}
my $plain = origin('*' => { raw => "SSH-2.0-origin\r\n", close => 1 });
my $get = "GET / HTTP/1.1\r\nHost: odd.x.test\r\n\r\n";
is after_connect('odd.x.test', $get, $plain->port), "SSH-2.0-origin\r\n", 'no TLS: tunnel';
is_deeply [map { join ' ', (split / /)[0 .. 4] } @{ lines(2) }],
    ['CONNECT NONE_NONE/200 HIER_NONE stare -', '- TCP_TUNNEL/200 HIER_DIRECT stare -'], 'in two lines';
is after_connect('stare.x.test', $get, $plain->port), '', 'no TLS: closed, when the rules do not say otherwise';
is_deeply [map { join ' ', (split / /)[0 .. 4] } @{ lines(1) }], ['CONNECT NONE_NONE/200 HIER_NONE stare -'], 'in one';
is after_connect('odd.x.test', "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x03", $plain->port), "\x15\x03\x03\x00\x02\x02\x32",
    'a malformed hello: an alert, and no tunnel, whatever the rules say';
lines(1);
{
    my $tunnel = tunnel($proxy, 'odd.x.test:' . $plain->port);
    is $tunnel->response->status, 200, 'CONNECT';
    $tunnel->send("\x80\x2e\x01\x03\x01\x00\x15\x00\x00\x00\x10" . 'x' x 40);
    lines(1);
    $tunnel->close;
    like lines(1)->[0], qr{^- TCP_TUNNEL/200 }, 'SSLv2: no TLS that anybody speaks';
}

# ---- a port without the option, and no rules at all ----

my $silent = proxy(<<"CONF", files => { hosts => $hosts });
http_port 127.0.0.1:0 ssl-bump tls-cert=$ca
hosts_file \@DIR\@/hosts
logformat bump %rm %Ss/%03>Hs %Sh %ssl::bump_mode %ssl::>sni
access_log stdio:\@DIR\@/bump.log bump
http_access allow all
CONF
my $bumping = $proxy;
counters($bumping, 'tls.hellos_refused' => 1, 'tls.hellos_missing' => 3, 'tls.hellos_encrypted' => 0);
($proxy, $read) = ($silent, 0);
is visit('stare.x.test', $origin{TLSv1_3}), 'through 200 inside', 'no ssl_bump line: a plain tunnel';
is_deeply lines(1), ['CONNECT TCP_TUNNEL/200 HIER_DIRECT - -'], 'whose mode is none';

my $without = proxy(<<"CONF", files => { hosts => $hosts });
http_port 127.0.0.1:0
hosts_file \@DIR\@/hosts
logformat bump %rm %Ss/%03>Hs %Sh %ssl::bump_mode %ssl::>sni
access_log stdio:\@DIR\@/bump.log bump
ssl_bump bump all
http_access allow all
CONF
($proxy, $read) = ($without, 0);
is visit('stare.x.test', $origin{TLSv1_3}), 'through 200 inside', 'a port without ssl-bump: a plain tunnel';
is_deeply lines(1), ['CONNECT TCP_TUNNEL/200 HIER_DIRECT - -'], 'whose mode is none';

# ---- an origin that is none ----

($proxy, $read) = ($bumping, length $bumping->text('bump.log'));
is visit('stare.x.test', $without), 'bumped 503', 'an origin without TLS: a page over TLS';
like lines(2)->[1], qr{^GET NONE_NONE/503 HIER_NONE }, 'logged';


# A tunnel to where nobody listens: "200" was said, and there is nobody to say more.
my $nobody = IO::Socket::IP->new(LocalHost => '127.0.0.1', LocalPort => 0, Listen => 1);
my $gone = bless { port => $nobody->sockport }, 'Gone';
sub Gone::port { return $_[0]{port} }
close $nobody;
is visit('peek1.x.test', $gone), 'no TLS', 'a tunnel to nobody';
is_deeply [map { join ' ', (split / /)[0 .. 4] } @{ lines(1) }],
    ['CONNECT TCP_TUNNEL/200 HIER_DIRECT splice peek1.x.test'], 'is logged with what was said';

# ---- rules that wait ----

# An external ACL without memory: asked once a step, and the connection goes on.
my $helper = proxy(<<"CONF", files => { hosts => $hosts, 'helper.sh' => "#!/bin/sh\nwhile read line; do echo OK; done\n" });
http_port 127.0.0.1:0 ssl-bump tls-cert=$ca
hosts_file \@DIR\@/hosts
tls_outgoing_options cafile=@{[ca_file()]} default-ca=off
external_acl_type ask ttl=0 negative_ttl=0 cache=0 children-startup=1 children-max=1 children-idle=1 %DST /bin/sh \@DIR\@/helper.sh
acl asked external ask
acl step3 at_step SslBump3
ssl_bump stare !step3 asked
ssl_bump bump asked
logformat bump %rm %Ss/%03>Hs %Sh %ssl::bump_mode %ssl::>sni
access_log stdio:\@DIR\@/bump.log bump
http_access allow all
CONF
($proxy, $read) = ($helper, 0);
is visit('slow.x.test', $origin{TLSv1_3}), 'bumped 200 inside', 'rules that wait at each step';
is_deeply lines(2), ['CONNECT NONE_NONE/200 HIER_DIRECT bump slow.x.test', 'GET TCP_MISS/200 HIER_DIRECT bump slow.x.test'], 'are asked to the end';
done;

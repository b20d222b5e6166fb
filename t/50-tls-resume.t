# 50-tls-resume.t - sessions of clients go on in any worker, after a reload, and with keys of before.
use Bobtail::Test;
plan(skip_all => 'built without OpenSSL') unless -e "$ENV{BT_BUILDDIR}/modules/built/tls.so";
BEGIN { need('IO::Socket::SSL') }
use Bobtail::Tls;
use IO::Socket::SSL ();

my $cert = server_certificate('proxy.test');
my $own = "tls-cert=$cert->{cert} tls-key=$cert->{key}";
my $origin = origin('/a' => { body => 'one' });

# One visitor: connects anew each time, and offers the session that it got last.
sub visitor
{
    my (%how) = @_;
    my $context = IO::Socket::SSL::SSL_Context->new(SSL_ca_file => ca_file(), SSL_session_cache_size => 10,
        SSL_verify_mode => IO::Socket::SSL::SSL_VERIFY_PEER(), %how);
    return { SSL_reuse_ctx => $context, SSL_session_key => 'proxy.test' };
}
# true: it was resumed.
sub visit
{
    my ($proxy, $visitor) = @_;
    my $conn = start_tls(client($proxy), 'proxy.test', %$visitor);
    my $resumed = $conn->socket->get_session_reused;
    my $body = request(undef, GET => $origin->url('/a'), on => $conn)->body;
    $conn->close;
    return $body eq 'one' ? $resumed : die "visit: '$body'";
}

my %visitor = (
    'TLS 1.3' => { SSL_version => 'TLSv1_3' },
    'TLS 1.2 with tickets' => { SSL_version => 'TLSv1_2' },
    'TLS 1.2 by number' => { SSL_version => 'TLSv1_2',
        SSL_create_ctx_callback => sub { Net::SSLeay::CTX_set_options($_[0], &Net::SSLeay::OP_NO_TICKET) } },
);
my $proxy = proxy("https_port 127.0.0.1:0 $own\n", workers => 4);
my %regular;
for my $kind (sort keys %visitor) {
    my $who = $regular{$kind} = visitor(%{ $visitor{$kind} });
    mark($proxy);
    visit($proxy, $who);
    my $resumed = grep { visit($proxy, $who) } 1 .. 40;
    cmp_ok $resumed, '>=', 38, "$kind: resumed in all workers";
    counters($proxy, 'tls.client_handshakes' => 41, 'tls.client_resumed' => $resumed,
        'tls.tickets_unknown' => 0);
}
cmp_ok stat($proxy, 'tls.sessions_kept'), '>', 0, 'those by number are kept here';
is stat($proxy, 'tls.ticket_keys'), 1, 'one key for all';

# Other workers, the same keys.
my @old = $proxy->workers;
$proxy->signal('HUP');
ok wait_for(sub { my @now = $proxy->workers; @now == 4 && !grep { my $p = $_; grep { $_ == $p } @now } @old }),
    'a reload';
for my $kind (sort keys %visitor) {
    my $resumed = grep { visit($proxy, $regular{$kind}) } 1 .. 10;
    cmp_ok $resumed, '>=', 9, "$kind: resumed after it";
}

# A new key is made after some hours; what the old one sealed opens.
my $away = visitor(%{ $visitor{'TLS 1.3'} });
visit($proxy, $away);
later($proxy, 4 * 3600 + 60);
ok visit($proxy, $regular{'TLS 1.2 with tickets'}), 'resumed when the key is an old one';
ok visit($proxy, $regular{'TLS 1.3'}), 'in TLS 1.3, too';
ok visit($proxy, $regular{'TLS 1.3'}), 'and with the ticket that was given then';
is stat($proxy, 'tls.ticket_keys'), 2, 'which is of a new key';
later($proxy, 4 * 3600 + 60), visit($proxy, visitor()) for 1 .. 2;
is stat($proxy, 'tls.ticket_keys'), 4, 'each time';
mark($proxy);
ok !visit($proxy, $away), 'not when the key is forgotten';
counters($proxy, 'tls.tickets_unknown' => 1);

# What a port's clients may go on with is that port's own.
$proxy = proxy(<<"CONF");
https_port 127.0.0.1:0 $own name=one
https_port 127.0.0.1:0 $own name=two clientca=@{[ca_file()]} sslflags=CONDITIONAL_AUTH
https_port 127.0.0.1:0 $own name=three sslflags=NO_SESSION_REUSE
CONF
for my $kind (sort keys %visitor) {
    my $who = visitor(%{ $visitor{$kind} });
    visit('127.0.0.1:' . $proxy->port_of('one'), $who);
    ok visit('127.0.0.1:' . $proxy->port_of('one'), $who), "$kind: resumed at its port";
    ok !visit('127.0.0.1:' . $proxy->port_of('two'), $who), 'not at another one';
    $who = visitor(%{ $visitor{$kind} });
    visit('127.0.0.1:' . $proxy->port_of('three'), $who);
    ok !visit('127.0.0.1:' . $proxy->port_of('three'), $who), 'NO_SESSION_REUSE: not at all';
}

# Memory for sessions by number is limited, and may be none.
$proxy = proxy("https_port 127.0.0.1:0 $own\nsslproxy_session_cache_size 0\n");
my $who = visitor(%{ $visitor{'TLS 1.2 by number'} });
visit($proxy, $who);
ok !visit($proxy, $who), 'sslproxy_session_cache_size 0: none is kept';
$proxy = proxy("https_port 127.0.0.1:0 $own\nsslproxy_session_ttl 100 seconds\n");
$who = visitor(%{ $visitor{'TLS 1.2 by number'} });
visit($proxy, $who);
ok visit($proxy, $who), 'sslproxy_session_ttl: resumed within it';
later($proxy, 101);
ok !visit($proxy, $who), 'and not after it';
$proxy = proxy("https_port 127.0.0.1:0 $own\nsslproxy_session_ttl 0 seconds\n");
$who = visitor(%{ $visitor{'TLS 1.3'} });
visit($proxy, $who);
ok !visit($proxy, $who), 'sslproxy_session_ttl 0: nothing is resumed';
done;

# 52-tls-leaf.t - forged certificates: what the configuration says about them.
use Bobtail::Test;

my $base = "http_port 127.0.0.1:0\nhttp_access allow all\n";

# Lines of Squid's helper are taken, with one friendly sentence for all of them.
my $said = parse($base . <<'CONF');
sslcrtd_program /no/such/security_file_certgen -s /var/lib/ssl_db -M 4MB
sslcrtd_children 32 startup=5 idle=1
CONF
is $said->{status}, 0, 'sslcrtd_program and sslcrtd_children are taken';
is scalar(() = $said->{output} =~ /warning:/g), 1, 'with one sentence' or diag $said->{output};
like $said->{output}, qr/:3:1: warning: no sslcrtd_program is needed: .* can go$/m, 'that says why';

# Mistakes are told at their place; ACLs that hold for none but all are asked for.
sub mistaken
{
    my ($line, $column, $text) = @_;
    my $told = parse($base . "$line\n");
    is $told->{status}, 1, "$line: refused";
    like $told->{output}, qr/:3:$column: error: .*$text/, 'and told why' or diag $told->{output};
    return;
}
mistaken('sslproxy_cert_sign signtrust all', 20, "did you mean 'signTrusted'");
mistaken('sslproxy_cert_sign signSelf', 1, 'name of an ACL');
mistaken('sslproxy_cert_adapt setValidAfte all', 21, "did you mean 'setValidAfter'");
mistaken('sslproxy_cert_adapt setValidAfter{x} all', 21, 'takes no value in braces');
mistaken('sslproxy_cert_adapt setCommonName{a..b} all', 21, 'neither a host name nor an address');
mistaken('sslproxy_cert_sign_hash sha1', 25, 'sha256');
mistaken('sslproxy_leaf_key dsa', 19, 'ecdsa');

$said = parse($base . <<'CONF');
sslproxy_cert_sign signTrusted all
sslproxy_cert_sign signUntrusted all
sslproxy_cert_adapt setCommonName all
sslproxy_cert_adapt setCommonName{www.example.org} all
sslproxy_cert_sign_hash sha384
sslproxy_leaf_key rsa
CONF
is $said->{status}, 0, 'all that there is' or diag $said->{output};

my $proxy = proxy('');
counters($proxy, map { $_ => 0 } qw(tls.leaves_forged tls.leaves_ready tls.leaves_from_shared
    tls.leaves_joined tls.leaves_made_in_loop tls.leaves_refused_too_big tls.leaves_refused_malformed
    tls.leaves_refused_nameless tls.leaves_failed tls.leaves tls.leaf_bytes tls.shared_leaves
    tls.shared_leaf_bytes tls.shared_leaf_room tls.ca_days));
like ctl($proxy, 'stats', 'tls.leaf_time')->{output}, qr/tls\.leaf_time/, 'how long it takes is told';
done;

# 30-acl-client.t - srcdomain, srcdom_regex, maxconn, arp, eui64: the client's name and machine.
use Bobtail::Test;

my $origin = origin('*' => { body => 'ok' }, '/slow' => { body => 'late', hold => 1 });
my $hosts = "127.50.0.1 desk.office.test\n127.50.0.2 Office.test.\n127.51.0.1 gate.test\n127.51.0.2 far.test\n";

# --- names ----------------------------------------------------------------------------------------

my $proxy = proxy(<<'CONF', files => { hosts => $hosts });
hosts_file @DIR@/hosts
dns_nameservers 127.255.255.53
dns_timeout 1 second
access_log stdio:@DIR@/access.log logformat=name
logformat name %>A %>Hs
acl office srcdomain .office.test
acl gate srcdom_regex -i ^GATE\.
acl nameless srcdomain none
acl none_too srcdom_regex ^none$
acl never srcdomain 127.50.0.1
acl cross any-of office gate
http_access deny never
http_access deny nameless !none_too
http_access allow office
http_access allow cross
http_access deny all
CONF
sub status { my ($from) = @_; return get($proxy, $origin->url('/'), from => $from)->status }
is status('127.50.0.1'), 200, 'a name below';
is status('127.50.0.2'), 200, 'the name itself, however it is written';
is status('127.51.0.1'), 200, 'srcdom_regex';
is status('127.51.0.2'), 403, 'another name';
is status('127.52.0.1'), 403, 'no name, and a name server that does not answer';

wait_for(sub { $proxy->text('access.log') =~ /(?:.*\n){5}/ });
is $proxy->text('access.log'), "desk.office.test 200\noffice.test 200\ngate.test 200\nfar.test 403\n127.52.0.1 403\n",
    'the log has the name that was found';

SKIP: {
    my $dns = eval { dnsmasq('1.0.53.127.in-addr.arpa' => '127.0.0.1') } or skip 'no dnsmasq', 1;
    my $asks = proxy("dns_nameservers @{[ $dns->addr ]}\nacl nameless srcdomain none\nhttp_access allow nameless\n");
    is get($asks, $origin->url('/'), from => '127.53.0.9')->status, 200, 'a name server that says that there is none';
}

# --- how many connections -------------------------------------------------------------------------

for my $workers (0, 2) {
    my $crowd = proxy(<<'CONF', $workers ? (workers => $workers) : ());
acl greedy maxconn 2
acl lone maxconn 0
http_access deny !lone
http_access deny greedy
http_access allow all
CONF
    my $ask = sub { request($crowd, GET => $origin->url('/'), @_)->status };
    my @held = map { client($crowd, from => '127.50.0.1') } 1 .. 2;
    is $ask->(on => $_), 200, 'two connections may be' for @held;
    is $ask->(from => '127.50.0.1'), 403, 'a third may not ask';
    is $ask->(from => '127.50.0.2'), 200, 'another address is another';
    my $third = client($crowd, from => '127.50.0.1');
    ok wait_for(sub { $ask->(on => $held[0]) == 403 }), 'nor may the others while it is open';
    $third->close;
    ok wait_for(sub { $ask->(on => $held[0]) == 200 }), '... until it is closed';
    $_->close for @held;
}

# --- hardware addresses ---------------------------------------------------------------------------

my $hard = proxy(<<'CONF');
acl desk arp 00:11:22:aa:bb:cc 0:1:2:a:b:c
acl phone eui64 00:11:22:aa:bb:cc 02:11:22:ff:fe:aa:bb:cc
http_access deny desk
http_access deny phone
http_access allow all
CONF
is get($hard, $origin->url('/'))->status, 200, 'this machine is no neighbour of its own';

for (['arp 00:11:22', 11, 'it has 3 parts'], ['arp 00:11:22:aa:bb:gg', 11, 'no hardware address'],
    ['arp 00:11:22:aa:bb:cc:dd:ee', 11, 'not 6'], ['eui64 00:11:22:aa:bb:cc:dd', 13, 'not 6 or 8'],
    ['arp 00-11-22-aa-bb-cc', 11, 'no hardware address'], ['arp 00::22:aa:bb:cc', 11, 'no hardware address'],
    ['maxconn', 7, 'without values|no values'], ['maxconn -1', 15, ''], ['maxconn x', 15, 'number'],
    ['srcdom_regex (a', 20, '\(a']) {
    my ($acl, $column, $text) = @$_;
    my $said = parse("acl x $acl\nhttp_access deny x\nhttp_port 3128\n");
    like $said->{output}, qr/bobtail\.conf:1:$column: (?:error|warning): .*$text/, "$acl: told, and where";
}
done;

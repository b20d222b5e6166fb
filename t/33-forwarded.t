# 33-forwarded.t - follow_x_forwarded_for: whose X-Forwarded-For is believed, and how far.
use Bobtail::Test;

my $origin = origin('*' => { body => 'ok' });
my $conf = <<'CONF';
access_log stdio:@DIR@/access.log logformat=who
logformat who %>a %client.direct %>Hs
acl front src 127.50.0.0/24
acl middle src 192.0.2.0/24
acl inside src 10.0.0.0/8
acl v6 src 2001:db8::/32
follow_x_forwarded_for allow front
follow_x_forwarded_for allow middle
follow_x_forwarded_for deny all
http_access deny inside
http_access deny v6
http_access allow all
CONF
my $proxy = proxy($conf);
my ($in, $out) = ('127.50.0.1', '127.51.0.1');

sub status
{
    my ($whom, $from, @forwarded) = @_;
    return get($whom, $origin->url('/'), from => $from, headers => [ map { ('X-Forwarded-For' => $_) } @forwarded ])->status;
}
is status($proxy, $in), 200, 'no header';
is status($proxy, $in, '10.1.1.1'), 403, 'the address behind one that is believed';
is status($proxy, $out, '10.1.1.1'), 200, 'others are not believed';
is status($proxy, $in, '10.1.1.1, 198.51.100.7'), 200, 'what stands left of one that is not believed means nothing';
is status($proxy, $in, '198.51.100.7, 10.1.1.1'), 403, 'the last one counts';
is status($proxy, $in, '10.1.1.1, 192.0.2.9, 192.0.2.10'), 403, 'through several that are believed';
is status($proxy, $in, '10.1.1.1', '192.0.2.9'), 403, 'several fields are one list';
is status($proxy, $in, '192.0.2.9,'), 200, 'an empty member is none';
is status($proxy, $in, '10.1.1.1, unknown, 192.0.2.9'), 200, 'what is no address ends the walk';
is status($proxy, $in, '10.1.1.1, 10.1.1.1:80'), 200, '... whatever stands before it';
is status($proxy, $in, '2001:db8::1'), 403, 'IPv6';
is status($proxy, $in, '[2001:db8::1]'), 403, '... in brackets';
is status($proxy, $in, join ', ', '10.1.1.1', ('192.0.2.9') x 63), 403, 'sixty-four are looked at';
is status($proxy, $in, join ', ', '10.1.1.1', ('192.0.2.9') x 64), 200, 'and not one more';
is status($proxy, $in, join ', ', ('10.1.1.1') x 1000), 403, 'of a long list only the end is';
my $answer = get($proxy, $origin->url('/seen'), from => $in, headers => { 'X-Forwarded-For' => '192.0.2.9' });
is $origin->seen_header('/seen', 'X-Forwarded-For'), '192.0.2.9, 127.50.0.1', 'what is passed on names the connection';
counters($proxy, 'access.forwarded' => 13);
wait_for(sub { () = $proxy->text('access.log') =~ /\n/g; $proxy->text('access.log') =~ /(?:.*\n){16}/ });
like $proxy->text('access.log'), qr/^127\.50\.0\.1 127\.50\.0\.1 200\n10\.1\.1\.1 127\.50\.0\.1 403\n127\.51\.0\.1 127\.51\.0\.1 200\n198\.51\.100\.7 /,
    'the log names the client that was found';

my $half = proxy($conf . "acl_uses_indirect_client off\nlog_uses_indirect_client off\n");
is status($half, $in, '10.1.1.1'), 200, 'acl_uses_indirect_client off: ACLs judge the connection';
wait_for(sub { $half->text('access.log') });
like $half->text('access.log'), qr/^127\.50\.0\.1 127\.50\.0\.1 200/, 'log_uses_indirect_client off: so do logs';
is status($half, $in, '10.1.1.1, 192.0.2.9'), 200, 'the list itself judges each address';

my $said = parse("acl x srcdomain a.test\nfollow_x_forwarded_for allow x\nhttp_port 3128\n");
like $said->{output}, qr/conf:2:30: error: .*may have to wait/, 'the list cannot wait';
done;

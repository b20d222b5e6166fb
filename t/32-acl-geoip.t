# 32-acl-geoip.t - country, asn, and their fields, with databases made here; and when they are replaced.
use Bobtail::Test;
use Bobtail::Mmdb;

plan(skip_all => 'built without libmaxminddb') if bobtail('--explain', 'acl_geoip')->{status};

my $countries = mmdb(
    '127.50.0.0/16' => { country => { iso_code => 'DE' } },
    '127.50.7.0/24' => { country => { iso_code => 'CH' }, registered_country => { iso_code => 'US' } },
    '127.51.0.0/16' => { country_code => 'AT' },
    '127.52.0.0/16' => { continent => 'EU' },
    '2001:db8::/32' => { country => { iso_code => 'FR' } },
);
my $networks = mmdb(
    '127.50.0.0/16' => { autonomous_system_number => 64500, autonomous_system_organization => 'Example Net' },
    '127.51.0.0/16' => { asn => 'AS4200000000', as_name => 'Other, Inc.' },
    '127.53.0.0/16' => { autonomous_system_number => 64501 },
);
my $origin = origin('*' => { body => 'ok' });
my $proxy = proxy(<<'CONF', files => { 'country.mmdb' => $countries, 'asn.mmdb' => $networks });
geoip_database @DIR@/country.mmdb
geoip_database @DIR@/asn.mmdb
access_log stdio:@DIR@/access.log logformat=where
logformat where %>a %geo.country %geo.asn "%geo.org" %>Hs
acl home country de
acl alps country CH AT
acl nowhere country none
acl hosting asn 64500 AS4200000000
acl no_network asn none
acl front src 127.60.0.0/16
acl abroad country FR
follow_x_forwarded_for allow front
http_access allow front
http_access deny abroad
http_access deny nowhere no_network
http_access allow alps hosting
http_access deny home hosting
http_access allow nowhere
http_access deny all
CONF

sub status { my ($from, @more) = @_; return get($proxy, $origin->url('/'), from => $from, @more)->status }
is status('127.50.1.1'), 403, 'a country and a network';
is status('127.50.7.1'), 200, 'a narrower prefix has another country';
is status('127.51.0.1'), 200, 'other makers of databases write it otherwise';
is status('127.52.0.1'), 403, 'a row without a country: none, and no network';
is status('127.53.0.1'), 200, 'known by its network only';
is status('127.54.0.1'), 403, 'not known at all';
is status('127.60.0.1', headers => { 'X-Forwarded-For' => '2001:db8::7' }), 403, 'IPv6, of whom X-Forwarded-For names';
is status('127.60.0.1', headers => { 'X-Forwarded-For' => '::ffff:127.50.7.9' }), 200, 'IPv4, however it is written';
counters($proxy, 'geo.lookups' => 8, 'geo.unknown' => 1, 'geo.reopened' => 0);
wait_for(sub { $proxy->text('access.log') =~ /(?:.*\n){8}/ });
is $proxy->text('access.log'), <<'LOG', 'fields in logs';
127.50.1.1 DE 64500 "Example Net" 403
127.50.7.1 CH 64500 "Example Net" 200
127.51.0.1 AT 4200000000 "Other, Inc." 200
127.52.0.1 - - "-" 403
127.53.0.1 - 64501 "-" 200
127.54.0.1 - - "-" 403
2001:db8::7 FR - "-" 403
127.50.7.9 CH 64500 "Example Net" 200
LOG

# --- replaced -------------------------------------------------------------------------------------

my $dir = $proxy->dir;
sub replace
{
    my ($bytes) = @_;
    Bobtail::Proxy::write_file("$dir/new", $bytes);
    rename "$dir/new", "$dir/country.mmdb" or die "rename: $!";
    later($proxy, 2);
    return;
}
mark($proxy);
replace(mmdb('127.50.0.0/16' => { country => { iso_code => 'CH' } }));
is status('127.50.1.1'), 200, 'a new file is seen';
replace('no database');
is status('127.50.1.1'), 200, 'one that is none leaves the old one';
is status('127.50.1.1'), 200, '... and is not tried again and again';
$proxy->expect_log(qr/country\.mmdb has changed and cannot be used \(.*\); the old one stays/);
unlink "$dir/country.mmdb";
later($proxy, 2);
is status('127.50.1.1'), 200, 'so does none at all';
replace(mmdb('127.50.0.0/16' => { country => { iso_code => 'DE' } }));
is status('127.50.1.1'), 403, 'until the next';
counters($proxy, 'geo.reopened' => 2, 'geo.broken' => 1);
replace(substr $countries, 0, 300);
is status('127.50.1.1'), 403, 'a file that is cut short is none';
replace($countries =~ s/DE/XX/r =~ s/\x42DE/\x5fDE/gr);
isnt status('127.50.1.1'), 0, 'odd bytes in a file are no harm';

# --- wrong ----------------------------------------------------------------------------------------

for (['acl x country Germany', '1:15', 'two letters'], ['acl x country D1', '1:15', 'two letters'],
    ['acl x asn ASX', '1:11', 'no number'], ['acl x asn 4294967296', '1:11', 'no number'], ['acl x asn 0', '1:11', 'no number'],
    ['geoip_database /no/such.mmdb', '1:16', 'cannot be used'], ['geoip_database @DIR@/bobtail.conf', '1:16', 'cannot be used'],
    ['acl x country DE', '1:1', ''], ['acl x country UK', '1:15', 'GB', 'warning'], ['acl x country QQ', '1:15', 'QQ', 'warning']) {
    my ($line, $place, $text, $level) = @$_;
    my $said = parse("$line\nhttp_access deny all\nhttp_port 3128\n" . ($line =~ /^acl x/ ? "access_log none x\n" : ''));
    next if $line eq 'acl x country DE' && like $said->{output}, qr/error: .*geoip_database/, 'without a database';
    like $said->{output}, qr/bobtail\.conf:$place: @{[ $level || 'error' ]}: .*$text/, "$line: told, and where";
}
done;

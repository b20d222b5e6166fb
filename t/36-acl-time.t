# 36-acl-time.t - days and hours, with the clock moved.
use Bobtail::Test;

my $origin = origin('*' => { body => 'ok' });
my $to_noon = 86400 + 43200 - time % 86400; # of tomorrow, so that no day ends during the test
my $day = (gmtime(time + $to_noon))[6];
my @letters = qw(S M T W H F A);
my ($today, $tomorrow) = @letters[ $day, ($day + 1) % 7 ];
my $proxy = proxy(<<"CONF", env => { TZ => 'UTC0' });
acl today time $today
acl tomorrow time $tomorrow 00:00-24:00
acl lab src 127.50.0.1
http_access allow tomorrow !lab
http_access allow today lab
http_access deny all
CONF

sub status { my ($from) = @_; return get($proxy, $origin->url('/'), from => $from)->status }

later($proxy, $to_noon);
is status('127.50.0.1'), 200, 'today';
is status('127.0.0.1'), 403, 'not tomorrow';
later($proxy, 86400);
is status('127.50.0.1'), 403, 'a day later it is not today';
is status('127.0.0.1'), 200, '... but tomorrow';
later($proxy, 86400);
is status('127.0.0.1'), 403, 'and that ends, too';

for (['time MX 09:00-17:00', 12, 'MX'], ['time D 22:00-06:00', 14, '22:00-24:00 and 00:00-06:00'],
    ['time 09:00', 12, '09:00-17:30']) {
    my ($acl, $column, $text) = @$_;
    my $said = parse("acl x $acl\nhttp_access deny x\nhttp_port 3128\n");
    isnt $said->{status}, 0, "refused: $acl";
    like $said->{output}, qr/bobtail\.conf:1:$column: error: .*$text/, '... with place and reason';
}

done;

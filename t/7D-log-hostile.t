# 7D-log-hostile.t - whatever bytes a client sends, a line stays a line, and its fields stay apart.
use Bobtail::Test;
use JSON::PP ();

# Random, but each time the same; another seed may be given.
my $seed = $ENV{BT_SEED} // 20261201;
srand $seed;
note "BT_SEED=$seed";

my $origin = origin('*' => { body => 'x', 'Content-Type' => "text/plain; x=\"]\xff" });
my @formats = qw(squid common combined referrer useragent json logfmt rfc5424 quoted bracket url shell plain);
my $proxy = proxy(<<'CONF' . join '', map { "access_log stdio:\@DIR\@/$_.log logformat=$_\n" } @formats);
logformat quoted %"{User-Agent}>h|%"ru|%"rm
logformat bracket %[{User-Agent}>h|%[ru|%[rm
logformat url %#{User-Agent}>h|%#ru|%#rm
logformat shell %/{User-Agent}>h|%/ru|%/rm
logformat plain %{User-Agent}>h|%ru|%rm
relaxed_header_parser on
CONF

# Bytes that hurt, more often than others.
no warnings "qw";
my @evil = (qw(" ' \\ ] [ = | % % { } < > & ; : , $ ` #), ' ', "\t", "\xff", "\xc3", "\xa9", "\x80", "\x1b", "\x7f", "\x01", "\x0b");
sub evil
{
    my ($most) = @_;
    return join '', map { rand() < .7 ? $evil[ rand @evil ] : chr rand 256 } 1 .. 1 + rand $most;
}

my $sent = 0;
for my $round (1 .. 400) {
    my ($agent, $path) = (evil(40), '/' . evil(30));
    my $method = rand() < .1 ? evil(6) : 'GET';
    if ($round % 3) {                      # mostly what passes: no line ends, and no control bytes
        $agent =~ s/[\0-\x1f\x7f]/ /g;
        $path =~ s/[\0-\x20\x7f-\xff#]/%/g;
        $method = 'GET';
    }
    raw($proxy, "$method " . $origin->url($path) . " HTTP/1.1\r\nHost: x\r\nUser-Agent: $agent\r\nReferer: $agent\r\nConnection: close\r\n\r\n");
    $sent++;
}
my $passed = stat($proxy, 'client.requests');
cmp_ok $passed, '>', 200, 'most of them are requests';
cmp_ok $passed, '<', $sent, 'some are not';
ok wait_for(sub { stat($proxy, 'log.lines') >= @formats * $sent }), 'each has its lines';

my %text = map { $_ => $proxy->text("$_.log") } @formats;
my %lines = map { $_ => [ split /\n/, $text{$_}, -1 ] } @formats;
pop @{ $lines{$_} } for @formats;
is scalar @{ $lines{$_} }, $sent, "$_: a line each" for @formats;
# Control bytes do not come out as they are, but where the format says so.
for my $format (grep { $_ ne 'shell' && $_ ne 'quoted' } @formats) {
    is scalar(grep { /[\0-\x08\x0b-\x1f\x7f]/ } @{ $lines{$format} }), 0, "$format: no control bytes";
}

sub each_fits
{
    my ($format, $fits) = @_;
    my @bad = grep { !/$fits/ } @{ $lines{$format} };
    is scalar @bad, 0, "$format: each line is as it must be" or diag join "\n", @bad[ 0 .. ($#bad < 4 ? $#bad : 4) ];
    return;
}
each_fits(squid => qr{^(?:\S+ +){9}\S+$});
each_fits(common => qr{^\S+ - \S+ \[[^\]]+\] "\S+ \S+ HTTP/\S+" \d{3} \d+ \S+:\S+$});
my $quoted = qr{"(?:[^"\\]|\\.)*"};
each_fits(combined => qr{^\S+ - \S+ \[[^\]]+\] "\S+ \S+ HTTP/\S+" \d{3} \d+ $quoted $quoted \S+:\S+$});
each_fits(useragent => qr{^\S+ \[[^\]]+\] $quoted$});
each_fits(referrer => qr{^\S+ \S+ \S+ \S+$});
each_fits(logfmt => qr{^[a-z_]+=(?:$quoted|[^"= ]*)(?: [a-z_]+=(?:$quoted|[^"= ]*))*$});
each_fits(rfc5424 => qr{^<134>1 \S+ - bobtail - access \[access\@32473(?: [a-z_]+="(?:[^"\\\]]|\\["\\\]])*")+\] \S+ \S+ \d+$});

my (@bad, %keys, $same);
for (@{ $lines{json} }) {
    my $is = eval { JSON::PP->new->utf8(0)->decode($_) };
    if (ref $is ne 'HASH') {
        push @bad, "$@: $_";
        next;
    }
    $keys{ join ',', sort keys %$is }++;
    push @bad, "no number: $_" if "$is->{status}" !~ /^\d{3}$/ || !/"status":\d{3}[,}]/;
}
is scalar @bad, 0, 'json: each line is an object' or diag join "\n", @bad[ 0 .. ($#bad < 4 ? $#bad : 4) ];
is scalar keys %keys, 1, 'with the same keys';
done;

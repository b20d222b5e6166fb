# 7E-monitoring.t - the Grafana dashboard and the alerts of Prometheus name metrics that exist.
use Bobtail::Test;
use JSON::PP ();

my $proxy = proxy("admin_port 127.0.0.1:0\nmodule tls on\nmodule cache on\n");
my $page = get($proxy->addr('admin'), '/metrics')->body;
my %labels;
for (split /\n/, $page) {
    my ($name, $labels) = /^(bobtail_\w+)(?:\{(.*)\})? / or next;
    $labels{$name}{$_} = 1 for ($labels // '') =~ /(\w+)=/g;
    $labels{$name} //= {};
}

sub held
{
    my ($file, @queries) = @_;
    my (@unknown, @strange, %seen);
    for my $query (@queries) {
        $seen{$1}++ while $query =~ /\b(bobtail_\w+)/g;
        push @unknown, grep { !$labels{$_} } $query =~ /\b(bobtail_\w+)/g;
        # Labels in braces; job and instance are the scraper's.
        while ($query =~ /\b(bobtail_\w+)\{([^}]*)\}/g) {
            my ($name, $its) = ($1, $2);
            push @strange, grep { !$labels{$name}{$_} && !/^(?:job|instance)$/ } $its =~ /(\w+)=~?"/g;
        }
        push @strange, "a brace is open: $query" if ($query =~ tr/({[//) != ($query =~ tr/)}]//);
    }
    cmp_ok scalar keys %seen, '>', 9, "$file: many metrics";
    is_deeply \@unknown, [], "$file: each of them is there";
    is_deeply \@strange, [], "$file: with these labels";
    return;
}

my $grafana = JSON::PP::decode_json(slurp("$ENV{BT_SRCDIR}/etc/grafana.json"));
held('grafana.json', (map { $_->{expr} } map { @{ $_->{targets} } } @{ $grafana->{panels} }),
    map { ref $_->{query} ? $_->{query}{query} : () } @{ $grafana->{templating}{list} });
my (%id, @row);
for my $panel (@{ $grafana->{panels} }) {
    my $at = $panel->{gridPos};
    ok !$id{ $panel->{id} }++ && $at->{x} + $at->{w} <= 24 && $panel->{title}, "panel $panel->{id} has its place";
}

my $alerts = slurp("$ENV{BT_SRCDIR}/etc/alerts.yml");
my @rules = split /^      - alert: /m, $alerts;
shift @rules;
cmp_ok @rules, '>', 8, 'alerts.yml: alerts';
held('alerts.yml', map { /^        expr: (?:\|\n((?: {10}.*\n)+)|(.*)\n)/m ? $1 // $2 : 'no expr' } @rules);
like $_, qr/^Bobtail\w+\n        expr: .*^        labels: \{ severity: (?:warning|critical) \}\n        annotations: \{ summary: "[^"]+" \}$/ms, (split /\n/)[0]
    for @rules;
done;

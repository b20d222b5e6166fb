# 35-acl-early.t - a rule that asks for what is not known yet, or cannot be waited for, is refused.
use Bobtail::Test;

sub refused
{
    my ($conf, $place, @texts) = @_;
    my $said = parse("http_port 3128\n$conf");
    isnt $said->{status}, 0, 'refused: ' . ($conf =~ s/\n/ | /gr);
    like $said->{output}, qr/bobtail\.conf:$place: error: .*$_/, "... saying $_" for @texts;
    return;
}

refused("acl late http_status 404\nhttp_access deny late\n", '3:18', 'late', 'RESPONSE', 'http_access.*REQUEST');
refused("acl kind rep_mime_type video\nhttp_access allow all !kind\n", '3:23', 'rep_mime_type', 'RESPONSE');
refused("acl away dst 10.0.0.0/8\nfollow_x_forwarded_for allow !away\n", '3:30', 'away', 'cannot wait');

# What cannot wait in the end may stand there: -n, and names of hosts.
my $said = parse(<<'CONF');
http_port 3128
acl literal dst -n 10.0.0.0/8
acl names dstdomain .example.com
tcp_outgoing_address 127.0.0.1 literal names
CONF
unlike $said->{output}, qr/cannot wait/, 'dst -n and dstdomain may stand in a fast list';

done;

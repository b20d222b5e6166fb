# 35-acl-known.t - lists that cannot wait go by what is known when they are asked: who has logged in,
# where the request goes, what a helper has said; and begin nothing themselves.
use Bobtail::Test;
use MIME::Base64 qw(encode_base64);

my $origin = origin('*' => sub { my ($request) = @_; return { body => $request->{from}, 'Cache-Control' => 'no-store' } });
my $hash = '{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ='; # secret
my $rules = <<'CONF';
auth_param basic program /usr/lib/squid/basic_ncsa_auth @DIR@/passwd
external_acl_type lab ttl=0 children-max=1 children-startup=1 children-idle=0 %SRC /bin/sh @DIR@/lab
acl known proxy_auth REQUIRED
acl alice proxy_auth alice
acl bob proxy_auth bob
acl here dst 127.0.0.1
acl nowhere dst 192.0.2.0/24
acl lab external lab
acl open urlpath_regex ^/open
acl asked urlpath_regex ^/asked
http_access allow open !asked
http_access deny asked !lab
http_access allow asked
http_access allow known
tcp_outgoing_address 127.2.0.1 alice
tcp_outgoing_address 127.2.0.2 bob
tcp_outgoing_address 127.2.0.3 !alice asked
tcp_outgoing_address 127.2.0.4 nowhere
tcp_outgoing_address 127.2.0.5 here
reply_header_add X-Lab yes lab
CONF
my $files = { passwd => "alice:$hash\nbob:$hash\neve:$hash\n", lab => "while read -r x; do echo OK; done\n" };

sub ask
{
    my ($proxy, $path, $user) = @_;
    my @login = defined $user ? ('Proxy-Authorization', 'Basic ' . encode_base64("$user:secret", '')) : ();
    return request($proxy, GET => $origin->url($path), headers => \@login);
}

# Both ways of asking: a walk, and a search when there are many lines.
for my $more ('', join '', map { "acl no$_ src 192.0.2.$_\ntcp_outgoing_address 127.3.0.1 no$_\n" } 1 .. 20) {
    my $how = $more eq '' ? 'few lines' : 'many lines';
    my $proxy = proxy($rules =~ s/(?=tcp_outgoing_address)/$more/r, files => $files);
    is ask($proxy, '/', 'alice')->body, '127.2.0.1', "$how: who has logged in";
    is ask($proxy, '/', 'bob')->body, '127.2.0.2', '... and another';
    is ask($proxy, '/', 'eve')->body, '127.2.0.5', 'somebody else: the lines below count; where it goes is known';
    is ask($proxy, '/open')->body, '127.2.0.5', 'nobody was asked who it is: no line about users holds';
    is ask($proxy, '/open')->header('X-Lab'), undef, 'nor does one about a helper that was not asked';
    counters($proxy, 'helper.external_lab.requests' => 0);
    my $asked = ask($proxy, '/asked');
    is $asked->header('X-Lab'), 'yes', 'it holds once http_access has asked';
    is $asked->body, '127.2.0.5', 'whoever did not log in is neither alice nor not alice';
    is ask($proxy, '/open/', 'alice')->body, '127.2.0.5', 'credentials that nobody asked for are not looked at';
}

# What denies does so as well where nobody knows.
my $closed = <<'CONF';
external_acl_type lab ttl=0 children-max=1 children-startup=1 children-idle=0 %SRC /bin/sh @DIR@/lab
acl lab external lab
acl asked urlpath_regex ^/asked
acl missed urlpath_regex ^/asked/missed
http_access deny asked !lab
http_access allow all
request_header_access X-Deny deny lab
request_header_access X-Unlike deny !lab
request_header_access X-Allow allow lab
request_header_access X-Not allow !lab
request_header_access X-Not deny all
miss_access deny missed lab
CONF
my $shown = origin('*' => sub { return { body => join ' ', $_[0]{head} =~ /^X-(\w+):/mg } });
for my $more ('', join '', map { "acl no$_ src 192.0.2.$_
request_header_access X-Deny deny no$_
" } 1 .. 20) {
    my $proxy = proxy($closed =~ s/(?=request_header_access)/$more/r, files => $files);
    my @send = map { ("X-$_" => 1) } qw(Deny Unlike Allow Not Free);
    my $seen = sub { join ' ', sort split ' ', get($proxy, $shown->url($_[0]), headers => [@send])->body };
    is $seen->('/open'), 'Free', 'a helper that was not asked: what denies holds, what allows does not, negated or not';
    is $seen->('/asked'), 'Allow Free Unlike', '... that was asked: as it says';
    is get($proxy, $shown->url('/asked/missed'))->status, 403, 'miss_access waits';
}

my $said = parse("http_port 3128\n" . ($rules =~ s/^external.*\n|.*lab\n//gmr) . "http_access deny here\n", files => $files);
is $said->{status}, 0, 'taken' or diag $said->{output};
my @told = $said->{output} =~ /warning: (.*cannot wait.*)/g;
is scalar(grep { /type proxy_auth/ } @told), 1, 'said once of a type';
like $told[0], qr/tcp_outgoing_address cannot wait: ACL alice \(type proxy_auth\) counts where its answer is known/, 'with a sentence';
done;

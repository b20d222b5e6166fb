# 2B-http-equal.t - what comes through the proxy is what comes without it, over many random exchanges.
#
# Each request goes to nginx by itself, and through four workers: status, body and fields must be the
# same but for what a proxy has to change. The dice are seeded: SEED=N plays the same game again.
use Bobtail::Test;
use Errno;
use Time::HiRes qw(time);

need('nginx');

use constant { EXCHANGES => 1200, SECONDS => 18, CLIENTS => 6, BATCH => 4 };

my $seed = $ENV{SEED} // (time * 1000 ^ $$ << 8) & 0x7fffffff;
srand $seed;
note "SEED=$seed";
sub dice { my ($sides) = @_; return int rand $sides }
sub one_of { return $_[dice(scalar @_)] }

# --- the origin: files of many sizes, and answers made of what was asked ------------------------

my @sizes = (0, 1, 2, 100, 1023, 4096, 16_384, 32_768, 65_535, 65_536, 65_537, 100_000, 200_001, 300_000);
my $text = join '', map { chr 33 + dice(90) } 1 .. 300_000;
my %files = map { ("f$_" => substr $text, 300_000 - $_) } @sizes;
my $nginx = nginx(<<'CONF', files => { %files, 'page.html' => '<p>some text</p>' x 3000 }, http => <<'HTTP');
    location = /echo { return 200 "$request_method $uri $args\n"; }
    location = /nothing { return 204; }
    location = /moved { return 302 /elsewhere; }
    location = /closes { keepalive_timeout 0; return 200 "and now it closes"; }
    location = /missing { return 404 "nothing here"; }
    location = /body {
        client_body_in_single_buffer on;
        proxy_set_header Accept-Encoding "";
        proxy_pass http://127.0.0.1:$server_port/mark;
        sub_filter_types *;
        sub_filter "@@" "$request_method($request_body)";
    }
    location = /mark { return 200 "@@"; }
    location = /page.html { ssi on; }
CONF
    gzip on;
    gzip_proxied any;
    gzip_http_version 1.0;
    gzip_types text/html text/plain;
    gzip_min_length 10;
    client_max_body_size 2m;
    client_body_buffer_size 1m;
    keepalive_requests 100000;
    default_type text/plain;
    add_header X-Asked-Type "$content_type" always;
    add_header X-Asked-Extra "$http_x_extra" always;
    add_header X-Asked-Length "$http_content_length" always;
    add_header Set-Cookie "a=1";
    add_header Set-Cookie "b=2; Path=/";
HTTP
my $proxy = proxy('cache deny all', workers => 4);

# --- a request out of the dice ------------------------------------------------------------------

sub chunks
{
    my ($body) = @_;
    my $out = '';

    while (length $body) {
        my $piece = substr $body, 0, one_of(1, 7, 1000, 5000, 70_000), '';
        $out .= sprintf '%x%s' . "\r\n%s\r\n", length $piece, one_of('', '', ';x=y'), $piece;
        $out .= sprintf "%x\r\n%s\r\n", length $body, $body and last if length $out > 2000 && length $piece < 100;
    }
    return $out . "0\r\n" . one_of('', '', "X-Trailer: t\r\n") . "\r\n";
}

sub request_of
{
    my $method = one_of(qw(GET GET GET GET HEAD POST POST PUT DELETE OPTIONS));
    my $path = $method =~ /^(?:POST|PUT)$/ ? one_of('/body', '/body', '/echo', '/missing')
        : one_of('/echo?x=' . dice(1000), '/nothing', '/moved', '/closes', '/missing', '/page.html',
            map { "/f$_" } @sizes);
    my %ask = (method => $method, path => $path, version => dice(12) ? '1.1' : '1.0', body => '');
    my @fields = ('Host: ' . $nginx->addr);

    push @fields, 'X-Extra: ' . join ' ', map { dice(10_000) } 1 .. 1 + dice(20) if dice(2);
    push @fields, 'Accept-Encoding: gzip' if !dice(4);
    push @fields, sprintf 'Range: bytes=%d-%d', dice(50), 50 + dice(90_000) if !dice(8);
    push @fields, 'If-Modified-Since: Fri, 01 Jan 2038 00:00:00 GMT' if !dice(10);
    push @fields, 'Connection: close' if !dice(10);
    if ($method =~ /^(?:POST|PUT)$/ || !dice(30)) {
        my $body = substr $text, 0, one_of(@sizes);
        push @fields, 'Content-Type: text/x-' . dice(100);
        if ($ask{version} eq '1.1' && dice(2)) {
            push @fields, 'Transfer-Encoding: chunked';
            $ask{body} = chunks($body);
        } else {
            push @fields, 'Content-Length: ' . length $body;
            $ask{body} = $body;
        }
    }
    # Answered before its body was read, it may end the connection.
    my $early = length $ask{body} && $path ne '/body';
    $ask{last} = $early || $ask{version} eq '1.0' || "@fields" =~ /Connection: close/ || $path eq '/closes';
    $ask{fields} = join '', map { "$_\r\n" } @fields;
    return \%ask;
}

sub bytes_of
{
    my ($ask, $before) = @_;
    return "$ask->{method} $before$ask->{path} HTTP/$ask->{version}\r\n$ask->{fields}\r\n$ask->{body}";
}

# --- equal, but for what must change ------------------------------------------------------------

my $changed = qr/^(?:Via|Connection|Keep-Alive|Transfer-Encoding|Content-Length|Date):/i;

sub fields_of { my ($answer) = @_; return join "\n", grep { !/$changed/ } split /\r\n/, $answer->head =~ s/^.*?\r\n//r }

sub difference
{
    my ($ask, $straight, $proxied) = @_;
    my ($length, $its) = map { $_->header('Content-Length') } $straight, $proxied;

    return 'status ' . $proxied->status . ' for ' . $straight->status if $proxied->status != $straight->status;
    return 'the answer is not whole' if !$proxied->whole;
    return 'body of ' . length($proxied->body) . ' for ' . length $straight->body if $proxied->body ne $straight->body;
    return "fields:\n" . fields_of($proxied) . "\nfor\n" . fields_of($straight) if fields_of($proxied) ne fields_of($straight);
    return 'Content-Length ' . ($its // 'none') . " for $length" if defined $length && ($its // '') ne $length;
    return 'no Via' if ($proxied->header('Via') // '') !~ /proxy\.test/;
    return 'no Date' if !defined $proxied->header('Date');
    return 'chunks for HTTP/1.0' if $ask->{version} eq '1.0' && $proxied->header('Transfer-Encoding');
    return;
}

# --- the game -----------------------------------------------------------------------------------

my (@open, $direct, @wrong);
my %did = (compared => 0, aborted => 0, pipelined => 0, connections => 0);

sub straight_answer
{
    my ($ask) = @_;
    $direct //= client($nginx);
    $direct->send(bytes_of($ask, ''));
    my $answer = $direct->response(to => $ask->{method});
    undef $direct if $ask->{last};
    return $answer;
}

# Sends it in pieces cut anywhere, and reads meanwhile: a proxy need not take a request from a client
# that does not take its answers.
sub send_cut
{
    my ($conn, $bytes) = @_;
    my @cuts = map { dice(one_of(20, 200, 1 + length $bytes)) } 1 .. dice(4);
    my $end = time + patience();

    while (length $bytes && time < $end) {
        my $n = syswrite $conn->socket, $bytes, shift(@cuts) // length $bytes;
        return if !defined $n && !$!{EAGAIN};
        substr $bytes, 0, $n // 0, '';
        $conn->fill(0.01) unless defined $n;
    }
    return;
}

sub abort_one
{
    my ($conn, $ask) = @_;
    my $bytes = bytes_of($ask, 'http://' . $nginx->addr);

    $conn->send(dice(2) ? $bytes : substr $bytes, 0, dice(length $bytes));
    $conn->fill(0.02) if dice(2);
    dice(2) ? $conn->reset : $conn->close;
    $did{aborted}++;
    return;
}

my $end = time + SECONDS;
local $SIG{PIPE} = 'IGNORE';
while ($did{compared} < EXCHANGES && time < $end && @wrong < 3) {
    my $place = dice(CLIENTS);
    my $conn = $open[$place] // do { $did{connections}++; client($proxy) };
    my @batch = map { request_of() } 1 .. (dice(3) ? 1 : 1 + dice(BATCH));

    $open[$place] = undef;
    if (!dice(14)) {
        abort_one($conn, $batch[0]);
        next;
    }
    my ($last) = grep { $batch[$_]{last} } 0 .. $#batch;
    $#batch = $last if defined $last;
    $did{pipelined} += @batch - 1;
    send_cut($conn, join '', map { bytes_of($_, 'http://' . $nginx->addr) } @batch);
    for my $ask (@batch) {
        my $proxied = $conn->response(to => $ask->{method});
        my $why = difference($ask, straight_answer($ask), $proxied);
        $did{compared}++;
        my $line = "$ask->{method} $ask->{path} HTTP/$ask->{version}";
        push @wrong, "$line\n$ask->{fields}$why\nafter: " . join ', ', @{ $conn->{asked} // [] } if defined $why;
        push @{ $conn->{asked} }, $line;
    }
    $conn->close, next if defined $last || @wrong;
    $open[$place] = $conn;
}
$_ && $_->close for @open;

diag "SEED=$seed\n$_" for @wrong;
ok !@wrong, 'all answers are the same with and without the proxy';
cmp_ok $did{compared}, '>=', EXCHANGES, 'so many exchanges in time';
cmp_ok $did{aborted}, '>', 10, 'among clients that left';
cmp_ok $did{pipelined}, '>', 50, 'some without waiting for the answer before';
note join ', ', map { "$did{$_} $_" } sort keys %did;
diag "SEED=$seed" unless counters($proxy, 'client.bad_requests' => 0, 'origin.bad_responses' => 0, 'client.open' => 0,
    'client.active' => 0);
done;

# 7C-dashboard.t - the page for people, in a browser: wide and narrow, light and dark.
use Bobtail::Test;
need('chromium');

my $origin = origin('/a' => { body => 'one', 'Cache-Control' => 'max-age=600' });
my $proxy = proxy(<<'CONF', workers => 2);
workers 2
admin_port 127.0.0.1:0
acl no urlpath_regex ^/denied
http_access deny no
http_access allow all
CONF
my $admin = $proxy->addr('admin');
get($proxy, $origin->url('/a')) for 1 .. 5;
get($proxy, $origin->url('/denied<b>')) for 1 .. 2;
later($proxy, 61);
get($proxy, $origin->url('/a'));

my $page = get($admin, '/');
is $page->status, 200, 'the page';
like $page->header('Content-Security-Policy'), qr/default-src 'none'/, 'may load nothing from elsewhere';
unlike $page->body, qr{(?:src|href)\s*=\s*["']?(?:https?:)?//}, 'and has nothing to';
unlike $page->body, qr{innerHTML|document\.write|eval\(}, 'what is told is never taken for HTML';

sub browser
{
    my (@words) = @_;
    return run_program('chromium', '--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
        '--user-data-dir=' . $proxy->file('chromium'), '--virtual-time-budget=5000', @words, "http://$admin/");
}
my $said = browser('--dump-dom');
my $dom = $said->{output};
ok $dom =~ qr{<span id="state" role="status" class="good">serving</span>}, 'it has asked, and was answered' or diag substr $dom, 0, 3000;
ok $dom =~ qr{proxy\.test · version }, 'whose page it is';
ok $dom =~ qr{<td title="pid \d+">1</td><td>\d+ %</td>}, 'workers';
ok $dom =~ qr{http_access deny no</td><td>2</td>}, 'rules';
ok $dom =~ qr{<td class="name" title="127\.0\.0\.1">127\.0\.0\.1</td>}, 'domains';
ok $dom =~ qr{<rect [^>]*fill="var\(--hit\)"}, 'the last hour';
ok $dom =~ qr{<polyline }, 'and the last minutes';

# A picture of each kind: as wide as it was asked for, and dark where it was to be.
for my $kind ([ wide => '1200,900' ], [ dark => '1200,900', '--blink-settings=preferredColorScheme=0' ], [ phone => '390,800' ]) {
    my ($name, $size, @more) = @$kind;
    my $file = $proxy->file("$name.png");
    browser("--window-size=$size", '--hide-scrollbars', "--screenshot=$file", @more);
    my $bytes = slurp($file);
    is join(',', unpack 'x16 N2', $bytes), $size, "$name: a picture";
    cmp_ok length $bytes, '>', 20000, "$name: with something on it";
}
$dom = browser('--dump-dom', '--window-size=390,800')->{output};
ok $dom =~ qr{serving</span>}, 'narrow';
done;

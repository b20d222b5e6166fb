# 2C-curl.t - a client that others wrote, and a server that others wrote: curl and nginx.
use Bobtail::Test;

need('curl', 'nginx');
my $nginx = nginx(<<'CONF', files => { 'big' => 'x' x 200_000 });
location /hi { return 200 "hi\n"; }
location /who { return 200 "$http_x_forwarded_for $http_via\n"; }
location /moved { return 302 /hi; }
CONF
my $proxy = proxy("visible_hostname proxy.test\n");
sub said { my ($url, @more) = @_; return curl($proxy, $nginx->url($url), @more) }

is_deeply said('/hi'), { status => 0, output => "hi\n" }, 'curl gets a page';
like said('/who')->{output}, qr{^127\.0\.0\.1 1\.1 proxy\.test}, 'the server knows through whom';
is length said('/big')->{output}, 200_000, 'a large one is whole';
is said('/moved', '-L')->{output}, "hi\n", 'a redirect is followed';
is said('/hi', '-0')->{output}, "hi\n", 'HTTP/1.0';
is said('/hi', '--proxytunnel')->{output}, "hi\n", 'through a tunnel';
like said('/hi', '-I')->{output}, qr{^HTTP/1\.1 200 OK\r\n.*\r\n\r\n\z}s, 'HEAD';
is said('/hi', '-w', '%{num_connects}', '-o', '/dev/null', '--next', '-x', 'http://' . $proxy->addr, '-sS',
    '-o', '/dev/null', '-w', '%{num_connects}', $nginx->url('/hi'))->{output}, '10',
    'a second request on the same connection';
like curl($proxy, 'http://127.0.0.1:1/', '-w', '%{http_code}', '-o', '/dev/null')->{output}, qr/^503$/,
    'what cannot be reached';
is curl($proxy, 'http://127.0.0.1:1/', '--proxytunnel')->{status}, 56, 'neither through a tunnel';
done;

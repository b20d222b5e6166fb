# 12-module-hello.t - the sample module: each of its rows does what it says.
use Bobtail::Test;

my $origin = origin('/a' => { body => 'one' });
my $url = $origin->url('/a');

my $proxy = proxy(<<'CONF');
hello_greeting Welcome
acl friends hello 127.0.0.1
http_access allow friends
http_access deny all
logformat greeted %rm %hello.greeting
access_log stdio:@DIR@/greeted.log logformat=greeted
CONF
is get($proxy, $url)->body, 'one', 'acl hello: a host that is listed';
is get($proxy, $url =~ s/127\.0\.0\.1/localhost/r)->status, 403, 'and one that is not';
counters($proxy, 'hello.greetings' => 2);
ok wait_for(sub { $proxy->text('greeted.log') =~ /^GET Welcome,127\.0\.0\.1$/m }), 'field hello.greeting';

# Without hello_greeting nothing happens, though the ACL type has the module loaded.
my $quiet = proxy(<<'CONF');
acl friends hello 127.0.0.1
http_access allow friends
logformat greeted %rm %hello.greeting
access_log stdio:@DIR@/greeted.log logformat=greeted
CONF
is get($quiet, $url)->body, 'one', 'not configured: passes';
counters($quiet, 'hello.greetings' => 0);
ok wait_for(sub { $quiet->text('greeted.log') =~ /^GET -$/m }), 'and the field is empty';

my $long = 'x' x 65;
my $said = parse("http_port 127.0.0.1:0\nhello_greeting $long\n");
is $said->{status}, 1, 'a greeting without end is refused';
like $said->{output}, qr/hello_greeting has 65 bytes/, 'in words';

is bobtail('--explain', 'hello')->{status}, 0, 'it can be explained';
done;

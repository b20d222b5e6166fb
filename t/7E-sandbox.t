# 7E-sandbox.t - rights of workers: what one who has broken in can still do, by a module that tries.
use Bobtail::Test;
use File::Temp ();

need('cc');
my $top = $ENV{BT_SRCDIR};
my $folder = File::Temp::tempdir(CLEANUP => 1);
chmod 0755, $folder;
my $module = "$folder/tescape.so";
system('cc', '-std=c11', '-D_GNU_SOURCE', '-fvisibility=hidden', '-fPIC', '-shared', '-g', "-I$top/server/api",
    '-o', $module, "$top/t/lib/tescape.c") == 0 or die "cannot compile tescape\n";

# Places that nothing names, and anybody may read and write.
my $outside = File::Temp::tempdir(CLEANUP => 1);
chmod 0777, $outside;
open my $file, '>', "$outside/secret" or die;
print $file "secret\n";
close $file;
chmod 0644, "$outside/secret";

my $origin = origin('/a' => { body => 'one' });
# A word that bobtailctl does not know itself.
sub attempt { my ($proxy, @words) = @_; my $said = ctl($proxy, 'escape', @words); chomp $said->{output}; return $said->{output} }
sub conf { my ($sandbox) = @_; return "workers 1\nmodule $module on\nacl pattern urlpath_regex $outside\naccess_log stdio:\@DIR\@/access.log\n" . ($sandbox ? "sandbox $sandbox\n" : '') }

my $off = proxy(conf('off'), workers => 1);
is attempt($off, 'read', "$outside/secret"), 'done', 'off: files are read';
is attempt($off, 'write', "$outside/new"), 'done', 'and written';
is attempt($off, 'exec', '/bin/true'), 'done', 'and programs are run';

if ($ENV{SAN}) { # a sanitizer needs what a sandbox forbids
    my $auto = proxy(conf(''), workers => 1);
    is attempt($auto, 'read', "$outside/secret"), 'done', 'auto is off in a build with sanitizers';
    done;
    exit;
}

# auto is what stands without a line; -N fences itself in only when it is told to.
for my $how ([ '' , workers => 1 ], [ 'on', workers => 1 ], [ 'on' ]) {
    my ($sandbox, %how) = @$how;
    my $name = ($sandbox || 'auto') . (%how ? '' : ', -N');
    my $proxy = proxy(conf($sandbox), %how);
    is attempt($proxy, 'read', "$outside/secret"), 'EACCES', "$name: no file that nothing names";
    is attempt($proxy, 'write', "$outside/other"), 'EACCES', 'nor a new one';
    is attempt($proxy, 'read', '/root'), 'EACCES', "nor root's folder";
    is attempt($proxy, 'exec', '/bin/true'), 'EPERM', 'no program';
    is attempt($proxy, 'ptrace'), 'EPERM', 'no tracing';
    is attempt($proxy, $_), 'EPERM', "no $_" for qw(unshare clone mount bpf setuid);
    is attempt($proxy, 'packet'), 'EAFNOSUPPORT', 'no packets';
    is attempt($proxy, 'inet'), 'done', 'but sockets';
    is attempt($proxy, 'thread'), 'done', 'and threads';
    is attempt($proxy, 'read', '/etc/hosts'), 'done', "and the system's files";
    is attempt($proxy, 'write', $proxy->file('beside-the-log')), 'done', 'and the folder of logs';
    is get($proxy, $origin->url('/a'))->status, 200, 'it serves';
    is ctl($proxy, 'rotate')->{status}, 0, 'rotates';
    get($proxy, $origin->url('/a'));
    ok wait_for(sub { -s $proxy->file('access.log') }), 'and writes on';
    like slurp("/proc/$_/status"), qr/^NoNewPrivs:\t1\n.*^Seccomp:\t2\n/ms, 'no new privileges, and a filter' for $proxy->workers;
    SKIP: {
        last if $>;
        like slurp("/proc/$_/status"), qr/^CapInh:\t0+\nCapPrm:\t0+\nCapEff:\t0+\nCapBnd:\t0+\n/m, 'no capability is left' for $proxy->workers;
    }
}

# Where there are helpers, they are run.
my $helper = "$folder/helper";
open $file, '>', $helper or die;
print $file "#!/bin/sh\nwhile read -r line; do echo OK; done\n";
close $file;
chmod 0755, $helper;
my $helped = proxy(conf('on') . <<"CONF", workers => 1);
external_acl_type ask children-max=1 children-startup=1 concurrency=0 %SRC $helper
acl asked external ask
http_access allow asked
CONF
is get($helped, $origin->url('/a'))->status, 200, 'a helper is run, and answers';
is attempt($helped, 'exec', '/bin/true'), 'done', 'so programs can be run';
is attempt($helped, 'mount'), 'EPERM', 'but not all else';
like $helped->log, qr/sandbox: this configuration has helper programs/, 'which is told';
done;

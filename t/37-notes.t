# 37-notes.t - notes on exchanges and connections: note lines, note, annotate_transaction,
# annotate_client, and %note (note.value) in logs.
use Bobtail::Test;

my $origin = origin('*' => { body => 'ok' });
my $url = $origin->url('/');
my $proxy = proxy(<<"CONF");
acl lab src 127.50.0.0/16
acl mark annotate_transaction from=%>a path=%>rp list=one
acl more annotate_transaction list+=two
acl again annotate_transaction from=other
acl client annotate_client seen=yes
acl seen note seen
acl lab_first note from 127.50.0.1
acl whole note list nothing
acl member note -m list two
acl joined note list one,two
acl member_of note -m=;, list two
acl nothing note nokey
acl deny_path urlpath_regex ^/deny
acl second urlpath_regex ^/second
http_access deny nothing
http_access deny second !seen
http_access deny deny_path whole
http_access allow mark more lab lab_first member member_of !whole !joined client again
http_access deny deny_path
http_access allow all
note cause lab lab
note cause other
note static "a %>a b" deny_path
logformat t %{from}note|%{list}note|%{seen}note|%{cause}note|%{static}note|%{none}note|%note
access_log stdio:\@DIR\@/access.log logformat=t
CONF

sub lines { my ($n) = @_; wait_for(sub { my @l = split /\n/, $proxy->text('access.log'); @l >= $n }); return split /\n/, $proxy->text('access.log') }
is get($proxy, $url, from => '127.50.0.1')->status, 200, 'noted, and read by ACLs of the same line';
is((lines(1))[0], 'other|one,two|yes|lab|-|-|path:%20/%0D%0Alist:%20one%0D%0Alist:%20two%0D%0Afrom:%20other%0D%0Acause:%20lab%0D%0Aseen:%20yes%0D%0A',
    'replaced, added, of the client, of note lines')
    or diag $proxy->text('access.log');
is get($proxy, $url, from => '127.0.0.1')->status, 200, 'elsewhere';
like((lines(2))[1], qr/^127\.0\.0\.1\|one,two\|-\|other\|-\|-\|/, 'notes stand even where the line did not match');
is get($proxy, $origin->url('/deny'), from => '127.0.0.1')->status, 403, 'refused';
like((lines(3))[2], qr/\|a%20127\.0\.0\.1%20b\|/, 'a format in quotes');

is get($proxy, $origin->url('/second'), from => '127.50.0.1')->status, 403, 'a note of another connection is none';
my $kept = client($proxy, from => '127.50.0.1');
is get($proxy, $url, on => $kept)->status, 200, 'annotate_client';
is get($proxy, $origin->url('/second'), on => $kept)->status, 200, 'stays with the connection';
$kept->close;

for (['acl x annotate_transaction key', 28, 'KEY=VALUE'], ['acl x annotate_client =v', 23, 'KEY=VALUE'],
    ['acl x annotate_client a=%nosuch', 26, 'nosuch'], ['acl x note -mx key', 12, '-m=CHARACTERS'],
    ['note k %nosuch', 9, 'nosuch']) {
    my ($text, $column, $mention) = @$_;
    my $said = parse("$text\nhttp_port 3128\n");
    isnt $said->{status}, 0, "refused: $text";
    like $said->{output}, qr/bobtail\.conf:1:$column: error: .*\Q$mention\E/, '... with place and reason'
        or diag $said->{output};
}
done;

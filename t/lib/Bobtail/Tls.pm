# Bobtail::Tls - a certificate authority made for one test, and TLS for clients and origins.
#
#   use Bobtail::Tls;                              needs IO::Socket::SSL: need('IO::Socket::SSL')
#   my $cert = server_certificate('a.test', ...);  names and addresses; signed by the test's own CA
#   my $origin = origin('/a' => {...}, tls => $cert, name => 'a.test');
#   my $conn = start_tls(tunnel($proxy, 'a.test:443'), 'a.test');   dies when the handshake fails
#   ca_file()                                      path of the CA's certificate (curl --cacert)
# SPDX-License-Identifier: GPL-2.0-or-later
package Bobtail::Tls;
use strict;
use warnings;
use Exporter 'import';
use Errno qw(EAGAIN EWOULDBLOCK);
use File::Temp ();
use IO::Socket::SSL qw(SSL_VERIFY_PEER $SSL_ERROR);
use IO::Socket::SSL::Utils qw(CERT_create PEM_cert2file PEM_key2file);
use Bobtail::Wait;

our @EXPORT = qw(server_certificate start_tls ca_file);
my ($dir, $ca, $ca_key);
my $serial = 1;

sub ca
{
    return if $ca;
    # A directory of this process; forked origins read it, and only its maker removes it.
    $dir = File::Temp->newdir('bobtail-tls-XXXXXXXX', TMPDIR => 1);
    chmod 0755, "$dir";
    ($ca, $ca_key) = CERT_create(CA => 1, subject => { commonName => 'Bobtail test authority' });
    PEM_cert2file($ca, "$dir/ca.pem");
    return;
}

sub ca_file { ca(); return "$dir/ca.pem" }

# { cert => FILE, key => FILE }, for origin(tls => ...), which takes how => { more of IO::Socket::SSL },
# too. More of CERT_create: a hash last.
sub server_certificate
{
    my (@names) = @_;
    my %more = ref $names[-1] eq 'HASH' ? %{ pop @names } : ();
    ca();
    my ($cert, $key) = CERT_create(
        subject => { commonName => $names[0] }, serial => ++$serial, purpose => 'server',
        issuer => [$ca, $ca_key],
        subjectAltNames => [map { [/^[\d.]+$|:/ ? 'IP' : 'DNS', $_] } @names], %more,
    );
    my %file = (cert => "$dir/$serial.pem", key => "$dir/$serial.key");
    PEM_cert2file($cert, $file{cert});
    PEM_key2file($key, $file{key});
    return \%file;
}

# For the origin's child: makes an accepted socket speak TLS. The handshake is waited for: a test has
# no client that connects and says nothing.
sub server_side
{
    my ($socket, $file) = @_;
    return IO::Socket::SSL->start_SSL($socket, SSL_server => 1, Timeout => patience(),
        SSL_cert_file => $file->{cert}, SSL_key_file => $file->{key}, %{ $file->{how} // {} });
}

# A client() (or a tunnel) goes on over TLS; the name is sent as SNI and checked.
sub start_tls
{
    my ($conn, $name, %how) = @_;
    my $socket = $conn->socket;

    $socket->blocking(1);
    IO::Socket::SSL->start_SSL($socket, SSL_ca_file => ca_file(), SSL_verify_mode => SSL_VERIFY_PEER,
        SSL_hostname => $name, SSL_verifycn_name => $name, SSL_verifycn_scheme => 'http',
        Timeout => patience(), %how)
        or die "start_tls: $SSL_ERROR";
    $socket->blocking(0);
    delete $conn->{response};
    return $conn;
}

1;

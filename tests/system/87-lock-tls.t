#!/bin/bash
# SPDX-License-Identifier: ISC
#
# Clients send lock calls in the clear. Entries that demand TLS or a certificate
# give locks only to an address that satisfied them by TLS a moment ago.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need openssl openssl python3 python3
need_daemons
d=$T/tern
cert() { "$top/etc/tern-cert" -d "$d" "$@" >"$T/cert.log" 2>&1 || bail "tern-cert: $(cat "$T/cert.log")"; }
cert server localhost 127.0.0.1
cert client laptop
cert client guest
for name in tls cert squash; do
	mkdir -m 1777 "$T/$name"
	install -m 666 /dev/null "$T/$name/file"
	install -m 600 -o alice /dev/null "$T/$name/secret"
done
tern_start "$T/tls 127.0.0.0/8(rw,insecure,xprtsec=tls)
$T/cert cert:laptop(rw,insecure)
$T/squash 127.0.0.0/8(rw,insecure,xprtsec=tls,all_squash,anonuid=1001,anongid=1001)" -w 1 \
	-o tls-cert="$d/server.pem" -o tls-key="$d/server.key" -o tls-ca="$d/ca.pem" -o tls-crl="$d/crl.pem"
can_lock() { registered 100021 4 udp && registered 100021 4 tcp; }
wait_for 10 can_lock || bail 'locks are not registered'

# by ADDRESS COMMAND...: a call in the clear.
by() {
	local address=$1
	shift
	"$top/tests/system/lock_call.py" 127.0.0.1 "$@" address="$address" 2>&1 | tail -n 1
}
# look ADDRESS CERTIFICATE|- EXPORT NAME: looks a name up by TLS, prints its handle.
look() {
	python3 -c "
import mount, nfs, tls
cert = None if '$2' == '-' else '$d/clients/$2.pem'
with tls.connect(tls.context(cert, ca='$d/ca.pem'), source=('$1', 0)) as c:
    print(nfs.Nfs3(c, uid=1001).lookup(mount.root('$T/$3'), '$4').fh.hex())"
}
logged() { grep -Eq -- "$1" "$T/nfsd.log"; }

tls=$(look 127.0.0.3 - tls file)
is "$(by 127.0.0.3 lock "$tls")" GRANTED 'an address that has used TLS gets a lock'
is "$(by 127.0.0.3 unlock "$tls")" GRANTED 'and unlocks'
is "$(by 127.0.0.4 lock "$tls")" NOLOCKS 'another address gets none, although it has the handle'
is "$(by 127.0.0.4 test "$tls")" NOLOCKS 'nor learns about locks'
check 'the log says why' wait_for 5 logged '127\.0\.0\.4.*(TLS|tls)'
laptop=$(look 127.0.0.3 laptop cert file)
is "$(by 127.0.0.3 lock "$laptop")" GRANTED 'a certificate that the export names'
is "$(by 127.0.0.3 unlock "$laptop")" GRANTED 'unlocked'
is "$(by 127.0.0.4 lock "$laptop")" NOLOCKS 'without it there are no locks'
look 127.0.0.5 guest tls file >"$T/guest.out"
is "$(by 127.0.0.5 lock "$tls")" GRANTED 'a client with another certificate gets those of TLS'
is "$(by 127.0.0.5 unlock "$tls")" GRANTED 'unlocked'
is "$(by 127.0.0.5 lock "$laptop")" NOLOCKS 'not those of the certificate that is named'
squash=$(look 127.0.0.3 - squash secret)
is "$(by 127.0.0.3 lock "$squash" uid=1002)" GRANTED 'the squash of the entry counts: its user owns the file'
is "$(by 127.0.0.3 unlock "$squash" uid=1002)" GRANTED 'unlocked'
done_testing

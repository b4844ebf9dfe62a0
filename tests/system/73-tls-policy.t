#!/bin/bash
# SPDX-License-Identifier: ISC
# What TLS and certificates grant: xprtsec= and cert: in the exports, against the
# daemons, with certificates made by tern-cert. A handle that was overheard is
# worth nothing in the clear, and no peer gets what another has proved.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need openssl openssl python3 python3
need_daemons

d=$T/tern
cert() { "$top/etc/tern-cert" -d "$d" "$@" >"$T/cert.log" 2>&1 || bail "tern-cert: $(cat "$T/cert.log")"; }
cert server localhost 127.0.0.1
for name in laptop desk guest gone; do
	cert client "$name"
done
while read -r name user; do
	cert -u "$user" client "$name"
done <<-E
ann alice@example.org
boss root@Example.ORG
unknown absent@example.org
foreign alice@example.com
E
print=$(openssl x509 -noout -fingerprint -sha256 -in "$d/clients/desk.pem" | cut -d= -f2)
cp "$d/clients/gone."* "$T"
cert revoke gone
tls=(-o "tls-cert=$d/server.pem" -o "tls-key=$d/server.key")
clients=(-o "tls-ca=$d/ca.pem" -o "tls-crl=$d/crl.pem")
domain=(-o tls-domain=example.org)
for name in open tls mtls cert mixed any print far user; do
	mkdir -p "$T/$name/below"
	chmod -R 1777 "$T/$name"
done
mkdir -p "$T/cross/in" "$T/user/shared"
chgrp 1100 "$T/user/shared" # of "both": alice and bob
chmod 770 "$T/user/shared"
lines="$T/open  127.0.0.1(rw,insecure)
$T/tls   127.0.0.1(rw,insecure,xprtsec=tls)
$T/mtls  127.0.0.1(rw,insecure,xprtsec=mtls)
$T/cert  cert:LAPTOP(rw,insecure) cert:desk(ro,insecure)
$T/mixed 127.0.0.1(ro,insecure) cert:laptop(rw,insecure)
$T/any   cert:*(rw,insecure)
$T/print cert:sha256:$print(rw,insecure)
$T/far   10.9.9.9(rw,insecure,xprtsec=tls)
$T/user  cert:*(rw,insecure,certuser)
$T/cross *(rw,insecure,crossmnt)
$T/cross/in cert:*(rw,insecure,certuser)"

logged() { wait_for 10 grep -Eq -- "$1" "$T/nfsd.log"; }

# ---- an export that demands more than nfsd offers

exports "$lines"
out=$("$O/nfsd/nfsd" -n -f "$T/exports" 2>&1)
is $? 1 '-n: TLS is demanded without a certificate: status 1'
like "$out" "exports:[0-9]+:.*xprtsec=mtls, but nfsd has no certificate of its own \(-o tls-cert" 'and the line is named'
out=$("$O/nfsd/nfsd" -n -f "$T/exports" "${tls[@]}" 2>&1)
is $? 1 '-n: certificates are demanded without a client CA: status 1'
like "$out" 'exports:[0-9]+:.*xprtsec=mtls, but nfsd has no certificates to verify clients by \(-o tls-ca\)' 'and the line is named'
out=$("$O/nfsd/nfsd" -n -f "$T/exports" "${tls[@]}" "${clients[@]}" 2>&1)
is $? 1 '-n: users of certificates are demanded without a domain: status 1'
like "$out" 'certuser is demanded, but nfsd has no -o tls-domain' 'and it says so'
check '-n: with all of them all is well' "$O/nfsd/nfsd" -n -f "$T/exports" "${tls[@]}" "${clients[@]}" "${domain[@]}"
timeout 60 "$O/nfsd/nfsd" -d -R -p 2049 -f "$T/exports" -k "$T/key" "${tls[@]}" >"$T/out" 2>&1
is $? 78 'at start: status 78'

# ---- every kind of connection

tern_start "$lines" -w 1 "${tls[@]}" "${clients[@]}" "${domain[@]}"
while read -r status what; do
	ok "$status" "$what"
done < <(python3 "${0%/*}/tls_policy.py" "$T"; echo $? the calls come to their end)

# said PEER EXPORT REGEX: is refused, and the log says why. The log takes so many
# lines in a second that a call may have to be made again. Of calls of one peer on one
# export it takes the first in a minute, which may be any of those above.
said() {
	python3 "${0%/*}/tls_policy.py" "$T" "$1" "$2" && grep -Eq -- "$3: export $T/$2\$" "$T/nfsd.log"
}
from='refused [A-Z]+ from 127.0.0.1:[0-9]+'
serial=$(openssl x509 -noout -serial -in "$d/clients/guest.pem" | cut -d= -f2 | tr A-F a-f)
check 'the log: no TLS' wait_for 20 said plain tls "$from \(no TLS\): line 2 demands xprtsec=tls of 127.0.0.1"
check 'the log: UDP' wait_for 20 said UDP any "$from \(UDP, no TLS\): no line allows its address, line 6 demands a certificate \(cert:\*\)"
check 'the log: no certificate' wait_for 20 said TLS mtls "$from \(TLS, no certificate\): line 3 demands xprtsec=mtls of 127.0.0.1"
check 'the log: another certificate' wait_for 20 said guest cert \
    "$from \(certificate CN=guest, serial $serial\): no line allows its address, line 4 demands a certificate \(cert:LAPTOP\)"
check 'the log: an unknown user' wait_for 20 said unknown user \
    "$from \(certificate CN=unknown, serial [0-9a-f]+\): line 9 demands a user of this machine in domain example.org, the certificate has \"absent@example.org\""
# The /etc of a test is its own.
echo 'absent:x:1077:1077::/nonexistent:/usr/sbin/nologin' >>/etc/passwd
kill -HUP "${pid[nfsd]}"
made() { ! python3 "${0%/*}/tls_policy.py" "$T" unknown user && [ -d "$T/user/not" ]; }
check 'certuser: a new user of the machine counts after a reload' wait_for 20 made
is "$(stat -c %u "$T/user/not")" 1077 'and is who the certificate says'
cp "$T"/gone.* "$d/clients/"
check_not 'a revoked certificate gets no connection' python3 "${0%/*}/tls_policy.py" "$T" gone tls
check 'the log names it' logged '127.0.0.1:[0-9]+: TLS handshake failed: .*revoked.*certificate of CN=gone'

# ---- a reload that demands what nfsd cannot have

check 'nfsd stops' stop nfsd
exports "$T/open 127.0.0.1(rw,insecure)"
start nfsd -p 2049 -w 1 "${tls[@]}" || bail 'nfsd did not start'
wait_for 10 registered 100003 3 tcp # it reads signals now
exports "$T/open 127.0.0.1(rw,insecure,xprtsec=mtls)"
kill -HUP "${pid[nfsd]}"
check 'a reload: the line is named' logged 'exports:1:.*xprtsec=mtls, but nfsd has no certificates to verify clients by'
check 'and the old exports stay' logged 'not reloaded, the old ones stay active'
done_testing

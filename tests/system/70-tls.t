#!/bin/bash
# SPDX-License-Identifier: ISC
# RPC with TLS against the daemons: the probe, both kinds of session, which
# clients get none and what the log says of it, and what happens when the tls role or its
# worker dies.
# Runs in: the tests.
. "${0%/*}/lib.sh"
. "$top/tests/lib/ca.sh"
private "$@"
need openssl openssl python3 python3
need_daemons

ca_new "$T/ca" || bail "no certificates"
ca_server server DNS:localhost IP:127.0.0.1
ca_client laptop.example.org
ca_usage=1.3.6.1.5.5.7.3.33 ca_client rpc-only
ca_usage=- ca_client any-usage
ca_usage=serverAuth ca_client wrong-usage
ca_client expired -startdate 20200101000000Z -enddate 20210101000000Z
ca_client early -startdate 20900101000000Z -enddate 20910101000000Z
ca_client revoked
ca_revoke revoked
ca_stranger stranger
mkdir -p "$T/export"
chmod 1777 "$T/export"
head -c 3000000 /dev/urandom >"$T/export/large"
tls=(-o "tls-cert=$T/ca/server.pem" -o "tls-key=$T/ca/server.key"
    -o "tls-ca=$T/ca/ca.pem" -o "tls-crl=$T/ca/crl.pem")

log_says() { wait_for 10 grep -Eq -- "$1" "$T/nfsd.log"; }
stat_of() { "$O/nfsd/nfsd" -S -s "$T/run/portmap.sock" | awk -v n="$1" '$1 == n { print $2 }'; }
calls() { python3 "${0%/*}/tls_calls.py" "$T" "$@"; }
role() { pgrep -f "^nfsd: $1" -P "${pid[nfsd]}" | head -n 1; }

tern_start "$T/export *(rw,insecure)" -v -w 1 "${tls[@]}"
like "$(cat "$T/nfsd.log")" 'tls: the (kernel|tls process) encrypts' "the form is logged"
like "$(cat "$T/nfsd.log")" 'tls: sandbox: .*chroot=empty caps=none' "the role has nothing"
is "$(ps -o user:12= -p "$(role tls)")" _nfsd-tls "it has a user of its own"

calls all >"$T/calls"
echo "$? the calls come to their end" >>"$T/calls"
while read -r status what; do
	ok "$status" "$what"
done <"$T/calls"

for reason in 'certificate has expired' 'certificate is not yet valid' \
    'certificate revoked' 'not for clients' 'self.signed certificate'; do
	check "the log names: $reason" log_says "127.0.0.1:[0-9]+: TLS handshake failed: .*$reason.*certificate of CN=.*serial [0-9a-f]+"
done
wait_for 10 eval '[ "$(stat_of tls_failed_certificate_total)" = 5 ]'
is "$(stat_of tls_failed_certificate_total)" 5 "refused certificates are counted"
wait_for 10 eval '[ "$(stat_of tls_sessions)" = 0 ]'
is "$(stat_of tls_sessions)" 0 "no session is left"
check "handshakes are counted" wait_for 10 eval '[ "$(stat_of tls_handshakes_total)" -gt 10 ]'
check "bytes inside TLS are counted" wait_for 10 eval '[ "$(stat_of tls_sent_bytes_total)" -gt 3000000 ]'

# A dead role ends its connections; another takes over; plain clients notice
# nothing.
check "a role that dies" calls killed "$(role tls)"
check "another is started" log_says 'tls: serving again'
check "TLS works again" wait_for 10 calls works
kill -9 "$(role worker)"
check "a worker that dies is connected again" wait_for 20 calls works
check "nfsd stops" stop nfsd

# Errors at start.
wrong=(-o "tls-cert=$T/ca/server.pem" -o "tls-key=$T/ca/laptop.example.org.key")
check_not "a key of another certificate is refused" timeout 60 "$O/nfsd/nfsd" -d \
    -R -f "$T/exports" -k "$T/key" -s "$T/run/portmap.sock" -p 2049 -w 1 "${wrong[@]}"
like "$(cat "$T/check.out")" 'tls: key: does not belong to the certificate' "and named"
check_not "-n finds it as well" "$O/nfsd/nfsd" -n -f "$T/exports" "${wrong[@]}"
check "-n accepts the right ones" "$O/nfsd/nfsd" -n -f "$T/exports" "${tls[@]}"
if grep -q 'as the kernel has no TLS' "$T/nfsd.log"; then
	check_not "kernel TLS is refused where there is none" start nfsd -p 2049 \
	    -o tls=kernel "${tls[@]}"
	like "$(cat "$T/nfsd.log")" 'this kernel has no TLS' "and named"
fi
start nfsd -p 2049 -w 1 -o tls=off "${tls[@]}" || bail "nfsd did not start"
check "-o tls=off offers none" calls off
done_testing

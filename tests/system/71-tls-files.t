#!/bin/bash
# SPDX-License-Identifier: ISC
# The files of TLS while nfsd runs: renewal by SIGHUP and without, mistakes,
# revocation of connections that are open, warnings, limits of handshakes, and
# where the private key is in memory.
# Runs in: the tests.
. "${0%/*}/lib.sh"
. "$top/tests/lib/ca.sh"
private "$@"
need openssl openssl python3 python3
need_daemons

calls() { python3 "${0%/*}/tls_calls.py" "$T" "$@"; }
log_says() { wait_for "${2:-20}" grep -Eq -- "$1" "$T/nfsd.log"; }
role() { pgrep -f "^nfsd: $1" -P "${pid[nfsd]}" | head -n 1; }
serial_of() { openssl x509 -noout -serial -in "$1" | sed 's/.*=//'; }
served() { calls serial; }
serves() { [ "$(served)" = "$1" ]; }
count() { grep -c -- "$1" "$T/nfsd.log"; }

ca_new "$T/ca" || bail "no certificates"
ca_server server IP:127.0.0.1
ca_server second IP:127.0.0.1
ca_server third IP:127.0.0.1
ca_client laptop.example.org
ca_client late.example.org
ca_client done.example.org
ca_client other.example.org
mkdir -p "$T/export" "$T/tls"
chmod 1777 "$T/export"
use() { # a certificate, then its key
	cp "$T/ca/$1.pem" "$T/tls/server.pem"
	install -m 600 "$T/ca/${2:-$1}.key" "$T/tls/server.key"
}
use server
cp "$T/ca/ca.pem" "$T/ca/crl.pem" "$T/tls"
tern_start "$T/export *(rw,insecure)" -w 2 -o "tls-cert=$T/tls/server.pem" \
    -o "tls-key=$T/tls/server.key" -o "tls-ca=$T/tls/ca.pem" \
    -o "tls-crl=$T/tls/crl.pem" -o tls-handshakes-per-host=4 -o tls-seconds=8 \
    -o tls-handshakes=8
first=$(serial_of "$T/ca/server.pem")
check "the certificate is served" serves "$first"

# The private key is in the memory of the tls role, which needs it, and of no
# other process.
secret=$(openssl ec -in "$T/ca/server.key" -noout -text 2>/dev/null |
    sed -n '/priv:/,/pub:/p' | tr -dc '0-9a-f:\n' | grep -E '^ *([0-9a-f]{2}:)' |
    tr -d ': \n')
secret=${secret: -64}
scan=$(built system)/memscan
if [ -x "$scan" ]; then
	is "$("$scan" "$(role tls)" "$secret")" "$secret" "the tls role has the key"
	for p in worker broker; do
		is "$("$scan" "$(role $p)" "$secret")" "" "the $p has not"
	done
	is "$("$scan" "${pid[nfsd]}" "$secret")" "" "the parent has not"
	text=$(hex "$(sed -n 2p "$T/ca/server.key" | head -c 32)")
	is "$("$scan" "$(role worker)" "$text")$("$scan" "${pid[nfsd]}" "$text")" "" \
	    "nor has either as PEM"
	mapfile -t without < <(pgrep -f '^nfsd: (worker|broker)' -P "${pid[nfsd]}")
	python3 "${0%/*}/tls_keys.py" "$T" "$scan" \
	    "$(pgrep -f '^nfsd: tls' -d , -P "${pid[nfsd]}")" "${without[@]}" \
	    "${pid[nfsd]}" >"$T/keys"
	is "$?" 0 "the search for session keys comes to its end"
	while read -r status what; do
		ok "$status" "$what"
	done <"$T/keys"
else
	skip "no memscan (make check makes it)" 12
fi

# Renewal.
use second
kill -HUP "${pid[nfsd]}"
check "SIGHUP: the new certificate" wait_for 20 serves "$(serial_of "$T/ca/second.pem")"
use third
check "without a signal" wait_for 40 serves "$(serial_of "$T/ca/third.pem")"
use third server
kill -HUP "${pid[nfsd]}"
check "a wrong key is named" log_says 'key: does not belong to the certificate: the files in use so far stay'
is "$(served)" "$(serial_of "$T/ca/third.pem")" "and the old pair serves on"
echo nonsense >"$T/tls/ca.pem"
use third
kill -HUP "${pid[nfsd]}"
check "a CA that is none is named" log_says 'client CA: no PEM certificate in the file: the files'
check "and the old one serves on" calls works
cp "$T/ca/ca.pem" "$T/tls"

# Revocation ends what is open.
calls revoked >"$T/revoked" &
waiting=$!
wait_for 20 grep -q open "$T/revoked" || diag "no connection"
ca_revoke laptop.example.org
cp "$T/ca/crl.pem" "$T/tls"
check "a revoked client loses its connection, others go on" wait $waiting
check "and the log says so" log_says '127.0.0.1:[0-9]+: TLS connection ended: certificate revoked: certificate of CN=laptop.example.org, serial'
calls works >/dev/null
ok $((!$?)) "it gets no other"

# A handshake that is under way is judged by the new files as well.
calls late >"$T/late" &
waiting=$!
wait_for 20 grep -q open "$T/late" || diag "no connection"
ca_revoke late.example.org
ca_revoke done.example.org
cp "$T/ca/crl.pem" "$T/tls"
kill -HUP "${pid[nfsd]}"
check "a handshake that began before the revocation leads nowhere" wait $waiting
check "and the log says so" log_says 'TLS handshake failed: certificate revoked: certificate of CN=late.example.org'

# So does a client CA that is no longer trusted.
ca_stranger stranger
calls distrusted >"$T/distrusted" &
waiting=$!
wait_for 20 grep -q open "$T/distrusted" || diag "no connection"
cp "$T/ca/stranger.pem" "$T/tls/ca.pem"
kill -HUP "${pid[nfsd]}"
check "another client CA: a client of the old one loses its connection" wait $waiting
check "and the log says so" log_says 'TLS connection ended: .*certificate of CN=other.example.org, serial'
cp "$T/ca/ca.pem" "$T/tls"
kill -HUP "${pid[nfsd]}"
check "the old one again: it gets another" wait_for 20 calls works other.example.org

# Limits: nine of one host wait, others are not kept from a handshake.
check "silent clients are bounded, and others served" calls crowd
check "the limit is named" log_says 'TLS handshake (failed|refused): .*tls-handshakes-per-host'
check "as is the time" log_says 'TLS handshake failed: not done in time'

# Warnings. The authority of the tests is valid for 30 days.
check "an end in 30 days" log_says 'server.pem: valid for (29|30) more days' 20
counters() { "$top/tests/lib/control.py" "$T/run/nfsd.control" stats; }
like "$(counters)" '^tern_nfsd_tls_certificate_expires_seconds [0-9]{10}$' "it is a metric"
like "$(counters)" '^tern_nfsd_tls_crl_expires_seconds [0-9]{10}$' "and that of the CRL"
for days in 7 1; do
	openssl x509 -req -days $days -in "$T/ca/server.csr" -CA "$T/ca/ca.pem" -CAkey "$T/ca/ca.key" \
	    -out "$T/tls/server.pem" 2>/dev/null
	install -m 600 "$T/ca/server.key" "$T/tls/server.key"
	kill -HUP "${pid[nfsd]}"
	check "an end in days: $days" log_says "server.pem: valid for ($days|$((days - 1))) more days" 20
done
rm "$T/tls/server.key"
kill -HUP "${pid[nfsd]}"
check "a missing key is named" log_says 'server.key: No such file'
check "and the old one serves on" calls serial
done_testing

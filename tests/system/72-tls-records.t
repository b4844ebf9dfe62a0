#!/bin/bash
# SPDX-License-Identifier: ISC
# Records of TLS that no ordinary client sends: of one byte, KeyUpdates, half of
# one, an altered one, the end of one direction, and early data.
# Runs in: the tests.
. "${0%/*}/lib.sh"
. "$top/tests/lib/ca.sh"
private "$@"
need openssl openssl
need_daemons
client=$(built system)/tls_records
[ -x "$client" ] || skip_all "$client is not built (make check builds it)"

ca_new "$T/ca" || bail "no certificates"
ca_server server IP:127.0.0.1
mkdir -p "$T/export"
# Kernel TLS ends a connection at the first KeyUpdate.
tern_start "$T/export *(rw,insecure)" -w 1 -o tls=relay \
    -o "tls-cert=$T/ca/server.pem" -o "tls-key=$T/ca/server.key"
role() { pgrep -f "^nfsd: $1" -P "${pid[nfsd]}" | head -n 1; }
before=$(role tls)/$(role worker)

"$client" 2049 >"$T/cases"
echo "$? the cases come to their end" >>"$T/cases"
while read -r status what; do
	ok "$status" "$what"
done <"$T/cases"
is "$(role tls)/$(role worker)" "$before" "no process has ended"
done_testing

#!/bin/bash
# SPDX-License-Identifier: ISC
# Many connections at once: all are answered, an idle one costs little memory
# and no CPU, and when they are gone so is what they took. LONG=1: 8,000
# connections from 200 addresses, else 1,000.
# shellcheck source=tests/system/lib.sh
. "${0%/*}/../system/lib.sh"
private "$@"
load=$(built bench)/load
[ -x "$load" ] || skip_all "$load is not built"
many=1000
[ -z "${LONG:-}" ] || many=8000
[ "$(ulimit -Hn)" -ge 20000 ] || many=1000
ulimit -n "$(ulimit -Hn)"
mkdir "$T/x" && chmod 777 "$T/x" && "$load" -t "$T/x"
tern_start "$T/x 127.0.0.0/8(rw,insecure)"

crowd() { # CONNECTIONS: the line of the load generator
	"$load" -b 200 -P "${pid[nfsd]}" -p 2049 -m 20048 -w 2 -s 3 \
	    -e "$T/x" "getattr@$1x1" 2>&1
}
field() { sed -n "s/.*\"$1\": \([0-9.]*\).*/\1/p"; }
rss() {
	local p sum=0 kib
	for p in $(pids_of nfsd); do
		kib=$(awk '/^VmRSS/ { print $2 }' "/proc/$p/status")
		sum=$((sum + ${kib:-0}))
	done
	echo $sum
}
small=$(crowd 20)
is "$(field errors <<<"$small")" 0 'twenty connections are served' || diag "$small"
base=$(rss)
big=$(crowd $many)
is "$(field errors <<<"$big")" 0 "$many connections are served" || diag "$big"
each=$((($(field rss_kib <<<"$big") - base) * 1024 / many))
[ "$each" -lt 4096 ]
ok $? "$each bytes for each connection, under 4 KiB"
gone() { [ "$(ss -Htn state established 'sport = :2049' | wc -l)" -lt 5 ]; }
check 'the server lets go of them' wait_for 30 gone
after=$(rss)
[ "$after" -lt $((base + 8192)) ]
ok $? "memory is back: $base KiB before, $after after"
check 'another client is served' timeout 5 rpcinfo -t 127.0.0.1 nfs 3
diag "$many: $(grep -o '"ops_s": [0-9]*\|"p99_us": [0-9.]*' <<<"$big" | tr '\n' ' ')"
done_testing

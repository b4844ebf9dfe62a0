#!/bin/bash
# SPDX-License-Identifier: ISC
# Many connections at once: all are answered, an idle one costs little memory
# and no CPU, and when they are gone so is what they took; then many short ones.
# LONG=1: 10,000 connections from 200 addresses, 1,000 of them at work, and a
# minute of churn; else a tenth of the connections, and seconds.
# shellcheck source=tests/system/lib.sh
. "${0%/*}/../system/lib.sh"
private "$@"
need python3 python3
load=$(built bench)/load
[ -x "$load" ] || skip_all "$load is not built"
many=1000 busy=100 work=1 idle=2 churn=2
[ -z "${LONG:-}" ] || many=10000 busy=1000 work=5 idle=10 churn=60
[ "$(ulimit -Hn)" -ge 20000 ] || many=1000 busy=100
ulimit -n "$(ulimit -Hn)"
crowd=$top/tests/abuse/crowd.py
mkdir "$T/x" && chmod 777 "$T/x" && "$load" -t "$T/x"
tern_start "$T/x 127.0.0.0/8(rw,insecure)"

# work CONNECTIONS [ACTIVE]: the line of the load generator
work() {
	"$load" -b 200 -A "${2:-0}" -P "${pid[nfsd]}" -p 2049 -m 20048 -w 1 -s $work \
	    -e "$T/x" "getattr@$1x1" 2>&1
}
field() { sed -n "s/.*\"$1\": \([0-9.]*\).*/\1/p"; }
figures() { grep -o '"ops_s": [0-9]*\|"p99_us": [0-9.]*' <<<"$1" | tr '\n' ' '; }
rss() {
	local p sum=0 kib
	for p in $(pids_of nfsd); do
		kib=$(awk '/^VmRSS/ { print $2 }' "/proc/$p/status")
		sum=$((sum + ${kib:-0}))
	done
	echo $sum
}
# In ticks, a hundredth of a second each.
cpu() {
	local p
	for p in $(pids_of nfsd); do
		cut -d' ' -f14,15 "/proc/$p/stat"
	done | awk '{ n += $1 + $2 } END { print n }'
}
established() { ss -Htn state established 'sport = :2049' | wc -l; }
gone() { [ "$(established)" -lt 5 ]; }

small=$(work 20)
is "$(field errors <<<"$small")" 0 'twenty connections are served' || diag "$small"
base=$(rss)
mkfifo "$T/hold"
"$crowd" hold $many <"$T/hold" >"$T/held" 2>&1 &
exec 3>"$T/hold"
wait_for 60 grep -q . "$T/held"
is "$(cat "$T/held")" held "$many idle connections are held"
is "$(established)" $many 'and none of them is closed to make room'
each=$((($(rss) - base) * 1024 / many))
[ "$each" -lt 4096 ]
ok $? "$each bytes for each of them, under 4 KiB"
ticks=$(cpu)
sleep $idle # the time is what is measured
ticks=$(($(cpu) - ticks))
[ "$ticks" -le $((2 * idle)) ]
ok $? "$((ticks * 10)) ms of CPU in $idle s of idling, at most 2 %"
exec 3>&-
check 'the server lets go of them' wait_for 30 gone

big=$(work $many)
is "$(field errors <<<"$big")" 0 "$many connections at work are served" || diag "$big"
diag "$many: $(figures "$big")"
check 'the server lets go of them' wait_for 30 gone
mixed=$(work $many $busy)
is "$(field errors <<<"$mixed")" 0 "$busy of $many connections at work are served" ||
    diag "$mixed"
diag "$busy of $many: $(figures "$mixed")"
check 'the server lets go of them' wait_for 30 gone

check "$churn s of connections that come and go" "$crowd" churn $churn
diag "$(cat "$T/check.out")"
check 'the server lets go of them' wait_for 30 gone
after=$(rss)
[ "$after" -lt $((base + 8192)) ]
ok $? "memory is back: $base KiB before, $after after"
check 'another client is served' timeout 5 rpcinfo -t 127.0.0.1 nfs 3
done_testing

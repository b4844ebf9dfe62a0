#!/bin/bash
# SPDX-License-Identifier: ISC
#
# Processes: workers and broker die and come back while clients go on, exports
# are reloaded under load, statistics are told, the end is orderly.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3

role() { pgrep -P "${pid[nfsd]}" -f "nfsd: $1" | head -n 1; }
# again ROLE N: has a role been started again N times?
again() { [ "$(grep -c "$1: serving again" "$T/nfsd.log")" -ge "$2" ]; }
loads() {
	local k
	jobs=()
	for k in tcp tcp udp; do
		"$top/tests/system/nfs_load.py" "$x" "$1" $k >"$T/load.${#jobs[@]}" 2>&1 &
		jobs+=($!)
	done
}
loads_end() {
	local i bad=0
	for i in "${!jobs[@]}"; do
		wait "${jobs[$i]}" || bad=1
		diag "client $i: $(tail -n 1 "$T/load.$i")"
	done
	ok $bad "$1"
}

mkdir -m 1777 "$T/x" "$T/y"
tern_start "$T/x 127.0.0.1(rw,insecure)" -w 2
x=$(nfs mnt "$T/x")
is "$(pgrep -c -P "${pid[nfsd]}" -f 'nfsd: worker')" 2 'two workers'
is "$(pgrep -c -P "${pid[nfsd]}" -f 'nfsd: broker')" 1 'one broker'
like "$(cat "$T/nfsd.log")" 'listening on udp .* \(nfs 2,3\)' 'says where'
check 'version 2 and 3 are registered' registered 100003 2 udp

loads 6
for who in worker:1 broker:1 worker:2; do
	before=$(date +%s%N)
	kill -KILL "$(role "${who%:*}")"
	wait_for 3 again "${who%:*}" "${who#*:}"
	ms=$((($(date +%s%N) - before) / 1000000))
	ok $((ms > 1500)) "${who%:*} killed: serving again after $ms ms"
done
loads_end 'clients go on over crashes of workers and broker'

# Reload while they work; a mistake in the file changes nothing.
loads 3
exports "$T/x 127.0.0.1(rw,insecure)
$T/y 127.0.0.1(rw,insecure)"
kill -HUP "${pid[nfsd]}" "${pid[mountd]}"
wait_for 5 grep -q "added $T/y" "$T/nfsd.log"
y=
have_y() { y=$(nfs mnt "$T/y") && nfs -u 1000 getattr "$y" >/dev/null; }
check 'a new export is served' wait_for 5 have_y
exports "$T/x 127.0.0.1(rw,insecure,nonsense)"
kill -HUP "${pid[nfsd]}"
check 'a mistake is told' wait_for 5 grep -q nonsense "$T/nfsd.log"
like "$(nfs getattr "$y")" type=2 'and the old exports stay in force'
exports "$T/x 127.0.0.1(ro,insecure)
$T/y 127.0.0.1(rw,insecure)"
loads_end 'no request is lost by a reload'
kill -HUP "${pid[nfsd]}"
wait_for 5 grep -q "changed $T/x" "$T/nfsd.log"
is "$(nfs -u 1000 create "$x" f 644)" ROFS 'now read-only'
like "$(nfs getattr "$x")" type=2 'with the same handles'

# Statistics; a worker hands in those of its caches once a second.
counters() {
	python3 -c 'import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
while True:
    data = s.recv(65536)
    if not data: break
    sys.stdout.write(data.decode())' "$T/run/nfsd.stats"
}
cache_counted() {
	counters | grep -Eq '^tern_nfsd_descriptor_cache_hits_total [1-9]'
}
check 'the socket tells of the caches' wait_for 5 cache_counted
text=$(counters)
like "$text" 'tern_nfsd_calls_total\{version="3",procedure="WRITE"\} [1-9]' \
	'the socket tells what was called'
like "$text" '^# TYPE tern_nfsd_latency_seconds histogram' 'as Prometheus wants'
like "$("$O/nfsd/nfsd" -S -s "$T/run/portmap.sock")" 'WRITE +[1-9]' \
	'nfsd -S prints a table'
kill -USR1 "${pid[nfsd]}"
check 'SIGUSR1 writes to the log' \
	wait_for 5 grep -q 'statistics: nfs 3 LOOKUP: [1-9]' "$T/nfsd.log"
check 'nfsd -n accepts the exports' "$O/nfsd/nfsd" -n -f "$T/exports"
echo "$T/x (" >"$T/broken"
check_not 'nfsd -n refuses broken ones' "$O/nfsd/nfsd" -n -f "$T/broken"

# The end.
all=$(pids_of nfsd)
before=$(date +%s%N)
stop nfsd
is $? 0 'SIGTERM: exit status 0'
ms=$((($(date +%s%N) - before) / 1000000))
ok $((ms > 5500)) "after $ms ms"
for p in $all; do
	[ ! -e "/proc/$p" ] || diag "$p is left"
done
is "$(for p in $all; do [ ! -e "/proc/$p" ] || echo "$p"; done)" '' \
	'no process is left'
check_not 'and it is not registered any more' registered 100003 3 tcp
ok "$([ ! -e "$T/run/nfsd.stats" ]; echo $?)" 'the socket is gone'
done_testing

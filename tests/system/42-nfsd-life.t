#!/bin/bash
# SPDX-License-Identifier: ISC
#
# Processes: workers and broker are killed and restarted while clients go on,
# exports are reloaded under load, statistics are reported, the end is orderly.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3

role() { pgrep -P "${pid[nfsd]}" -f "nfsd: $1" | head -n 1; }
# again ROLE N: has a role been restarted N times?
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
is "$(pgrep -c -P "${pid[nfsd]}" -f 'nfsd: worker')" 2 'nfsd has two workers'
is "$(pgrep -c -P "${pid[nfsd]}" -f 'nfsd: broker')" 1 'nfsd has one broker'
like "$(cat "$T/nfsd.log")" 'listening on udp .* \(nfs 2,3\)' 'the log names the sockets'
check 'version 2 and 3 are registered' registered 100003 2 udp

loads 6
for who in worker:1 broker:1 worker:2; do
	before=$(date +%s%N)
	kill -KILL "$(role "${who%:*}")"
	wait_for 3 again "${who%:*}" "${who#*:}"
	ms=$((($(date +%s%N) - before) / 1000000))
	ok $((ms > $(patient 1500))) "${who%:*} was killed: it serves again after $ms ms"
done
loads_end 'clients go on over crashes of workers and broker'

# Reload under load. An error in the file changes nothing.
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
check 'an error in the file is logged' wait_for 5 grep -q nonsense "$T/nfsd.log"
like "$(nfs getattr "$y")" type=2 'the old exports are served'
exports "$T/x 127.0.0.1(ro,insecure)
$T/y 127.0.0.1(rw,insecure)"
loads_end 'no request is lost by a reload'
kill -HUP "${pid[nfsd]}"
read_only() { [ "$(nfs -u 1000 create "$x" f 644)" = ROFS ]; }
check 'the export is read-only after a reload' wait_for 5 read_only
like "$(nfs getattr "$x")" type=2 'its handles stay valid'

# Statistics. A worker reports those of its caches once a second.
counters() { "$top/tests/lib/control.py" "$T/run/nfsd.control" stats; }
cache_counted() {
	counters | grep -Eq '^tern_nfsd_descriptor_cache_hits_total [1-9]'
}
check 'the socket reports hits of the cache' wait_for 5 cache_counted
text=$(counters)
like "$text" 'tern_nfsd_calls_total\{version="3",procedure="WRITE"\} [1-9]' \
	'the socket reports calls'
like "$text" '^# TYPE tern_nfsd_latency_seconds histogram' 'the socket speaks the format of Prometheus'
like "$("$O/nfsd/nfsd" -S -s "$T/run/portmap.sock")" 'WRITE +[1-9]' \
	'nfsd -S prints a table'
kill -USR1 "${pid[nfsd]}"
check 'SIGUSR1 writes statistics to the log' \
	wait_for 5 grep -q 'statistics: nfs 3 LOOKUP: [1-9]' "$T/nfsd.log"
check 'nfsd -n accepts the exports' "$O/nfsd/nfsd" -n -f "$T/exports"
echo "$T/x (" >"$T/broken"
check_not 'nfsd -n refuses wrong exports' "$O/nfsd/nfsd" -n -f "$T/broken"

# The end.
all=$(pids_of nfsd)
before=$(date +%s%N)
stop nfsd
is $? 0 'SIGTERM: exit status 0'
ms=$((($(date +%s%N) - before) / 1000000))
ok $((ms > $(patient 5500))) "SIGTERM: nfsd ends soon ($ms ms)"
for p in $all; do
	[ ! -e "/proc/$p" ] || diag "$p remains"
done
is "$(for p in $all; do [ ! -e "/proc/$p" ] || echo "$p"; done)" '' \
	'no process remains'
check_not 'nfsd is no longer registered' registered 100003 3 tcp
ok "$([ ! -e "$T/run/nfsd.control" ]; echo $?)" 'the control socket is removed'
done_testing

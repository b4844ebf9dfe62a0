#!/bin/bash
# SPDX-License-Identifier: ISC
# portmapd against rpcbind, in one run and one network namespace: NULL calls
# per second, the server's CPU time per call, and calls per second of its CPU.
#
#	tests/bench/pmap.sh [SECONDS]
#
# Fails when portmapd, with several clients, does not make at least 3 times
# rpcbind's calls out of a second of CPU. One call at a time costs both of them
# mostly the kernel's waking up, so that row is for information.
# Runs in: benchmark.
. "${0%/*}/../system/lib.sh"
need rpcbind rpcbind rpcinfo rpcbind
private "$@"
need_daemons portmapd
bench=$O/tests/bench/pmap_bench
seconds=${1:-3}
worst=1000000

mkdir -p /run/rpcbind
# rpcbind knows no other port than 111, portmapd does.
rpcbind -f -w >"$T/rpcbind.log" 2>&1 &
pid[rpcbind]=$!
at_end "kill ${pid[rpcbind]}"
wait_for 5 rpcinfo -p 127.0.0.1 || bail 'rpcbind did not start'
start portmapd -p 1111 || bail 'portmapd did not start'

printf '%-26s %-9s %12s %12s %16s\n' 'NULL calls' server calls/s \
    'CPU us/call' 'calls/CPU second'
# measure NAME PROTOCOL SOCKETS DEPTH: both; keeps the worst ratio of many clients
measure() {
	local name=$1 ours theirs
	shift
	theirs=$("$bench" "${pid[rpcbind]}" 127.0.0.1:111 "$@" "$seconds") || exit
	ours=$("$bench" "${pid[portmapd]}" 127.0.0.1:1111 "$@" "$seconds") || exit
	# shellcheck disable=SC2086 # three numbers each
	printf '%-26s %-9s %12s %12s %16s\n' "$name" rpcbind $theirs \
	    '' portmapd $ours
	ratio=$(awk -v a="${ours##* }" -v b="${theirs##* }" \
	    'BEGIN { printf "%d", 100 * a / b }')
	printf '%-26s %-9s %42s\n' '' '' "$((ratio / 100)).$(printf %02d \
	    $((ratio % 100))) times"
	[ "$2" = 1 ] || [ "$ratio" -ge "$worst" ] || worst=$ratio
}
measure 'udp, 1 at a time' udp 1 1
measure 'udp, 8 clients' udp 8 4
measure 'tcp, 1 at a time' tcp 1 1
measure 'tcp, 8 clients' tcp 8 1
measure 'tcp, 8 clients, 16 deep' tcp 8 16
echo "worst ratio: $((worst / 100)).$(printf %02d $((worst % 100))) (3.00 wanted)"
[ "$worst" -ge 300 ]

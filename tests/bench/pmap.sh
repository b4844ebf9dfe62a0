#!/bin/bash
# SPDX-License-Identifier: ISC
# portmapd against rpcbind, in one run and one network namespace: NULL calls
# per second, the server's CPU time per call, and calls per second of its CPU.
#
#	tests/bench/pmap.sh [SECONDS]
#
# The goal is 3 times rpcbind's calls per second of CPU. If every call wakes the
# server and is alone on its connection, both spend most of it in the kernel.
# Runs in: benchmark.
. "${0%/*}/../system/lib.sh"
need rpcbind rpcbind rpcinfo rpcbind
private "$@"
need_daemons portmapd
bench=$(built bench)/pmap_bench
seconds=${1:-3}
all=''

mkdir -p /run/rpcbind
# rpcbind has no other port than 111, portmapd has.
rpcbind -f -w >"$T/rpcbind.log" 2>&1 &
pid[rpcbind]=$!
at_end "kill ${pid[rpcbind]}"
wait_for 5 rpcinfo -p 127.0.0.1 || bail 'rpcbind did not start'
start portmapd -p 1111 || bail 'portmapd did not start'

printf '%-26s %-9s %12s %12s %16s\n' 'NULL calls' server calls/s \
    'CPU us/call' 'calls/CPU second'
# measure NAME PROTOCOL SOCKETS DEPTH
measure() {
	local name=$1 ours theirs
	shift
	theirs=$("$bench" "${pid[rpcbind]}" 127.0.0.1:111 "$@" "$seconds") || exit
	ours=$("$bench" "${pid[portmapd]}" 127.0.0.1:1111 "$@" "$seconds") || exit
	# shellcheck disable=SC2086 # three numbers each
	printf '%-26s %-9s %12s %12s %16s\n' "$name" rpcbind $theirs \
	    '' portmapd $ours
	ratio=$(awk -v a="${ours##* }" -v b="${theirs##* }" \
	    'BEGIN { printf "%.2f", a / b }')
	printf '%-26s %-9s %42s\n' '' '' "$ratio times"
	all="$all $ratio"
}
measure 'udp, 1 at a time' udp 1 1
measure 'udp, 8 clients' udp 8 1
measure 'udp, 48 clients' udp 48 1
measure 'tcp, 1 at a time' tcp 1 1
measure 'tcp, 8 clients' tcp 8 1
measure 'tcp, 48 clients' tcp 48 1
measure 'tcp, 8 clients, 16 deep' tcp 8 16
echo "$all" | tr ' ' '\n' | awk 'NF { sum += log($1); n++; if (!low || $1 < low) low = $1 }
    END { printf "worst %.2f times, mean %.2f (3.00 wanted)\n", low, exp(sum / n) }'

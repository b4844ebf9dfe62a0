#!/bin/bash
# SPDX-License-Identifier: ISC
# The daemons die and come back, the cable is cut, the server is away for a
# while: a client that copies all the time sees no error and no wrong byte.
# LONG=1: the three daemons in every order, 20 s without link, 30 s without
# server; otherwise each daemon once.
# shellcheck source=tests/system/lib.sh
. "${0%/*}/../system/lib.sh"
private "$@"
# shellcheck source=tests/kernel/rig.sh
. "$top/tests/kernel/rig.sh"
need_guest
guest_server

rounds() { grep -c '^@@ round' "$console"; }
more_rounds() { [ "$(rounds)" -ge "$1" ] || guest_said '^@@ (fail|exit)'; }
# two whole copies from now on: the second began after the fault
goes_on() { # SECONDS DESCRIPTION
	wait_for "$1" more_rounds $(($(rounds) + 2))
	! guest_said '^@@ (fail|exit)'
	ok $? "$2 (round $(rounds))"
}
again() {
	case $1 in
	portmapd) start_again portmapd ;;
	mountd) start_again mountd -p 20048 ;;
	nfsd) start_again nfsd -p 2049 ;;
	esac
}

guest_start "$rig/faults.sh" "EXPORT=$T/export" VERS=3 PROTO=tcp \
    "STOP=$T/guest/stop"
wait_for 60 more_rounds 1
guest_said '^@@ round'
ok $? 'the copy runs' || diag "$(tail -n 20 "$console")"

orders=('nfsd mountd portmapd')
[ -z "${LONG:-}" ] || orders+=('nfsd portmapd mountd' 'mountd nfsd portmapd'
    'mountd portmapd nfsd' 'portmapd nfsd mountd' 'portmapd mountd nfsd')
for order in "${orders[@]}"; do
	for d in $order; do
		stop "$d" KILL
		again "$d"
		ok $? "$d killed and started again"
	done
	goes_on 120 "copying goes on after: $order"
done
if [ -n "${LONG:-}" ]; then
	for d in portmapd nfsd mountd; do
		stop "$d" KILL
	done
	for d in portmapd nfsd mountd; do
		again "$d"
	done
	goes_on 120 'all killed, then all started'
	ip link set tap0 down
	sleep 20
	ip link set tap0 up
	goes_on 180 'no link for 20 s'
	tern_stop
	sleep 30
	for d in portmapd mountd nfsd; do
		again "$d"
	done
	goes_on 240 'no server for 30 s'
fi
: >"$T/guest/stop"
guest_wait 120
ok $? 'the client unmounts and ends well' || diag "$(tail -n 20 "$console")"
diag "slowest copies: $(sed -n 's/^@@ round //p' "$console" | tr -d '\r' | sort -k2 -nr | head -n 3 | tr '\n' ';')"
done_testing

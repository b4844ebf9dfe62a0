#!/bin/bash
# SPDX-License-Identifier: ISC
# Daemons are killed and restarted, the link goes down, the server is away for a
# while: a client that copies all the time sees no error and no wrong byte. By
# default each daemon is killed once. LONG=1: the three daemons in every order,
# 20 s without a link, 30 s without a server, then version 2, and UDP if there
# is a guest for it.
# shellcheck source=tests/system/lib.sh
. "${0%/*}/../system/lib.sh"
# shellcheck source=tests/kernel/rig.sh
. "$top/tests/kernel/rig.sh"
[ -z "${LONG:-}" ] || udp_guest
private "$@"
need_guest
guest_server

more_rounds() { # NUMBER
	guest_news
	[ "$rounds" -ge "$1" ] || [ -n "$broken$ended" ] || ! alive guest
}

# copying SECONDS NAME: waits for two more complete copies. The second one began
# after the fault.
copying() {
	local from=$SECONDS r=pass
	wait_for "$1" more_rounds $((rounds + 2)) || r=fail
	[ -z "$broken$ended" ] && alive guest || r=fail
	diag "$label: round $rounds"
	row "$r" "$2" $((SECONDS - from)) "$label"
}
again() {
	case $1 in
	portmapd) start_again portmapd ;;
	mountd) start_again mountd -p 20048 ;;
	nfsd) start_again nfsd -p 2049 -o datagram-bytes-per-second=0 ;;
	esac
}

# killed DAEMON...: kills one after the other and restarts each at once.
killed() {
	local d
	for d; do
		stop "$d" KILL
		again "$d"
		ok $? "$label: $d is killed and restarted"
	done
	copying 600 "kill-$(echo "$*" | tr ' ' '-')"
}

all_killed() {
	local d
	for d in portmapd nfsd mountd; do stop "$d" KILL; done
	for d in portmapd nfsd mountd; do again "$d"; done
	copying 600 kill-all-at-once
}

no_link() { # SECONDS
	ip link set br0 down
	sleep "$1"
	ip link set br0 up
	copying 600 "no-link-for-$1-s"
}

no_server() { # SECONDS
	local d
	tern_stop
	sleep "$1"
	for d in portmapd mountd nfsd; do again "$d"; done
	copying 600 "no-server-for-$1-s"
}

# faults VERSION PROTOCOL COMMAND...: runs the commands, separated by commas,
# while a client copies.
faults() {
	local v=$1 proto=$2 one
	label=v$v/$proto/ac
	shift 2
	guest_start "$rig/faults.sh" "EXPORT=$T/export" "VERS=$v" \
	    "PROTO=$proto"
	wait_for 600 more_rounds 1
	[ "$rounds" -ge 1 ]
	ok $? "$label: the copy runs" || diag "$(tail -n 20 "$console")"
	while read -r one <&8; do
		diag "$label: $one"
		# shellcheck disable=SC2086 # a command with arguments
		$one
	done 8< <(echo "$*" | tr , '\n')
	: >"$T/export/stop"
	guest_wait 600
	ok $? "$label: the client unmounts and exits without error" ||
	    diag "$(tail -n 20 "$console")"
	rm "$T/export/stop"
	diag "$label: slowest copies: $(sed -n 's/^@@ round //p' "$console" |
	    tr -d '\r' | sort -k2 -nr | head -n 3 | tr '\n' ';')"
}

if [ -z "${LONG:-}" ]; then
	faults 3 tcp killed nfsd mountd portmapd
	done_testing
fi
faults 3 tcp killed nfsd mountd portmapd, killed nfsd portmapd mountd, \
    killed mountd nfsd portmapd, killed mountd portmapd nfsd, \
    killed portmapd nfsd mountd, killed portmapd mountd nfsd, \
    all_killed, no_link 20, no_server 30
faults 2 tcp killed nfsd mountd portmapd, all_killed, no_link 20
if [ -n "$NO_UDP" ]; then
	skip "$NO_UDP"
else
	faults 3 udp killed nfsd mountd portmapd, all_killed, no_link 20
	faults 2 udp killed nfsd mountd portmapd, all_killed, no_link 20
fi
done_testing

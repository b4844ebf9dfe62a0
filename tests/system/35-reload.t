#!/bin/bash
# SPDX-License-Identifier: ISC
#
# A daemon tells the service manager of a reload: RELOADING=1 once, then READY=1
# once, after every role serves the new exports.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3

role() { pgrep -P "${pid[$1]}" -f "$1: $2" | head -n 1; }
# manager NAME: writes each message to $T/NAME.notify as a line of $T/NAME.said.
manager() {
	python3 - "$T/$1.notify" <<-'E' >>"$T/$1.said" &
	import socket, sys
	s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
	s.bind(sys.argv[1])
	while True:
	    print(s.recv(4096).decode().split("\n")[0], flush=True)
	E
	at_end "kill $!"
	wait_for 5 test -S "$T/$1.notify"
}
said() { paste -sd ' ' "$T/$1.said"; }
# has_said NAME N: has it sent READY=1 this many times?
has_said() { [ "$(grep -cx READY=1 "$T/$1.said")" = "$2" ]; }
# reload NAME EXPORTS-TEXT
reload() {
	: >"$T/$1.said"
	exports "$2"
	kill -HUP "${pid[$1]}"
}
# held_back NAME ROLE EXPORTS-TEXT: a reload does not end while that role is
# stopped.
held_back() {
	local stopped

	stopped=$(role "$1" "$2")
	halt "$stopped"
	reload "$1" "$3"
	wait_for 5 grep -q RELOADING=1 "$T/$1.said"
	sleep 0.5
	is "$(said "$1")" RELOADING=1 "$1: sends no READY while its $2 is stopped"
	kill -CONT "$stopped"
	check "$1: sends READY when its $2 goes on" wait_for 5 has_said "$1" 1
	is "$(said "$1")" 'RELOADING=1 READY=1' "$1: sends it once"
}

mkdir -m 1777 "$T/x" "$T/y"
one="$T/x 127.0.0.1(rw,insecure)"
both="$one
$T/y 127.0.0.1(rw,insecure)"
for d in portmapd mountd nfsd; do
	manager $d
done
exports "$one"
NOTIFY_SOCKET=$T/portmapd.notify start portmapd
NOTIFY_SOCKET=$T/mountd.notify start mountd -p 20048
NOTIFY_SOCKET=$T/nfsd.notify start nfsd -p 2049 -w 2
for d in portmapd mountd nfsd; do
	wait_for 10 has_said $d 1
	is "$(said $d)" READY=1 "$d: sends READY once at its start"
done

reload portmapd "$one"
check 'portmapd: sends READY after a reload' wait_for 5 has_said portmapd 1
is "$(said portmapd)" 'RELOADING=1 READY=1' 'portmapd: sends each message once'

held_back mountd worker "$both"
y=$(nfs mnt "$T/y")
held_back nfsd worker "$both"
like "$(nfs getattr "$y")" type=2 'the new export is served'
held_back nfsd broker "$one"
is "$(nfs getattr "$y")" STALE 'a removed export is not served'

reload nfsd "$T/x 127.0.0.1(nonsense)"
check 'READY follows a refused reload too' wait_for 5 has_said nfsd 1
is "$(said nfsd)" 'RELOADING=1 READY=1' 'each message is sent once then'

# Another mode: the roles are restarted, and then serve.
reload nfsd "$T/x 127.0.0.1(rw,insecure,all_squash)"
check 'READY follows a change of mode' wait_for 10 has_said nfsd 1
is "$(said nfsd)" 'RELOADING=1 READY=1' 'each message is sent once after it'
is "$(grep -c 'serving again' "$T/nfsd.log")" 3 'every role serves again before READY'

# A role that was stopped is replaced, and the reload ends.
broker=$(role nfsd broker)
halt "$broker"
reload nfsd "$T/y 127.0.0.1(rw,insecure,all_squash)"
check 'READY comes in spite of a role that was stopped' \
    wait_for 30 has_said nfsd 1
replaced() { now=$(role nfsd broker) && [ -n "$now" ] && [ "$now" != "$broker" ]; }
check 'the role is replaced' wait_for 30 replaced
served() { [[ $(nfs getattr "$(nfs mnt "$T/y")") == *type=2* ]]; }
check 'the new export is served' wait_for 10 served
is "$(said nfsd)" 'RELOADING=1 READY=1' 'READY is not sent twice'
done_testing

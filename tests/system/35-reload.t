#!/bin/bash
# SPDX-License-Identifier: ISC
#
# What the service manager hears of a reload: RELOADING=1 once, and READY=1 once,
# when every role serves the new exports.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3

role() { pgrep -P "${pid[$1]}" -f "$1: $2" | head -n 1; }
# The manager: each message to $T/NAME.notify is a line of $T/NAME.said.
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
# has_said NAME N: READY=1 this many times?
has_said() { [ "$(grep -cx READY=1 "$T/$1.said")" = "$2" ]; }
# reload NAME EXPORTS-TEXT
reload() {
	: >"$T/$1.said"
	exports "$2"
	kill -HUP "${pid[$1]}"
}
# held_back NAME ROLE: a reload is not over while that role is stopped.
held_back() {
	local stopped

	stopped=$(role "$1" "$2")
	kill -STOP "$stopped"
	reload "$1" "$3"
	wait_for 5 grep -q RELOADING=1 "$T/$1.said"
	sleep 0.5
	is "$(said "$1")" RELOADING=1 "$1: not ready while its $2 is stopped"
	kill -CONT "$stopped"
	check "$1: ready when its $2 goes on" wait_for 5 has_said "$1" 1
	is "$(said "$1")" 'RELOADING=1 READY=1' "$1: and says it once"
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
	is "$(said $d)" READY=1 "$d: ready, once"
done

reload portmapd "$one"
check 'portmapd: ready again' wait_for 5 has_said portmapd 1
is "$(said portmapd)" 'RELOADING=1 READY=1' 'portmapd: each is said once'

held_back mountd worker "$both"
y=$(nfs mnt "$T/y")
held_back nfsd worker "$both"
like "$(nfs getattr "$y")" type=2 'the new export is served'
held_back nfsd broker "$one"
is "$(nfs getattr "$y")" BADHANDLE 'the old one is not'

reload nfsd "$T/x 127.0.0.1(nonsense)"
check 'a refused reload is over, too' wait_for 5 has_said nfsd 1
is "$(said nfsd)" 'RELOADING=1 READY=1' 'in the same words'

# Another mode: the roles are started again, and then serve.
reload nfsd "$T/x 127.0.0.1(rw,insecure,all_squash)"
check 'ready after a change of mode' wait_for 10 has_said nfsd 1
is "$(said nfsd)" 'RELOADING=1 READY=1' 'each is said once'
is "$(grep -c 'serving again' "$T/nfsd.log")" 3 'when every role was back'

# A role that hangs is waited for ten seconds.
broker=$(role nfsd broker)
kill -STOP "$broker"
reload nfsd "$T/y 127.0.0.1(rw,insecure,all_squash)"
check 'a role that hangs does not delay it for ever' \
    wait_for 15 has_said nfsd 1
like "$(cat "$T/nfsd.log")" "broker: pid $broker does not serve the new" \
    'the log names the role'
is "$(role nfsd broker)" "$broker" 'which is not killed'
kill -CONT "$broker"
check 'and tells when it serves after all' \
    wait_for 5 grep -q 'now every role serves' "$T/nfsd.log"
is "$(said nfsd)" 'RELOADING=1 READY=1' 'which is not ready twice'
done_testing

#!/bin/bash
# SPDX-License-Identifier: ISC
# How portmapd starts, its messages if it cannot, and how it ends.
. "${0%/*}/lib.sh"
need rpcinfo rpcbind python3 python3
private "$@"
need_daemons portmapd

portmapd=$(reachable)/portmapd/portmapd
sock=$T/run/portmap.sock
mkdir -p "$T/run"

# fails STATUS PATTERN DESCRIPTION FLAG...: exits so, with one line that matches.
# 78 is a mistake in the configuration.
fails() {
	local status=$1 pattern=$2 what=$3 out rc
	shift 3
	out=$(timeout 10 "$portmapd" -d -s "$sock" "$@" 2>&1)
	rc=$?
	is "$rc" "$status" "$what: exit status $status"
	like "$out" "$pattern" "$what: logs the reason"
}

fails 78 'register.*no such user' 'a rule for an unknown user' -o register=nobodyhere:1
fails 78 'register.*not of the form user:program' 'half a rule' -o register=root
fails 78 'not an IPv4 or IPv6 address' 'a malformed address' -a localhost
fails 1 '192.0.2.1' 'an address of another machine' -a 192.0.2.1
fails 78 'absolute path' 'a relative path' -c rpcbind.sock
fails 1 'nonesuch' 'a missing directory for -r' -r /nonesuch
fails 78 'nosuchuser.*(useradd|sysusers)|useradd.*nosuchuser' \
    'a user that does not exist' -u nosuchuser
"$portmapd" -n
is "$?" 0 '-n: exit status 0'
like "$("$portmapd" -V)" '[0-9]' '-V prints a version'

# Port 111 is taken.
mkdir -p /run/rpcbind
rpcbind -f >"$T/rpcbind.log" 2>&1 &
pid[rpcbind]=$!
at_end "kill ${pid[rpcbind]}"
wait_for 5 rpcinfo -p 127.0.0.1
fails 1 "111.*rpcbind.*${pid[rpcbind]}" 'a port that rpcbind has'
fails 1 'rpcbind.sock' 'a socket that rpcbind serves' -p 1111 -c /run/rpcbind.sock
stop rpcbind

# Several addresses and ports.
start portmapd -a 127.0.0.1 -a 127.0.0.2@50111 -a 0.0.0.0@50112 -a ::1 ||
    bail 'portmapd did not start'
check 'answers at 127.0.0.1:111' pmap source 127.0.0.1
check 'answers at 127.0.0.2:50111' pmap source 127.0.0.2 50111
check 'answers at a port for all addresses' pmap source 127.0.0.3 50112
check_not 'does not answer at other addresses' pmap source 127.0.0.2 111
check 'answers at ::1' rpcinfo -T udp6 ::1 100000 4
fails 1 'portmap.sock.*another server' 'a second portmapd' -p 1112
n=${pid[portmapd]}
is "$(awk '/^Uid/ { print $2, $3, $4, $5 }' "/proc/$n/status")" \
    '901 901 901 901' 'runs as _portmapd'
is "$(awk '/^Cap(Prm|Eff|Bnd|Amb)/ { print $2 }' "/proc/$n/status" | sort -u)" \
    0000000000000000 'has no capability'
is "$(find -H "/proc/$n/root" -mindepth 1 | wc -l)" 0 'has an empty root'
if unfiltered; then
	skip 'a build without filter'
else
	is "$(awk '/^Seccomp:/ { print $2 }' "/proc/$n/status")" 2 'has a system call filter'
fi
kill -USR1 "$n"
check 'SIGUSR1 writes statistics' wait_for 5 grep -q \
    'statistics: [0-9]* entries' "$T/portmapd.log"
kill -HUP "$n"
check 'SIGHUP keeps it running' wait_for 5 grep -q SIGHUP "$T/portmapd.log"
check 'it keeps its table' registered 100000 2 udp
stop portmapd
is "$?" 0 'SIGTERM: exit status 0'

# With a root directory of -r, and in the background.
mkdir "$T/empty"
"$portmapd" -s "$sock" -r "$T/empty" -o strict 2>"$T/background.log"
is "$?" 0 'goes to the background when it is ready'
check 'answers at once then' rpcinfo -T tcp 127.0.0.1 100000 2
n=$(pgrep -x portmapd)
kill "$n"
check 'ends on SIGTERM' wait_for 5 sh -c "! kill -0 $n"

# Sockets of a service manager, and its notification.
systemd-socket-activate -l 127.0.0.1:111 -l "$T/run/given.sock" \
    "$portmapd" -d 2>"$T/activated.log" &
pid[activated]=$!
at_end "kill ${pid[activated]}"
check 'is started by its socket' wait_for 5 rpcinfo -t 127.0.0.1 100000 2
is "$(pmap set "$T/run/given.sock" 200001 1)" true 'serves the unix socket of the service manager'
stop activated
# The same without root, as in the unit: portmapd still distinguishes users.
systemd-socket-activate -l 127.0.0.1:111 -l "$T/run/given2.sock" \
    setpriv --reuid _portmapd --regid _portmapd --clear-groups \
    sh -c 'export LISTEN_PID=$$; exec "$0" -d' "$portmapd" \
    2>"$T/activated.log" &
pid[activated]=$!
at_end "kill ${pid[activated]}"
check 'is started by its socket without root' wait_for 5 \
    rpcinfo -t 127.0.0.1 100000 2
chmod 666 "$T/run/given2.sock"
is "$(pmap set "$T/run/given2.sock" 100003 3)" true 'root registers through that socket'
is "$(PMAP_AS=_mountd pmap set "$T/run/given2.sock" 100005 3)" true \
    '_mountd registers through that socket'
is "$(PMAP_AS=bob pmap set "$T/run/given2.sock" 100005 3)" false 'bob does not'
stop activated
python3 - "$T/notify" <<-'E' >"$T/notified" &
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
s.settimeout(10)
while True:
    text = s.recv(4096).decode()
    print(text, flush=True)
    if "STOPPING=1" in text:
        break
E
wait_for 5 test -S "$T/notify"
NOTIFY_SOCKET=$T/notify start portmapd
check 'tells systemd that it is ready' wait_for 5 grep -qx READY=1 "$T/notified"
stop portmapd
check 'tells systemd that it stops' wait_for 5 grep -qx STOPPING=1 "$T/notified"

# A plain user's portmapd, where that user registers any program.
mkdir "$T/own" && chown alice "$T/own"
as alice "$portmapd" -d -p 10111 -s "$T/own/p.sock" 2>"$T/user.log" &
pid[user]=$!
at_end "kill ${pid[user]}"
check 'runs for a plain user' wait_for 5 env PMAP_PORT=10111 \
    "$top/tests/system/pmap_call.py" back 127.0.0.1 100000 2
is "$(PMAP_AS=alice pmap set "$T/own/p.sock" 100003 3)" true \
    'that user registers any program'
is "$(PMAP_AS=bob pmap set "$T/own/p.sock" 100003 3)" false \
    'another user registers none'
done_testing

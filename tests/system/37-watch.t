#!/bin/bash
# SPDX-License-Identifier: ISC
# Every role that something stopped is replaced, and the daemon goes on. A filesystem
# that hangs ends no role: the questions to the roles touch no export, and the
# service manager's watchdog is fed all the while.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
. "$top/tests/lib/ca.sh"
need python3 python3 openssl openssl
need_daemons

# A service manager that writes down what it hears, with a watchdog of four
# seconds: the roles are asked twice a second.
python3 - "$T/notify" "$T/heard" <<'P' &
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
heard = open(sys.argv[2], "ab", 0)
while True:
    heard.write(s.recv(4096) + b"\n")
P
at_end "kill $!"
wait_for 10 test -S "$T/notify"
export NOTIFY_SOCKET=$T/notify WATCHDOG_USEC=4000000
fed() { grep -c WATCHDOG=1 "$T/heard"; }

# role_pid NAME ROLE: the process with that title.
role_pid() { pids_of "$1" | while read -r p; do
	tr '\0' ' ' <"/proc/$p/cmdline" | grep -q "^$1: $2" && echo "$p"
done | head -n 1; }

# stop_role NAME ROLE CLIENT...: stops it and waits for another that serves.
stop_role() {
	local name=$1 role=$2 parent=${pid[$1]} was
	shift 2
	was=$(role_pid "$name" "$role")
	replaced() {
		local now
		now=$(role_pid "$name" "$role")
		[ -n "$now" ] && [ "$now" != "$was" ]
	}
	halt "$was"
	check "$name $role: is replaced when something stops it" wait_for 30 replaced
	check "$name: serves again" wait_for 30 "$@"
	like "$(cat "$T/$name.log")" "$role: killing pid $was.*SIGSTOP" \
	    "$name $role: the log says why"
	check "$name: goes on" kill -0 "$parent"
}

mkdir -m 777 "$T/slow" "$T/good"
if [ -c /dev/fuse ]; then
	"$top/tests/system/slowfs.py" "$T/slow" "$T/hang" 2>"$T/slowfs.log" &
	at_end "umount -l $T/slow"
	at_end "kill $!"
	at_end "rm -f $T/hang"
	wait_for 5 mountpoint -q "$T/slow"
fi
ca_new "$T/ca" && ca_server server IP:127.0.0.1 && ca_client laptop.example.org ||
    bail "no certificates"
tern_start "$T/good 127.0.0.1(rw,insecure) localhost(rw,insecure)
$T/slow 127.0.0.1(rw,insecure)" -w 1 -o "tls-cert=$T/ca/server.pem" \
    -o "tls-key=$T/ca/server.key" -o metrics=127.0.0.1@9049
g=$(nfs mnt "$T/good")
stop_role mountd worker nfs mnt "$T/good"
stop_role mountd resolver nfs mnt "$T/good"
stop_role nfsd worker nfs getattr "$g"
stop_role nfsd broker nfs getattr "$g"
stop_role nfsd tls "$top/tests/system/tls_calls.py" "$T" works
stop_role nfsd locks rpcinfo -T tcp 127.0.0.1 nlockmgr 4
stop_role nfsd nlm rpcinfo -T tcp 127.0.0.1 nlockmgr 4
stop_role nfsd metrics "$top/tests/system/scrape.py" 9049 value tern_nfsd_connections
stop_role nfsd resolver nfs getattr "$g"
all=$(ps -o args= -p "$(pids_of mountd | paste -sd,),$(pids_of nfsd | paste -sd,)" | awk '{ print $1, $2 }' | sort -u)
is "$(grep -vc parent <<<"$all")" 9 'these are all roles' || diag "$all"

if mountpoint -q "$T/slow"; then
	f=$(nfs lookup "$(nfs mnt "$T/slow")" file)
	nfs read "$f" 0 9 >/dev/null
	before=$(pids_of nfsd; pids_of mountd)
	touch "$T/hang"
	for _ in 1 2 3; do
		NFS_TIMEOUT=60 nfs getattr "$f" >/dev/null 2>&1 &
	done
	start=$(fed)
	# More than one interval of both daemons' watchdogs.
	fed_often() { [ "$(fed)" -ge $((start + 8)) ]; }
	check 'a filesystem hangs: the watchdogs are fed' wait_for 60 fed_often
	is "$(pids_of nfsd; pids_of mountd)" "$before" 'every role goes on'
	rm "$T/hang"
	check 'it is served again' wait_for 30 nfs read "$f" 0 9
else
	skip 'no FUSE in this kernel' 3
fi
unset -f replaced
check 'the daemons stop' tern_stop
done_testing

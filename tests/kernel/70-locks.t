#!/bin/bash
# SPDX-License-Identifier: ISC
# Two Linux kernels with lockd and rpc.statd lock files of Tern: fcntl and flock,
# waiting or not, against each other and against programs on the server. Every
# process of nfsd is killed while they hold locks and wait, and the disk is
# unmounted. One client is killed and boots again. Then programs that rely on locks work from both at once, while
# nfsd is restarted and killed.
# LONG=1: more rounds, version 2, and UDP if there is a guest for it.
# shellcheck source=tests/system/lib.sh
. "${0%/*}/../system/lib.sh"
# shellcheck source=tests/kernel/rig.sh
. "$top/tests/kernel/rig.sh"
[ -z "${LONG:-}" ] || udp_guest
private "$@"
need python3 python3 rpcbind rpcbind rpc.statd nfs-common
need_guest
need_daemons
guest_net 2
ram 600
loop_fs ext4 500 "$T/export" || skip_all "no loop-mounted ext4"
image=("$LOOP_IN"/loop.*)
chmod 1777 "$T/export"
nfsd_flags=(-p 2049 -o grace=20 -o datagram-bytes-per-second=0)
tern_start "$T/export 10.77.0.0/24(rw,no_root_squash)" "${nfsd_flags[@]:2}"
f=/mnt/a/file

# at GUEST[.PROCESS] WORD...: asks an agent.
at() {
	local guest=${1%.*} port=7000
	[ "$1" = "$guest" ] || port=700${1#*.}
	shift
	"$rig/lock_agent.py" ask "10.77.0.$((guest + 2))" "$port" "$@" 2>&1
}

# later NAME GUEST WORD...: the same in the background.
later() {
	local name=$1
	shift
	rm -f "$T/later.$name"
	{ at "$@" >"$T/later.tmp.$name" && mv "$T/later.tmp.$name" "$T/later.$name"; } &
}
answered() { [ -e "$T/later.$1" ]; }
# answer NAME SECONDS: prints it when it comes.
answer() {
	wait_for "$2" answered "$1"
	cat "$T/later.$1" 2>&1
}

# here WORD...: an agent on the server, for locks of local programs.
here() { "$rig/lock_agent.py" ask 127.0.0.1 7000 "$@" 2>&1; }

boot() { # GUEST
	console=$T/console.$1
	mkdir -p "$T/var$1"
	guest_boot "$1" "$rig/locks.sh" "EXPORT=$T/export" "VERS=$vers" \
	    "PROTO=${proto[$1]}" "NAME=client$1" "VAR=$([ "${proto[$1]}" = udp ] || echo "$T/var$1")"
}
is_up() { [ "$(at "$1" run true)" = '' ]; }
up() { # GUEST
	wait_for 300 is_up "$1"
	ok $? "$label: client $1 has mounted" || {
		diag "$(tr -d '\r' <"$T/console.$1" | tail -n 30)"
		done_testing
	}
}
down() { # GUEST
	at "$1" run 'touch /run/stop' >"$T/down.out"
	wait_for 60 _gone "$1"
	end_guest "$1"
}
_kill_guest() { # GUEST PID...
	local all
	mapfile -t all < <(pgrep -f "uml_dir=$T/guest$1/")
	kill -9 "${@:2}" "${all[@]}" 2>/dev/null
}
_end_of_guest() {
	_kill_guest "$1"
	_tap_free "$1"
}
# end_guest GUEST: kills it, with the processes that it starts meanwhile. They
# have its tap too.
end_guest() {
	local all
	mapfile -t all < <(pids_of "guest$1")
	_kill_guest "$1" "${all[@]}"
	wait "${pid[guest$1]}" 2>/dev/null
	unset "pid[guest$1]"
	wait_for 60 _end_of_guest "$1" && return
	ok 1 "$label: the tap of client $1 is free again"
	done_testing
}
_tap_free() { ip -o link show "tap$1" | grep -q NO-CARRIER; }
_gone() { ! kill -0 "${pid[guest$1]}" 2>/dev/null; }

now_ms() { date +%s%3N; }
role_of() { pgrep -P "${pid[nfsd]}" -f "^nfsd: $1" | head -n 1; }
another() { local n; n=$(role_of "$1") && [ -n "$n" ] && [ "$n" != "$2" ]; }

ranges() {
	is "$(at 0 lock $f write 0 10 try)" ok "$label: a client locks"
	is "$(at 1 lock $f write 5 10 try)" EAGAIN "$label: another cannot lock the same"
	is "$(at 0.1 lock $f write 5 10 try)" EAGAIN "$label: nor can another process of the first"
	is "$(at 1 test $f read 0 100)" 'write 0 10' "$label: but hears what is in the way"
	is "$(at 1 lock $f write 10 10 try)" ok "$label: the bytes behind it are free"
	is "$(here test "$T/export/file" read 0 100)" 'write 0 20' "$label: a program on the server sees both locks"
	is "$(here lock "$T/export/file" write 100 1 try)" ok "$label: and locks what is free"
	is "$(at 1 lock $f read 100 0 try)" EAGAIN "$label: which clients see"
	is "$(at 0 lock $f none 0 0 try) $(at 1 lock $f none 0 0 try)" 'ok ok' "$label: both unlock"
	is "$(here test "$T/export/file" write 0 100)" free "$label: the server sees that"
	is "$(at 0 lock $f read 0 0 try) $(at 1 lock $f read 0 99 try)" 'EAGAIN ok' \
	    "$label: a read lock to the end meets the program's lock, another does not"
	is "$(here close "$T/export/file")" ok "$label: the program ends"
	is "$(at 0 lock $f read 0 0 try)" ok "$label: two clients read"
	is "$(at 1 lock $f write 0 1 try)" EAGAIN "$label: so none may write"
	is "$(at 0 close $f) $(at 1 close $f)" 'ok ok' "$label: closing frees"
	is "$(at 1 flock $f exclusive try)" ok "$label: flock"
	is "$(at 0 flock $f shared try)" EAGAIN "$label: is seen by the other client"
	is "$(at 1 flock $f none try) $(at 0 flock $f shared try)" 'ok ok' "$label: until it ends"
	is "$(at 0 close $f) $(at 1 close $f)" 'ok ok' "$label: closed"
	is "$(at 0 lock $f write 0 1 try) $(at 1 lock $f write 1 1 try)" 'ok ok' "$label: two clients lock"
	later w 0 lock $f write 1 1 wait
	wait_for 20 held_up
	ok $? "$label: one waits for the other"
	is "$(at 1 lock $f write 0 1 wait)" "$([ "$vers" = 2 ] && echo ENOLCK || echo EDEADLOCK)" "$label: who would wait for it in turn is told"
	is "$(at 1 close $f) $(answer w 60) $(at 0 close $f)" 'ok ok ok' "$label: the first gets its lock"
}

# waits SECONDS: a client waits for a lock and gets it.
waits() {
	local begin ms
	is "$(at 0 lock $f write 0 0 try)" ok "$label: a client locks"
	later w 1 lock $f write 0 0 wait
	wait_for 20 held_up
	ok $? "$label: another waits"
	begin=$(now_ms)
	is "$(at 0 lock $f none 0 0 try)" ok "$label: it unlocks"
	is "$(answer w 60)" ok "$label: the other gets it"
	ms=$(($(now_ms) - begin))
	diag "$label: after $ms ms, with the time of two commands"
	[ $ms -lt 5000 ]
	ok $? "$label: by a call, long before it would ask again"
	is "$(at 0 run "timeout 2 flock $f true")" 'status 124' "$label: who is killed while it waits"
	wait_for 20 not_held_up
	ok $? "$label: waits no longer"
	is "$(at 1 lock $f none 0 0 try)" ok "$label: unlocked"
	is "$(here lock "$T/export/file" write 0 1 try)" ok "$label: a program on the server locks"
	later w 1 lock $f write 0 0 wait
	wait_for 20 held_up
	begin=$(now_ms)
	is "$(here close "$T/export/file")" ok "$label: and ends"
	is "$(answer w 60)" ok "$label: the client that waited gets it"
	diag "$label: after $(($(now_ms) - begin)) ms"
	is "$(at 1 close $f)" ok "$label: closed"
}
held_up() { "$O/nfsd/nfsd" -L -s "$T/run/portmap.sock" | grep -q 'waits for'; }
not_held_up() { ! held_up; }

# survives NAME COMMAND...: a client holds a lock and another waits, while the
# command ends a process of nfsd. No other gets the lock meanwhile.
survives() {
	local name=$1 begin=$SECONDS
	shift
	is "$(at 0 lock $f write 0 10 try)" ok "$label: $name: a client locks"
	later w 1 lock $f write 5 10 wait
	wait_for 20 held_up
	ok $? "$label: $name: another waits"
	"$@"
	is "$(at 1.1 lock $f write 0 1 try)" EAGAIN "$label: $name: the lock is still held ($((SECONDS - begin)) s)"
	check_not "$label: $name: nobody has got it" answered w
	is "$(at 0 lock $f none 0 0 try)" ok "$label: $name: it unlocks"
	is "$(answer w 90)" ok "$label: $name: the other gets it ($((SECONDS - begin)) s)"
	is "$(at 1 lock $f none 0 0 try)" ok "$label: $name: and unlocks"
}
restart() {
	stop nfsd "$@"
	start_again nfsd "${nfsd_flags[@]}"
	ok $? "$label: nfsd is started again"
}
kill_role() {
	local n
	n=$(role_of "$1")
	kill -9 "$n"
	wait_for 20 another "$1" "$n"
	ok $? "$label: another $1 runs"
}

# remount: the disk is unmounted and mounted again.
remount() {
	check "$label: the disk is unmounted while a lock is held" umount "$T/export"
	wait_for 20 is_free
	ok $? "$label: and free"
	check "$label: it is mounted again" mount -o loop "${image[0]}" "$T/export"
}
# A loop device that nothing uses any more is gone.
is_free() { [ -z "$(losetup -j "${image[0]}")" ]; }

# reboots: a client is killed with a lock. When it has booted, another gets it.
reboots() {
	is "$(at 0 lock $f write 0 0 try)" ok "$label: a client locks"
	end_guest 0
	later w 1 lock $f write 0 0 wait
	wait_for 20 held_up
	ok $? "$label: it is killed, and another waits"
	check_not "$label: its locks stay" answered w
	boot 0
	is "$(answer w 120)" ok "$label: it has booted: the other gets the lock"
	up 0
	is "$(at 1 lock $f none 0 0 try)" ok "$label: and unlocks"
}

# load KIND ROUNDS COMMAND...: both clients work. Meanwhile the command runs.
load() {
	local kind=$1 rounds=$2 begin=$SECONDS failed=$_failed
	shift 2
	rm -rf "$T/export/"{db*,mbox*,lines,repo.git}
	case $kind in sqlite | git) at 0 run "$rig/lock_load.py $kind /mnt/a first 0" >"$T/load.out" ;; esac
	later a 0 run "$rig/lock_load.py $kind /mnt/a one $rounds"
	later b 1 run "$rig/lock_load.py $kind /mnt/a two $rounds"
	[ $# = 0 ] || "$@"
	is "$(answer a 1800)$(answer b 600)" '' "$label: $kind: both clients finish"
	check "$label: $kind: nothing is lost or damaged" "$rig/lock_load.py" check "$T/export" "$rounds"
	row "$([ "$_failed" = "$failed" ] && echo pass || echo fail)" "locks-$kind-$rounds" $((SECONDS - begin)) "$label"
}
troubled() {
	restart
	wait_for 60 grows
	restart KILL
	wait_for 60 grows
	kill_role locks
}
progress() { stat -c '%y %s' "$T/export/"{db,mbox,lines,repo.git/refs/heads/main} 2>/dev/null; }
# Do the clients make progress again?
grows() {
	local before
	before=$(progress)
	sleep 1
	[ "$before" != "$(progress)" ]
}

# clients VERSION TRANSPORT TRANSPORT: boots both.
clients() {
	vers=$1 label=v$1/$2 proto=("$2" "$3")
	boot 0
	boot 1
	up 0
	up 1
	at 0 run "touch $f" >"$T/touch.out"
}

"$rig/lock_agent.py" serve 127.0.0.1 7000 &
at_end "kill $!"
rounds=30 fewer=30 # of sqlite; of programs that start anew, or read all, each time
[ -z "${LONG:-}" ] || rounds=5000 fewer=200
clients 3 tcp tcp
ranges
waits
survives 'umount' remount
survives 'restart' restart
survives 'kill nfsd' restart KILL
for role in locks nlm broker; do survives "kill $role" kill_role $role; done
reboots
load sqlite $rounds
load sqlite $((rounds / 5 > 60 ? rounds / 5 : 60)) troubled
for kind in mbox append git; do
	load $kind $fewer
	[ -z "${LONG:-}" ] || load $kind 100 troubled
done
down 0
down 1
if [ -n "${LONG:-}" ]; then
	clients 2 tcp tcp
	ranges
	waits
	survives 'restart' restart
	survives 'kill nfsd' restart KILL
	load sqlite 500
	load append 500
	down 0
	down 1
	if [ -n "$NO_UDP" ]; then
		skip "$NO_UDP"
	else
		for v in 3 2; do
			clients $v udp tcp
			ranges
			waits
			survives 'restart' restart
			survives 'kill nfsd' restart KILL
			load append 100
			down 0
			down 1
		done
	fi
fi
done_testing

#!/bin/bash
# SPDX-License-Identifier: ISC
#
# Locks of two clients, on machines of their own: against each other and against
# programs on the server. Then every process of nfsd ends in turn: what is kept,
# what clients are told, and which of them may reclaim.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3
host_add one 10.7.1.1/24 10.7.1.2/24
host_add two 10.7.2.1/24 10.7.2.2/24
ip address add 10.7.1.9/24 dev one # no route prefers it
mkdir -m 1777 "$T/x" "$T/ro" "$T/free"
for f in "$T/x/file" "$T/ro/file" "$T/free/file"; do echo content >"$f" && chmod 666 "$f"; done
install -m 600 -o alice /dev/null "$T/x/secret"
install -m 600 -o alice /dev/null "$T/free/secret"
install -m 666 /dev/null "$T/x/shared"
flags=(-p 2049 -o grace=60)
tern_start "$T/x 10.7.0.0/16(rw)
$T/ro 10.7.0.0/16(ro)
$T/free 10.7.0.0/16(rw,no_auth_nlm)" "${flags[@]:2}"
can_lock() { registered 100021 4 udp && registered 100024 1 tcp; }
check 'both programs are registered' wait_for 10 can_lock

# by HOST COMMAND...: one call from that machine.
by() {
	local host=$1 server=10.7.1.1
	shift
	[ "$host" = one ] || server=10.7.2.1
	on_host "$host" "$top/tests/system/lock_call.py" "$server" "$@" 2>&1 | tail -n 1
}
# handle EXPORT NAME
handle() {
	local root
	root=$(on_host one "$top/tests/lib/nfs_call.py" -h 10.7.1.1 -s 800 mnt "$T/$1")
	on_host one "$top/tests/lib/nfs_call.py" -h 10.7.1.1 -s 800 lookup "$root" "$2"
}
# services HOST [NAME=VALUE...]: starts what a server calls back.
services() {
	local host=$1 address=10.7.1.2
	shift
	[ "$host" = one ] || address=10.7.2.2
	[ -z "${pid[$host.services]:-}" ] || { kill "${pid[$host.services]}" && wait "${pid[$host.services]}"; } 2>/dev/null
	: >"$T/$host.calls"
	# Not on_host, whose shell would be killed in place of the program.
	nsenter -t "${pid[$host]}" -n -- "$top/tests/system/lock_call.py" $address services "$T/$host.calls" "$@" &
	pid[$host.services]=$!
	at_end "kill $!"
	wait_for 10 grep -q ready "$T/$host.calls" || bail "no services on $host"
}
heard() { grep -Eq -- "$2" "$T/$1.calls"; }
# listed [ADDRESS...]: are these, and no others, on disk? A line + adds a client,
# and a line - takes it away.
listed() {
	[ "$(awk '{ who = $2 " " $3 $4 $NF } $1 == "+" { on[who] = 1 }
	    $1 == "-" { delete on[who] }
	    END { for (i in on) print i }' "$T/locks" | cut -d' ' -f1 | sort -u |
	    tr '\n' ' ')" = "${*:+$* }" ]
}
locks() { "$O/nfsd/nfsd" -L -s "$T/run/portmap.sock" "$@" 2>&1; }
role_of() { pgrep -P "${pid[nfsd]}" -f "^nfsd: $1" | head -n 1; }
another() { local n; n=$(role_of "$1") && [ -n "$n" ] && [ "$n" != "$2" ]; }
kill_role() {
	local n
	n=$(role_of "$1")
	kill -9 "$n"
	wait_for 10 another "$1" "$n"
}
again() {
	stop nfsd "${1:-TERM}"
	start_again nfsd "${flags[@]}" && wait_for 10 can_lock
}
# is_now WANT HOST COMMAND...: waits for this answer.
answers() { [ "$("${@:2}")" = "$1" ]; }
# local_lock FILE KIND START LENGTH: what a program on the server finds.
local_lock() {
	python3 -c "import fcntl, os, struct, sys
fd = os.open('$1', os.O_RDWR)
form = 'hhqqi4x'
found = struct.unpack(form, fcntl.fcntl(fd, fcntl.F_GETLK, struct.pack(form, fcntl.F_$2, 0, $3, $4, 0)))
print('free' if found[0] == fcntl.F_UNLCK else f'{found[2]} {found[3]}')"
}

# Linux 6.12 has turns of a thread's own; not every kernel shows them.
turns() { grep -h '^se\.slice' /proc/"$1"/task/*/sched 2>/dev/null | awk '{ print $NF }' | sort -u; }
if [ -n "$(turns self)" ] && printf '6.12\n%s\n' "$(uname -r)" | sort -VC; then
	is "$(turns "$(role_of locks)")" 100000 'every thread of the locks role has short turns of the processor'
	is "$(turns "$(role_of nlm)")" 100000 'so has every thread of nlm'
else
	skip 'short turns are not seen here' 2
fi

fh=$(handle x file)
services one
services two

# ---- locks -----------------------------------------------------------------
is "$(by one lock "$fh" length=10)" GRANTED 'a client locks'
is "$(by two lock "$fh" offset=5 length=10)" DENIED 'another does not get the same'
is "$(by two test "$fh" offset=5 length=10)" 'DENIED write 1 0 10' 'and hears what is in the way'
is "$(by two lock "$fh" offset=10 length=10 proto=tcp)" GRANTED 'it gets what is free, over TCP'
is "$(by one lock "$fh" offset=12 vers=1)" DENIED 'version 1 meets locks of version 4'
is "$(local_lock "$T/x/file" WRLCK 0 0)" '0 20' 'a program on the server sees both'
is "$(by two unlock "$fh" offset=0 length=0)" GRANTED 'an unlock of nothing'
is "$(by one test "$fh" offset=10 svid=9)" 'DENIED write 1 10 10' 'frees nothing of others'
like "$(locks)" "^10\.7\.1\.2 \"test\" nlm 4 udp: write 0-9, process 1, inode $(stat -c %i "$T/x/file") in $T/x, [0-9]+ s\$" '-L lists the first'
like "$(locks)" '^10\.7\.2\.2 "test" nlm 4 tcp: write 10-19, process 1' 'and the second'
is "$(by two lock "$fh" block=1 svid=7)" BLOCKED 'one more waits'
like "$(locks)" '^10\.7\.2\.2 "test" nlm 4 udp: waits for write 0-end, process 7' '-L lists it'
is "$(by two unlock "$fh" offset=10 length=10 proto=tcp)" GRANTED 'one of the locks ends'
is "$(by one unlock "$fh")" GRANTED 'and the other'
check 'the client that waited is called, from the address it calls' wait_for 10 heard two '^granted 7 0 0 from 10\.7\.2\.1$'
is "$(by one lock "$fh")" DENIED 'it has the lock'
is "$(local_lock "$T/x/file" RDLCK 0 0)" '0 0' 'all of the file'
like "$(locks drop=10.7.2.2)" '^1 freed$' 'an administrator frees it'
like "$(cat "$T/nfsd.log")" 'control: user 0: drop 10\.7\.2\.2' 'which the log tells'
is "$(by one lock "$fh" exclusive=0)" GRANTED 'another client gets it'
is "$(by two lock "$fh" exclusive=0)" GRANTED 'both read'

# Where the event loop of nlm and the threads of the locks role run.
cpu=$(awk '/^Cpus_allowed_list/ { sub(/[-,].*/, "", $2); print $2 }' /proc/self/status)
near() { grep -hc "^Cpus_allowed_list:[[:space:]]*$cpu\$" /proc/"$(role_of locks)"/task/*/status | grep -c 1; }
stays() { [[ $(taskset -c -p "$(role_of nlm)") = *": $1" ]]; }
if [ "$(nproc)" -gt 1 ]; then
	is "$(near)" 0 'threads of the locks role run anywhere'
	taskset -a -p -c "$cpu" "$(role_of nlm)" >"$T/taskset" || bail 'taskset'
	is "$(by one turns "$fh" 40)" GRANTED 'a client makes one call at a time'
	is "$(near)" 1 'the thread that answers stays on the processor of nlm'
	kill_role nlm
	check 'until nlm ends' wait_for 10 answers 0 near
	wait_for 10 can_lock
	anywhere=$(taskset -c -p "$(role_of nlm)")
	(taskset -c -p "$cpu" "$BASHPID" >"$T/taskset" && by one turns "$fh" 10000 proto=tcp >"$T/turns") &
	turns=$!
	check 'one call at a time: nlm stays on the processor where its packets arrive' wait_for 10 stays "$cpu"
	wait "$turns"
	is "$(cat "$T/turns")" GRANTED 'all are answered'
	check 'without calls, it runs anywhere again' wait_for 10 stays "${anywhere##*: }"
else
	skip 'one processor' 7
fi
is "$(by one unlock "$fh")$(by two unlock "$fh")" GRANTEDGRANTED 'both unlock'
is "$(local_lock "$T/x/file" WRLCK 0 0)" free 'the file is free'
exec 9<>"$T/x/file"
python3 -c 'import fcntl; fcntl.fcntl(9, 37, __import__("struct").pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 5, 0))'
is "$(by one lock "$fh" length=1)" DENIED 'a lock of a local program is respected'
is "$(by one lock "$fh" length=1 block=1 svid=3)" BLOCKED 'a client waits for it'
exec 9>&-
check 'and gets it when that program ends' wait_for 10 heard one '^granted 3 0 1 '
is "$(by one unlock "$fh" svid=3)" GRANTED 'unlocked'
is "$(by one lock "$fh" length=1)$(by two lock "$fh" offset=1 length=1)" GRANTEDGRANTED 'two clients lock'
is "$(by one lock "$fh" offset=1 length=1 block=1)" BLOCKED 'one waits for the other'
is "$(by two lock "$fh" length=1 block=1)" DEADLCK 'who would wait for it in turn is told'
is "$(by two lock "$fh" length=1 block=1 vers=3)" BLOCKED 'another version is another owner'
is "$(by two cancel "$fh" length=1 block=1 vers=3)$(by one cancel "$fh" offset=1 length=1 block=1)" GRANTEDGRANTED 'nobody waits any more'
is "$(by one unlock "$fh")$(by two unlock "$fh")" GRANTEDGRANTED 'both unlock'

# ---- shares, and clients without a status monitor -----------------------------
for vers in 3 4; do
	is "$(by one share "$fh" mode=2 access=1 vers=$vers)" GRANTED "version $vers: one reads and denies writing"
	is "$(by two share "$fh" access=2 vers=$vers)" DENIED 'another cannot open the file to write'
	is "$(by two share "$fh" access=1 vers=$vers proto=tcp)" GRANTED 'but to read'
	is "$(by one share "$fh" mode=1 access=1 vers=$vers)" DENIED 'who reads cannot be denied to'
	is "$(by two lock "$fh")$(by two unlock "$fh")" GRANTEDGRANTED 'a share is in the way of no lock'
	is "$(by one unshare "$fh" vers=$vers)" GRANTED 'it ends'
	is "$(by two share "$fh" access=2 vers=$vers)" GRANTED 'then the other can write'
	is "$(by two unshare "$fh" vers=$vers)$(by two unshare "$fh" vers=$vers proto=tcp)" GRANTEDGRANTED 'all end'
done
is "$(by one nm_lock "$fh" name=alone)" GRANTED 'a client without a monitor locks'
is "$(by two lock "$fh")" DENIED 'which counts'
check_not 'it is not on the list of those that are told of a restart' grep -q "^+ 10.7.1.2 .*$(printf alone | od -An -tx1 | tr -d ' ')" "$T/locks"
like "$(by two free alone proto=tcp)" . 'another machine says that it has restarted'
is "$(by two lock "$fh")" DENIED 'which frees nothing'
like "$(by one free alone proto=tcp)" . 'it says so itself'
check 'that frees its locks' wait_for 10 answers GRANTED by two lock "$fh"
is "$(by two unlock "$fh")" GRANTED 'unlocked'

# ---- rights ----------------------------------------------------------------
secret=$(handle x secret)
unlike "$(by one lock "$secret" uid=1002)" GRANTED 'a stranger cannot lock a closed file'
is "$(by one lock "$secret" uid=1001 svid=2)" GRANTED 'its owner can'
is "$(by one unlock "$secret" uid=1001 svid=2)" GRANTED 'and unlock it'
shared=$(handle x shared)
for i in 0 2 4; do by one lock "$shared" uid=1002 svid=2 offset=$i length=1; done >"$T/shared.out"
is "$(sort -u "$T/shared.out")" GRANTED 'a file that is open to all can be locked again and again'
chmod 600 "$T/x/shared"
is "$(by one lock "$shared" uid=1002 svid=2 offset=6 length=1)" NOLOCKS 'a right that was taken away counts at once'
is "$(by one unlock "$shared" uid=1002 svid=2)" GRANTED 'what was locked before can be unlocked'
is "$(by one lock "$(handle free secret)" uid=1002 svid=5)" GRANTED 'with no_auth_nlm any caller can'
is "$(by one unlock "$(handle free secret)" svid=5)" GRANTED 'unlocked'
ro=$(handle ro file)
is "$(by one lock "$ro")" ROFS 'no write lock on a read-only export'
is "$(by one lock "$ro" exclusive=0)" GRANTED 'a read lock'
is "$(by one unlock "$ro")" GRANTED 'unlocked'

# ---- the end of processes ----------------------------------------------------
is "$(by one lock "$fh" length=10 state=5)" GRANTED 'a client locks'
for role in nlm broker worker; do
	check "$role is killed" kill_role $role
	check "the lock stays after the end of $role" wait_for 20 answers DENIED by two lock "$fh"
done
check 'the client alone is on disk' wait_for 30 listed 10.7.1.2
# reclaimed WHAT: the table was lost. The client is told, and reclaims; another
# gets nothing meanwhile.
reclaimed() {
	local begin=$SECONDS
	check "$1: the client is told, by the address it calls" wait_for 20 heard one '^notify [^ ]+ [0-9]*[13579] from 10\.7\.1\.1$'
	is "$(by two lock "$fh")" GRACE "$1: another must wait"
	is "$(by two lock "$fh" reclaim=1)" GRACE "$1: it held nothing to reclaim"
	is "$(by one lock "$fh" length=10 state=5 reclaim=1)" GRANTED "$1: the client reclaims"
	is "$(local_lock "$T/x/file" WRLCK 0 0)" '0 10' "$1: and holds it"
	check "$1: another is served again" wait_for 50 answers DENIED by two lock "$fh"
	[ $((SECONDS - begin)) -le 40 ]
	ok $? "$1: early, as all have reclaimed: after $((SECONDS - begin)) s"
	# A client that asked in vain is on the list for some seconds.
	check "$1: the client alone is on disk" wait_for 30 listed 10.7.1.2
	: >"$T/one.calls"
}
: >"$T/one.calls"
check 'locks is killed' kill_role locks
reclaimed 'locks is killed'
like "$(cat "$T/nfsd.log")" 'locks: state [0-9]+: 1 clients held locks: they are told' 'the log tells it'
check 'nfsd is restarted' again
reclaimed 'restart'
check 'nfsd is killed' again KILL
reclaimed 'nfsd is killed'
is "$(on_host one "$top/tests/system/lock_call.py" 10.7.1.9 lock "$fh" offset=50 length=1 name=second 2>&1 | tail -n 1)" GRANTED \
	'a client that mounted another address locks'
flags=(-p 2049 -o grace=5)
check 'nfsd is killed again' again KILL
check 'the client is told' wait_for 20 heard one '^notify [^ ]+ [0-9]+ from 10\.7\.1\.1$'
check 'and the other from the address that it mounted' wait_for 20 heard one '^notify 10\.7\.1\.9 [0-9]+ from 10\.7\.1\.9$'
check 'if it does not reclaim, others are served after grace' wait_for 30 answers GRANTED by two lock "$fh" length=10
is "$(by one lock "$fh" length=10 state=5 reclaim=1)" GRACE 'then it is too late'
is "$(by two unlock "$fh")" GRANTED 'the other unlocks'
check 'no client is on the list any more' wait_for 30 listed
check 'nfsd is restarted' again
is "$(by two lock "$fh" svid=8)" GRANTED 'no client held a lock: no grace'
is "$(by two unlock "$fh" svid=8)" GRANTED 'unlocked'

# ---- the end of the machine --------------------------------------------------
# What its disk has at the moment of a GRANTED is what is left of it.
loop_fs ext4 16 "$T/disk" || bail 'no ext4'
flags+=(-o "state=$T/disk")
check 'nfsd has its list on another disk' again
is "$(by one lock "$fh" length=10 state=5)" GRANTED 'a client locks'
cp --sparse=always "$T"/loop.* "$T/after"
is "$(by two lock "$fh" offset=20 length=1)" GRANTED 'another locks later'
stop nfsd KILL
umount "$T/disk"
mount -o loop "$T/after" "$T/disk" || bail 'what is left of the disk'
: >"$T/one.calls"
check 'the machine is back' again
check 'the client that had its lock before is told' wait_for 20 heard one '^notify '
is "$(by two lock "$fh" offset=20 length=1 reclaim=1)" GRACE 'the other is not on this disk'
is "$(by one lock "$fh" length=10 state=5 reclaim=1)" GRANTED 'the first reclaims'
is "$(by one unlock "$fh")" GRANTED 'unlocked'
check 'then others are served' wait_for 20 answers GRANTED by two lock "$fh" svid=8

# ---- clients that restart -----------------------------------------------------
is "$(by one lock "$fh" svid=8)" DENIED 'a client holds the lock'
like "$(by one notify test 7 proto=tcp)" . 'another machine says that it has restarted'
is "$(by one lock "$fh")" DENIED 'that frees nothing of the first'
services two state=3
like "$(by two notify test 7)" . 'its own address says so by UDP, but its monitor does not'
wait_for 10 heard two '^call 100024 1 1 '
ok $? 'which was asked'
is "$(by one lock "$fh")" DENIED 'that frees nothing either'
services two state=7
like "$(by two notify test 7)" . 'the monitor agrees'
check 'the locks of the client are freed' wait_for 60 answers GRANTED by one lock "$fh"
is "$(by one unlock "$fh")" GRANTED 'unlocked'
done_testing

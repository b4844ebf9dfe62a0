#!/bin/bash
# SPDX-License-Identifier: ISC
#
# When there are no locks to be had, a client hears so at once, files are served,
# and the log says why: -o nolocks, another lock manager on this machine, a state
# directory that is missing, in use, full or read-only, and a list that is not
# one. Also the ports of locks.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3
mkdir -m 1777 "$T/x"
echo content >"$T/x/file" && chmod 666 "$T/x/file"
exports "$T/x 127.0.0.1(rw,insecure)"
start portmapd || bail 'portmapd did not start'
start mountd -p 20048
wait_for 10 registered 100005 3 tcp || bail 'mountd is not registered'
can_lock() { registered 100021 4 udp && registered 100024 1 tcp; }
serves() { nfs mnt "$T/x" && nfs getattr "$fh"; }
# nfsd_with FLAG...: starts it anew and waits until it is registered.
nfsd_with() {
	stop nfsd
	start nfsd -p 2049 -w 1 "$@" && wait_for 10 can_lock
}
ask() { "$top/tests/system/lock_call.py" 127.0.0.1 "$@" 2>&1 | tail -n 1; }
logged() { grep -Eq -- "$1" "$T/nfsd.log"; }
roles() { pgrep -P "${pid[nfsd]}" -a | sed 's/.*nfsd: //' | sort | tr '\n' ' '; }
answers() { [ "$("${@:2}")" = "$1" ]; }

check 'nfsd starts without locks' nfsd_with -o nolocks
fh=$(nfs lookup "$(nfs mnt "$T/x")" file)
is "$(roles)" 'broker nlm worker ' 'no process has a table'
is "$(ask lock "$fh")" NOLOCKS '-o nolocks: a lock is refused at once'
is "$(ask test "$fh" proto=tcp vers=1)" NOLOCKS 'also by TCP and version 1'
is "$(ask share "$fh")" NOLOCKS 'and a share'
is "$(ask unlock "$fh")" GRANTED 'to unlock is no error'
like "$("$O/nfsd/nfsd" -L -s "$T/run/portmap.sock" 2>&1)" 'nfsd serves no locks' '-L says so'
check_not 'nothing is kept on disk' test -e "$T/locks"

check 'ports are chosen' nfsd_with -o lock-port=4045 -o status-port=4046
like "$(rpcinfo -p 127.0.0.1)" '100021 +4 +udp +4045' 'that of locks'
like "$(rpcinfo -p 127.0.0.1)" '100024 +1 +tcp +4046' 'that of the status monitor'
is "$(roles)" 'broker locks nlm worker ' 'all processes run'
is "$(ask lock "$fh")" GRANTED 'a lock is granted'
is "$(ask unlock "$fh")" GRANTED 'and freed'
like "$("$O/nfsd/nfsd" -d -p 2050 -R -f "$T/exports" -k "$T/key" -o control="$T/c" -o lock-port=4045 2>&1 >/dev/null)" \
	'cannot listen on tcp 0\.0\.0\.0:4045: the port is taken by nfsd .*-o lock-port' 'a port that is taken is named with its option'

# ---- the state directory -----------------------------------------------------
mkdir "$T/other"
"$O/nfsd/nfsd" -d -p 2050 -R -f "$T/exports" -k "$T/key" -o control="$T/c" >"$T/second.log" 2>&1 &
pid[second]=$!
at_end "kill $!"
check 'a second nfsd with the same directory says so' \
	wait_for 10 grep -q 'another nfsd uses it: no locks are served' "$T/second.log"
kill "${pid[second]}" && wait "${pid[second]}" 2>/dev/null
unset 'pid[second]'

check 'nfsd starts with a directory that does not exist' nfsd_with -o state="$T/missing"
check 'and says so' logged "locks: $T/missing: no locks are served: make the directory.*No such file"
is "$(ask lock "$fh")" NOLOCKS 'a lock is refused'
check 'files are served' serves

mkdir "$T/small"
mount -t tmpfs -o size=64k,mode=755 tmpfs "$T/small"
check 'nfsd starts with a directory of its own' nfsd_with -o state="$T/small"
dd if=/dev/zero of="$T/small/fill" bs=4096 2>/dev/null
for i in 1 2 3; do # the last page of the file may have room for one
	ask lock "$fh" offset=$i length=1 name="$i$(printf 'n%.0s' {1..1000})"
done >"$T/full.out"
check 'a full disk: new clients get no lock' grep -q NOLOCKS "$T/full.out"
check 'which the log tells' logged "$T/small/locks: clients get no locks until it can be written: No space"
check 'files are served' serves
rm "$T/small/fill"
check 'locks are back when there is room' wait_for 10 answers GRANTED ask lock "$fh" offset=1000 svid=9 name=later
check 'the log tells that too' logged "$T/small/locks: it can be written again"
stop nfsd
mount -o remount,ro "$T/small"
check 'nfsd starts with a directory that is read-only' nfsd_with -o state="$T/small" -o grace=5
check 'and says so' logged "$T/small/locks: clients get no locks until it can be written: Read-only"
is "$(ask lock "$fh" offset=1000)" NOLOCKS 'a lock is refused'
check 'files are served' serves
mount -o remount,rw "$T/small"
check 'when it can be written, clients that held locks reclaim first' \
	wait_for 10 answers GRACE ask lock "$fh" offset=1000
check 'then others get locks' wait_for 20 answers GRANTED ask lock "$fh" offset=5000
stop nfsd

echo nonsense >"$T/small/locks"
check 'nfsd starts with a file that is no list' nfsd_with -o state="$T/small"
check 'and says so' logged "$T/small/locks: not a list of clients with locks: renamed to locks.bad"
is "$(ask lock "$fh")" GRANTED 'locks are served'
stop nfsd
umount "$T/small"

# ---- another lock manager ----------------------------------------------------
# portmapd keeps an entry as long as the connection lives that made it.
python3 -c "
import socket, sys, time
import pmap
from rpc import call, opaque, record, u32
held = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
held.bind(('0.0.0.0', 0))
high, low = divmod(held.getsockname()[1], 256)
s = socket.socket(socket.AF_UNIX)
s.connect('$T/run/portmap.sock')
s.sendall(record(call(100000, 4, 1, u32(100024, 1) + opaque('udp')
    + opaque(f'0.0.0.0.{high}.{low}') + opaque('superuser'))))
s.recv(100)
print('held', flush=True)
time.sleep(600)" >"$T/holder.out" &
pid[holder]=$!
at_end "kill $!"
check 'another status monitor is registered' wait_for 10 grep -q held "$T/holder.out"
start nfsd -p 2049 -w 1 -o grace=2
check 'nfsd serves no locks and says which process has it' \
	wait_for 10 logged 'locks: not served: program 100024 version 1 on udp is registered by python3 \(pid [0-9]+\)'
check_not 'it leaves no entry of its own' registered 100021 4 udp
check 'files are served' serves
kill "${pid[holder]}" && wait "${pid[holder]}" 2>/dev/null
unset 'pid[holder]'
check 'when that has ended, locks are served' wait_for 10 can_lock
check 'a lock is granted' wait_for 20 answers GRANTED ask lock "$fh"
done_testing

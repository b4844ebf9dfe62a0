#!/bin/bash
# SPDX-License-Identifier: ISC
#
# The engine behind an export is sick: it does not answer, or its process is dead.
# Only its own clients wait, also when the daemons start, reload, or see a mount.
# When it is back it is served, without a reload.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3
[ -c /dev/fuse ] || skip_all 'no FUSE in this kernel'

gets() { [ "$1" = "$("${@:2}")" ]; }
# engine: starts the process of the filesystem; hang: it does not answer.
engine() {
	"$top/tests/system/slowfs.py" "$T/sick" "$T/mood" 2>>"$T/slowfs.log" &
	fuse=$!
	at_end "kill $fuse"
	wait_for 10 grep -q " $T/sick " /proc/self/mountinfo || skip_all "no FUSE: $(cat "$T/slowfs.log")"
}
hang() { echo hang >"$T/mood"; }
# by_2 FH: what GETATTR of version 2 gets: a number, or "nothing"
by_2() {
	python3 - "$1" <<'P'
import sys
import nfs
from rpc import TRANSPORTS
c = nfs.Nfs2(TRANSPORTS["udp"](nfs.PORT, timeout=2))
try:
    print(c.call("GETATTR", bytes.fromhex(sys.argv[1])).status())
except TimeoutError:
    print("nothing")
P
}
# in_time NAME COMMAND...: does it end within 8 seconds? Then it did not wait for
# the engine, which never answers.
in_time() {
	local from=$SECONDS
	check "$1" "${@:2}"
	ok $((SECONDS - from > 8)) "$1: without waiting for the sick one"
}
good() { [[ $(NFS_TIMEOUT=5 nfs getattr "$(NFS_TIMEOUT=5 nfs mnt "$T/good")") == *type=2* ]]; }
mkdir -m 777 "$T/sick" "$T/good" "$T/cross" "$T/cross/new"
text="$T/cross 127.0.0.1(rw,insecure,crossmnt)
$T/good 127.0.0.1(rw,insecure)
$T/sick 127.0.0.1(rw,insecure)"

# It hangs at the start.
hang
engine
in_time 'start: the daemons start' tern_start "$text" -w 1
in_time 'start: another export is served' good
for d in mountd nfsd; do
	like "$(cat "$T/$d.log")" "export $T/sick: its filesystem does not answer; clients wait until it does" \
		"start: $d says so"
done
rm "$T/mood"
served() { [[ $(NFS_TIMEOUT=2 nfs mnt "$T/sick") =~ ^[0-9a-f]{64}$ ]]; }
check 'start: it is served when it answers' wait_for 20 served
s=$(nfs mnt "$T/sick")
check 'start: by nfsd too' wait_for 20 gets slow nfs read "$(nfs lookup "$s" file)" 0 9
f=$(nfs lookup "$s" file)

# It hangs while it is served, and the daemons reload and see mounts.
hang
kill -HUP "${pid[mountd]}" "${pid[nfsd]}"
reloaded() { grep -q 'exports: nothing changed' "$T/mountd.log" && grep -q 'exports: nothing changed' "$T/nfsd.log"; }
in_time 'reload: the daemons reload' wait_for 20 reloaded
in_time 'reload: another export is served' good
mount -t tmpfs -o mode=777 tmpfs "$T/cross/new" && : >"$T/cross/new/file"
c=$(nfs mnt "$T/cross")
lists() { [ "$1" = "$(nfs list "$(nfs lookup "$c" "$2")")" ]; }
in_time 'mount: a new mount is entered' wait_for 8 lists '. .. file' new
in_time 'mount: another export is served' good
rm "$T/mood"
check 'it is served again when it answers' wait_for 20 gets slow nfs read "$f" 0 9

# One that is mounted inside an export with crossmnt hangs.
mkdir "$T/cross/sick"
"$top/tests/system/slowfs.py" "$T/cross/sick" "$T/mood" 2>>"$T/slowfs.log" &
at_end "kill $!"
check 'inside: it is entered' wait_for 10 lists file sick
hang
for n in $(seq 8); do
	NFS_TIMEOUT=30 nfs lookup "$c" sick >"$T/inside.$n" 2>&1 &
	waiting[n]=$!
done
in_time 'inside: another export is served' good
NFS_TIMEOUT=5 nfs null >/dev/null
is $? 0 'inside: NULL is answered'
rm "$T/mood"
for n in $(seq 8); do
	wait "${waiting[n]}"
done
is "$(cat "$T"/inside.* | grep -cE '^[0-9a-f]{64}$')" 8 'inside: its clients are answered when it is back'

# Its process is dead.
kill -9 $fuse
wait $fuse 2>/dev/null
check 'dead: clients of version 3 wait' wait_for 10 gets JUKEBOX nfs read "$f" 0 9
is "$(nfs getattr "$s")" JUKEBOX 'dead: at its root too'
is "$(by_2 "$f")" nothing 'dead: clients of version 2 get no reply'
check 'dead: another export is served' good
check 'dead: it can be unmounted' umount "$T/sick"
check 'unmounted: clients wait' wait_for 10 gets JUKEBOX nfs getattr "$s"
engine
check 'started again: the same handles work' wait_for 20 gets slow nfs read "$f" 0 9
is "$(by_2 "$f")" 0 'started again: by version 2 too'
done_testing

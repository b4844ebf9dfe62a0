#!/bin/bash
# SPDX-License-Identifier: ISC
#
# umount(8) means umount: the disk of an export is unmounted while clients use it.
# It is free a moment later, also if clients hold locks there, clients wait, and the
# directory beneath is never served.
# When it is mounted again, the same handles work, without a reload.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3 mkfs.ext4 e2fsprogs

# gets TEXT COMMAND...: does it print this?
gets() { [ "$1" = "$("${@:2}")" ]; }
# is_free DEVICE: does nothing use it? Only then it can be opened exclusively.
is_free() { python3 -c 'import os, sys; os.open(sys.argv[1], os.O_RDONLY | os.O_EXCL)' "$1"; }
# since NAME: the log of a daemon since mark
mark() {
	seen[mountd]=$(wc -l <"$T/mountd.log")
	seen[nfsd]=$(wc -l <"$T/nfsd.log")
}
declare -A seen
since() { tail -n +$((seen[$1] + 1)) "$T/$1.log"; }
# in_logs TEXT: do both daemons say so since, once?
in_logs() {
	[ "$(since mountd | grep -c "$1")" = 1 ] &&
	    [ "$(since nfsd | grep -c "$1")" = 1 ]
}
# by_2 udp|tcp FH: what GETATTR of version 2 gets: a number, or "nothing"
by_2() {
	python3 - "$@" <<'P'
import sys
import nfs
from rpc import TRANSPORTS
kind, fh = sys.argv[1], bytes.fromhex(sys.argv[2])
c = nfs.Nfs2(TRANSPORTS[kind](nfs.PORT, timeout=1))
try:
    print(c.call("GETATTR", fh).status())
except TimeoutError:
    print("nothing")
P
}
lock() { "$top/tests/system/lock_call.py" 127.0.0.1 "$@" uid=1000; }
# is_locked FILE: has a client a lock that programs here see?
is_locked() {
	python3 -c 'import fcntl, sys
try:
    fcntl.lockf(open(sys.argv[1], "r+b"), fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    sys.exit(0)
sys.exit(1)' "$1"
}
# by_mnt PATH: what MNT gets: a number, or "nothing"
by_mnt() {
	python3 - "$1" <<'P'
import sys
import mount
try:
    print(mount.mnt(mount.tcp(mount.PORT, timeout=1), sys.argv[1]).status())
except TimeoutError:
    print("nothing")
P
}

mkdir "$T/usb" "$T/other"
echo beneath >"$T/usb/beneath"
truncate -s 32M "$T/image"
mkfs.ext4 -q -F "$T/image"
disk=$(losetup -f --show "$T/image") || skip_all 'no loop devices'
at_end "losetup -d $disk"
mount "$disk" "$T/usb"
chmod 777 "$T/usb" "$T/other"
mkdir -m 777 "$T/usb/dir"
echo text >"$T/usb/file" && chmod 666 "$T/usb/file"

# all WHERE: every check, with the daemons running.
all() {
	local root file made log
	root=$(nfs mnt "$T/usb")
	file=$(nfs lookup "$root" file)
	is "$(nfs read "$file" 0 9)" text "$1: the disk is served"
	is "$(by_2 tcp "$file") $(by_2 udp "$file") $(by_mnt "$T/usb")" '0 0 0' "$1: by version 2 and MNT too"
	made=$(nfs -u 1000 create "$root" "made" 644)
	nfs -u 1000 write "$made" 0 data 0 >/dev/null
	is "$(lock lock "$file" svid=1) $(lock lock "$made" svid=1)" 'GRANTED GRANTED' "$1: a client locks files"
	check "$1: programs here see a lock" is_locked "$T/usb/file"
	mark
	check "$1: umount succeeds while clients use it" umount "$T/usb"
	check "$1: the device is free" wait_for 10 is_free "$disk"
	is "$(nfs getattr "$root")" JUKEBOX "$1: the root: clients wait"
	is "$(nfs read "$file" 0 9)" JUKEBOX "$1: a file: clients wait"
	is "$(nfs -u 1000 write "$made" 0 more 0)" JUKEBOX "$1: WRITE: clients wait"
	is "$(lock lock "$file" svid=2)" GRACE "$1: a client that wants a lock asks again"
	is "$(lock unlock "$made" svid=1)" GRANTED "$1: a client can unlock"
	is "$(nfs lookup "$root" beneath)" JUKEBOX "$1: the directory beneath is not served"
	is "$(by_mnt "$T/usb")" nothing "$1: MNT gets no answer"
	is "$(by_2 tcp "$file") $(by_2 udp "$file")" 'nothing nothing' "$1: nor does version 2"
	check "$1: another export is served" nfs getattr "$(nfs mnt "$T/other")"
	log='unmounted; clients wait until it is mounted again'
	check "$1: both daemons say so once" wait_for 5 in_logs "$log"
	kill -HUP "${pid[mountd]}" "${pid[nfsd]}"
	wait_for 5 in_logs 'exports: nothing changed'
	is "$(nfs getattr "$root")" JUKEBOX "$1: a reload does not serve the directory beneath"
	is "$(ls "$T/usb")" beneath "$1: nothing was made there"
	e2fsck -fn "$disk" >"$T/fsck.log" 2>&1
	is $? 0 "$1: the filesystem is clean"
	mount "$disk" "$T/usb"
	check "$1: mounted again: the same handles work" wait_for 10 gets text nfs read "$file" 0 9
	is "$(nfs read "$made" 0 9)" data "$1: what was written is there"
	is "$(lock lock "$file" svid=2)" DENIED "$1: its owner still has the lock"
	check "$1: programs here see it again" is_locked "$T/usb/file"
	check_not "$1: but not what was unlocked" is_locked "$T/usb/made"
	is "$(lock unlock "$file" svid=1) $(lock lock "$file" svid=2)" 'GRANTED GRANTED' "$1: then another gets it"
	lock unlock "$file" svid=2 >/dev/null
	check "$1: it can be mounted" wait_for 5 gets "$root" nfs mnt "$T/usb"
	check "$1: both daemons say so once" wait_for 5 in_logs 'mounted; it is served'
	rm -f "$T/usb/made"
	is "$({ since nfsd; since mountd; } | grep -vE 'export|mounted /|refused MNT|about peers suppressed')" '' \
		"$1: the logs say no more"
}

tern_start "$T/other 127.0.0.1(rw,insecure)
$T/usb 127.0.0.1(rw,insecure)" -w 2
roles=$(pgrep -f '^(nfsd|mountd): ' | paste -sd' ')
all mounts
is "$(pgrep -f '^(nfsd|mountd): ' | paste -sd' ')" "$roles" 'no role was restarted'
tern_stop

# Without the right to mount, as in a container, the daemons use the disk itself.
rm "$T/locks" # there is no grace
TERN_WRAP='setpriv --no-new-privs --bounding-set -sys_admin' tern_start "$T/other 127.0.0.1(rw,insecure)
$T/usb 127.0.0.1(rw,insecure)" -w 1
can_lock() { registered 100021 4 udp; }
wait_for 20 can_lock
is "$(lock lock "$(nfs lookup "$(nfs mnt "$T/usb")" file)" svid=1)" GRANTED 'a client locks a file'
like "$(umount "$T/usb" 2>&1)" 'busy' 'without mounts of their own, umount says that it is busy'
exports "$T/other 127.0.0.1(rw,insecure)"
kill -HUP "${pid[mountd]}" "${pid[nfsd]}"
check 'and succeeds when the export was removed' wait_for 20 umount "$T/usb"
done_testing

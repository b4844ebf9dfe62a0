#!/bin/bash
# SPDX-License-Identifier: ISC
#
# Nothing that one client causes stops the event loop: while calls on one export
# wait, another client on another export is served. The worker is alone (-w 1),
# so both are served by one loop.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3 fsfreeze util-linux
[ -c /dev/fuse ] || skip_all 'no FUSE in this kernel'
ram 600
loop_fs ext4 200 "$T/bad" || skip_all 'needs a loop-mounted ext4'
mkdir -m 777 "$T/good" "$T/dead" "$T/disk"
chmod 777 "$T/bad"

# A disk that can stop to answer: an image in a filesystem of moods. What is in it
# is read from it again, in small blocks.
image=$LOOP_IN/dead
truncate -s 16M "$image"
mkfs.ext4 -q -F -b 1024 "$image"
mount -o loop "$image" "$T/dead"
mkdir "$T/dead"/dir{0..2}
touch "$T/dead"/dir{0..2}/in "$T/dead"/far{0..400} "$T/dead/used"
ln -s "$(printf 'x%.0s' {1..200})" "$T/dead/link"
umount "$T/dead"
"$top/tests/system/slowfs.py" "$T/disk" "$T/mood" "$image" 2>"$T/slowfs.log" &
fuse=$!
at_end "umount -l $T/disk"
at_end "kill $fuse"
wait_for 5 mountpoint -q "$T/disk" || skip_all "no FUSE: $(cat "$T/slowfs.log")"
mount -o loop,noatime,inode_readahead_blks=0 "$T/disk/file" "$T/dead"
at_end "umount -l $T/dead"
at_end "rm -f $T/mood"
tern_start "$T/good 127.0.0.1(rw,insecure,no_root_squash)
$T/bad 127.0.0.1(rw,insecure,no_root_squash)
$T/dead 127.0.0.1(rw,insecure,no_root_squash)" -w 1 -o files=16
at_end "fsfreeze -u $T/bad"
"$top/tests/system/loop_waits.py" "$T/good" "$T/bad" "$T/dead" "$T/mood" \
	"${pid[nfsd]}" >"$T/waits.out" 2>"$T/waits.log"
rc=$?
while IFS= read -r line; do
	case $line in
	'not ok '*) ok 1 "${line#not ok }" ;;
	'ok '*) ok 0 "${line#ok }" ;;
	*) diag "$line" ;;
	esac
done <"$T/waits.out"
is "$rc" 0 'the client of the test ended well'
done_testing

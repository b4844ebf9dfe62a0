#!/bin/bash
# SPDX-License-Identifier: ISC
# Handles of more files than are open are cached, and each only for its own
# file.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3 btrfs btrfs-progs
ram 500
mkdir "$T/ext4" "$T/btrfs" "$T/overlay" "$T/parts"
loop_fs ext4 64 "$T/ext4" || skip_all 'no loop-mounted ext4'
have=ext4
loop_fs btrfs 200 "$T/btrfs" &&
    btrfs -q subvolume create "$T/btrfs/many" >"$T/btrfs.log" && have+=' btrfs'
mount -t tmpfs tmpfs "$T/parts" && mkdir "$T/parts/"{lower,upper,work} &&
    (cd "$T/parts" && mount -t overlay -o \
	lowerdir=lower,upperdir=upper,workdir=work overlay "$T/overlay") &&
    have+=' overlay'
for fs in $have; do
	mkdir -p "$T/$fs/many" "$T/$fs/others"
	for i in $(seq 0 499); do echo "$i" >"$T/$fs/many/f$i"; done
	for i in $(seq 0 199); do : >"$T/$fs/others/f$i"; done
	echo "$T/$fs 127.0.0.1(rw,insecure)" >>"$T/lines"
done
# Files created in this second are not cached.
settled() { [ "$(($(date +%s) - $(stat -c %W "$T/ext4/others/f199")))" -gt 2 ]; }
wait_for 10 settled
tern_start "$(cat "$T/lines")" -w 1 -o files=64
notes() { "$top/tests/system/notes.py" "$T/run/nfsd.control" "$@"; }
check 'handles of 500 files are cached with 64 files open' notes known "$T/ext4"
check 'a reused inode number does not get the old handle' notes replaced "$T/ext4"
case $have in
*btrfs*) check 'a new snapshot does not get the handles of a deleted one' \
    notes snapshot "$T/btrfs" ;;
*) skip 'no btrfs' ;;
esac
case $have in
*overlay) check 'handles that depend on a path are not cached' \
    notes unknown "$T/overlay" ;;
*) skip 'no overlay filesystem' ;;
esac
done_testing

#!/bin/bash
# SPDX-License-Identifier: ISC
# A change of a file invalidates everything cached about it, even on a
# filesystem with times of whole seconds (ext4 with inodes of 128 bytes, as in
# ext3).
. "${0%/*}/lib.sh"
private "$@"
need python3 python3
ram 200
for fs in ext4 seconds tmpfs; do
	mkdir "$T/$fs"
done
loop_fs ext4 64 "$T/ext4" && loop_fs seconds 64 "$T/seconds" ||
    skip_all 'no loop-mounted ext4'
mount -t tmpfs tmpfs "$T/tmpfs"
touch "$T/seconds/one"
is "$(stat -c %z "$T/seconds/one" | grep -o '\.0* ')" '.000000000 ' 'an ext4 with inodes of 128 bytes has times of whole seconds'
tern_start "$T/ext4 127.0.0.1(rw,insecure)
$T/seconds 127.0.0.1(rw,insecure)
$T/tmpfs 127.0.0.1(rw,insecure)"
for fs in ext4 seconds tmpfs; do
	check "$fs: the next call sees every change" \
	    "$top/tests/system/changes.py" "$T/$fs" 20
done
done_testing

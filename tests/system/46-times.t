#!/bin/bash
# SPDX-License-Identifier: ISC
# What is remembered about a file ends with its next change, also where times
# are kept in whole seconds (ext4 with inodes of 128 bytes, as ext3 had them).
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
is "$(stat -c %z "$T/seconds/one" | grep -o '\.0* ')" '.000000000 ' 'it does'
tern_start "$T/ext4 127.0.0.1(rw,insecure)
$T/seconds 127.0.0.1(rw,insecure)
$T/tmpfs 127.0.0.1(rw,insecure)"
for fs in ext4 seconds tmpfs; do
	check "$fs: every change is seen by the next call" \
	    "$top/tests/system/changes.py" "$T/$fs" 20
done
done_testing

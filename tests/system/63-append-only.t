#!/bin/bash
# SPDX-License-Identifier: ISC
#
# A file that is made immutable or append-only while a worker holds it open for
# writing is not written any more: by its owner, by another writer, by root.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3 chattr e2fsprogs
ram 200
mkdir "$T/ext4" "$T/btrfs"
loop_fs ext4 64 "$T/ext4" || skip_all 'no loop-mounted ext4'
kinds=ext4
loop_fs btrfs 120 "$T/btrfs" && kinds+=' btrfs'
text=
for fs in $kinds; do
	mkdir -m 777 "$T/$fs/x"
	chmod 777 "$T/$fs/x"
	text+="$T/$fs/x 127.0.0.1(rw,insecure,no_root_squash)"$'\n'
done
tern_start "$text" -w 1

for fs in $kinds; do
	x=$(nfs mnt "$T/$fs/x")
	f=$(nfs -u 1001 create "$x" f 666)
	file=$T/$fs/x/f
	for user in 1001 1002 0; do
		is "$(nfs -u $user write "$f" 0 data)" 4 "$fs: user $user writes"
	done
	for flag in a i; do
		chattr "+$flag" "$file" || bail "no chattr +$flag"
		for user in 1001 1002 0; do
			what="$fs: chattr +$flag: user $user"
			is "$(nfs -u $user write "$f" 0 evil 0)" PERM "$what: no unstable WRITE"
			is "$(nfs -u $user write "$f" 9 evil 2)" PERM "$what: no stable WRITE"
			is "$(nfs -u $user truncate "$f" 0)" PERM "$what: no truncation"
			is "$(nfs -u $user read "$f" 0 9)" data "$what: READ goes on"
		done
		is "$(nfs -u 1001 lookup "$x" f)" "$f" "$fs: chattr +$flag: the file is found"
		chattr "-$flag" "$file"
		is "$(nfs -u 1001 write "$f" 0 data)" 4 "$fs: chattr -$flag: the owner writes again"
	done
	is "$(cat "$file")" data "$fs: the file is as it was"
done
done_testing

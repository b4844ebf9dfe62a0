#!/bin/bash
# SPDX-License-Identifier: ISC
#
# Subvolumes of btrfs: one rule for mountd and nfsd. They belong to the export, as
# directories do, and clients see each as another filesystem. Snapshots that are
# made later are there at once.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3 btrfs btrfs-progs

field() { nfs getattr "$2" | grep -o "$1=[0-9]*" | cut -d= -f2; }
subvolume() { btrfs -q subvolume "$@" >>"$T/btrfs.log" 2>&1; }
mkdir "$T/b"
loop_fs btrfs 200 "$T/b" && subvolume create "$T/b/vol" || skip_all 'no btrfs here'
mkdir "$T/b/vol/dir"
echo text >"$T/b/vol/file"
chmod -R 777 "$T/b"

# all OPTIONS: every check.
all() {
	local root vol name
	tern_start "$T/b 127.0.0.1(rw,insecure$1)" -w 1
	root=$(nfs mnt "$T/b")
	vol=$(nfs lookup "$root" vol)
	is "$(nfs list "$vol")" '. .. dir file' "${1:-plain}: nfsd enters a subvolume"
	is "$(nfs mnt "$T/b/vol")" "$vol" "${1:-plain}: mountd too, with the same handle"
	for name in dir file; do
		is "$(nfs mnt "$T/b/vol/$name")" "$(nfs lookup "$vol" $name)" \
			"${1:-plain}: MNT and LOOKUP of a $name in it agree"
	done
	check "${1:-plain}: it is another filesystem for clients" \
		[ "$(field fsid "$vol")" != "$(field fsid "$root")" ]
	subvolume snapshot "$T/b/vol" "$T/b/snap$1"
	is "$(nfs read "$(nfs lookup "$(nfs lookup "$root" "snap$1")" file)" 0 9)" text \
		"${1:-plain}: a new snapshot is read"
	is "$(nfs mnt "$T/b/snap$1")" "$(nfs lookup "$root" "snap$1")" \
		"${1:-plain}: and mounted"
	tern_stop
}
all ''
all ,crossmnt
done_testing

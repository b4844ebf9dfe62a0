#!/bin/bash
# SPDX-License-Identifier: ISC
# The same tests on several filesystems. They differ in handles, in the order of
# directory entries and in times.
. "${0%/*}/lib.sh"
private "$@"
need rpcinfo rpcbind

raw=$(built system)/libnfs_raw
client=$(built system)/nfs_client
[ -x "$raw" ] && [ -x "$client" ] || skip_all "test programs are not built"
ram 1200

# area TYPE: mounts a filesystem with four exported directories. Fails if there
# is none here.
area() {
	local d=$T/$1
	mkdir -p "$d"
	case $1 in
	tmpfs) mount -t tmpfs tmpfs "$d" ;;
	overlay)
		mkdir -p "$T/ram/lower" "$T/ram/upper" "$T/ram/work" &&
		    mount -t overlay -o "lowerdir=$T/ram/lower,upperdir=$T/ram/upper,workdir=$T/ram/work" overlay "$d"
		;;
	*) loop_fs "$1" 320 "$d" ;;
	esac || return 1
	mkdir "$d"/{calls,data,names,many} "$T/$1.beside"
	chown 1001:1001 "$d"/{calls,data,names,many}
	for d in "$d"/{calls,data,names,many}; do
		list+="$d 127.0.0.1(rw,insecure)"$'\n'
	done
}

list=
have=
for fs in ext4 tmpfs xfs btrfs overlay; do
	if area $fs >"$T/area.out" 2>&1; then
		have+=" $fs"
	else
		diag "$fs: $(tail -n 1 "$T/area.out")"
		skip "no $fs here" 4
	fi
done
tern_start "$list"

# model FILESYSTEM AREA TEST...
model() {
	local d=$T/$1/$2
	shift 2
	timeout 300 "$client" 127.0.0.1 20048 2049 "$d" tcp 1001 "$@"
}

for fs in $have; do
	check "$fs: every procedure of both versions succeeds" timeout 60 "$raw" \
	    127.0.0.1 "$T/$fs/calls" 1001
	check "$fs: data equals the model" model "$fs" data data 1000
	check "$fs: names equal the model" model "$fs" names names 2000 \
	    "$T/$fs.beside"
	check "$fs: both versions list a busy directory of 5000" \
	    model "$fs" many list 5000 "$T/$fs/many"
done
unlike "$(cat "$T/nfsd.log")" "restart|died|killed" "no worker died"
done_testing

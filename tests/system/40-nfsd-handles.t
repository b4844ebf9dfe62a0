#!/bin/bash
# SPDX-License-Identifier: ISC
#
# Handles stay valid over restarts, renames and edits of the exports, on every
# filesystem of this machine. They never lead to another file.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3

inode() { stat -c %i "$1"; }
fileid() { nfs getattr "$1" | grep -o 'fileid=[0-9]*' | cut -d= -f2; }

ram 1024
declare -A where=()
for fs in ext4 xfs btrfs; do
	size=100
	[ $fs = xfs ] && size=300
	[ $fs = btrfs ] && size=130
	loop_fs $fs $size "$T/$fs" 2>/dev/null && where[$fs]=$T/$fs
done
mkdir "$T/tmpfs" "$T/overlay" "$T/ovl"
mount -t tmpfs none "$T/tmpfs" && where[tmpfs]=$T/tmpfs
mount -t tmpfs none "$T/ovl" && mkdir "$T/ovl/low" "$T/ovl/up" "$T/ovl/work" &&
	echo lower >"$T/ovl/low/lower" && chmod 666 "$T/ovl/low/lower" &&
	mount -t overlay -o "lowerdir=$T/ovl/low,upperdir=$T/ovl/up,workdir=$T/ovl/work" \
		none "$T/overlay" 2>/dev/null && where[overlay]=$T/overlay

text=
for fs in "${!where[@]}"; do
	chmod 777 "${where[$fs]}"
	text+="${where[$fs]} 127.0.0.1(rw,insecure)
"
done
tern_start "$text"

restart() {
	stop nfsd
	start nfsd -p 2049 || bail "nfsd did not start again"
	wait_for 10 nfs null
}

declare -A root=() file=() dir=() deep=() gone=()
for fs in "${!where[@]}"; do
	d=${where[$fs]}
	root[$fs]=$(nfs mnt "$d")
	mkdir -p "$d/a/b"
	echo "$fs" >"$d/a/b/deep"
	echo top >"$d/file"
	dir[$fs]=$(nfs lookup "${root[$fs]}" a)
	file[$fs]=$(nfs lookup "${root[$fs]}" file)
	deep[$fs]=$(nfs lookup "$(nfs lookup "${dir[$fs]}" b)" deep)
	echo x >"$d/doomed"
	gone[$fs]=$(nfs lookup "${root[$fs]}" doomed)
	is "${#file[$fs]}" 64 "$fs: handles have 32 bytes"
	is "$(nfs lookup "${root[$fs]}" file)" "${file[$fs]}" \
		"$fs: a file has one handle"
done

for fs in "${!where[@]}"; do
	d=${where[$fs]}
	mv "$d/a" "$d/z"
	mv "$d/z/b/deep" "$d/moved"
	rm "$d/doomed"
done
restart
for fs in "${!where[@]}"; do
	d=${where[$fs]}
	is "$(nfs read "${deep[$fs]}" 0 100)" "$fs" \
		"$fs: a moved file is found after a restart"
	is "$(fileid "${dir[$fs]}")" "$(inode "$d/z")" \
		"$fs: a renamed directory is found after a restart"
	is "$(nfs lookup "${root[$fs]}" moved)" "${deep[$fs]}" \
		"$fs: LOOKUP of the new name gives the old handle"
	is "$(nfs getattr "${gone[$fs]}")" STALE "$fs: a removed file is stale"
done

# An inode number that is reused never means the new file. A search that found
# nothing is not repeated at once: JUKEBOX.
judged() { # HANDLE
	got=$(nfs read "$1" 0 100)
	[ "$got" != JUKEBOX ]
}
for fs in "${!where[@]}"; do
	d=${where[$fs]}
	echo old >"$d/reused"
	old=$(nfs lookup "${root[$fs]}" reused)
	i=$(inode "$d/reused")
	rm "$d/reused"
	for n in $(seq 200); do
		echo new >"$d/new$n"
		[ "$(inode "$d/new$n")" = "$i" ] && break
	done
	wait_for 10 judged "$old"
	is "$got" STALE "$fs: the handle of a removed file is not that of a new file with its number"
	if [ "$(inode "$d/new$n")" = "$i" ]; then
		is "$(nfs read "$(nfs lookup "${root[$fs]}" "new$n")" 0 9)" new \
			"$fs: the inode number was reused"
	fi
	rm -f "$d"/new*
done

if [ -n "${where[overlay]:-}" ]; then
	low=$(nfs lookup "${root[overlay]}" lower)
	is "$(nfs write "$low" 0 upper)" 5 "overlay: a lower file is written"
	is "$(nfs read "$low" 0 5)" upper "overlay: it has the same handle afterwards"
	restart
	is "$(nfs read "$low" 0 5)" upper "overlay: it has the same handle after a restart"
fi

# The exports in another order, with more of them.
exports "$T/new 127.0.0.1(ro)
$(printf '%s' "$text" | tac)"
mkdir "$T/new"
restart
for fs in "${!where[@]}"; do
	is "$(nfs read "${file[$fs]}" 0 100)" top \
		"$fs: handles survive an edit of the exports"
done
exports "$(printf '%s' "$text" | sed "s,^$T/tmpfs ,$T/new ,")"
kill -HUP "${pid[nfsd]}"
stale() { [ "$(nfs getattr "${file[tmpfs]}")" = STALE ]; }
check 'a handle of a removed export gets STALE' wait_for 5 stale
is "$(nfs read "${file[ext4]:-${file[overlay]}}" 0 100)" top \
	"other exports are served"
exports "$text"
kill -HUP "${pid[nfsd]}"
wait_for 5 nfs getattr "${file[tmpfs]}"
is "$(nfs read "${file[tmpfs]}" 0 100)" top "a handle is valid again when its export returns"

stop nfsd
mv "$T/key" "$T/key.old"
restart
for fs in "${!where[@]}"; do
	is "$(nfs getattr "${file[$fs]}")" STALE \
		"$fs: a handle is refused under another key"
done
done_testing

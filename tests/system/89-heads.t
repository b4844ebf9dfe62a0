#!/bin/bash
# SPDX-License-Identifier: ISC
#
# Two heads on one engine. Each has its own mount of it, with the same path, and the
# same key. A handle of one is good at the other, at once and whatever happened to
# the file; none is ever stale that has a file. A disk that moves to the other head
# takes its handles with it.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3
[ -c /dev/fuse ] || skip_all 'no FUSE in this kernel'

# Head b has its own network and mounts.
host_add headb 10.77.0.1/24 10.77.0.2/24
nsenter -t "${pid[headb]}" -n unshare -m --propagation private sleep infinity &
pid[b]=$!
at_end "kill ${pid[b]}"
b_is_there() { [ "$(readlink "/proc/${pid[b]}/ns/mnt")" != "$(readlink /proc/self/ns/mnt)" ]; }
wait_for 5 b_is_there || bail 'no head b'
on_b() { nsenter -t "${pid[b]}" -n -m -- "$@"; }
b() { on_b "$top/tests/lib/nfs_call.py" "$@"; }
gets() { [ "$1" = "$("${@:2}")" ]; }
# engine SUBTYPE: both heads mount it at $T/SUBTYPE, from $T/data-SUBTYPE
engine() {
	mkdir -m 777 "$T/$1" "$T/data-$1"
	"$top/tests/system/enginefs.py" "$1" "$T/data-$1" "$T/$1" "$T/mood-$1" 2>>"$T/engine.log" &
	client[$1]=$!
	at_end "kill $!"
	ASKED=$T/asked-$1 on_b "$top/tests/system/enginefs.py" "$1" "$T/data-$1" "$T/$1" "$T/mood-$1" 2>>"$T/engine.log" &
	at_end "kill $!"
	wait_for 10 grep -q " $T/$1 " /proc/self/mountinfo || skip_all "no FUSE: $(cat "$T/engine.log")"
	wait_for 10 grep -q " $T/$1 " "/proc/${pid[b]}/mountinfo" || bail 'no mount for b'
}
declare -A client=()
declare -A kind=([ceph-fuse]=kernel [glusterfs]=gfid [other]=inode)
text=
for fs in "${!kind[@]}"; do
	engine "$fs"
	mkdir -p "$T/data-$fs/old/deep"
	echo old >"$T/data-$fs/old/deep/file"
	text+="$T/$fs 127.0.0.1(ro,insecure,handles=${kind[$fs]})
"
done
mkdir -m 777 "$T/plain"
# disk TYPE OPTION SIZE: one that moves, at $T/disk-TYPE
disk() {
	mkdir -m 777 "$T/disk-$1"
	truncate -s "$3" "$T/$1.img" && "mkfs.$1" -q "$2" "$T/$1.img"
	mount -o loop "$T/$1.img" "$T/disk-$1" && chmod 777 "$T/disk-$1" && mkdir "$T/disk-$1/dir"
	echo moved >"$T/disk-$1/dir/file"
	text+="$T/disk-$1 127.0.0.1(rw,insecure,mountpoint,handles=kernel)
"
	disks+=("$1")
}
disks=()
disk ext4 -F 20M
[ -z "${LONG:-}" ] || disk xfs -f 320M
text+="$T/plain 127.0.0.1(rw,insecure,handles=gfid)"
tern_start "$text" -w 1
mkdir "$T/b" && cp "$T/key" "$T/b/key"
on_b "$O/nfsd/nfsd" -d -f "$T/exports" -k "$T/b/key" -s "$T/b/portmap.sock" -p 2049 -w 1 2>"$T/nfsd-b.log" >&2 &
pid[nfsd_b]=$!
at_end "kill ${pid[nfsd_b]}"
check 'head b starts' wait_for 20 grep -q 'listening on' "$T/nfsd-b.log"
check 'head b answers' wait_for 20 b null

# Sameness.
out=$("$O/mountd/mountd" -n -f "$T/exports" -k "$T/key")
for fs in "${!kind[@]}"; do
	like "$out" "^handles: key [0-9a-f]{8}, [0-9]+ $T/$fs ${kind[$fs]}\$" "$fs: the fingerprint says ${kind[$fs]}"
done
is "$(on_b "$O/mountd/mountd" -n -f "$T/exports" -k "$T/b/key" | grep -v " $T/disk-")" \
    "$(grep -v " $T/disk-" <<<"$out")" 'both heads have one fingerprint'
key=$(sed -n 's/^handles: key \([0-9a-f]*\),.*/\1/p' <<<"$out" | head -n 1)
like "$("$O/nfsd/nfsd" -S -s "$T/run/portmap.sock")" \
    "handles_info\{key=\"$key\",id=\"[0-9]+\",path=\"$T/other\",kind=\"inode\"\} 1" 'statistics have it'
like "$out" "$T/plain refused\$" 'handles=gfid on another filesystem: refused'
like "$(cat "$T/nfsd.log")" "export $T/plain: not served: handles=gfid, but it is not the top of a GlusterFS volume" \
    'the log says why'

# Files that the other head never saw.
declare -A f=() d=() r=()
for fs in "${!kind[@]}"; do
	check "$fs: it is served" wait_for 20 nfs mnt "$T/$fs"
	r[$fs]=$(nfs mnt "$T/$fs")
	f[$fs]=$(nfs lookup "$(nfs lookup "$(nfs lookup "${r[$fs]}" old)" deep)" file)
	is "$(b read "${f[$fs]}" 0 9)" old "$fs: a handle of head a is good at head b"
	mkdir -p "$T/data-$fs/new/below"
	echo new >"$T/data-$fs/new/below/file"
	ln -s target "$T/data-$fs/new/link"
	d[$fs]=$(nfs lookup "$(nfs lookup "${r[$fs]}" new)" below)
	n=$(nfs lookup "${d[$fs]}" file)
	is "$(b read "$n" 0 9)" new "$fs: so is one of a file that was just made"
	is "$(b list "${d[$fs]}")" file "$fs: and of a directory"
	is "$(b readlink "$(nfs lookup "$(nfs lookup "${r[$fs]}" new)" link)")" target "$fs: and of a link"
	is "$(b lookup "${d[$fs]}" file)" "$n" "$fs: both make the same handle"
	mv "$T/data-$fs/new" "$T/data-$fs/moved"
	is "$(b read "$n" 0 9)" new "$fs: a file that was moved is found"
	is "$(b list "${d[$fs]}")" file "$fs: so is a directory"
	rm "$T/data-$fs/moved/below/file"
	check "$fs: a removed file is stale, in the end" wait_for 20 gets STALE b getattr "$n" || diag "$(b getattr "$n")"
done

# What head b asks for a file and a directory that it never saw. Each question is one to
# the machines of the engine. nfsd also looks at what it has open, a few times a second: the
# least of five counts.
asked() { # HANDLE
	local before
	before=$(wc -l <"$T/asked-glusterfs")
	b getattr "$1" >/dev/null || return 1
	tail -n "+$((before + 1))" "$T/asked-glusterfs" | wc -l
}
mkdir "$T/data-glusterfs/one"
one=$(nfs lookup "${r[glusterfs]}" one)
for n in 1 2 3 4 5; do
	mkdir "$T/data-glusterfs/one/$n"
	echo new >"$T/data-glusterfs/one/$n/file"
	below=$(nfs lookup "$one" $n)
	asked "$(nfs lookup "$below" file)" >>"$T/file-asks"
	asked "$below" >>"$T/directory-asks"
done
least() { # FILE LIMIT DESCRIPTION
	local n
	n=$(sort -n "$T/$1" | head -n 1)
	[ "${n:-0}" -gt 0 ] && [ "$n" -le "$2" ]
	ok $? "$3 is found with $n questions, $2 at most"
}
least file-asks 5 'a file'
least directory-asks 15 'a directory below another one'

# What the engine says is not trusted.
rm -rf "$T/data-glusterfs/wrong" && mkdir "$T/data-glusterfs/wrong" "$T/data-glusterfs/asked"
asked=$(nfs lookup "${r[glusterfs]}" asked)
echo out >"$T/mood-glusterfs"
is "$(b getattr "$asked")" STALE 'a path that leads out of the volume is not followed'
echo wrong >"$T/mood-glusterfs"
is "$(b getattr "$asked")" JUKEBOX 'another directory is not taken for it'
rm "$T/mood-glusterfs"
like "$(b getattr "$asked")" type=2 'the right path is'

# While the engine hangs, a walk does too: callers wait, other exports do not.
echo hang >"$T/mood-other"
(NFS_TIMEOUT=30 b getattr "${d[other]}" >"$T/late" 2>&1) &
late=$!
from=$SECONDS
like "$(NFS_TIMEOUT=10 b getattr "${r[ceph-fuse]}")" type=2 'one hangs: another export is served'
ok $((SECONDS - from > 8)) 'without waiting for it'
rm "$T/mood-other"
wait $late
like "$(cat "$T/late")" '^(type=2|JUKEBOX)' 'its caller waits and is not told that the file is gone'

# The engine's client dies and is started again.
kill -9 "${client[ceph-fuse]}"
wait "${client[ceph-fuse]}" 2>/dev/null
check 'client dead: the caller waits' wait_for 20 gets JUKEBOX nfs read "${f[ceph-fuse]}" 0 9
umount "$T/ceph-fuse"
"$top/tests/system/enginefs.py" ceph-fuse "$T/data-ceph-fuse" "$T/ceph-fuse" "$T/mood-ceph-fuse" &
at_end "kill $!"
check 'started again: the same handle works, without a reload' wait_for 20 gets old nfs read "${f[ceph-fuse]}" 0 9

# A disk that moves.
for fs in "${disks[@]}"; do
	check "$fs: served by head a" wait_for 20 nfs mnt "$T/disk-$fs"
	m=$(nfs lookup "$(nfs lookup "$(nfs mnt "$T/disk-$fs")" dir)" file)
	is "$(nfs read "$m" 0 9)" moved "$fs: head a reads a file"
	is "$(b getattr "$m")" JUKEBOX "$fs: head b lets the client wait"
	check "$fs: head a lets go of it" umount "$T/disk-$fs"
	on_b mount -o loop "$T/$fs.img" "$T/disk-$fs"
	check "$fs: head b serves the same handle" wait_for 20 gets moved b read "$m" 0 9
	check "$fs: head a lets the client wait" wait_for 20 gets JUKEBOX nfs getattr "$m"
done
done_testing

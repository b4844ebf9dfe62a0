#!/bin/bash
# SPDX-License-Identifier: ISC
#
# handles.t gluster|ceph: two heads on a real engine, which is installed from
# Debian. What one head makes is used at the other at once, in a tree of $FILES
# files. Then the engine's client is killed and started again.
# Runs in: the tests.
engine=${1:-gluster}
# shellcheck disable=SC1091 # tests/system/lib.sh
. "${0%/*}/../system/lib.sh"
need_root
need chrt util-linux ps procps
# shellcheck disable=SC1090 # gluster.sh, ceph.sh
. "$top/tests/cluster/$engine.sh"
[ -n "${TERN_PRIVATE:-}" ] || "${engine}_install" || bail "$engine cannot be installed"
private "$@"
FILES=${FILES:-100000}
kind=kernel
[ "$engine" = ceph ] || kind=gfid
here=10.77.0.1
there=10.77.0.2

# Head b: its own network and mounts, and the same paths.
host_add headb $here/24 $there/24
unshare -m --propagation private nsenter -t "${pid[headb]}" -n sleep infinity &
pid[b_mounts]=$!
at_end "kill ${pid[b_mounts]}"
on_b() { nsenter -t "${pid[b_mounts]}" -n -m -- "$@"; }
b_is_there() { [ "$(readlink "/proc/${pid[b_mounts]}/ns/net")" = "$(readlink "/proc/${pid[headb]}/ns/net")" ]; }
wait_for 5 b_is_there || bail 'no head b'
mount_b() {
	# shellcheck disable=SC2016 # for the other shell
	on_b "$BASH" -c '. "$1/tests/cluster/$2.sh"; "$2_mount" "$3" "$4"' - "$top" "$engine" "$here" "$T/shared"
}

mkdir -p "$T/engine" "$T/shared"
check "$engine starts" "${engine}_start" "$T/engine" $here
at_end "${engine}_stop"
# Before that: what waits for an engine without servers cannot be ended.
at_end '"${engine}_client" "$T/shared" | xargs -r kill -9'
check 'it is mounted for head a' "${engine}_mount" $here "$T/shared"
check 'it is mounted for head b' mount_b
grep " $T/shared " /proc/self/mountinfo | sed 's/^/# /'
chmod 777 "$T/shared"

exports "$T/shared 10.77.0.0/24(rw,insecure,no_root_squash,datasync,fsid=77,handles=$kind) 127.0.0.1(rw,insecure,no_root_squash,datasync)"
start portmapd || bail portmapd
start mountd -p 20048 || bail mountd
start nfsd -p 2049 || bail nfsd
mkdir "$T/b" && cp "$T/key" "$T/b/key"
on_b "$O/nfsd/nfsd" -d -f "$T/exports" -k "$T/b/key" -s "$T/b/portmap.sock" -p 2049 2>"$T/nfsd-b.log" >&2 &
pid[nfsd_b]=$!
at_end "kill ${pid[nfsd_b]}"
check 'head b starts' wait_for 20 grep -q 'listening on' "$T/nfsd-b.log"
fingerprint() { "$@" "$O/mountd/mountd" -n -f "$T/exports" -k "$T/key"; }
is "$(fingerprint on_b)" "$(fingerprint env)" 'both heads have one fingerprint'
like "$(fingerprint env)" "^handles: key [0-9a-f]{8}, 77 $T/shared $kind\$" "handles are of the kind $kind"
root=$(nfs mnt "$T/shared")

# A tree of files that no head has a handle of. The mount remembers no name, so each
# path costs the engine a question for each of its names: there is one name here.
make_tree() {
	python3 - "$T/shared" "$FILES" <<-'P'
	import concurrent.futures, os, sys
	top, files = sys.argv[1], int(sys.argv[2])
	def fill(d):
	    os.makedirs(f"{top}/tree/{d}")
	    at = os.open(f"{top}/tree/{d}", os.O_DIRECTORY)
	    for n in range(min(1000, files)):
	        os.close(os.open(str(n), os.O_CREAT | os.O_WRONLY, dir_fd=at))
	    os.close(at)
	with concurrent.futures.ThreadPoolExecutor(8) as pool:
	    list(pool.map(fill, range(max(1, files // 1000))))
	P
}
check "a tree of $FILES files is made" make_tree
# priority FLAG... NUMBER: of all processes of this test, the engine's too.
priority() {
	local p
	for p in $(ps -e -o pid=); do chrt -a -p "$@" "$p" 2>/dev/null; done
}
# What else this machine does must not count: it waits, while a head looks for a file.
priority -r 1
"$top/tests/cluster/handles.py" $here $there "$root" "${ROUNDS:-50}" >"$T/rounds"
rc=$?
priority -o 0
ok $((rc & 3)) 'what one head makes is never stale at the other'
ok $((rc & 5)) "9 of 10 files, directories and links are found in 10 ms among $FILES"
sed 's/^/# /' "$T/rounds"
echo "# load $(cut -d' ' -f1-3 /proc/loadavg)"

# The engine's client dies and is started again: programs wait, none fails.
f=$(nfs lookup "$root" tree)
is "${f:0:2}" "${root:0:2}" 'a handle of a directory'
gets() { [ "$1" = "$("${@:2}")" ]; }
kill -9 "$("${engine}_client" "$T/shared" | head -n 1)"
check 'client dead: the caller waits' wait_for 20 gets JUKEBOX nfs getattr "$f"
umount -l "$T/shared"
check 'unmounted: the caller waits' wait_for 20 gets JUKEBOX nfs getattr "$f"
check 'it is mounted again' "${engine}_mount" $here "$T/shared"
again() { [[ $(nfs getattr "$f" 2>&1 | tee "$T/again") == *type=2* ]]; }
from=$SECONDS
check 'the same handle works, without SIGHUP' wait_for 120 again || diag "$(cat "$T/again")"
echo "# after $((SECONDS - from)) s"
done_testing

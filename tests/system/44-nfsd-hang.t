#!/bin/bash
# SPDX-License-Identifier: ISC
#
# The filesystem of one export hangs: the others are served without delay, and
# it is served again when it returns.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3
[ -c /dev/fuse ] || skip_all 'no FUSE in this kernel'

mkdir -m 777 "$T/slow" "$T/good"
echo good >"$T/good/file"
chmod 666 "$T/good/file"
"$top/tests/system/slowfs.py" "$T/slow" "$T/hang" 2>"$T/slowfs.log" &
fuse=$!
at_end "umount -l $T/slow"
at_end "kill $fuse"
at_end "rm -f $T/hang"
wait_for 5 mountpoint -q "$T/slow" || skip_all "no FUSE: $(cat "$T/slowfs.log")"
tern_start "$T/good 127.0.0.1(rw,insecure)
$T/slow 127.0.0.1(rw,insecure)" -w 1
g=$(nfs mnt "$T/good")
s=$(nfs mnt "$T/slow")
is "${s:0:1}" 6 'handles on FUSE are by inode number'
f=$(nfs lookup "$s" file)
is "$(nfs read "$f" 0 9)" slow 'the slow filesystem is served'

touch "$T/hang"
for n in $(seq 20); do
	NFS_TIMEOUT=30 nfs getattr "$f" >"$T/out.$n" 2>&1 &
	jobs[n]=$!
done
sleep 0.5
worst=$(python3 - "$g" <<'P'
import sys, time
import nfs
c = nfs.connect()
fh = bytes.fromhex(sys.argv[1])
worst = 0
for i in range(300):
    t = time.monotonic()
    c.getattr(fh)
    c.lookup(fh, "file")
    worst = max(worst, time.monotonic() - t)
print(int(worst * 1000))
P
)
ok $((worst > $(patient 500))) "calls to other exports do not wait: at most $worst ms"
o=$(nfs lookup "$g" file)
is "$(nfs -u 0 read "$o" 0 9)" good 'READ of another export does not wait'
is "$(NFS_TIMEOUT=5 nfs -u 65534 commit "$o" | wc -c)" 17 \
	'COMMIT on a file thread does not wait'
is "$(NFS_TIMEOUT=5 nfs null)" '' 'NULL does not wait'

rm "$T/hang"
good=0
for n in $(seq 20); do
	wait "${jobs[n]}" && good=$((good + 1))
done
is "$good" 20 'every call is answered when the filesystem returns'
is "$(nfs read "$f" 0 9)" slow 'the filesystem is served again'

# A name that no handle has room for is that name's error.
worker=$(pgrep -P "${pid[nfsd]}" -f 'nfsd: worker')
echo long >"$T/hang"
list=$(NFS_TIMEOUT=20 nfs list "$s")
rm "$T/hang"
is "$(wc -w <<<"$list")" 101 'READDIRPLUS lists names of 1,000 bytes'
like "$list" ' file( |$)' 'and the names beside them'
is "$(pgrep -P "${pid[nfsd]}" -f 'nfsd: worker')" "$worker" \
	'the worker is not ended for them'
done_testing

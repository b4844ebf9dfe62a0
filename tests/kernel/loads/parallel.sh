# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2010,SC2012,SC2046,SC2059,SC2103,SC2164
# Writers of different files at the same time, compared after a cold start.
head -c 3000000 /dev/urandom >"$TMPDIR/rnd"
for k in 1 2 3 4 5 6; do
	dd if="$TMPDIR/rnd" of="f$k" bs=10007 status=none &
done
wait
sync
echo 3 >/proc/sys/vm/drop_caches
for k in 1 2 3 4 5 6; do cmp "$TMPDIR/rnd" "f$k"; cmp "$TMPDIR/rnd" "$D2/f$k"; done
dd if="$TMPDIR/rnd" of=direct bs=32k oflag=direct,sync iflag=fullblock status=none count=50
cmp -n 1638400 "$TMPDIR/rnd" direct
rm "$TMPDIR/rnd"

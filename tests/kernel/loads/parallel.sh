# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2010,SC2012,SC2046,SC2059,SC2103,SC2154,SC2164
# Six writers of different files at once, and O_DIRECT, compared after a cold start.
head -c 3000000 /dev/urandom >"$TMPDIR/rnd"
writers=()
for k in 1 2 3 4 5 6; do
	dd if="$TMPDIR/rnd" of="f$k" bs=10007 status=none &
	writers+=($!)
done
for k in "${writers[@]}"; do wait "$k"; done
cold
for k in 1 2 3 4 5 6; do
	cmp "$TMPDIR/rnd" "f$k"
	cmp "$TMPDIR/rnd" "$D2/f$k"
done
dd if="$TMPDIR/rnd" of=direct bs=32k oflag=direct,sync iflag=fullblock status=none count=50
cmp -n 1638400 "$TMPDIR/rnd" direct
rm "$TMPDIR/rnd"

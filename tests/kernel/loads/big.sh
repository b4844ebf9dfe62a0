# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2010,SC2012,SC2046,SC2059,SC2103,SC2164
# 5 GiB, sparse; version 2 ends at 2 GiB and must say so.
if [ "$VERS" = 2 ]; then
	truncate -s 2147483647 f
	[ "$(stat -c %s f)" = 2147483647 ]
	truncate -s 5G f 2>/dev/null && exit 1
	exit 0
fi
truncate -s 5G f
for at in 0 2147483646 4294967294 5368709000; do
	printf 'mark %s' "$at" | dd of=f bs=1 seek="$at" conv=notrunc status=none
done
sync f
echo 3 >/proc/sys/vm/drop_caches
for at in 0 2147483646 4294967294 5368709000; do
	want="mark $at"
	[ "$(dd if="$D2/f" iflag=skip_bytes,count_bytes skip="$at" count=${#want} status=none)" = "$want" ]
done
[ "$(stat -c %s f)" = 5368709120 ]
[ "$(du -m f | cut -f1)" -lt 5 ]

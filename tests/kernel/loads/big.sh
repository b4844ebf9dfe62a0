# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2010,SC2012,SC2046,SC2059,SC2103,SC2154,SC2164
# A sparse file of 5 GiB, written around 2^31 and 2^32; version 2 refuses more than 2 GiB.
if [ "$VERS" = 2 ]; then
	truncate -s 2147483647 f
	[ "$(stat -c %s f)" = 2147483647 ]
	refused 'too large' truncate -s 5G f
	exit 0
fi
truncate -s 5G f
for at in 0 2147483646 4294967294 5368709000; do
	printf 'mark %s' "$at" | dd of=f bs=1 seek="$at" conv=notrunc status=none
done
cold
for at in 0 2147483646 4294967294 5368709000; do
	want="mark $at"
	[ "$(dd if="$D2/f" iflag=skip_bytes,count_bytes skip="$at" count=${#want} status=none)" = "$want" ]
done
[ "$(stat -c %s f)" = 5368709120 ]
[ "$(du -m f | cut -f1)" -lt 5 ]

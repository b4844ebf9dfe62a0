# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2010,SC2012,SC2046,SC2059,SC2103,SC2154,SC2164
# Holes read as zeros and take no blocks.
dd if=/dev/urandom of=f bs=4k count=1 seek=0 status=none
dd if=/dev/urandom of=f bs=4k count=1 seek=1000 conv=notrunc status=none
dd if=/dev/urandom of=f bs=100 count=1 seek=100003 conv=notrunc status=none
[ "$(stat -c %s f)" = 10000400 ]
sync f
[ "$(du -k f | cut -f1)" -lt 1000 ]
cp --sparse=always f g
cmp f g
cold
cmp f g
cmp f "$D2/g"
[ "$(dd if=f bs=4k skip=1 count=999 status=none | tr -d '\0' | wc -c)" = 0 ]
truncate -s 5000 f
truncate -s 10000 f
[ "$(tail -c 5000 f | tr -d '\0' | wc -c)" = 0 ]

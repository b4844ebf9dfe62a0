# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2010,SC2012,SC2046,SC2059,SC2103,SC2164
# Pack, unpack, compare; the archive itself lies on the server too.
mkdir tree
for i in $(seq $((20 * SCALE))); do head -c $((i * 101 % 9000)) /dev/urandom >"tree/f$i"; done
mkdir -p tree/a/b/c && ln -s ../../f1 tree/a/b/l && mkfifo tree/a/p
tar cf all.tar tree
mkdir out && tar xpf all.tar -C out
tar df all.tar -C out
diff -r --no-dereference --exclude=p tree out/tree
[ -p out/tree/a/p ]

# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2010,SC2012,SC2046,SC2059,SC2103,SC2154,SC2164
# tar: pack, unpack, compare; the archive itself is on the server too.
mkdir -p tree/a/b/c out
for ((i = 1; i <= 20 * SCALE; i++)); do
	random $((i * 101 % 9000 + 1)) "tree/f$i"
done
ln -s ../../f1 tree/a/b/l
mkfifo tree/a/p
tar cf all.tar tree
tar xpf all.tar -C out
tar df all.tar -C out
diff -r --no-dereference --exclude=p tree out/tree
[ -p out/tree/a/p ]

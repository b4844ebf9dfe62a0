#!/bin/sh
# SPDX-License-Identifier: ISC
# No two product files need each other, directly or by way of others: the files
# of a daemon have an order in which they can be read.
. "${0%/*}/lib.sh"

build=${O:-.}
[ "$(realpath "$build")" != "$PWD" ] || build=build

# The objects of common/ and of a daemon, as far as their sources exist.
objects() { product | sed -n "s,^\(\(common\|$1\)/.*\)\.c\$,$build/\1.o,p"; }

# Pairs of files of a daemon, "user used", by the symbols of their objects.
needs() {
	objects "$1" | xargs nm -A | sed "s,^$build/,," | awk '
	{ file = $1; sub(/\.o:.*/, ".c", file) }
	$(NF - 1) == "U" { need[file, $NF] = 1 }
	$(NF - 1) ~ /^[TDBRVW]$/ { home[$NF] = file }
	END {
		for (pair in need) {
			split(pair, p, SUBSEP)
			if (p[2] in home && home[p[2]] != p[1])
				print p[1], home[p[2]]
		}
	}'
}

for d in portmapd mountd nfsd; do
	objects $d
done | sort -u | while read -r o; do
	[ -e "$o" ] || echo "$o: not built"
done | none 'every product file is built'

pairs=$(for d in portmapd mountd nfsd; do needs $d; done | sort -u)
if ! echo "$pairs" | grep -qx 'nfsd/nfsd.c nfsd/parent/parent.c'; then
	echo 'nm(1) does not tell that nfsd.c calls parent.c'
fi | none 'calls between files are seen'
echo "$pairs" | tsort 2>&1 >/dev/null | sed 's/^tsort: //' |
    none 'no cycle between files'
done_testing

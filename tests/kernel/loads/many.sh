# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2010,SC2012,SC2046,SC2059,SC2103,SC2154,SC2164
# 2000 x SCALE names, half of them in one directory: ls, ls -lR, find, find -delete, rm -rf.
n=$((1000 * SCALE))
mkdir one
(cd one && seq -f 'file-with-some-name-%g' "$n" | xargs touch)
for d in $(seq 10); do
	mkdir "d$d"
	(cd "d$d" && seq $((n / 10)) | xargs touch)
done
cold
[ "$(ls one | wc -l)" = "$n" ]
[ -z "$(ls one | sort | uniq -d)" ]
[ "$(ls -lR . | grep -c '^-')" = $((n + n / 10 * 10)) ]
[ "$(find "$D2" -type f | wc -l)" = $((n + n / 10 * 10)) ]
# Removes names while listing them.
find one -name '*[13579]' -delete
[ "$(ls one | wc -l)" = $((n / 2)) ]
rm -rf one
[ ! -e one ]

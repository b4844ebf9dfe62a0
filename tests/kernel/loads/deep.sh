# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2010,SC2012,SC2046,SC2059,SC2103,SC2154,SC2164
# A path of 120 levels, made, walked, moved and removed.
p=.
for i in $(seq 120); do p=$p/level$i; done
mkdir -p "$p"
echo bottom >"$p/f"
[ "$(cat "$D2/$p/f")" = bottom ]
[ "$(find . -type d | wc -l)" = 121 ]
mv level1 moved
p=${p/level1\//moved/}
[ "$(cat "$p/f")" = bottom ]
cd "$p/../../.."
[ -d level118 ]
cd "$D"
rm -rf moved
[ -z "$(ls)" ]

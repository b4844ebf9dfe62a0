# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2010,SC2012,SC2046,SC2059,SC2103,SC2154,SC2164
# Two clients append in turn and see each other's bytes after close; four processes append at once.
lines() { # FILE NUMBER
	mapfile -t seen <"$1"
	[ ${#seen[@]} = "$2" ]
}
for ((i = 1; i <= 5 * SCALE; i++)); do
	echo "a $i" >>"$D/log"
	echo "b $i" >>"$D2/log"
	lines "$D/log" $((i * 2))
	lines "$D2/log" $((i * 2))
done
[ "$(tail -n 1 "$D/log")" = "b $((5 * SCALE))" ]
cmp "$D/log" "$D2/log"
: >shared
for k in 1 2 3 4; do
	(for ((i = 1; i <= 3 * SCALE; i++)); do echo "$k $i" >>shared; done) &
done
wait
[ "$(sort -u shared | wc -l)" = $((12 * SCALE)) ]

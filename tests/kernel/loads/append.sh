# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2010,SC2012,SC2046,SC2059,SC2103,SC2164
# Two clients append in turn; each sees what the other closed.
for i in $(seq $((5 * SCALE))); do
	echo "a $i" >>"$D/log"
	echo "b $i" >>"$D2/log"
	[ "$(wc -l <"$D/log")" = $((i * 2)) ]
	[ "$(wc -l <"$D2/log")" = $((i * 2)) ]
done
[ "$(tail -n 1 "$D/log")" = "b $((5 * SCALE))" ]
cmp "$D/log" "$D2/log"
# several processes of one client
: >shared
for k in 1 2 3 4; do
	(for i in $(seq $((3 * SCALE))); do echo "$k $i" >>shared; done) &
done
wait
[ "$(sort -u shared | wc -l)" = $((12 * SCALE)) ]

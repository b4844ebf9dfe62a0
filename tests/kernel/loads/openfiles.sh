# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2010,SC2012,SC2046,SC2059,SC2103,SC2154,SC2164
# Files renamed, replaced and removed while open, and removed by the other client.
echo one >f
exec 3<>f
rm f
echo two >&3
[ "$(ls -A | grep -c '^\.nfs')" = 1 ]
exec 3>&-
# The client removes it in the background.
for _ in $(seq 600); do
	[ -n "$(ls -A)" ] || break
	sleep 0.1
done
[ -z "$(ls -A)" ]
echo old >f
exec 3<f
echo new >g
mv g f
[ "$(cat f)" = new ]
[ "$(cat <&3)" = old ]
exec 3<&-
echo x >f
exec 3>>f
mv f moved
echo y >&3
exec 3>&-
[ "$(cat moved)" = $'x\ny' ]
mkdir d
echo in >d/f
mv d e
[ "$(cat e/f)" = in ]
[ "$(cat "$D2/e/f")" = in ]
rm e/f
# The other client uses its cache for a while.
for _ in $(seq 600); do
	[ -e "$D2/e/f" ] || break
	sleep 0.1
done
[ ! -e "$D2/e/f" ]

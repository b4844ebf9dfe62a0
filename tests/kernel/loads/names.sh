# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2010,SC2012,SC2046,SC2059,SC2103,SC2154,SC2164
# Names of 255 bytes, with every byte, in several scripts.
printf -v long 'n%.0s' $(seq 255)
: >"$long"
[ -e "$D2/$long" ]
mv "$long" x
mv x "$long"
rm "$long"
mkdir "$long"
: >"$long/$long"
rm -r "$long"
refused 'File name too long' touch "${long}n"
mkdir bytes
n=0
for i in $(seq 1 255); do
	[ "$i" != 47 ] || continue
	printf -v octal %03o "$i"
	printf -v c "\\${octal}x"
	: >"bytes/a$c"
	n=$((n + 1))
done
[ "$(find bytes -type f -print0 | tr -dc '\0' | wc -c)" = $n ]
[ "$(find "$D2/bytes" -type f -print0 | tr -dc '\0' | wc -c)" = $n ]
for s in 'ひらがな' 'emoji 🎧' 'e\xcc\x81' ' leading' 'trailing ' '-dash' '*' $'new\nline'; do
	echo "$s" >"./$s"
	[ "$(cat -- "./$s")" = "$s" ]
	rm -- "./$s"
done

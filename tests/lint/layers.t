#!/bin/sh
# SPDX-License-Identifier: ISC
# Each folder includes and uses only what its row in tests/lint/layers permits.
. "${0%/*}/lib.sh"

rows() { grep -v '^#' tests/lint/layers; }
row() { rows | awk -F': *' -v d="$1" '$1 == d'; }

# Prints the folder that holds a header, given as it is included.
folder_of() {
	if [ -e "$1" ]; then dirname "$1"; else dirname "common/$1"; fi
}

folders=$(product | xargs -n1 dirname | sort -u)
for d in $folders; do
	[ -n "$(row "$d")" ] || echo "$d: no row in tests/lint/layers"
done | none 'every folder has a row'

rows | sed 's/:.*//' | while read -r d; do
	echo "$folders" | grep -qx "$d" || echo "tests/lint/layers: no folder $d"
done | none 'every row has a folder'

for d in $folders; do
	may=" $d $(row "$d" | cut -d: -f2) "
	text=$(product | grep "^$d/[^/]*\$" | code)
	printf '%s\n' "$text" | sed -n 's/^\([^:]*:[0-9]*\):#include "\(.*\)".*/\1 \2/p' |
	    while read -r at header; do
		case $may in
		*" $(folder_of "$header") "*) ;;
		*) echo "$at: $d may not include $header" ;;
		esac
	done
	not=$(row "$d" | cut -d: -f3- | sed 's/^ *//')
	[ -z "$not" ] || printf '%s\n' "$text" | grep -E ":[0-9]+:.*($not)" |
	    sed "s,\$,	(not in $d),"
done | none 'every file keeps to the row of its folder'

done_testing

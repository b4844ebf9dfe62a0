#!/bin/sh
# SPDX-License-Identifier: ISC
# Each file includes and uses only what its layer may (tests/lint/layers).
. "${0%/*}/lib.sh"

table=tests/lint/layers
rows() { grep -v '^#' $table; }
trim() { printf '%s' "$1" | sed 's/^ *//; s/ *$//'; }

# layer_of FILE: name of the first row that matches.
layer_of() {
	rows | while IFS=: read -r layer patterns _; do
		set -f
		for pattern in $patterns; do
			# shellcheck disable=SC2254 # a pattern is what it is
			case $1 in $pattern) echo "$layer" && return ;; esac
		done
		set +f
	done
}

layers=$(product | while read -r f; do echo "$f $(layer_of "$f")"; done)
headers_of() {
	printf '%s\n' "$layers" | awk -v l="$1" '$2 == l && $1 ~ /\.h$/ {
		sub(/.*\//, "", $1); print $1 }'
}

# Prints the headers a layer may include.
allowed() {
	set -f
	for word in $(rows | awk -F: -v l="$1" '$1 == l { print $3 }') "@$1"; do
		case $word in
		@*) headers_of "${word#@}" ;;
		*) echo "$word" ;;
		esac
	done
	set +f
}

printf '%s\n' "$layers" | awk 'NF < 2 { print $1 ": no row in the table" }' |
    none 'every file has a layer'

rows | while IFS=: read -r layer _ _ not; do
	mine=$(printf '%s\n' "$layers" | awk -v l="$layer" '$2 == l { print $1 }')
	[ -n "$mine" ] || continue
	may=$(allowed "$layer")
	text=$(echo "$mine" | code)
	printf '%s\n' "$text" | grep ':#include "' | while IFS=: read -r f n inc; do
		h=$(echo "$inc" | sed 's/.*"\(.*\)".*/\1/')
		[ "${f##*/}" != "${h%.h}.c" ] || continue
		echo "$may" | grep -qx "$h" ||
		    echo "$f:$n: layer $layer may not include $h"
	done
	not=$(trim "$not")
	[ -z "$not" ] || printf '%s\n' "$text" | grep -E ":[0-9]+:.*($not)" |
	    sed "s/\$/	(not in layer $layer)/"
done | none 'every file keeps to its layer'
done_testing

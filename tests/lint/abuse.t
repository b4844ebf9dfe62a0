#!/bin/sh
# SPDX-License-Identifier: ISC
# tests/abuse/README.md and the cases of tests/abuse/*.py name each other.
. "${0%/*}/lib.sh"

# NUMBER FILE of each case, and of each row.
cases() {
	grep -o '^@case([0-9]*' tests/abuse/*.py |
	    sed 's,.*/\([a-z_]*\.py\):@case(\(.*\),\2 \1,' | sort
}
rows() {
	sed -n 's/^| \([0-9]*\) | .* | `\([a-z_]*\.py\)` |$/\1 \2/p' \
	    tests/abuse/README.md | sort
}
# only_in OTHER: the lines of standard input that the command OTHER lacks.
only_in() {
	# shellcheck disable=SC2154 # lib.sh made it
	"$1" >"$count.other"
	comm -23 - "$count.other"
	rm -f "$count.other"
}

cases | only_in rows | none 'every case has its row, with its file'
rows | only_in cases | none 'every row has its case'
cases | cut -d' ' -f1 | sort -n | awk '$1 != NR { print "case " $1; exit }' |
    none 'each number is used once, none is left out'
sed -n 's/^| \([0-9]*\) | .*(\*own\*).*/\1/p' tests/abuse/README.md |
    sort >"$count.own"
awk '/^@case\(/ { n = $0; sub(/@case\(/, "", n); sub(/,.*/, "", n); open = 1 }
    open && /own=True/ { print n } /\)$/ { open = 0 }' tests/abuse/*.py |
    sort | comm -3 - "$count.own" | none 'a row marks a case that starts daemons'
rm -f "$count.own"
done_testing

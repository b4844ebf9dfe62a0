#!/bin/sh
# SPDX-License-Identifier: ISC
# Documents name only files, targets and pages that exist.
. "${0%/*}/lib.sh"

papers=$(files 'README.md' 'HACKING.md' 'SECURITY.md' 'CONTRIBUTING.md')

for f in README.md HACKING.md SECURITY.md CONTRIBUTING.md LICENSE .ci/run; do
	[ -s $f ] || echo "$f is missing or empty"
done | none 'the documents exist'
[ -n "$papers" ] || { done_testing && exit 0; }

all=$(files)
# Words that look like a file of Tern: below one of its folders, or a C name.
for paper in $papers; do
	tr -c 'A-Za-z0-9_./*<>-' '\n' <"$paper" | sed 's/[.]*$//' |
	    grep -E '^(portmapd|mountd|nfsd|common|tests|man|etc|\.ci)/[^<>*]+$|^[a-z0-9_]+\.[ch]$|^[A-Z]+\.md$' |
	    sort -u | while read -r name; do
		name=${name%/}
		[ -e "$name" ] || [ "${name#*/}" = "${name%%/*}" ] ||
		    printf '%s\n' "$all" | grep -q "\(^\|/\)$name\$" ||
		    echo "$paper: $name does not exist"
	done
done | none 'files named in documents exist'

for paper in $papers; do
	grep -oE '`make [a-z][a-z-]*' "$paper" | cut -d' ' -f2 | sort -u |
	    while read -r target; do
		grep -Eq "^([a-z -]+ )?$target( [a-z -]+)?:|sanitized,$target" GNUmakefile ||
		    echo "$paper: no target $target"
	done
done | none 'targets named in documents exist'

for folder in tests/*/; do
	grep -q "^| \`${folder%/}\` |" HACKING.md ||
	    echo "HACKING.md: no row for ${folder%/}"
done | none 'every folder of tests is explained'

# shellcheck disable=SC2086 # a list of names
awk '/^#+ / { if (depth && length($1) <= depth && !text)
		print FILENAME ": empty: " head
	head = $0; depth = length($1); text = 0; next }
    NF { text = 1 }' $papers | none 'no heading without text'

grep -oE '^[a-z-]+:' GNUmakefile | tr -d : | sort -u | while read -r target; do
	case $target in
	all | help | unit | ready | check) continue ;;
	esac
	grep -q "echo '[a-z ]*\<$target\>\|; $target \|$target undoes" GNUmakefile ||
	    echo "make help does not mention $target"
done | none 'make help names every target'
done_testing

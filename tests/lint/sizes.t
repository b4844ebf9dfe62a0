#!/bin/sh
# SPDX-License-Identifier: ISC
# Files, functions and headers are small. In KNF only the braces of functions
# are in column one.
. "${0%/*}/lib.sh"

long_functions() {
	sources | xargs -r awk '
	FNR == 1 { start = 0 }
	/^[a-z_A-Z0-9]+\(/ { name = $0; sub(/\(.*/, "", name) }
	/^\{/ { start = FNR }
	/^\}/ {
		if (start && FNR - start - 1 > 60)
			print FILENAME ":" start ": " name " has " \
			    FNR - start - 1 " lines"
		start = 0
	}'
}

# KNF puts the name of a defined function in column one, too.
many_parameters() {
	product | code | awk '
	{ text = $0; sub(/^[^:]*:[0-9]*:/, "", text) }
	text ~ /^[a-z_][a-z_A-Z0-9]*\(/ {
		name = text; sub(/\(.*/, "", name)
		at = substr($0, 1, length($0) - length(text))
		depth = 0; n = 1; inside = 1
	}
	inside {
		for (i = 1; inside && i <= length(text); i++) {
			c = substr(text, i, 1)
			depth += (c == "(") - (c == ")")
			n += c == "," && depth == 1
			inside = depth > 0 || c != ")"
		}
		if (!inside && n > 7)
			print at " " name " has " n " parameters"
	}'
}

# longer MAX: prints those of the files on standard input that are longer.
longer() {
	while read -r f; do
		lines=$(wc -l <"$f")
		[ "$lines" -le "$1" ] || echo "$f: $lines lines"
	done
}

# Headers that are mostly types or numbers of a protocol.
types='^(common/rpc/rpc|nfsd/nfsd|nfsd/locks/proto|nfsd/locks/state|nfsd/wire/nfs|nfsd/wire/call)\.h$'

long_functions | none 'no function is longer than 60 lines'
many_parameters | none 'no function has more than 7 parameters'
product | xargs -n1 dirname | sort | uniq -c |
    awk '$1 > 25 { print $2 ": " $1 " files" }' |
    none 'no folder has more than 25 files'
sources | longer 800 | none 'no file is longer than 800 lines'
product | grep '\.h$' | grep -Ev "$types" | longer 150 |
    none 'no header is longer than 150 lines'
product | grep -E "$types" | longer 260 |
    none 'no header of types is longer than 260 lines'
files 'tests/fuzz/fuzz_*.c' | longer 120 | none 'fuzz targets are short'
files 'tests/lint/*.t' | longer 80 | none 'lint tests are short'
longer 230 <<E | none 'the makefile and its rules stay readable'
GNUmakefile
etc/build.mk
E
done_testing

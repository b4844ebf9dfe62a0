#!/bin/sh
# SPDX-License-Identifier: ISC
# Every file has the formatter's style, and a head that says what it is.
. "${0%/*}/lib.sh"

if command -v clang-format >/dev/null; then
	sources | while read -r f; do
		clang-format "$f" | diff -q "$f" - >/dev/null ||
		    echo "$f: run clang-format -i $f"
	done | none 'every C file is formatted by clang-format'
else
	skip 'no clang-format'
fi

sources | xargs -r awk '
	/clang-format off/ { open = FNR }
	/clang-format on/ { open = 0 }
	FNR == 1 && NR > 1 && last { print name ":" last ": never on again" }
	{ last = open; name = FILENAME }
	FNR == 1 { open = 0 }
	END { if (open) print name ":" open ": never on again" }' |
    none 'every "clang-format off" is followed by on'

files '*.[ch]' '*.t' '*.sh' 'etc/packages' 'etc/serve' 'etc/tern-cert' 'etc/tern-takeover' 'etc/ocf/*' GNUmakefile '*.[1-9]' \
    '*.service' '*.socket' '*.py' | while read -r f; do
	head -n 3 "$f" | grep -q 'SPDX-License-Identifier: ISC$\|SPDX-License-Identifier: ISC \*/$' ||
	    echo "$f: no SPDX line at the top"
done | none 'every file names its licence'

sources | while read -r f; do
	head -n 40 "$f" | grep -q 'Runs in:' || echo "$f: no Runs in: line"
done | none 'every C file says in which process it runs'

product | grep '\.h$' | while read -r f; do
	room=$(basename "$(dirname "$f")")
	name=$(basename "$f")
	case $f in
	*/*/$room*) guard=$name ;;
	*/*/*) guard=${room}_$name ;;
	*) guard=$name ;;
	esac
	guard=$(echo "$guard" | tr 'a-z.' 'A-Z_')
	grep -q "^#ifndef $guard\$" "$f" || echo "$f: guard is not $guard"
done | none 'header guards are ROOM_MODULE_H'

product | code | grep -E ':[0-9]+:(#if 0|.*\<typedef struct\>)' |
    none 'no "#if 0", no typedef of structs'

files | grep -Ev '^tests/fuzz/corpus/|\.(bin|png|svg)$' |
    xargs grep -nIE '[[:space:]]+$' | cut -c1-100 | none 'no blanks at line ends'
done_testing

#!/bin/sh
# SPDX-License-Identifier: ISC
# Every shell script passes shellcheck (.shellcheckrc lists the exceptions). The
# shell understands what make hands to it for targets that no other test runs.
. "${0%/*}/lib.sh"

{
	make -n asan tsan cover fuzz growth abuse ||
	    echo '( make has failed'
} 2>&1 | sh -n 2>&1 | none 'the shell understands the recipes of the long targets'

if command -v shellcheck >/dev/null; then
	files | while read -r f; do
		case $f in
		*.c | *.h | *.md | *.case | tests/fuzz/corpus/*) continue ;;
		esac
		head -n 3 "$f" | grep -aqE '^#!.*sh$|shellcheck shell=' && echo "$f"
	done | xargs -r -n 8 -P 2 shellcheck -x -P tests/system -P tests/lint -f gcc |
	    none 'shellcheck reports nothing'
else
	skip 'no shellcheck'
fi
done_testing

#!/bin/sh
# SPDX-License-Identifier: ISC
# Every shell script passes shellcheck (.shellcheckrc lists the exceptions).
. "${0%/*}/lib.sh"

command -v shellcheck >/dev/null || skip_all 'no shellcheck'

files | while read -r f; do
	case $f in
	*.c | *.h | *.md | *.case | tests/fuzz/corpus/*) continue ;;
	esac
	head -n 3 "$f" | grep -aqE '^#!.*sh$|shellcheck shell=' && echo "$f"
done | xargs -r -n 8 -P 2 shellcheck -x -P tests/system -P tests/lint -f gcc |
    none 'shellcheck reports nothing'
done_testing

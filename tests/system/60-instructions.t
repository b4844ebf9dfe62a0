#!/bin/bash
# SPDX-License-Identifier: ISC
# A guard against gradual slowdown that does not depend on time: compares the
# instructions of eight operations, served in memory, with the numbers on file.
# UPDATE=1 writes new numbers.
# shellcheck source=tests/system/lib.sh
. "${0%/*}/lib.sh"
need valgrind valgrind
count=$(built bench)/count
file=$top/tests/bench/instructions
[ -x "$count" ] || skip_all "$count is not built"
if nm "$count" 2>/dev/null | grep -qE ' __(asan|tsan)_init'; then
	skip_all "a sanitizer build has other counts"
fi
case $(uname -m) in x86_64) ;; *) skip_all "the numbers are of x86_64" ;; esac
scratch

run() { # OPERATION TIMES
	valgrind --tool=callgrind --callgrind-out-file=/dev/null "$count" "$1" \
	    "$2" 2>&1 | sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}
for op in null getattr lookup access read4k write4k rename readdirplus; do
	a=$(run $op 200) b=$(run $op 1200)
	now=$(((${b:-0} - ${a:-0}) / 1000))
	echo "$op $now" >>"$T/now"
	was=$(awk -v op=$op '$1 == op { print $2 }' "$file")
	[ "$now" -gt 0 ] && [ -n "$was" ] && [ $((now * 10)) -le $((was * 11)) ]
	ok $? "$op: $now instructions (on file: ${was:-none})"
	[ -z "$was" ] || [ $((now * 10)) -ge $((was * 9)) ] ||
	    diag "$op became cheaper: UPDATE=1 writes the new number"
done
if [ -n "${UPDATE:-}" ]; then
	{ grep '^#' "$file" && cat "$T/now"; } >"$T/new" && cat "$T/new" >"$file"
	diag "written: $file"
fi
done_testing

#!/bin/sh
# SPDX-License-Identifier: ISC
# Tables of permitted system calls name only calls that ARM64 has too (the
# kernel's generic list), or guard them with #ifdef.
. "${0%/*}/lib.sh"

list=/usr/include/asm-generic/unistd.h
[ -r $list ] || skip_all "no $list (linux-libc-dev)"

# Generic names of calls that have two forms on 32-bit machines.
generic() { sed 's/^newfstatat$/fstatat/'; }

tables=$(product | xargs grep -l "struct sandbox_call .*\[\]")
for f in $tables; do
	# Rows outside #ifdef. A definition of the call in the file counts as a
	# guard.
	awk '/^#if/ { n++ } /^#endif/ { n-- } n == 0 && /^\t\{ SYS_/ {
		sub(/.*SYS_/, ""); sub(/[^a-z0-9_].*/, ""); print }' "$f" |
	    generic | while read -r call; do
		grep -Eq "__NR(3264)?_$call\$|__NR(3264)?_${call}[[:space:]]" $list ||
		    grep -q "define SYS_$call" "$f" ||
		    echo "$f: $call is not on every machine: use #ifdef"
	done
done | none 'system calls of the tables exist on ARM64'

# On 32-bit machines libc makes two calls: narrow.h names the second one.
sed -n 's/^#define SYS_\([a-z0-9]*\)_time32 .*/\1/p' common/machine/narrow.h |
    while read -r call; do
	for f in $tables; do
		! grep -q "^	{ SYS_$call," "$f" || grep -q "^	{ SYS_${call}_time32," "$f" ||
		    echo "$f: $call without ${call}_time32"
	done
done | none 'a call with a time of 64 bits is permitted with 32 bits too'

for f in $tables; do
	awk '/^\t\{ SYS_/ && !/"[^"]+" \},$/ { print FILENAME ": " $0 }' "$f" |
	    grep -v SANDBOX_
done | none 'every permitted call has its reason'

for f in $tables; do
	awk -v f="$f" '/sandbox_call [a-z_]+\[\]/ { last = "" }
	/^\t\{ SYS_[a-z0-9_]+, *(true|false)/ {
		match($0, /SYS_[a-z0-9_]+/)
		name = substr($0, RSTART + 4, RLENGTH - 4)
		if (name <= last) print f ": " name " behind " last
		last = name
	}' "$f"
done | none 'tables of permitted calls are sorted'
done_testing

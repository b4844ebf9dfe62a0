#!/bin/sh
# SPDX-License-Identifier: ISC
# The programs are hardened and contain no hooks of tests.
. "${0%/*}/lib.sh"

O=${O:-.}
programs=$(for d in portmapd mountd nfsd; do
	[ ! -x "$O/$d/$d" ] || echo "$O/$d/$d"
done)
[ -n "$programs" ] || skip_all 'nothing is built'

each() { # DESCRIPTION COMMAND, which gets a program and prints its faults
	for p in $programs; do
		"$2" "$p" | sed "s,^,${p##*/}: ,"
	done | none "$1"
}

pie() { readelf -hW "$1" | grep -q 'Type:.*DYN' || echo "not PIE"; }
relro() {
	readelf -lW "$1" | grep -q GNU_RELRO || echo "no RELRO"
	readelf -dW "$1" | grep -q 'BIND_NOW\|FLAGS.*NOW' || echo "lazy binding"
}
stack() {
	readelf -lW "$1" | grep GNU_STACK | grep -q RWE && echo "executable stack"
	readelf -sW "$1" | grep -q __stack_chk_fail || echo "no stack protector"
}
fortify() { readelf -sW "$1" | grep -q '_chk@' || echo "not fortified"; }
cet() {
	[ "$(uname -m)" = x86_64 ] || return 0
	# Debian's start files have no CET note, so the linker drops it from the
	# program. Tern's own code must have its landing pads.
	objdump -d --no-show-raw-insn "$1" |
	    grep -A 1 '<main>:$' | grep -q endbr64 || echo "no CET"
}
hooks() {
	grep -aqiE 'tern_owned|owned_tries|__wrap_' "$1" &&
	    echo "contains the self-test of owned processes"
	return 0
}
# glibc touches all of it in every thread, and some roles have 100 threads.
thread_local() {
	readelf -lW "$1" | awk '$1 == "TLS" { print $6 }' | while read -r size; do
		[ $((size)) -le 1024 ] || echo "$((size)) bytes in each thread"
	done
}
# Static variables of functions have a dot in their name.
state() {
	objdump -t "$1" | awk -F'\t' '$1 ~ / O \.(bss|data)$/ {
		split($2, b, " ")
		print b[2]
	}' | grep -v '[.@]' | grep -vx -e logger -e gate \
	    -e __dso_handle
}

each 'programs are position independent' pie
each 'relocations are read-only after start' relro
each 'stacks are not executable and have canaries' stack
each 'calls of the C library are checked' fortify
each 'indirect branches are marked' cet
each 'no test hook is in the programs' hooks
each 'threads have little memory of their own' thread_local
each 'only log.c has variables of a file' state
done_testing

#!/bin/sh
# SPDX-License-Identifier: ISC
# Manual pages document every flag, setting and option, and none that is not there.
. "${0%/*}/lib.sh"

# Rows { 'a', "address", ... } of an option table: letter (or 0) and name.
rows() {
	sed -n "s/^	{ '\(.\)', \"\([a-z0-9-]*\)\",.*/\1 \2/p
	    s/^	{ 0, \"\([a-z0-9_-]*\)\",.*/0 \1/p" "$@"
}

documented() { # PAGE
	while read -r letter name; do
		case $letter in
		0) grep -Eq "^\.(It|Op|Fl|Cm|Pp).* (Cm |Fl -|Fl o )$name( |=|\$)" "$1" ;;
		*) grep -Eq "(^\.It|^\.Op)? ?Fl $letter( |\$)" "$1" ;;
		esac || echo "$1: does not document -$letter $name"
	done
}

# The same rows from a page: ".It Fl a , -address", ".It Fl -json", ".It Cm strict".
described() { # PAGE
	sed -n 's/^\.It Fl \([A-Za-z]\) , -\([a-z-]*\).*/\1 \2/p
	    s/^\.It Fl -\([a-z-]*\).*/0 \1/p
	    s/^\.It Cm \([a-z0-9-]*\).*/0 \1/p' "$1"
}

for d in portmapd mountd nfsd; do
	[ -e $d/$d.c ] || continue
	if [ ! -e man/$d.8 ]; then
		echo "man/$d.8 is missing" | none "$d has a page"
		continue
	fi
	all=$(
		echo V version
		rows common/process/options.c | if [ $d = portmapd ]; then
			grep -v '^[Rfk] '
		else
			cat
		fi
		rows $d/*.c
	)
	echo "$all" | documented man/$d.8 | none "$d(8) documents every flag and setting"
	described man/$d.8 | grep -vxF "$all
h help
o option" | none "$d(8) documents none that $d has not"
done

# The transports log "-o NAME raises the limit" in every daemon.
grep -ohE '"[a-z-]+-(max|seconds)\>' common/transport/conn.c common/transport/tcp.c |
    tr -d '"' | sort -u | while read -r name; do
	for d in portmapd mountd nfsd; do
		rows $d/$d.c | grep -qx "0 $name" || echo "$d: no -o $name"
	done
done | none 'every limit the log names is a setting'

if [ -e man/tern-exports.5 ]; then
	sed -n 's/^	{ "\([a-z0-9_]*\)", *[A-Z]*, .*/\1/p' common/exports/option.c |
	    while read -r name; do
		grep -Eq "Cm $name( |=|\$)" man/tern-exports.5 ||
		    echo "tern-exports.5: does not document $name"
	done | none 'the exports page documents every option'
	sed -n '/^\.It Cm/ { s/= Ns Cm [a-z0-9]*//g; s/^\.It//p; }' man/tern-exports.5 |
	    grep -oE 'Cm [a-z0-9_]+' | cut -d ' ' -f 2 | while read -r name; do
		grep -q "^	{ \"$name\", " common/exports/option.c ||
		    echo "tern-exports.5: $name is no option"
	done | none 'and none that there is not'
fi
done_testing

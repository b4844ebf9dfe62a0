#!/bin/sh
# SPDX-License-Identifier: ISC
# Manual pages are well formed. options.t compares them with the programs.
. "${0%/*}/lib.sh"

pages=$(files 'man/*')
[ -n "$pages" ] || skip_all 'no manual page yet'

if command -v mandoc >/dev/null; then
	# Ignores pages of other projects, which mandoc does not find, and
	# dates. Its stderr would come in the middle of a line of its stdout.
	{
		echo "$pages" | xargs mandoc -Tlint -W style 2>&3 |
		    grep -Ev 'referenced manual not found|missing date'
	} 3>&1 | grep -v 'outdated mandoc.db' |
	    none 'mandoc -Tlint reports nothing'
else
	skip 'no mandoc'
fi

for page in $pages; do
	for part in NAME DESCRIPTION 'SEE ALSO'; do
		grep -qx "\.Sh $part" "$page" || echo "$page: no $part"
	done
	case $page in *.8) ;; *) continue ;; esac
	for part in SYNOPSIS FILES 'EXIT STATUS' EXAMPLES DIAGNOSTICS STANDARDS \
	    CAVEATS 'SECURITY CONSIDERATIONS'; do
		grep -qx "\.Sh $part" "$page" || echo "$page: no $part"
	done
done | none 'pages have the usual sections'
done_testing

#!/bin/sh
# SPDX-License-Identifier: ISC
# The tree has no stray files, unfinished notes or machine's paths.
. "${0%/*}/lib.sh"

readable() { files | grep -Ev '^tests/fuzz/corpus/|^tests/lint/'; }

files | cut -d/ -f1 | sort -u | grep -vx -e GNUmakefile -e portmapd -e mountd \
    -e nfsd -e common -e tests -e man -e etc -e '[A-Z]*\.md' -e LICENSE \
    -e '\..*' | none 'the top folder has no other files'

readable | xargs grep -nIwE 'TODO|FIXME|XXX|HACK' |
    grep -v '# TODO %s' | none 'no unfinished notes'

readable | xargs grep -nIE '[^0-9a-zA-Z}]/(home/[a-z]|root/)' |
    none 'no path of a particular machine'

sources | xargs grep -nP '[^\x00-\x7f]' | none 'C sources are ASCII'

files '*.sh' '*.t' 'etc/*' '.ci/*' 'tests/*' | while read -r f; do
	head -n 1 "$f" | grep -aq '^#!' || continue
	[ -x "$f" ] || echo "$f: not executable"
done | none 'every script is executable'

files 'tests/*/[0-9][0-9]-*.t' | sed 's,-.*,,' | uniq -d |
    none 'tests of a folder have different numbers'
done_testing

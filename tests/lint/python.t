#!/bin/sh
# SPDX-License-Identifier: ISC
# The tests' Python has one style, and one home for XDR and RPC.
. "${0%/*}/lib.sh"

python() { files '*.py'; }

python | xargs awk 'length > 80 { print FILENAME ":" FNR ": " length " columns" }' |
    none 'no line is longer than 80 columns'

python | while read -r f; do
	sed -n '/^#/!{p;q;}' "$f" | grep -q '^"""[A-Z]' ||
	    echo "$f: does not begin with its purpose"
done | none 'every file states its purpose'

python | while read -r f; do
	! head -n 1 "$f" | grep -q '^#!' || grep -q '^if __name__ ==' "$f" ||
	    echo "$f: runs when it is imported"
done | none 'a script can be imported'

# Words of XDR are big-endian and of 4 or 8 bytes.
python | grep -v '^tests/lib/' |
    xargs grep -nE 'struct\.(un)?pack(_from)?\(.>[0-9]*[IiQq]' |
    none 'XDR is encoded and decoded in tests/lib'
done_testing

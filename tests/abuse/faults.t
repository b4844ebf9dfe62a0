#!/bin/bash
# SPDX-License-Identifier: ISC
#
# The abuse cases that start daemons of their own: other exports and keys, bad
# luck in system calls, memory, disks and clocks, processes that lie to each
# other. LONG=1 (make abuse) runs all of each, CASES="97 110" only some.
# Runs in: the tests.
. "${0%/*}/../system/lib.sh"
private "$@"
sanitized && skip_all "a sanitizer build has its own malloc and no filter"
need python3 python3 strace strace mkfs.ext4 e2fsprogs btrfs btrfs-progs
strace -D true 2>/dev/null || skip_all "strace may not trace here"
need_daemons

mkdir "$T/elsewhere" "$T/outside"
BUILD_OWNED=$(dirname "$(built owned)")/../owned
BUILD_FAULTY=$(dirname "$(built faulty)")/../faulty
for p in "$BUILD_OWNED" "$BUILD_FAULTY"; do
	[ -x "$p/nfsd/nfsd" ] || skip_all "no programs in $p (make check makes them)"
done
export BUILD_OWNED BUILD_FAULTY
# shellcheck disable=SC2086 # a list of numbers
python3 "$top/tests/abuse/abuse.py" --own ${CASES:-}

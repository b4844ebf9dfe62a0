#!/bin/bash
# SPDX-License-Identifier: ISC
# Quotas: all three daemons and a client run in a guest whose kernel has them
# (Debian's user-mode-linux). Debian's quota(1) asks for an NFS mount of an ext4
# with limits; a wire client asks what quota(1) does not.
# shellcheck source=tests/system/lib.sh
. "${0%/*}/../system/lib.sh"
# shellcheck source=tests/kernel/rig.sh
. "$top/tests/kernel/rig.sh"
private "$@"
need python3 python3 quota quota mkfs.ext4 e2fsprogs setpriv util-linux
need_guest
need_daemons
guest_net 1
guest_start "$rig/quota-job" "O=$O" "TOP=$top"
guest_wait 300
is "$ended" 0 "the job ends"
while read -r what status text; do
	[ "$what" = quota ] || continue
	ok "$status" "$text"
done < <(sed -n 's/\r$//; s/^@@ //p' "$console")
[ "$_failed" = 0 ] || diag "$(grep -v '^@@' "$console" | tail -n 60)"
done_testing

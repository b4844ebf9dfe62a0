#!/bin/bash
# SPDX-License-Identifier: ISC
# A RENAME that is done twice, since the reply of the first head was lost, fails. A Linux
# client then finds the new name, also if the directory seems to have the times that it had
# before, as where its machine's clock ticks seldom.
# shellcheck source=tests/system/lib.sh
. "${0%/*}/../system/lib.sh"
private "$@"
# shellcheck source=tests/kernel/rig.sh
. "$top/tests/kernel/rig.sh"
need_guest
need_daemons
need python3 python3
guest_net 1
ram 100
loop_fs ext4 80 "$T/export" || skip_all "no loop-mounted ext4"
tern_start "$T/export 10.77.0.0/24(rw,no_root_squash,insecure)"
ports=(apart:2050 same:2051)
for p in "${ports[@]}"; do
	"$rig/twice.py" 10.77.0.1 "${p#*:}" 2049 "${p%:*}" 2>"$T/twice.log" &
	at_end "kill $!"
done
guest_start "$rig/twice.sh" "PORTS=${ports[*]}" "EXPORT=$T/export"
guest_wait 300
ok $? 'the guest exits without error' || diag "$(tail -n 20 "$console" "$T/twice.log")"
for p in "${ports[@]}"; do
	like "$(cat "$console")" "^@@ renamed ${p%:*} 2" "${p%:*}: RENAME fails with ENOENT"
	like "$(cat "$console")" "^@@ found ${p%:*} yes" "${p%:*}: the new name is found"
done
like "$(tr -d '\r' <"$console")" '^@@ time same 0$' 'although the directory has the same time'
done_testing

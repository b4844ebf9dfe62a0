#!/bin/bash
# SPDX-License-Identifier: ISC
# A Linux kernel's view of an export that is revoked, and of a server with
# another key: "Stale file handle", not an unknown error.
# shellcheck source=tests/system/lib.sh
. "${0%/*}/../system/lib.sh"
private "$@"
# shellcheck source=tests/kernel/rig.sh
. "$top/tests/kernel/rig.sh"
need_guest
guest_server
mkdir "$T/other" "$T/steps"
echo hello >"$T/other/greeting"
echo kept >"$T/export/greeting"
one=$(cat "$T/exports")
both="$one
$T/other 10.77.0.2(rw)"
looked() { # ROUND
	guest_news
	[ "$rounds" -ge "$1" ] || [ -n "$ended" ] || ! alive guest
}
# reload TEXT: returns when both daemons have the list.
reload() {
	local n
	n=$(grep -c 'exports: \(added\|removed\)' "$T/nfsd.log")
	echo "$1" >"$T/exports"
	kill -HUP "${pid[mountd]}" "${pid[nfsd]}"
	wait_for 20 eval "[ \$(grep -c 'exports: \\(added\\|removed\\)' $T/nfsd.log) -gt $n ]"
}
reload "$both"
guest_start "$rig/refused.sh" "EXPORT=$T/export" "OTHER=$T/other" "STEPS=$T/steps"
wait_for 600 looked 1
reload "$one"
touch "$T/steps/1"
wait_for 300 looked 2
like "$(cat "$T/nfsd.log")" 'refused .* from 10.77.0.2.* is not listed' \
    'the log says whom it refuses, and why'
reload "$both"
touch "$T/steps/2"
wait_for 300 looked 3
stop nfsd
stop mountd
rm "$T/key"
start_again mountd -p 20048
start_again nfsd -p 2049
touch "$T/steps/3"
guest_wait 300
ok $? 'the guest exits without error' || diag "$(tail -n 20 "$console")"
for look in mounted revoked kept listed-again another-key mounted-again; do
	check "the client's view: $look" grep -q "@@ pass $look " "$console"
done
done_testing

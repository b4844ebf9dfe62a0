#!/bin/bash
# SPDX-License-Identifier: ISC
#
# Nothing that one client causes stops the event loop: while calls on one export
# wait, another client on another export is served. The worker is alone (-w 1),
# so both are served by one loop.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3 fsfreeze util-linux
ram 600
loop_fs ext4 200 "$T/bad" || skip_all 'needs a loop-mounted ext4'
mkdir -m 777 "$T/good"
chmod 777 "$T/bad"
tern_start "$T/good 127.0.0.1(rw,insecure,no_root_squash)
$T/bad 127.0.0.1(rw,insecure,no_root_squash)" -w 1 -o files=16
at_end "fsfreeze -u $T/bad"
"$top/tests/system/loop_waits.py" "$T/good" "$T/bad" "${pid[nfsd]}" \
	>"$T/waits.out" 2>"$T/waits.log"
rc=$?
while IFS= read -r line; do
	case $line in
	'not ok '*) ok 1 "${line#not ok }" ;;
	'ok '*) ok 0 "${line#ok }" ;;
	*) diag "$line" ;;
	esac
done <"$T/waits.out"
is "$rc" 0 'the client of the test ended well'
done_testing

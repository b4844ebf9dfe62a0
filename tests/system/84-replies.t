#!/bin/bash
# SPDX-License-Identifier: ISC
#
# Replies outlive a worker. A change is made, its worker is killed, and the client
# sends the call again, as it does when a reply was lost: the successor gives the
# reply of the first call and does nothing twice.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3

mkdir -m 777 "$T/x"
tern_start "$T/x 127.0.0.1(rw,insecure)" -w 2
x=$(nfs mnt "$T/x")
"$top/tests/system/replies.py" "$x" 127.0.0.1 127.0.0.1 "${pid[nfsd]}" >"$T/out"
is $? 0 'all changes were made and repeated'
is "$(grep -c . "$T/out")" 34 'ten of version 3 and seven of version 2, over TCP and UDP'
is "$(grep -v ^right "$T/out")" '' '0 wrong answers after the death of a worker'
like "$(cat "$T/nfsd.log")" 'replies of [0-9]+ calls' 'the log says what the successor knows'

stop nfsd
is $? 0 'nfsd ends as usual'
done_testing

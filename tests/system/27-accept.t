#!/bin/bash
# SPDX-License-Identifier: ISC
#
# Which worker gets a connection: they are filled evenly, one that is stopped or
# killed stops no other, and the accept role can be killed at any time.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3
need pgrep procps

mkdir -m 777 "$T/x"
tern_start "$T/x 127.0.0.0/8(rw,insecure)" -w 8
lines_ok "$top/tests/system/placed.py" 8 "${pid[nfsd]}"
stop nfsd
is $? 0 'nfsd ends as usual'

start nfsd -p 2049 -w 2 -o connections-per-host=20 || bail 'nfsd did not start'
is "$(python3 - <<'P'
import nfs, rpc, time
streams = [rpc.TRANSPORTS["tcp"](nfs.PORT) for _ in range(100)]
end = time.monotonic() + 10
while time.monotonic() < end:
    alive = [t for t in streams if not t.is_closed(0.01)]
    if len(alive) <= 40:
        break
print(len(alive))
P
)" 40 'connections-per-host counts for each worker'
stop nfsd

start nfsd -p 2049 -w 1 || bail 'nfsd did not start'
check_not 'a single worker accepts by itself' pgrep -P "${pid[nfsd]}" -f '^nfsd: accept'
check 'and is reached' nfs null
done_testing

#!/bin/bash
# SPDX-License-Identifier: ISC
# Files may use the descriptors that connections do not, and give way to them.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3 prlimit util-linux pgrep procps
mkdir "$T/x"
for i in $(seq 0 399); do : >"$T/x/f$i"; done
TERN_WRAP='prlimit --nofile=400:400' tern_start "$T/x 127.0.0.1(rw,insecure)" -w 1
worker=$(pgrep -P "${pid[nfsd]}" -f 'nfsd: worker')
is "$("$top/tests/system/descriptors.py" "$T/x" "$worker" 400 400 95 2>&1)" '' \
    'connections are served at the cost of files kept open, none is closed'
unlike "$(cat "$T/nfsd.log")" 'no descriptor left' 'and nothing is amiss'
is "$(pgrep -P "${pid[nfsd]}" -f 'nfsd: worker')" "$worker" 'the same worker'
done_testing

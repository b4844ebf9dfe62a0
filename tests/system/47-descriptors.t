#!/bin/bash
# SPDX-License-Identifier: ISC
# Open files use the descriptors that connections leave, and are closed for new
# connections.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3 prlimit util-linux pgrep procps
mkdir "$T/x"
for i in $(seq 0 399); do : >"$T/x/f$i"; done
TERN_WRAP='prlimit --nofile=400:400' tern_start "$T/x 127.0.0.1(rw,insecure)" -w 1
worker=$(pgrep -P "${pid[nfsd]}" -f 'nfsd: worker')
is "$("$top/tests/system/descriptors.py" "$T/x" "$worker" 400 400 95 2>&1)" '' \
    'cached files are closed for new connections, and no connection is closed'
unlike "$(cat "$T/nfsd.log")" 'no descriptor left' 'the log reports no lack of descriptors'
is "$(pgrep -P "${pid[nfsd]}" -f 'nfsd: worker')" "$worker" 'the worker was not restarted'
like "$(cat "$T/nfsd.log")" 'may have 400 descriptors: .*LimitNOFILE' \
    'a limit too small for the files is a warning at start'
tern_stop
TERN_WRAP='prlimit --nofile=400:400' tern_start "$T/x 127.0.0.1(rw,insecure)" -w 1 -o files=300
unlike "$(cat "$T/nfsd.log")" 'LimitNOFILE' 'none if so few were asked for'
done_testing

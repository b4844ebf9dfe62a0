#!/bin/bash
# SPDX-License-Identifier: ISC
# A stable reply is sent only after its data is on disk. For every stable reply
# the trace shows that its sync system call had returned before the reply was
# sent. If such a call fails, the client gets an IO error and, from every
# worker, another verifier.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need strace strace python3 python3
need_daemons
strace -D true 2>/dev/null || skip_all "strace may not trace here"

here=${0%/*}
export START_SECONDS=60 NFS_TIMEOUT=60
mkdir "$T/x" && chmod 777 "$T/x"
exports "$T/x 127.0.0.0/8(rw,insecure)"
start mountd -R -p 20048 || bail "mountd does not start"

# traced STRACE-FLAG...: starts nfsd under strace.
traced() {
	TERN_WRAP="strace -D -f -qq -e signal=none -o $T/trace $*" \
	    start nfsd -R -p 2049 -w 2 -t "${threads:-8}" || bail "nfsd does not start"
}

traced -y -xx -s 65536 -e trace=pwritev2,fsync,sendto,sendmsg
"$here/stable.py" load "$T/x" >"$T/calls"
ok $? 'stable writes and commits of four clients are answered'
stop nfsd
ended() { ! pgrep -f "strace.*$T/trace" >/dev/null; }
wait_for 20 ended
"$here/stable.py" judge "$T/trace" <"$T/calls" >"$T/verdict"
ok $? "$(tail -n 1 "$T/verdict")" || diag "$(head -n 10 "$T/verdict")"

# One file thread, so that the first call of each worker fails. strace calls
# gettid in its place, since the filter does not permit call -1.
threads=1
for call in fsync pwritev2; do
	traced -e "trace=$call" -e "inject=$call:error=EIO:when=1:syscall=gettid"
	check "a failed $call gives an IO error and a new verifier" \
	    "$here/stable.py" "$call" "$T/x"
	stop nfsd
	wait_for 20 ended
done
done_testing

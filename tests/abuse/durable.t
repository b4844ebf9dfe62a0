#!/bin/bash
# SPDX-License-Identifier: ISC
# A client writes and remembers what it was promised while nfsd is killed with
# -9 at any moment: what was FILE_SYNC or COMMITted is always there, and what
# was not is lost only with a new verifier. LONG=1: 1,000 kills, else 20.
# shellcheck source=tests/system/lib.sh
. "${0%/*}/../system/lib.sh"
private "$@"
need_daemons
durable=$(built abuse)/durable
[ -x "$durable" ] || skip_all "$durable is not built"
kills=20
[ -z "${LONG:-}" ] || kills=1000
ram 500
loop_fs ext4 400 "$T/x" || skip_all "no loop-mounted ext4"
chmod 777 "$T/x"
exports "$T/x 127.0.0.1(rw,insecure,no_root_squash)"
start mountd -R -p 20048
start nfsd -R -p 2049 || bail "nfsd does not start"

"$durable" 127.0.0.1 2049 20048 "$T/x" $((kills * 2 + 60)) >"$T/out" 2>&1 &
client=$!
wait_for 10 test -s "$T/x/durable"
failed=0
for ((i = 1; i <= kills; i++)); do
	# 0 to 250 ms of work, never at the same point
	sleep "0.$(printf %03d $((RANDOM % 250)))"
	case $((i % 4)) in
	0) # a worker alone: the parent starts another
		worker=$(pgrep -P "${pid[nfsd]}" -f worker | shuf -n 1)
		[ -z "$worker" ] || kill -9 "$worker"
		;;
	1) # the broker alone
		broker=$(pgrep -P "${pid[nfsd]}" -f broker | head -n 1)
		[ -z "$broker" ] || kill -9 "$broker"
		;;
	*)
		stop nfsd KILL
		start_again nfsd -R -p 2049 || { failed=1 && break; }
		;;
	esac
	kill -0 $client 2>/dev/null || break
done
is $failed 0 "nfsd started again after each of $((i - 1)) kills"
kill $client
wait $client
ok $? 'no promise was broken' || diag "$(tail -n 20 "$T/out")"
diag "$(tail -n 1 "$T/out")"
like "$(cat "$T/out")" '[1-9][0-9]* new verifiers' 'the verifier changed with the server'
check 'nfsd serves at the end' alive nfsd
done_testing

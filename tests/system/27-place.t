#!/bin/bash
# SPDX-License-Identifier: ISC
#
# Connections move from a worker that is busy to one that is not, and their clients
# notice nothing. A change that comes again at another worker is not done twice.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3 chrt util-linux ss iproute2

# What the kernel says of unused processors on a machine that others use too.
stat=$T/stat
echo 'cpu0 1 1 1 100 1' >"$stat"
mount --bind "$stat" /proc/stat || bail 'cannot replace /proc/stat'
unused() { # as if all of one processor were
	local n=100
	while sleep 0.05; do
		n=$((n + 5))
		printf 'cpu0 1 1 1 %d 1\n' $n >"$stat"
	done
}

mkdir -m 777 "$T/x"
at=()
for n in 1 2 3 4 5; do at+=(-a "127.0.0.$n"); done
tern_start "$T/x 127.0.0.1(rw,insecure)" -w 2 "${at[@]}"
workers=$(pgrep -P "${pid[nfsd]}" -f '^nfsd: worker')
is "$(wc -w <<<"$workers")" 2 'two workers'

# Every change goes to one address, and its repeat to another: these have sockets of
# their own, so the kernel's hash chooses another worker for half of them.
for n in 2 3 4 5; do # each over two connections
	mkdir -m 777 "$T/x/alive$n" "$T/x/killed$n"
	"$top/tests/system/replies.py" "$(nfs mnt "$T/x/alive$n")" 127.0.0.1 \
	    127.0.0.$n "" tcp >>"$T/out"
	[ $n -lt 4 ] || continue
	"$top/tests/system/replies.py" "$(nfs mnt "$T/x/killed$n")" 127.0.0.1 \
	    127.0.0.$n "${pid[nfsd]}" tcp >>"$T/out.killed"
done
is "$(grep -c ^right "$T/out") $(grep -v ^right "$T/out")" '68 ' 'no change is done twice'
is "$(grep -c ^right "$T/out.killed") $(grep -v ^right "$T/out.killed")" '34 ' \
    'nor if its worker was killed'

for p in $(pgrep -P "${pid[nfsd]}" -f '^nfsd: worker') "${pid[nfsd]}" $$; do
	chrt -a -r -p 1 "$p" 2>"$T/chrt" || skip_all "chrt: $(cat "$T/chrt")"
done
"$top/tests/system/place.py" 2 >"$T/still"
is "$(cat "$T/still")" 'moved 0' 'no connection moves where nothing is unused'
unused &
at_end "kill $!"
"$top/tests/system/place.py" 60 >"$T/moved"
like "$(cat "$T/moved")" '^moved [1-6]$' 'a busy worker gives connections to the other one'
unlike "$(cat "$T/nfsd.log")" 'compromised|malformed|signal (31|11|6)' 'and no process breaks a rule'

stop nfsd
is $? 0 'nfsd ends as usual'
done_testing

#!/bin/bash
# SPDX-License-Identifier: ISC
# Mixed work over TCP and UDP, every answer compared with a model, while one
# daemon after the other is restarted at random: no client that retries sees an
# error, and memory stays where it is. The registration is watched as well.
# LONG=1: 30 minutes; else 20 seconds; SOAK=seconds for any other time.
#
# nfsd ends by SIGTERM here, and answers what it has begun: that a RENAME was
# done and its answer lost can happen to every server that is killed, and no
# client could tell. Kills under data are in durable.t.
# shellcheck source=tests/system/lib.sh
. "${0%/*}/../system/lib.sh"
private "$@"
need rpcinfo rpcbind
soak=$(built abuse)/soak
[ -x "$soak" ] || skip_all "$soak is not built"
seconds=${SOAK:-20}
[ -n "${SOAK:-}" ] || [ -z "${LONG:-}" ] || seconds=1800
every=4 # seconds between two restarts, on average

list=
for a in tcp udp names; do
	mkdir "$T/$a"
	chown alice "$T/$a"
	list+="$T/$a 127.0.0.0/8(rw,insecure)"$'\n'
done
mkdir "$T/beside"
chown alice "$T/beside"
tern_start "$list"

client() { # NAME ARGUMENT...
	local name=$1
	shift
	"$soak" 127.0.0.1 20048 2049 "$@" >"$T/$name.out" 2>&1 &
	clients[$name]=$!
	at_end "kill $!"
}
declare -A clients=() restarts=() first=() last=()
client tcp "$T/tcp" tcp 1001 "$seconds" data
client udp "$T/udp" udp 1001 "$seconds" data
client names "$T/names" tcp 1001 "$seconds" names "$T/beside"

# Of one daemon and its roles, in KiB, without what they share.
memory() {
	local p
	for p in $(pids_of "$1"); do
		awk '/^RssAnon/ { print $2 }' "/proc/$p/status"
	done 2>/dev/null | awk '{ n += $1 } END { print n + 0 }'
}
# Before a daemon is disturbed: the largest of the first and of the last third.
measure() {
	local p m
	for p in portmapd mountd nfsd; do
		m=$(memory $p)
		if [ $SECONDS -lt $((begin + seconds / 3)) ]; then
			[ "$m" -le "${first[$p]:-0}" ] || first[$p]=$m
		elif [ $SECONDS -ge $((begin + seconds * 2 / 3)) ]; then
			[ "$m" -le "${last[$p]:-0}" ] || last[$p]=$m
		fi
	done
}
disturb() {
	local p=$1
	restarts[$p]=$((${restarts[$p]:-0} + 1))
	case $p in
	portmapd) stop portmapd KILL && : ; start_again portmapd ;;
	mountd) stop mountd KILL && : ; start_again mountd -p 20048 ;;
	nfsd) stop nfsd && start_again nfsd -p 2049 ;;
	reload) kill -HUP "${pid[nfsd]}" "${pid[mountd]}" ;;
	esac
}
all_run() {
	local c
	for c in "${clients[@]}"; do
		kill -0 "$c" 2>/dev/null || return 1
	done
}

begin=$SECONDS failed=0 n=0
what=(portmapd mountd nfsd reload)
while all_run; do
	sleep $((1 + RANDOM % (2 * every - 1)))
	measure
	disturb "${what[RANDOM % 4]}" || { failed=1 && break; }
	n=$((n + 1))
done
is $failed 0 "$n restarts and reloads, and each came back"
for c in tcp udp names; do
	wait "${clients[$c]}"
	ok $? "$c: no error was seen" || diag "$(tail -n 5 "$T/$c.out")"
	diag "$c: $(tail -n 1 "$T/$c.out")"
done
tree() { (cd "$1" && find . -mindepth 1 -printf '%M %n %s %f\n' | grep -v '^d' | sort); }
is "$(tree "$T/names")" "$(tree "$T/beside")" 'all names are where they belong'
for p in portmapd mountd nfsd; do
	last[$p]=${last[$p]:-$(memory $p)} first[$p]=${first[$p]:-${last[$p]:-0}}
	[ "${last[$p]}" -lt $((first[$p] + 2048)) ]
	ok $? "$p: ${first[$p]} KiB in the first third, ${last[$p]} in the last"
done
for p in '100005 3' '100003 3'; do
	# shellcheck disable=SC2086 # program and version
	check "$p is registered" wait_for 20 registered $p tcp
done
diag "restarts: $(for p in "${!restarts[@]}"; do echo "$p ${restarts[$p]}"; done | sort | tr '\n' ' ')"
done_testing

#!/bin/bash
# SPDX-License-Identifier: ISC
#
# Locks follow a floating address: the list of clients and the state number are on the
# engine, in a directory for that address. The head that gets the address starts nfsd
# with that directory. It raises the number and tells the clients from that address. It
# is in grace: a client that held a lock reclaims it, others wait.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3
four=10.7.9.100
for n in 1:head-a 2:head-b; do
	host_add "${n#*:}" "10.7.${n%:*}.1/24" "10.7.${n%:*}.2/24"
	on_host "${n#*:}" ip route add default via "10.7.${n%:*}.1"
done
# This machine is one client, 10.7.8.1, and a second has another address of it.
ip address add 10.7.8.1/32 dev lo
ip address add 10.7.8.2/32 dev lo
mkdir -m 1777 "$T/engine"
mkdir -m 777 "$T/engine/data"
state=$T/engine/state/$four
mkdir -m 700 "$T/engine/state" "$state"
echo content >"$T/engine/data/file" && chmod 666 "$T/engine/data/file"
exports "$T/engine/data 10.7.0.0/16(rw,fsid=77)"

# serve HEAD NUMBER: the address comes to this head, and its daemons serve.
serve() {
	local p own
	mkdir -p "$T/$1"
	for p in portmapd mountd nfsd; do
		own=(-s "$T/$1/portmap.sock")
		[ "$p" = portmapd ] || own+=(-f "$T/exports" -k "$T/key")
		[ "$p" != mountd ] || own+=(-p 20048)
		[ "$p" != nfsd ] || own+=(-p 2049 -o lock-port=4045 -o grace=30 -o "state=$state")
		nsenter -t "${pid[$1]}" -n -- "$O/$p/$p" -d "${own[@]}" >>"$T/$1-$p.log" 2>&1 &
		pid[$1-$p]=$!
		at_end "kill -9 $!"
	done
	on_host "$1" ip address add "$four/32" dev eth0
	ip route replace "$four/32" via "10.7.$2.2" src 10.7.8.1
	wait_for 20 on_host "$1" "$O/nfsd/nfsd" -H -s "$T/$1/portmap.sock"
}
lose() {
	local p all
	mapfile -t all < <(for p in nfsd mountd portmapd; do pids_of "$1-$p"; done)
	kill -9 "${all[@]}"
	for p in nfsd mountd portmapd; do wait "${pid[$1-$p]}"; done 2>/dev/null
	on_host "$1" ip address del "$four/32" dev eth0
}
by() { # ADDRESS-OF-CLIENT COMMAND...
	local from=$1
	shift
	ip route replace "$four/32" via "10.7.$number.2" src "$from"
	"$top/tests/system/lock_call.py" $four "$@" 2>&1 | tail -n 1
}
number_of() { sed -n '1s/.* //p' "$state/locks"; }
answers() { [ "$("${@:2}")" = "$1" ]; }

number=1
check 'one head serves' serve head-a 1
fh=$(nfs -h $four -s 800 mnt "$T/engine/data")
fh=$(nfs -h $four -s 800 lookup "$fh" file)
"$top/tests/system/lock_call.py" 10.7.8.1 services "$T/calls" &
at_end "kill $!"
wait_for 10 grep -q ready "$T/calls"
is "$(by 10.7.8.1 lock "$fh" length=10 state=5)" GRANTED 'a client locks'
like "$(cat "$state/locks")" "^\+ 10\.7\.8\.1 4 udp $four 5 " 'it is listed on the engine'
before=$(number_of)

lose head-a
number=2
check 'the other head takes over' serve head-b 2
is "$(number_of)" $((before + 2)) 'the state number is raised'
check 'the client is told, from the floating address' wait_for 20 grep -Eq "^notify [^ ]+ $((before + 2)) from 10\.7\.9\.100\$" "$T/calls"
is "$(by 10.7.8.2 lock "$fh" length=10)" GRACE 'another client must wait'
is "$(by 10.7.8.2 lock "$fh" length=10 reclaim=1)" GRACE 'it held nothing to reclaim'
is "$(by 10.7.8.1 lock "$fh" length=10 state=5 reclaim=1)" GRANTED 'the first reclaims'
check 'then another is served, and finds the lock' wait_for 60 answers DENIED by 10.7.8.2 lock "$fh" length=10

# Two heads never use one list at once.
nsenter -t "${pid[head-a]}" -n -- "$O/nfsd/nfsd" -d -R -s "$T/head-a/portmap.sock" -f "$T/exports" -k "$T/key" \
    -p 2049 -o "state=$state" >"$T/second.log" 2>&1 &
at_end "kill $!"
check 'a second nfsd with the same list serves no locks' wait_for 20 grep -q 'another nfsd uses it' "$T/second.log"
done_testing

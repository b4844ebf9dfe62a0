#!/bin/bash
# SPDX-License-Identifier: ISC
#
# Locks follow a floating address. The list of its clients and its state number are on
# the engine, in a directory that is named by the address. Both heads run all the time
# and have lists of their own for their other clients. The head that loses the address
# frees the locks of its clients. The head that gets it raises the number and tells the
# clients from that address. It is in grace: a client that held a lock reclaims it,
# others wait.
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

start() { # HEAD
	local p own
	mkdir -p "$T/$1"
	for p in portmapd mountd nfsd; do
		own=(-s "$T/$1/portmap.sock")
		[ "$p" = portmapd ] || own+=(-f "$T/exports" -k "$T/key")
		[ "$p" != mountd ] || own+=(-p 20048)
		[ "$p" != nfsd ] ||
		    own+=(-p 2049 -o lock-port=4045 -o grace=30 -o "state=$T/$1" -o "floating=$state")
		nsenter -t "${pid[$1]}" -n -- "$O/$p/$p" -d "${own[@]}" >>"$T/$1-$p.log" 2>&1 &
		pid[$1-$p]=$!
		at_end "kill -9 $!"
	done
	wait_for 20 on_host "$1" "$O/nfsd/nfsd" -H -s "$T/$1/portmap.sock"
}
come() { # HEAD NUMBER
	number=$2
	on_host "$1" ip address add "$four/32" dev eth0
	ip route replace "$four/32" via "10.7.$2.2" src 10.7.8.1
}
go() { on_host "$1" ip address del "$four/32" dev eth0; }
power_off() {
	local p all
	mapfile -t all < <(for p in nfsd mountd portmapd; do pids_of "$1-$p"; done)
	kill -9 "${all[@]}"
	for p in nfsd mountd portmapd; do wait "${pid[$1-$p]}"; done 2>/dev/null
	go "$1"
}
by() { # ADDRESS-OF-CLIENT COMMAND...: to the floating address
	local from=$1
	shift
	ip route replace "$four/32" via "10.7.$number.2" src "$from"
	"$top/tests/system/lock_call.py" $four "$@" 2>&1 | tail -n 1
}
own() { # NUMBER-OF-HEAD COMMAND...: to the address that the head always has
	"$top/tests/system/lock_call.py" "10.7.$1.2" "${@:2}" 2>&1 | tail -n 1
}
locks() { on_host "$1" "$O/nfsd/nfsd" -L -s "$T/$1/portmap.sock" | grep -c "$2"; }
number_of() { sed -n '1s/.* //p' "$state/locks"; }
answers() { [ "$("${@:2}")" = "$1" ]; }
told() { grep -Eq "^notify 10\.7\.9\.100 $1 from 10\.7\.9\.100\$" "$T/calls"; }

check 'one head serves' start head-a
check 'and the other' start head-b
come head-a 1
check 'the list is made where the address is' wait_for 10 test -s "$state/locks"
fh=$(nfs -h $four -s 800 mnt "$T/engine/data")
fh=$(nfs -h $four -s 800 lookup "$fh" file)
"$top/tests/system/lock_call.py" 10.7.8.1 services "$T/calls" &
at_end "kill $!"
wait_for 10 grep -q ready "$T/calls"
is "$(by 10.7.8.1 lock "$fh" length=10 state=5)" GRANTED 'a client locks'
like "$(cat "$state/locks")" "^\+ 10\.7\.8\.1 4 udp $four 5 " 'it is listed on the engine'
unlike "$(cat "$T/head-a/locks")" '10\.7\.8\.1' 'and not by the head'
is "$(own 1 lock "$fh" offset=100 length=10)" GRANTED 'a client of the head itself locks'
like "$(cat "$T/head-a/locks")" '^\+ 10\.7\.1\.1 4 udp 10\.7\.1\.2 ' 'it is listed by the head'
is "$(own 2 lock "$fh" offset=200 length=10)" GRANTED 'and one of the other head'
is "$(own 2 lock "$fh" offset=100 length=10)" DENIED 'a head respects the lock that the other gave'
is "$(own 1 lock "$fh" offset=200 length=10)" DENIED 'and the other does'
is "$(own 2 unlock "$fh" offset=200 length=10)" GRANTED 'when that ends'
is "$(own 1 lock "$fh" offset=200 length=10)" GRANTED 'the other gives one'
is "$(own 2 lock "$fh" offset=200 length=10)" DENIED 'that counts as well'
is "$(own 1 unlock "$fh" offset=200 length=10)" GRANTED 'until it ends'
is "$(own 2 lock "$fh" offset=200 length=10)" GRANTED 'and the first head gives it again'
before=$(number_of)

# ---- both heads live -----------------------------------------------------------
go head-a
come head-b 2
check 'the other head raises the state number' wait_for 10 answers $((before + 2)) number_of
check 'the client is told, from the floating address' wait_for 20 told $((before + 2))
unlike "$(grep notify "$T/calls")" "$(uname -n)" 'by no name of the machine'
is "$(locks head-a 10.7.8.1)" 0 'the first head holds nothing for it'
is "$(locks head-a 10.7.1.1)" 1 'but for its own client'
is "$(by 10.7.8.2 lock "$fh" length=10)" GRACE 'another client must wait'
is "$(own 2 lock "$fh" offset=300 length=10)" GRACE 'and one that the head had before'
is "$(by 10.7.8.2 lock "$fh" length=10 reclaim=1)" GRACE 'it held nothing to reclaim'
is "$(by 10.7.8.1 lock "$fh" length=10 state=5 reclaim=1)" GRANTED 'the first reclaims'
check 'then another is served, and finds the lock' wait_for 60 answers DENIED by 10.7.8.2 lock "$fh" length=10
is "$(own 2 test "$fh" offset=200 length=10 svid=9 | cut -d' ' -f1)" DENIED 'the client of the head keeps its lock'
like "$(cat "$state/locks")" "^\+ 10\.7\.8\.1 4 udp $four 5 " 'it is still listed'

# ---- the head is lost ----------------------------------------------------------
power_off head-b
come head-a 1
check 'the first head takes over' wait_for 20 told $((before + 4))
is "$(by 10.7.8.2 lock "$fh" length=10)" GRACE 'others wait'
is "$(by 10.7.8.1 lock "$fh" length=10 state=5 reclaim=1)" GRANTED 'the client reclaims'

# ---- two heads never use one list at once ------------------------------------------
check 'a head is back' start head-b
on_host head-b ip address add "$four/32" dev eth0
check 'it does not use a list that another head uses' wait_for 10 grep -q 'another head uses it' "$T/head-b-nfsd.log"
number=2
is "$(by 10.7.8.2 lock "$fh" offset=50 length=1)" GRACE 'and gives no locks by that address'
is "$(number_of)" $((before + 4)) 'nor changes the list'
go head-b
number=1
go head-a
check 'an address that left frees the list' wait_for 10 grep -q "$four left: another head may use" "$T/head-a-nfsd.log"
chmod 777 "$state"
come head-a 1
check 'a directory that others can write is not used' wait_for 10 grep -q 'other users can write it' "$T/head-a-nfsd.log"
is "$(by 10.7.8.1 lock "$fh" length=10 state=5 reclaim=1)" GRACE 'its clients wait'
chmod 700 "$state"
check 'until it is safe' wait_for 20 told $((before + 6))
for v in relative/10.7.9.100 /engine/name /engine/10.7.9.100/; do
	"$O/nfsd/nfsd" -n -f "$T/exports" -k "$T/key" -o floating=$v >"$T/out" 2>&1
	is $? 1 "-o floating=$v is refused"
done
unlike "$(cat "$T"/head-?-nfsd.log)" 'compromised|breaks|malformed' 'no role broke a rule'
done_testing

#!/bin/bash
# SPDX-License-Identifier: ISC
#
# tern-takeover: a head that gets an address wakes the clients of the head that had
# it, over IPv4 and IPv6, also if the list or the way to the address comes late. A list that another user could have written, or that names
# what no client can be, sends no packet.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need perl perl-base ss iproute2 python3 python3
four=10.7.9.100 six=fd00:7:9::100 late=10.7.9.101
# Two heads; this machine is the client. A floating address is at the head that its
# route leads to.
for n in 1:head-a 2:head-b; do
	host_add "${n#*:}" "10.7.${n%:*}.1/24" "10.7.${n%:*}.2/24"
	ip -6 address add "fd00:7:${n%:*}::1/64" dev "${n#*:}" nodad
	on_host "${n#*:}" ip -6 address add "fd00:7:${n%:*}::2/64" dev eth0 nodad
	on_host "${n#*:}" ip route add default via "10.7.${n%:*}.1"
	on_host "${n#*:}" ip -6 route add default via "fd00:7:${n%:*}::1"
done
come() { # HEAD NUMBER
	on_host "$1" ip address add $four/32 dev eth0
	on_host "$1" ip address add $late/32 dev eth0
	on_host "$1" ip -6 address add $six/128 dev eth0 nodad
	ip route replace $four/32 via "10.7.$2.2"
	ip route replace $late/32 via "10.7.$2.2"
	ip -6 route replace $six/128 via "fd00:7:$2::2"
}
come head-a 1
lists=$T/lists
mkdir -m 700 "$lists"
takeover() { on_host head-b "$top/etc/tern-takeover" -n head-b "$@"; }

# The client sends a call and waits. The server takes it and does not answer.
cat >"$T/client.py" <<'P'
import socket, sys, time
to, own, log = sys.argv[1], int(sys.argv[2]), open(sys.argv[3], "w", 1)
s = socket.socket(socket.AF_INET6 if ":" in to else socket.AF_INET)
s.bind(("", own))
s.connect((to, 2049))
s.sendall(b"call")
log.write("sent\n")
try:
    s.recv(1)
    log.write("ended\n")
except ConnectionResetError:
    log.write("reset\n")
P
cat >"$T/server.py" <<'P'
import socket, time
s = socket.create_server(("::", 2049), family=socket.AF_INET6, dualstack_ipv6=True)
kept = []
while True:
    c = s.accept()[0]
    c.recv(4)
    kept.append(c)
P
listens() { [ -n "$(on_host "$1" ss -Htln 'sport = 2049')" ]; }
for n in head-a head-b; do
	nsenter -t "${pid[$n]}" -n -- python3 "$T/server.py" &
	at_end "kill $!"
	wait_for 10 listens $n
done
port=800
for n in four six late; do
	port=$((port + 1))
	python3 "$T/client.py" "${!n}" $port "$T/$n" &
	at_end "kill $!"
	check "$n: a call waits" wait_for 10 grep -q sent "$T/$n"
done
check 'the head lists its connections' on_host head-a "$top/etc/tern-takeover" -n head-a list "$lists" $four $six $late
is "$(cat "$lists/$four/head-a")" "10.7.1.1 801 2049" 'a line for each: IPv4'
is "$(cat "$lists/$six/head-a")" "fd00:7:1::1 802 2049" 'and IPv6'
is "$(stat -c %a "$lists/$four/head-a")" 600 'for root alone'
takeover list "$lists" $four
[ ! -e "$lists/$four/head-b" ]
ok $? 'an address that is not here is not listed'
# Its cable is pulled.
ip link set head-a down
ip address add 10.7.1.1/32 dev lo # the client keeps its address
ip -6 address add fd00:7:1::1/128 dev lo
come head-b 2
ip route replace blackhole $late/32 # the network does not know yet
mv "$lists/$six/head-a" "$T/head-a"
unlike "$(cat "$T/four" "$T/six" "$T/late")" 'reset|ended' 'the clients have not noticed'
: >"$T/watch"
nsenter -t "${pid[head-b]}" -n -- "$top/etc/tern-takeover" -n head-b -t 999 watch "$lists" $four $six $late 2>"$T/watch" &
watch=$!
at_end "kill $watch"
check 'the client is woken' wait_for 10 grep -q reset "$T/four"
for n in four late; do
	check "$n: the log tells it" wait_for 10 grep -q "^tern-takeover: ${!n}: 1 connections woken" "$T/watch"
done
unlike "$(cat "$T/six" "$T/late")" 'reset|ended' 'no list, or no way to the address: a client is not woken'
mv "$T/head-a" "$lists/$six/head-a"
ip route replace $late/32 via 10.7.2.2
for n in six late; do
	check "$n: but when it comes" wait_for 10 grep -q reset "$T/$n"
done
check 'and the new head writes its own list' wait_for 10 test -e "$lists/$four/head-b"
python3 "$T/client.py" $four 803 "$T/next" &
at_end "kill $!"
check 'a client that connects now is listed soon, not after -t' wait_for 5 grep -q ' 803 2049$' "$lists/$four/head-b"

woken() { grep -c "^tern-takeover: $four: .* connections woken" "$T/watch"; }
is "$(woken)" 1 'the clients were woken once'
halt "$watch"
on_host head-b ip address del $four/32 dev eth0
on_host head-b ip address add $four/32 dev eth0
kill -CONT "$watch"
woken_again() { [ "$(woken)" = 2 ]; }
check 'and again after the address was away for a moment' wait_for 10 woken_again

# ---- lists that are not believed -----------------------------------------------
# sent: packets that left the head, to whomever.
sent() { ip -s link show head-b | awk '/RX:/ { getline; print $2 }'; }
f=$lists/$four/head-x
wakes() { takeover wake "$lists" "${1:-$four}" 2>&1; }
kill "${watch:?}"
ended() { ! pgrep -f 'tern-takeover -n head-b'; }
check 'those that it woke late are left alone' wait_for 5 ended
# The address leaves, and its connections end, while they are looked up.
mkdir "$T/bin"
printf '#!/bin/sh\nip address del %s/32 dev eth0\n' $four >"$T/bin/ss"
chmod 755 "$T/bin/ss"
listed=$(cat "$lists/$four/head-b")
like "$listed" ' 803 2049$' 'the list of an address'
PATH=$T/bin:$PATH takeover list "$lists" $four
is "$(cat "$lists/$four/head-b")" "$listed" 'stays when that leaves'
on_host head-b ip address add $four/32 dev eth0
rm "$lists/$four"/*
bad() { # WHAT REGEX: the list in $f is refused with this reason
	local before after said
	before=$(sent)
	said=$(wakes)
	after=$(sent)
	like "$said" "$2" "$1: refused"
	unlike "$said" woken "$1: nothing is woken"
	# Neighbour discovery may send a few of its own.
	ok $((after - before > 2)) "$1: no packets leave ($((after - before)))"
}
lines() { printf '%s\n' "$@" >"$f" && chmod 600 "$f"; }
for line in '127.0.0.1 801 2049' '224.0.0.1 801 2049' '255.255.255.255 801 2049' \
    '0.0.0.0 801 2049' 'fd00:7:1::1 801 2049' '10.7.1.1 0 2049' '10.7.1.1 65536 2049' \
    '10.7.1.1 801 22' '10.7.1.1 801' '10.7.1.1 801 2049 x' 'client 801 2049' \
    '10.7.1.1;id 801 2049' ''; do
	lines "$line"
	[ -n "$line" ] || continue
	bad "\"$line\"" 'lines make no sense'
done
lines '10.7.1.1 801 2049'
chown alice "$f"
bad 'a file of another user' 'another user owns it'
lines '10.7.1.1 801 2049' && chown root "$f" && chmod 620 "$f"
bad 'a file that others can write' 'other users can write it'
mv "$f" "$T/elsewhere" && chmod 600 "$T/elsewhere" && ln -s "$T/elsewhere" "$f"
bad 'a symbolic link' 'symbolic link'
rm "$f" && mkfifo -m 600 "$f"
bad 'a FIFO' 'not a file'
rm "$f" && lines '10.7.1.1 801 2049' && touch -d '2 hours ago' "$f"
bad 'an old list' 'no list of the last hour'
head -c 8000000 /dev/zero >"$f"
bad 'a huge file' 'too long'
lines '10.7.1.1 801 2049' && chmod 777 "$lists/$four"
bad 'a directory that others can write' 'other users can write it'
chmod 700 "$lists/$four"
mkdir -m 700 "$lists/10.7.1.1" && cp "$f" "$lists/10.7.1.1/head-x"
like "$(wakes 10.7.1.1)" 'this machine does not have it' 'no packet from an address of another machine'
like "$(wakes)" '1 connections woken' 'the right one is used'
takeover wake "$lists" example.org >"$T/out" 2>&1
is $? 1 'a name is no address'
done_testing

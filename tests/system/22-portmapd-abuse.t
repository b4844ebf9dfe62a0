#!/bin/bash
# SPDX-License-Identifier: ISC
# Hostile and broken clients of portmapd: cases 22 to 31 of
# tests/abuse/README.md.
. "${0%/*}/lib.sh"
need python3 python3 rpcinfo rpcbind
private "$@"
need_daemons portmapd

host_add far 10.77.0.1/16 10.77.0.2/16
ip address add 10.77.0.3/16 dev far
ip address add fd77::1/64 dev far nodad
on_host far ip address add fd77::2/64 dev eth0 nodad
start portmapd -o datagrams-per-second=2000 || bail 'portmapd did not start'
sock=$T/run/portmap.sock
far() { on_host far "$top/tests/system/pmap_call.py" "$@"; }
memory() { awk '/^VmRSS/ { print $2 }' "/proc/${pid[portmapd]}/status"; }
descriptors() { find "/proc/${pid[portmapd]}/fd" -mindepth 1 | wc -l; }

"$(built system)/registrant" "$sock" 100003 3 0.0.0.0:2049 '[::]:2049' \
    2>"$T/nfs.log" &
pid[nfs]=$!
at_end "kill ${pid[nfs]}"
wait_for 5 grep -q registered "$T/nfs.log"
before_memory=$(memory)
before_descriptors=$(descriptors)
before_lines=$(wc -l <"$T/portmapd.log")

# asks DESCRIPTION PLACE COMMAND...: runs pmap_call.py there and shows its
# figures.
asks() {
	local what=$1 where=$2 out rc
	shift 2
	out=$($where "$@" 2>&1)
	rc=$?
	ok $rc "$what${out:+ (${out//$'\n'/, })}"
}

asks 'case 22: no UDP reply is longer than 1.5 times its call' far ratio 10.77.0.1
asks 'case 22: nor over IPv6' far ratio fd77::1
check 'case 22: DUMP over UDP from loopback is answered' sh -c \
    'rpcinfo -T udp 127.0.0.1 100000 && rpcinfo -p 127.0.0.1'
asks 'case 23: CALLIT, BCAST and INDIRECT are not forwarded' far callit 10.77.0.1 100003 3
established() { ss -Htunp state established | grep -c "pid=${pid[portmapd]},"; }
is "$(established)" 0 'case 23: portmapd has made no connection'
exec {idle}<>/dev/tcp/127.0.0.1/111
check 'case 23: one would be seen' wait_for 5 eval '[ "$(established)" = 1 ]'
exec {idle}>&-
asks 'case 24: SET and UNSET over the network are refused' far set-net 10.77.0.1
asks 'case 24: they are refused from loopback and a low port' pmap set-net 127.0.0.1
asks 'case 24: they are refused over ::1' pmap set-net ::1
check 'case 24: the table is unchanged' registered 100003 3 udp
check_not 'case 24: no entry was added' registered 100003 4 udp
asks 'case 28: 2000 strings of 10^8 and more bytes are refused' far strings 10.77.0.1
is "$(pmap many "$sock" 100000)" $((1024 - 16)) \
    'case 29: 100,000 registrations are capped'
check 'case 29: they end with their connection' sh -c \
    'test "$(rpcinfo 127.0.0.1 | grep -c " 300[0-9][0-9][0-9] ")" = 0'
asks 'case 31: malformed netids and addresses get an empty answer' far \
    malformed 10.77.0.1

# Two addresses of one machine: a reply comes from the asked one.
for a in 10.77.0.1 10.77.0.3 fd77::1; do
	asks "the reply comes from $a, the asked address" far source $a
done

asks 'the rate of a sender over UDP is limited' far rate 10.77.0.1 2000
asks 'the rate of this machine is not' pmap rate 127.0.0.1 100000

# A thousand senders at once, with forged addresses.
far flood 10.77.0.1 4 >"$T/flood" 2>&1 &
flood=$!
asks 'case 30: TCP queries during a flood take less than 50 ms' far latency \
    10.77.0.1 3
wait $flood
diag "flood: $(cat "$T/flood")"

# Idle connections by a local user.
coproc { PMAP_AS=bob pmap hold "$sock" 400; }
read -r held <&"${COPROC[0]}"
diag "bob holds $held connections to the registration socket"
is "$(pmap set "$sock" 200005 1)" true \
    'others register while a user holds many connections'
eval "exec ${COPROC[1]}>&-"

check 'portmapd still runs' alive portmapd
check 'portmapd still has its entries' registered 100003 3 tcp
check 'portmapd has closed its descriptors' wait_for 5 sh -c \
    "test \$(ls /proc/${pid[portmapd]}/fd | wc -l) -le $before_descriptors"
grown=$(($(memory) - before_memory))
if sanitized; then
	skip "memory of a sanitizer build ($grown KiB)"
else
	ok $((grown > 2048)) "its memory grew by $grown KiB, at most 2048"
fi
lines=$(($(wc -l <"$T/portmapd.log") - before_lines))
ok $((lines > 100)) "its log grew by $lines lines, at most 100"
done_testing

#!/bin/bash
# SPDX-License-Identifier: ISC
# portmapd as rpcinfo sees it.
. "${0%/*}/lib.sh"
need rpcinfo rpcbind
private "$@"
need_daemons portmapd

host_add far 10.77.0.1/24 10.77.0.2/24
ip address change 10.77.0.1/24 brd + dev far
on_host far ip address del 10.77.0.2/24 dev eth0
on_host far ip address add 10.77.0.2/24 brd + dev eth0
ip address add fd77::1/64 dev far nodad
on_host far ip address add fd77::2/64 dev eth0 nodad
start portmapd -c /run/rpcbind.sock || bail "portmapd did not start"
sock=$T/run/portmap.sock

# listed HOST: the lines of rpcinfo -p, squeezed.
listed() { rpcinfo -p "$1" | awk '{ print $1, $2, $3, $4 }'; }

is "$(listed 127.0.0.1 | grep -c '^100000 [234] \(tcp\|udp\) 111$')" 6 \
    'rpcinfo -p shows versions 2, 3 and 4 on tcp and udp'
like "$(rpcinfo -s 127.0.0.1)" '100000 +2,3,4 +local,udp6,tcp6,udp,tcp ' \
    'rpcinfo -s shows every transport'
for t in udp tcp; do
	is "$(rpcinfo -T $t 127.0.0.1 100000 | grep -c 'ready and waiting')" 3 \
	    "rpcinfo -T $t finds the range of versions"
	is "$(rpcinfo -T ${t}6 ::1 100000 | grep -c 'ready and waiting')" 3 \
	    "rpcinfo -T ${t}6 finds the range of versions"
done
is "$(rpcinfo -u 127.0.0.1 100000 | grep -c ready)" 3 'rpcinfo -u'
is "$(rpcinfo -t 127.0.0.1 100000 | grep -c ready)" 3 'rpcinfo -t'
check_not 'rpcinfo of an unknown version fails' rpcinfo -u 127.0.0.1 100000 9
like "$(rpcinfo -l 127.0.0.1 100000 4)" 'inet/udp/clts +127.0.0.1.0.111' \
    'rpcinfo -l lists the addresses'
like "$(rpcinfo -m 127.0.0.1)" 'RPCB_GETADDR .version 4. call statistics' \
    'rpcinfo -m reads the statistics'
like "$(rpcinfo -a 127.0.0.1.0.111 -T tcp 100000 3)" 'ready' 'rpcinfo -a'
like "$(on_host far rpcinfo -p 10.77.0.1)" '100000 +4 +tcp +111' \
    'rpcinfo -p from another machine (tcp)'
like "$(on_host far rpcinfo -T udp 10.77.0.1 100000)" 'version 4 ready' \
    'rpcinfo -T udp from another machine'
like "$(on_host far rpcinfo fd77::1)" '100000 +4 +tcp6 +::.0.111' \
    'rpcinfo over IPv6 from another machine'

"$(built system)/registrant" "$sock" 100005 3 0.0.0.0:20048 '[::]:20048' \
    2>"$T/mountd.log" &
pid[one]=$!
wait_for 5 grep -q registered "$T/mountd.log"
like "$(listed 127.0.0.1)" '^100005 3 udp 20048$' 'a registered server is listed'
like "$(rpcinfo 127.0.0.1)" '100005 +3 +tcp6 +::.78.80' 'it is listed on IPv6'
like "$(on_host far rpcinfo -l 10.77.0.1 100005 3)" \
    'inet/tcp/cots_ord +10.77.0.1.78.80' \
    'each client gets the address that it asked'
like "$(on_host far timeout 3 stdbuf -oL rpcinfo -b 100005 3 2>&1)" '^10.77.0.1.78.80' \
    'rpcinfo -b finds it by broadcast'
if command -v nfs-ls >/dev/null; then
	"$(built system)/registrant" "$sock" 100005 2 0.0.0.0:20048 \
	    2>"$T/mount2.log" &
	pid[two]=$!
	at_end "kill ${pid[two]}"
	wait_for 5 grep -q registered "$T/mount2.log"
	like "$(on_host far nfs-ls -D nfs:// 2>&1)" 'nfs://10.77.0.1' \
	    'libnfs (Kodi, VLC) finds it by broadcast'
	stop two
else
	skip 'no nfs-ls (package libnfs-utils)'
fi
if command -v nmap >/dev/null; then
	like "$(on_host far nmap -n -Pn -p 111 --script rpcinfo 10.77.0.1)" \
	    '100005 +3 +20048/udp' 'nmap lists it'
else
	skip 'no nmap'
fi
kill "${pid[one]}"
wait "${pid[one]}"
is "$?" 0 'the server exits with status 0'
unlike "$(listed 127.0.0.1)" '^100005 ' 'it is no longer listed'

like "$(rpcinfo -p)" '100000 +2 +tcp +111' 'rpcinfo uses the local socket'
is "$(pmap set /run/rpcbind.sock 200001 1)" true \
    'a libtirpc program registers through the local socket'
like "$(rpcinfo 127.0.0.1)" '200001 +1 +udp +0.0.0.0.8.1 .* superuser' \
    'it is listed after its connection has ended'
check 'rpcinfo -d removes it' rpcinfo -d 200001 1
unlike "$(rpcinfo 127.0.0.1)" '200001' 'it is no longer listed'
as alice rpcinfo -d 100000 2 >/dev/null 2>&1
like "$(listed 127.0.0.1)" '^100000 2 udp 111$' 'a plain user removes no entry'

if command -v rpc.statd >/dev/null; then
	mkdir -p /run/sendsigs.omit.d "$T/statd/sm" "$T/statd/sm.bak"
	echo 1 >"$T/statd/state"
	chown -R statd "$T/statd" 2>/dev/null
	rpc.statd --foreground --no-notify --state-directory-path "$T/statd" \
	    >"$T/statd.log" 2>&1 &
	pid[statd]=$!
	at_end "kill ${pid[statd]}"
	check 'rpc.statd registers through libtirpc' wait_for 5 registered 100024 1 tcp
	is "$(rpcinfo -T udp 127.0.0.1 100024 | grep -c ready)" 1 \
	    'rpc.statd answers at the port it registered'
	kill "${pid[statd]}"
	wait "${pid[statd]}" 2>/dev/null
	check 'rpc.statd unregisters when it ends' wait_for 5 \
	    sh -c '! rpcinfo -p 127.0.0.1 | grep -q 100024'
else
	skip 'no rpc.statd (package nfs-common)' 3
fi
check 'portmapd still runs' alive portmapd
done_testing

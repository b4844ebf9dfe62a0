#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# mountd as its clients see it: showmount, rpcinfo and libnfs from several
# addresses, UDP and TCP, IPv4 and IPv6; what it reveals to which client.
. "${0%/*}/lib.sh"
private "$@"
need showmount nfs-common rpcinfo rpcbind python3 python3
need_daemons portmapd mountd

mkdir -p "$T/srv/home" "$T/srv/media/deep" "$T/srv/other"
host_add near 10.1.0.1/24 10.1.0.2/24
host_add far 10.2.0.1/24 10.2.0.2/24
ip address add fd00:1::1/64 dev near nodad
on_host near ip address add fd00:1::2/64 dev eth0 nodad

exports "$T/srv/home 10.1.0.0/24(rw) fd00:1::/64(rw)
$T/srv/media *(ro,insecure)
$T/srv/other 10.2.0.2"
start portmapd || bail "portmapd did not start"
start mountd || bail "mountd did not start"
wait_for 10 registered 100005 3 tcp || bail "not registered"

# call HOST FAMILY-ADDRESS udp|tcp VERSION PROC [PATH] [SOURCE-PORT]: hex
call() {
	local host=$1
	shift
	on_host "$host" "$top/tests/lib/mount_call.py" "$@"
}
port=$(port_of mountd tcp)

for v in 1 2 3; do
	for t in udp tcp; do
		check "version $v over $t is registered" registered 100005 $v $t
		check "version $v over $t answers rpcinfo" \
		    on_host near rpcinfo -T $t 10.1.0.1 100005 $v
		check "version $v over ${t}6 answers rpcinfo" \
		    on_host near rpcinfo -T ${t}6 fd00:1::1 100005 $v
	done
done

out=$(on_host near showmount --no-headers -e 10.1.0.1)
like "$out" "^$T/srv/home +10.1.0.0/24\$" 'showmount -e: near sees its export'
like "$out" "^$T/srv/media +\*\$" 'showmount -e: near sees the export to all'
unlike "$out" other 'showmount -e: near does not see the export to far'
out=$(on_host far showmount --no-headers -e 10.2.0.1)
unlike "$out" home 'showmount -e: far does not see the export to near'
like "$out" "^$T/srv/other +10.2.0.2\$" 'showmount -e: far sees its export'
out=$(on_host near showmount --no-headers -e fd00:1::1)
like "$out" "^$T/srv/home +fd00:1::/64\$" 'showmount -e over IPv6: the entry for IPv6 decides'

for t in udp tcp; do
	for a in 10.1.0.1 fd00:1::1; do
		like "$(call near $a $t 3 1 "$T/srv/home" 900)" '^00000000' \
		    "MNT of an export over $t to $a succeeds"
		like "$(call near $a $t 3 1 "$T/srv/media/deep")" '^00000000' \
		    "MNT below an export over $t to $a succeeds"
		is "$(call near $a $t 3 1 "$T/srv/home" 40112)" 0000000d \
		    "a high port is refused over $t to $a"
		is "$(call near $a $t 1 1 "$T/srv/other" 900)" 0000000d \
		    "an export to another client is refused over $t to $a"
	done
done
is "$(call near 10.1.0.1 udp 3 1 "$T/srv/none" 901)" 0000000d \
    'a path that is not exported is refused with the same status'
like "$(cat "$T/mountd.log")" \
    "refused MNT $T/srv/home from 10.1.0.2:40112: port 40112 is not below 1024 \(add \"insecure\"\)" \
    'the log names the port as the reason'
like "$(cat "$T/mountd.log")" \
    "refused MNT $T/srv/other from 10.1.0.2:900: line 3 allows 10.2.0.2" \
    'the log names the clients that are permitted'

out=$(on_host near showmount --no-headers -a 10.1.0.1)
like "$out" "^10.1.0.2:$T/srv/home\$" 'showmount -a: near sees its own mounts'
unlike "$out" fd00 'showmount -a: near does not see those of others'
out=$(on_host near showmount --no-headers -d 10.1.0.1)
like "$out" "^$T/srv/media/deep\$" 'showmount -d: near sees its directories'
is "$(on_host far showmount --no-headers -a 10.2.0.1)" '' \
    'showmount -a: far has no mounts'
for a in 127.0.0.1 10.1.0.1 10.2.0.1 ::1 fd00:1::1; do
	like "$(showmount --no-headers -a $a)" "^10.1.0.2:$T/srv/home\$" \
	    "showmount -a $a: the server itself sees all mounts"
	like "$(showmount --no-headers -e $a)" "^$T/srv/other +10.2.0.2\$" \
	    "showmount -e $a: the server itself sees all exports"
done
call far 10.2.0.1 udp 3 4 >/dev/null
like "$(on_host near showmount --no-headers -a 10.1.0.1)" home \
    'UMNTALL of another host changes nothing'
call near 10.1.0.1 udp 3 3 "$T/srv/home" >/dev/null
unlike "$(on_host near showmount --no-headers -a 10.1.0.1)" 'home$' \
    'UMNT removes the entry of its path'

if command -v nfs-ls >/dev/null; then
	out=$(on_host near nfs-ls -D nfs://10.1.0.1 2>&1)
	like "$out" "$T/srv/home" 'libnfs lists the exports'
	unlike "$out" other 'libnfs lists no others'
else
	skip 'no nfs-ls (package libnfs-utils)' 2
fi

check 'mountd stops with status 0' stop mountd
check_not 'mountd is no longer registered' registered 100005 3 tcp
start mountd -p 20048 -o export-all -o dump-all || bail "no second start"
is "$(port_of mountd udp)" 20048 '-p sets the port'
wait_for 10 registered 100005 3 tcp
out=$(on_host far showmount --no-headers -e 10.2.0.1)
like "$out" "^$T/srv/home +10.1.0.0/24,fd00:1::/64\$" \
    'export-all shows all exports and clients'
is "$(on_host near showmount --no-headers -a 10.1.0.1)" '' \
    'the mount list is empty after a restart'
call near 10.1.0.1 udp 3 1 "$T/srv/media/deep" >/dev/null
out=$(on_host far showmount --no-headers -a 10.2.0.1)
like "$out" "^10.1.0.2:$T/srv/media/deep\$" 'dump-all shows all mounts'
like "$port" '^[0-9]+$' 'without -p the kernel chooses a port'
done_testing

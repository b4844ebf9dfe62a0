#!/bin/bash
# SPDX-License-Identifier: ISC
# rpcinfo and showmount, as administrators use them.
# shellcheck source=tests/system/lib.sh
. "${0%/*}/../system/lib.sh"
need rpcinfo rpcbind showmount nfs-common
private "$@"
mkdir "$T/x" "$T/y"
tern_start "$T/x 127.0.0.1(rw) 10.0.0.0/8(ro)
$T/y *(ro)"

list=$(rpcinfo -p 127.0.0.1)
for want in '100000 +2 +tcp +111' '100000 +4 +udp +111' '100003 +2 +udp +2049' \
    '100003 +3 +tcp +2049' '100005 +1 +udp' '100005 +3 +tcp'; do
	like "$list" "$want" "rpcinfo -p: $want"
done
like "$(rpcinfo -s 127.0.0.1)" '100003 +' 'rpcinfo -s'
for p in tcp udp; do
	for s in 'nfs 2' 'nfs 3' 'mountd 1' 'mountd 3' 'portmapper 2' \
	    'portmapper 4'; do
		# shellcheck disable=SC2086 # program and version
		like "$(rpcinfo -T $p 127.0.0.1 $s 2>&1)" 'ready and waiting' \
		    "rpcinfo -T $p $s"
	done
	like "$(rpcinfo -T $p 127.0.0.1 nfs 2>&1)" 'version 3 ready' \
	    "rpcinfo finds the versions over $p"
	unlike "$(rpcinfo -T $p 127.0.0.1 nfs 4 2>&1)" 'ready and waiting' \
	    "version 4 is refused over $p"
done
like "$(rpcinfo -T udp6 ::1 nfs 3 2>&1)" 'ready and waiting' 'rpcinfo over IPv6'
e=$(showmount -e 127.0.0.1)
like "$e" "^$T/x .*127\.0\.0\.1" 'showmount -e shows what the client may mount'
like "$e" '10\.0\.0\.0' 'showmount -e shows the server itself the other clients'
like "$e" "^$T/y " 'showmount -e shows the other export'
check 'showmount -a' showmount -a 127.0.0.1
check 'showmount -d' showmount -d 127.0.0.1
done_testing

#!/bin/bash
# SPDX-License-Identifier: ISC
# Traffic of tests as Wireshark sees it: no malformed packet and no expert
# error, for every program, version and transport.
# shellcheck source=tests/system/lib.sh
. "${0%/*}/../system/lib.sh"
need tshark tshark nfs-ls libnfs-utils showmount nfs-common
private "$@"
# shellcheck source=tests/interop/tshark.sh
. "$top/tests/interop/tshark.sh"
load=$(built bench)/load
player=$(built player)/player
[ -x "$load" ] || skip_all "$load is not built"
mkdir "$T/x" "$T/m" && chmod 777 "$T/x"
"$load" -t "$T/x"
head -c 100000 /dev/urandom >"$T/m/曲"
chmod -R a+rX "$T/m"

tern_start "$T/x 127.0.0.1(rw,insecure,no_root_squash)
$T/m 127.0.0.1(ro,insecure,names=utf16le,alias=/C/)"

names() {
	rpcinfo -p 127.0.0.1
	rpcinfo -s 127.0.0.1
	rpcinfo -T udp 127.0.0.1 nfs
	showmount -e 127.0.0.1
	showmount -a 127.0.0.1
	nfs-ls "nfs://127.0.0.1$T/x"
	nfs-cp "$load" "nfs://127.0.0.1$T/x/copied"
	nfs-cat "nfs://127.0.0.1$T/x/copied" >/dev/null
}
capture names names
judge names 'portmap, mount and libnfs' 50
# One request at a time: tshark loses its place in large pipelined streams.
some() { # FLAGS...
	local w
	for w in null getattr lookup access setattr read4k write4k create \
	    rename readdirplus; do
		case "$* $w" in *-2*access) continue ;; esac
		"$load" "$@" -p 2049 -m 20048 -w 0 -s 0.03 -e "$T/x" "$w@1x1"
	done
	true
}
capture v3tcp some
judge v3tcp 'NFS 3 over TCP' 100
capture v3udp some -u
judge v3udp 'NFS 3 over UDP' 100
capture v2tcp some -2
judge v2tcp 'NFS 2 over TCP' 100
capture v2udp some -2 -u
judge v2udp 'NFS 2 over UDP' 100
if [ -x "$player" ]; then
	capture player "$player" -e 127.0.0.1 /C/ 曲 "$T/m/曲"
	judge player 'a DJ player' 20
fi
done_testing

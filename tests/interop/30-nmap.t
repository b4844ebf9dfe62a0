#!/bin/bash
# SPDX-License-Identifier: ISC
# nmap's own NFS client: rpcinfo, nfs-showmount, nfs-ls and nfs-statfs, and its
# RPC version scan of the ports.
# shellcheck source=tests/system/lib.sh
. "${0%/*}/../system/lib.sh"
need nmap nmap
private "$@"
mkdir "$T/x" && chmod 755 "$T/x"
echo hello >"$T/x/greeting"
tern_start "$T/x 127.0.0.1(ro,insecure)"
out=$(timeout 120 nmap -n -Pn -sT -sU -p T:111,U:111 \
    --script rpcinfo,nfs-showmount,nfs-ls,nfs-statfs 127.0.0.1 2>&1)
like "$out" '100003 +2,3 +2049/tcp' 'rpcinfo names versions and ports'
like "$out" '100005 +1,2,3 +20048/udp' 'rpcinfo names versions and ports of mountd'
like "$out" "nfs-showmount" 'nfs-showmount ran'
like "$out" "$T/x" 'nfs-showmount shows the export'
like "$out" 'greeting' 'nfs-ls lists the file'
like "$out" 'nfs-statfs' 'nfs-statfs ran'
# (Its scripts sometimes try one local port twice: that error is nmap's own.)
unlike "$out" '^\|.*ERROR' 'no script failed'
# On mountd's own port the script needs the version from the version scan. The
# scan first sends "GET / HTTP/1.0". mountd takes "GET " for a record of 1.2 GB,
# refuses it and logs that.
scan=$(timeout 200 nmap -n -Pn -sT -sU -sV -p T:111,T:2049,T:20048,U:20048 \
    --script nfs-showmount 127.0.0.1 2>&1)
# It names one of the programs of a port.
like "$scan" '2049/tcp +open +nfs(_acl)? +.*2-3 \(RPC #(100003|100227)\)' \
    'the version scan sees NFS 2-3'
for p in tcp udp; do
	like "$scan" "20048/$p +open +mountd +.*1-3 \\(RPC #100005\\)" \
	    "the version scan sees mountd 1-3 over $p"
	like "$(grep -A 3 "^20048/$p" <<<"$scan")" "$T/x 127.0.0.1" \
	    "nfs-showmount asks mountd's port over $p"
done
like "$(cat "$T/mountd.log")" 'record too long' 'a message that is not RPC is refused'
check 'nfsd still runs' alive nfsd
check 'mountd still runs' alive mountd
done_testing

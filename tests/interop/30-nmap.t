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
like "$out" '100005 +1,2,3 +20048/udp' 'mountd as well'
like "$out" "nfs-showmount" 'nfs-showmount ran'
like "$out" "$T/x" 'and shows the export'
like "$out" 'greeting' 'nfs-ls lists the file'
like "$out" 'nfs-statfs' 'nfs-statfs ran'
unlike "$out" 'ERROR' 'no script failed' || diag "$out"
scan=$(timeout 120 nmap -n -Pn -sT -sV -p T:111,T:2049,T:20048 127.0.0.1 2>&1)
like "$scan" '2049/tcp +open +nfs +.*2-3 \(RPC #100003\)' 'the version scan sees NFS 2-3'
like "$scan" '20048/tcp +open +mountd +.*1-3 \(RPC #100005\)' 'and mountd 1-3'
check 'everything still runs' alive nfsd
done_testing

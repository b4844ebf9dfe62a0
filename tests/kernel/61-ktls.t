#!/bin/bash
# SPDX-License-Identifier: ISC
# TLS in the kernel: all three daemons and a client run in a guest whose kernel
# has it (Debian's user-mode-linux). The role installs the keys, and the worker
# reads and writes plain data.
# shellcheck source=tests/system/lib.sh
. "${0%/*}/../system/lib.sh"
# shellcheck source=tests/kernel/rig.sh
. "$top/tests/kernel/rig.sh"
. "$top/tests/lib/ca.sh"
private "$@"
need openssl openssl python3 python3
need_guest
need_daemons
[ -x "$(built system)/memscan" ] || skip_all "memscan is not built (make check builds it)"
find /usr/lib/uml/modules -name 'tls.ko*' | grep -q . || skip_all "that kernel has no TLS"

ca_new "$T/ca" || bail "no certificates"
ca_server server IP:127.0.0.1
ca_client laptop.example.org
ca_usage=1.3.6.1.5.5.7.3.33 ca_client rpc-only
ca_usage=- ca_client any-usage
ca_usage=serverAuth ca_client wrong-usage
ca_client expired -startdate 20200101000000Z -enddate 20210101000000Z
ca_client early -startdate 20900101000000Z -enddate 20910101000000Z
ca_client revoked
ca_revoke revoked
ca_stranger stranger
guest_net 1
guest_start "$rig/ktls-job" "CA=$T/ca" "O=$O" "TOP=$top" "SCAN=$(built system)/memscan"
guest_wait 400
is "$ended" 0 "the job ends"
while read -r what status text; do
	[ "$what" = tls ] || continue
	ok "$status" "$text"
done < <(sed -n 's/\r$//; s/^@@ //p' "$console")
[ "$_failed" = 0 ] || diag "$(grep -v '^@@' "$console" | tail -n 40)"
done_testing

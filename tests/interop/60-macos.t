#!/bin/bash
# SPDX-License-Identifier: ISC
# What macOS sends, sent by a client of our own (macos.py says what): from a high
# port, as macOS does without resvport, so the export says insecure. No Mac
# takes part.
# shellcheck source=tests/system/lib.sh
. "${0%/*}/../system/lib.sh"
need python3 python3
private "$@"
mkdir "$T/x" "$T/closed"
chmod 777 "$T/x" "$T/closed"
tern_start "$T/x 127.0.0.1(rw,insecure)
$T/closed 127.0.0.1(rw)"
while read -r what text; do
	[ "$what" = pass ]
	ok $? "$text"
done < <(python3 "$top/tests/interop/macos.py" "$T/x" 2>"$T/macos.err" || echo fail 'the client ended early')
[ ! -s "$T/macos.err" ] || diag "$(cat "$T/macos.err")"
nfs() { "$top/tests/lib/nfs_call.py" -u 1001 "$@"; }
like "$(nfs mnt "$T/closed")" ACCES 'without insecure a high port is refused'
like "$(nfs -s 901 mnt "$T/closed")" '^[0-9a-f]{64}$' 'with resvport it mounts'
done_testing

#!/bin/bash
# SPDX-License-Identifier: ISC
# The calls of macOS, sent by a test client that macos.py describes. They come
# from a high port, as from macOS without resvport, so the export is insecure.
# No Mac takes part.
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
like "$(nfs mnt "$T/closed")" ACCES 'a high port is refused without insecure'
like "$(nfs -s 901 mnt "$T/closed")" '^[0-9a-f]{64}$' 'a low port (resvport) mounts without insecure'
done_testing

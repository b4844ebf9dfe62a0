#!/bin/bash
# SPDX-License-Identifier: ISC
# libnfs (Kodi, VLC, QEMU, gvfs) through its tools: listing, copying both ways,
# reading, also from unprivileged ports. Version 4 is refused, so that clients
# fall back.
# shellcheck source=tests/system/lib.sh
. "${0%/*}/../system/lib.sh"
need nfs-ls libnfs-utils
private "$@"
mkdir -p "$T/x/sub" && chmod 777 "$T/x"
head -c 5000000 /dev/urandom >"$T/x/data"
for i in $(seq 300); do echo "$i" >"$T/x/sub/file $i"; done
tern_start "$T/x 127.0.0.1(rw,insecure,no_root_squash)"

u=nfs://127.0.0.1$T/x
is "$(nfs-ls "$u" | awk '{ print $NF }' | sort | tr '\n' ' ')" 'data sub ' \
    'nfs-ls lists the export'
is "$(nfs-ls "$u/sub?version=3" | wc -l)" 300 'nfs-ls lists 300 files'
check 'nfs-cat reads 5 MB' sh -c "nfs-cat '$u/data' | cmp - '$T/x/data'"
check 'nfs-cp writes' nfs-cp "$T/x/data" "$u/copy"
check 'the copy has the same bytes' cmp "$T/x/data" "$T/x/copy"
check 'nfs-cp reads' nfs-cp "$u/copy" "$T/back"
cmp -s "$T/x/data" "$T/back"
ok $? 'the copy read back has the same bytes'
like "$(as alice nfs-ls "$u" 2>&1)" data 'nfs-ls lists from an unprivileged port'
out=$(nfs-ls "$u?version=4" 2>&1)
unlike "$out" 'sub$' 'nfs-ls of version 4 is refused'
check 'the server still answers' nfs-ls "$u"
like "$(nfs-ls "nfs://127.0.0.1/nowhere" 2>&1)" 'ACC|NOENT|denied|mount' \
    'a path that is not exported is refused'
like "$(timeout 20 nfs-ls -D nfs:// 2>&1)$(timeout 20 nfs-ls -D "nfs://127.0.0.1" 2>&1)" \
    "$T/x" 'discovery lists the export'
exports "$T/x 10.0.0.1(rw)"
kill -HUP "${pid[mountd]}" "${pid[nfsd]}"
refused() { ! nfs-ls "$u" 2>/dev/null | grep -q data; }
check 'the export is refused after a reload of exports' wait_for 10 refused
done_testing

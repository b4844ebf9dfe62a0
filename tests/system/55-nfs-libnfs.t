#!/bin/bash
# SPDX-License-Identifier: ISC
# libnfs, an independent client library: its tools, and its raw calls of every
# procedure of versions 2 and 3, as several users.
. "${0%/*}/lib.sh"
private "$@"
need rpcinfo rpcbind nfs-ls libnfs-utils

raw=$(built system)/libnfs_raw
[ -x "$raw" ] || skip_all "libnfs_raw is not built"

mkdir "$T"/{alice,bob,anon,whole}
chown 1001:1001 "$T/alice"
chown 1002:1002 "$T/bob"
chown 65534:65534 "$T/anon"
tern_start "$T/alice 127.0.0.1(rw,insecure)
$T/bob 127.0.0.1(rw,insecure)
$T/anon 127.0.0.1(rw,insecure)
$T/whole 127.0.0.1(rw,insecure,no_root_squash)"

# calls AREA UID: the program's assertions become one of this test.
calls() {
	check "every procedure as uid $2 in $1 succeeds" timeout 60 "$raw" 127.0.0.1 "$T/$1" "$2"
	grep '^not ok' "$T/check.out" | sed 's/^/# /'
}
calls alice 1001
calls bob 1002
calls anon 0
calls whole 0
check_not "bob's calls in alice's directory fail" \
    timeout 60 "$raw" 127.0.0.1 "$T/alice" 1002
is "$(ls -A "$T/alice")" "" "bob made no file there"

url() { echo "nfs://127.0.0.1$T/whole/$1${2:-}"; }
head -c 3000001 /dev/urandom >"$T/random"
check "nfs-cp to the server" nfs-cp "$T/random" "$(url copy)"
check "the copy on the server has the same bytes" cmp "$T/random" "$T/whole/copy"
check "nfs-cp from the server" nfs-cp "$(url copy)" "$T/back"
check "the copy read back has the same bytes" cmp "$T/random" "$T/back"
check "nfs-cat reads the same bytes" sh -c 'nfs-cat "$1" | cmp - "$2"' sh "$(url copy)" "$T/random"
like "$(nfs-ls "$(url '')")" "3000001 copy" "nfs-ls shows name and size"
check "nfs-ls with version=3 succeeds" \
    nfs-ls "$(url '' '?version=3')"
unlike "$(cat "$T/nfsd.log")" "restart|died|killed" "no worker died"
done_testing

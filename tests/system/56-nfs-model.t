#!/bin/bash
# SPDX-License-Identifier: ISC
# Random operations through the real daemons, over TCP and UDP, as several
# users. Every reply and every byte must equal a model (tests/wire/nfs_model.h).
. "${0%/*}/lib.sh"
private "$@"
need rpcinfo rpcbind

client=$(built system)/nfs_client
[ -x "$client" ] || skip_all "nfs_client is not built"
if [ -n "${LONG:-}" ]; then n=100000 files=200000; else n=5000 files=20000; fi

# area NAME UID OPTIONS: makes an exported directory of that user, and one
# beside it that is not exported.
area() {
	mkdir "$T/$1" "$T/$1.beside"
	chown "$2:$2" "$T/$1" "$T/$1.beside"
	list+="$T/$1 127.0.0.0/8(rw,insecure,$3)"$'\n'
	list+="$T/$1 ::1(rw,insecure,$3)"$'\n'
}

list=
area alice 1001 root_squash
area bob 1002 root_squash
area udp 1001 root_squash
area root 0 no_root_squash
area six 1001 root_squash
area nobody 65534 all_squash
area many 1001 root_squash
tern_start "$list"

# model WHAT ADDRESS AREA TRANSPORT UID TEST...
model() {
	local what=$1 address=$2 area=$3 transport=$4 uid=$5
	shift 5
	check "$what" timeout 600 "$client" "$address" 20048 2049 "$T/$area" \
	    "$transport" "$uid" "$@"
}

model "data over TCP as alice" 127.0.0.1 alice tcp 1001 data $n
model "data over TCP as bob" 127.0.0.1 bob tcp 1002 data $n
model "data over UDP" 127.0.0.1 udp udp 1001 data $n
model "data over IPv6 TCP" ::1 six tcp 1001 data $n
model "data as root" 127.0.0.1 root tcp 0 data $n
model "data as squashed root" 127.0.0.1 nobody tcp 0 data $n
rm -f "$T"/*/model
model "names over TCP" 127.0.0.1 alice tcp 1001 names $n "$T/alice.beside"
model "names over UDP" 127.0.0.1 udp udp 1001 names $n "$T/udp.beside"
model "names as root" 127.0.0.1 root tcp 0 names $n "$T/root.beside"
tree() { (cd "$1" && find . -mindepth 1 -printf '%M %n %s %f\n' | grep -v '^d' | sort); }
is "$(tree "$T/alice")" "$(tree "$T/alice.beside")" "both trees are the same at the end"
is "$(find "$T/alice" ! -uid 1001 | wc -l)" 0 "all files belong to alice"
is "$(find "$T/nobody" ! -uid 65534 | wc -l)" 0 "all files of squashed callers belong to 65534"
model "$files entries listed while another client makes and removes" \
    127.0.0.1 many tcp 1001 list $files "$T/many"
check "nfsd still runs" alive nfsd
unlike "$(cat "$T/nfsd.log")" "restart|died|killed" "no worker died"
done_testing

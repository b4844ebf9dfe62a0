#!/bin/bash
# SPDX-License-Identifier: ISC
#
# What clients get for handles that lead nowhere, and what the log says of it:
# STALE where mounting again helps, JUKEBOX where waiting helps.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3

lines() { grep -Ec "$1" "$T/nfsd.log"; }
# v2 HANDLE: GETATTR of version 2 over TCP.
v2() {
	python3 - "$1" <<-'E'
	import sys
	import rpc
	from nfs import PORT, Nfs2
	c = Nfs2(rpc.tcp(PORT, timeout=2))
	try:
	    print(int(c.call("GETATTR", bytes.fromhex(sys.argv[1])).status()))
	except TimeoutError:
	    print("no reply")
	E
}

mkdir -m 1777 "$T/x" "$T/y" "$T/z"
all="$T/x 127.0.0.1(rw,insecure)
$T/y 127.0.0.1(rw,insecure)
$T/z 127.0.0.1(rw,insecure)"
tern_start "$all" -w 1 -vv
x=$(nfs mnt "$T/x") y=$(nfs mnt "$T/y") z=$(nfs mnt "$T/z")

is "$(nfs getattr "${x:0:40}")" BADHANDLE 'a handle of another length gets BADHANDLE'
is "$(nfs getattr "ff${x:2}")" BADHANDLE 'so does another first byte'
is "$(nfs getattr "${x:0:62}$(printf %02x $((0x${x:62} ^ 1)))")" STALE 'a wrong seal gets STALE'
like "$(cat "$T/nfsd.log")" "wrong handle of export $T/x: " 'the log says so, with the export'
is "$(nfs getattr "${y:0:62}$(printf %02x $((0x${y:62} ^ 1)))")" STALE 'that of another export too'
like "$(cat "$T/nfsd.log")" "wrong handle of export $T/y: " 'and has a line of its own'

# An ACL that is longer than any.
mapfile -t entries < <(seq -f 2:%.0f:4 10000 11024)
is "$(nfs setacl "$x" "${entries[@]}")" INVAL 'an ACL of 1,025 entries gets INVAL'
check 'the log names client, number, limit and export' wait_for 5 grep -Eq \
	"refused SETACL from 127.0.0.1:[0-9]+: an ACL of 1025 entries, 1024 are the most.*: export $T/x" \
	"$T/nfsd.log"

# With -vv, each call has its status and its names.
nfs lookup "$x" $'no\nsuch' >/dev/null
check '-vv logs status and name of a call' wait_for 5 grep -q \
	'nfs 3 LOOKUP: .*outcome 0, NOENT, name "no\\012such"' "$T/nfsd.log"

exports "$T/x 127.0.0.1(rw,insecure)
$T/z 127.0.0.1(rw,insecure)"
kill -HUP "${pid[nfsd]}"
stale() { [ "$(nfs getattr "$y")" = STALE ]; }
check 'a handle of an export that was removed gets STALE' wait_for 10 stale
is "$(v2 "$y")" 70 'in version 2 too'
like "$(cat "$T/nfsd.log")" 'refused GETATTR from 127.0.0.1:[0-9]+: its handle is of an export that is not listed' \
	'the log says why'
is "$(lines 'of an export that is not listed')" 1 'once in a minute'

# Listed, but the directory is not there.
mv "$T/z" "$T/away"
kill -HUP "${pid[nfsd]}"
jukebox() { [ "$(nfs getattr "$z")" = JUKEBOX ]; }
check 'a handle of an export that is not there gets JUKEBOX' wait_for 10 jukebox
is "$(v2 "$z")" 'no reply' 'version 2 gets no reply'
like "$(cat "$T/nfsd.log")" "it is not there at the moment, clients are told to try again: export $T/z" \
	'the log says why, with the path'
is "$(nfs getattr "${z:0:62}$(printf %02x $((0x${z:62} ^ 1)))")" STALE 'a wrong seal gets STALE there too'
mv "$T/away" "$T/z"
kill -HUP "${pid[nfsd]}"
there() { nfs getattr "$z" | grep -q type=2; }
check 'the handle is good again when the directory is back' wait_for 10 there
done_testing

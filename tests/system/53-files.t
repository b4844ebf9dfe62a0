#!/bin/bash
# SPDX-License-Identifier: ISC
# The handle key, the exports file and sockets with the wrong owner, mode or
# type are refused, and the message says what to change.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need_daemons portmapd mountd nfsd

mkdir -p "$T/export" "$T/run"
exports "$T/export *(rw)"

# refuses NAME WHAT REGEX: it must exit with status 78,
# or $status, and print this message.
refuses() {
	local p=$1 own=(-s "$T/run/portmap.sock")
	[ "$p" = portmapd ] || own+=(-R -f "$T/exports" -k "$T/key")
	timeout 10 "$O/$p/$p" -d "${own[@]}" >"$T/out" 2>&1
	is $? "${status:-78}" "$p: $2: does not start"
	like "$(cat "$T/out")" "$3" "$p: $2: names the remedy"
}

good_key() { rm -rf "$T/key" && head -c 32 /dev/urandom >"$T/key" && chmod 600 "$T/key"; }

for p in mountd nfsd; do
	good_key
	chmod 644 "$T/key"
	refuses $p 'a key that others can read' 'key: .*chmod 600'
	chmod 620 "$T/key"
	refuses $p 'a key that a group can write' 'key: .*chmod 600'
	good_key
	chown alice "$T/key"
	refuses $p 'a key of another user' 'key: belongs to user 1001.*chown'
	good_key
	echo >>"$T/key"
	refuses $p 'a key of the wrong length' 'key: not 32 bytes'
	rm "$T/key"
	mkdir "$T/key"
	refuses $p 'a directory in place of the key' 'key'
	rmdir "$T/key"
	good_key
	mv "$T/key" "$T/real"
	ln -s "$T/real" "$T/key"
	refuses $p 'a link in place of the key' 'key'
	good_key
	chmod 666 "$T/exports"
	refuses $p 'an exports file that all can write' 'exports.*(chmod|go-w|write)'
	chmod 644 "$T/exports"
	chown alice "$T/exports"
	refuses $p 'an exports file of another user' 'exports.*(chown|belongs)'
	chown root "$T/exports"
done

chmod 777 "$T/run"
refuses portmapd 'a directory in which others can replace the socket' 'chmod go-w'
chmod 755 "$T/run"
chown alice "$T/run"
refuses portmapd 'a directory of another user' 'belongs to uid 1001.*chown'
chown root "$T/run"
echo >"$T/run/portmap.sock"
refuses portmapd 'a file in place of the socket' 'is not a socket: remove it'
rm "$T/run/portmap.sock"
start portmapd
socket_mode() { [ "$(stat -c %a "$T/run/portmap.sock")" = "$1" ]; }
check 'every user may connect to the socket; the user decides what is registered' \
    wait_for 10 socket_mode 666
status=1 refuses portmapd 'a socket in use' 'another server uses this socket|port is taken by portmapd'
done_testing

#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# mountd in other surroundings: rpcbind instead of portmapd, a plain user, one
# address, many exports, disks that come and go, players, and with nfsd.
. "${0%/*}/lib.sh"
private "$@"
need rpcinfo rpcbind showmount nfs-common python3 python3
need_daemons portmapd mountd

call() { "$top/tests/lib/mount_call.py" "$@"; }
logged() { grep -Eq -- "$1" "$T/mountd.log"; }
reload() { # until PATTERN is in the log
	kill -HUP "${pid[mountd]}"
	wait_for 5 logged "$1"
}
mkdir -p "$T/a" "$T/disk" "$T/many"

# ---- many exports; over UDP those that fit

for i in $(seq 1000); do
	mkdir "$T/many/$i"
	echo "$T/many/$i *(insecure,fsid=$i)"
done >"$T/exports"
start portmapd || bail 'portmapd did not start'
start mountd || bail 'mountd did not start'
wait_for 10 registered 100005 3 udp
is "$(showmount --no-headers -e 127.0.0.1 | wc -l)" 1000 '1000 exports are listed over TCP'
out=$(call 127.0.0.1 udp 3 5)
[ ${#out} -le 16384 ] && [ "${out: -8}" = 00000000 ]
ok $? "over UDP the list has whole entries and an end (${#out} digits)"
check 'mountd exits with status 0' stop mountd

# ---- disks that come and go

exports "$T/a *(insecure)
$T/disk *(insecure,mountpoint)"
start mountd -a 127.0.0.5 || bail 'mountd did not start'
wait_for 10 registered 100005 3 udp
check 'mountpoint: a directory without a mount is logged' logged "$T/disk: nothing is mounted there"
is "$(call 127.0.0.5 tcp 3 1 "$T/disk")" none 'mountpoint: MNT gets no answer, so the client asks again'
unlike "$(showmount --no-headers -e 127.0.0.5)" disk 'mountpoint: EXPORT does not show it'
mount -t tmpfs tmpfs "$T/disk"
served() { [[ $(call 127.0.0.5 tcp 3 1 "$T/disk") == 00000000* ]]; }
check 'mountpoint: it is served after a mount' wait_for 10 served
MOUNT_PORT=$(port_of mountd tcp)
is "$(MOUNT_PORT=$MOUNT_PORT call 127.0.0.1 tcp 3 0 2>&1 | grep -c refused)" 1 \
    '-a: mountd does not listen at other addresses'
stop mountd
stop portmapd

# ---- players and computers on one directory

exports "$T/a *(insecure)
$T/a *(ro,insecure,all_squash,names=utf16le,fold,alias=/C/,alias=/B/)"
mkdir -p "$T/a/Contents"
start mountd -R -p 20048 || bail 'mountd did not start'
export MOUNT_PORT=20048
player=$(call 127.0.0.1 udp 1 1 utf16:/C/)
like "$player" ^00000000 'a player mounts an alias'
is "$(call 127.0.0.1 udp 1 1 utf16:/B)" "$player" 'the other alias gives the same handle'
is "${player:32:40}" "$(printf '0%.0s' $(seq 40))" \
    'bytes 12 to 31 of its handle are zero'
like "$(call 127.0.0.1 udp 1 1 utf16:/C/Contents)" ^00000000 'a player mounts a directory below an alias'
computer=$(call 127.0.0.1 udp 1 1 "$T/a")
like "$computer" ^00000000 'a computer mounts the directory'
[ "$player" != "$computer" ]
ok $? 'it has another handle'
like "$(call 127.0.0.1 udp 1 5)" '^00000001000000062f0043002f000000' \
    'EXPORT of version 1 shows the alias with its slash'
unlike "$(call 127.0.0.1 udp 3 5)" 2f0043002f00 'EXPORT of version 3 shows no alias'
is "$(call 127.0.0.1 udp 1 3 utf16:/C/)" '' 'the reply to UMNT is a bare header'
stop mountd

# ---- a plain user

install -d -o alice "$T/alice" "$T/alice/share"
echo "$T/alice/share 127.0.0.1(insecure)" >"$T/alice/exports"
chown alice "$T/alice/exports"
setpriv --reuid alice --regid alice --clear-groups \
    "$(reachable)/mountd/mountd" -d -R -p 20048 -f "$T/alice/exports" \
    -k "$T/alice/key" 2>"$T/alice.log" &
pid[alice]=$!
at_end "kill ${pid[alice]}"
check 'mountd starts for a plain user' wait_for 10 grep -q 'sandbox:' "$T/alice.log"
like "$(call 127.0.0.1 tcp 3 1 "$T/alice/share")" ^00000000 'it serves a directory of that user'
is "$(stat -c %U:%a "$T/alice/key")" alice:600 'the key belongs to that user'
check 'it exits with status 0' stop alice

# ---- rpcbind

if command -v rpcbind >/dev/null; then
	rpcbind -f >/dev/null 2>&1 &
	pid[rpcbind]=$!
	at_end "kill ${pid[rpcbind]}"
	wait_for 10 test -S /run/rpcbind.sock
	unset MOUNT_PORT
	"$O/mountd/mountd" -d -s /run/rpcbind.sock -f "$T/exports" \
	    -k "$T/key" 2>"$T/mountd.log" &
	pid[mountd]=$!
	at_end "kill ${pid[mountd]}"
	check 'mountd registers with rpcbind' wait_for 10 registered 100005 3 tcp
	like "$(call 127.0.0.1 udp 3 1 "$T/a")" ^00000000 'clients find mountd through rpcbind'
	stop mountd
	check 'mountd unregisters at its end' wait_for 5 eval '! registered 100005 3 tcp'
else
	skip 'no rpcbind' 3
fi
done_testing

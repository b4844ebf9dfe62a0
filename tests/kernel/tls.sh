#!/bin/bash
# SPDX-License-Identifier: ISC
#
# Mounts exports with RPC over TLS. Debian 13's mount.nfs and tlshd run in a
# chroot. Each step prints "@@ pass NAME SECONDS" or "@@ fail NAME SECONDS". At
# the end it copies until the server's side makes a file "stop", one line "@@
# round NUMBER SECONDS" for each.
# From the environment: SERVER EXPORT TREE CERTS
# Runs in: the guest.
set -u

for d in proc sys dev; do mount --bind "/$d" "$TREE/$d"; done
mount -t tmpfs -o mode=755 tmpfs "$TREE/run"
mount -t tmpfs -o mode=755 tmpfs "$TREE/mnt"
mount --bind "$CERTS" "$TREE/media"
inside() { chroot "$TREE" "$@"; }

# shake_as NAME: makes handshakes with this file of settings from now on.
shake_as() {
	[ -z "${tlshd:-}" ] || { kill "$tlshd" && wait "$tlshd"; } 2>/dev/null
	chroot "$TREE" /usr/sbin/tlshd -s -c "/media/$1.conf" &
	tlshd=$!
}

# mounts SECURITY EXPORT [PLACE]
mounts() {
	local place=${3:-$2}
	mkdir -p "$TREE/mnt/$place"
	inside mount.nfs "$SERVER:$EXPORT/$2" "/mnt/$place" -o \
	    "vers=3,nolock,hard,timeo=100,retry=0,xprtsec=$1"
}
refused() { ! mounts "$@" refused && ! mountpoint -q "$TREE/mnt/refused"; }

# works EXPORT: names and data arrive, and come back after the cache is empty.
works() {
	local d=$TREE/mnt/$1
	head -c 8000000 /dev/urandom >/run/tmp/data
	mountpoint -q "$d" && mkdir "$d/confidential" && cp /run/tmp/data "$d/confidential/secret-name" &&
	    echo secret-content >"$d/confidential/text" && sync &&
	    echo 3 >/proc/sys/vm/drop_caches &&
	    cmp /run/tmp/data "$d/confidential/secret-name" &&
	    [ "$(cat "$d/confidential/text")" = secret-content ] &&
	    rm -r "$d/confidential"
}

bad=0
step() { # NAME COMMAND...
	local name=$1 begin=$SECONDS r=pass
	shift
	echo "@@ run $name"
	"$@" || r=fail bad=1
	echo "@@ $r $name $((SECONDS - begin))"
}

shake_as anonymous
step mount-tls mounts tls tls
step work-tls works tls
step mtls-needs-a-certificate refused tls mtls
step plain-is-refused refused none tls
shake_as stranger
step unknown-authority-is-refused refused mtls mtls
shake_as revoked
step revoked-is-refused refused mtls mtls
shake_as laptop
step mount-mtls mounts mtls mtls
step work-mtls works mtls
step mount-by-name mounts mtls named
step work-by-name works named
step wrong-name-is-refused refused mtls other

round=0
while [ ! -e "$TREE/mnt/tls/stop" ] && [ $bad = 0 ]; do
	begin=$SECONDS
	for d in tls mtls; do
		works $d || { bad=1 && echo "@@ fail copy-$d 0"; }
	done
	round=$((round + 1))
	echo "@@ round $round $((SECONDS - begin))"
done
dmesg | grep -iE 'nfs|rpc|tls' | grep -viE 'registered|installing|module' | tail -n 20
for d in tls mtls named; do
	umount "$TREE/mnt/$d" || { echo "@@ fail umount-$d 0" && bad=1; }
done
exit $bad

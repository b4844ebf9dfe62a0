#!/bin/bash
# SPDX-License-Identifier: ISC
#
# Copies a tree, compares the copy and removes it, until the test makes a file
# "stop" on the server. No copy may fail, whatever happens to the server
# meanwhile. If a kill lost the reply to a MKDIR or REMOVE, the client repeats
# it and finds its own work (RFC 1813 promises no more). mkdir -p and rm -f
# accept that.
# From the environment: SERVER EXPORT VERS PROTO
# Runs in: the guest.
set -u
mkdir -p /mnt/a
mount -i -t nfs -o "vers=$VERS,proto=$PROTO,mountproto=$PROTO,nolock,hard,timeo=30,addr=$SERVER,mountaddr=$SERVER" \
    "$SERVER:$EXPORT" /mnt/a || { echo '@@ fail mount 0'; exit 1; }
src=$TMPDIR/src
mkdir "$src"
for i in $(seq 40); do head -c $((i * 4001)) /dev/urandom >"$src/f$i"; done
round=0
while [ ! -e /mnt/a/stop ]; do
	round=$((round + 1))
	d=/mnt/a/r$round
	begin=$(cut -d' ' -f1 /proc/uptime)
	if ! { mkdir -p $d && cp -r "$src/." $d &&
	    echo 3 >/proc/sys/vm/drop_caches && diff -r "$src" $d &&
	    rm -rf $d; }; then
		echo "@@ fail round-$round 0"
		exit 1
	fi
	echo "@@ round $round $(cut -d' ' -f1 /proc/uptime | awk -v b="$begin" '{ printf "%.1f", $1 - b }')"
done
umount /mnt/a

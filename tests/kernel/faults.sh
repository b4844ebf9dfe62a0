#!/bin/bash
# SPDX-License-Identifier: ISC
#
# Copies a tree again and again, compares each copy, and removes it, until
# somebody leaves a file "stop" on the server: whatever happens to it meanwhile,
# no copy may fail.
# MKDIR and REMOVE that were done but not answered before a kill are asked for
# again and then find their own work (RFC 1813 promises no more), so they are
# asked for in ways that do not mind: mkdir -p, rm -f.
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

#!/bin/bash
# SPDX-License-Identifier: ISC
#
# Copies a tree again and again, compares each copy, and removes it, until the
# host says stop: whatever happens to the server meanwhile, no copy may fail.
# From the environment: SERVER EXPORT VERS PROTO STOP
# Runs in: the guest.
set -u
mkdir -p /mnt/a
mount -i -t nfs -o "vers=$VERS,proto=$PROTO,nolock,hard,timeo=30,addr=$SERVER,mountaddr=$SERVER" \
    "$SERVER:$EXPORT" /mnt/a || { echo '@@ fail mount 0'; exit 1; }
src=$TMPDIR/src
mkdir "$src"
for i in $(seq 40); do head -c $((i * 4001)) /dev/urandom >"$src/f$i"; done
round=0
while [ ! -e "$STOP" ]; do
	round=$((round + 1))
	d=/mnt/a/r$round
	begin=$(cut -d' ' -f1 /proc/uptime)
	if ! { cp -r "$src" $d && echo 3 >/proc/sys/vm/drop_caches &&
	    diff -r "$src" $d && rm -r $d; }; then
		echo "@@ fail round-$round 0"
		exit 1
	fi
	echo "@@ round $round $(cut -d' ' -f1 /proc/uptime | awk -v b="$begin" '{ printf "%.1f", $1 - b }')"
done
umount /mnt/a

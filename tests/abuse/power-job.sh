#!/bin/bash
# SPDX-License-Identifier: ISC
#
# The server of power.t: mounts the disk and serves it until the power fails.
# From the environment: O (the programs), T (exports, key, mount point), FS.
# Runs in: the guest.
set -u
# What is not synced goes to the disk's cache soon, so that it can be lost there.
echo 10 >/proc/sys/vm/dirty_writeback_centisecs
echo 10 >/proc/sys/vm/dirty_expire_centisecs
mount -t "$FS" /dev/vda "$T/x" || exit 1
chmod 777 "$T/x"
mkdir -m 755 /run/tern
cp "$T/key" /run/tern/key # its directory has to be one that can be written
for d in mountd:20048 nfsd:2049; do
	"$O/${d%:*}/${d%:*}" -d -R -p "${d#*:}" -f "$T/exports" -k /run/tern/key \
	    2>"/run/${d%:*}.log" &
done
until grep -q 'listening on' /run/mountd.log && grep -q 'listening on' /run/nfsd.log; do
	sleep 0.1
done
echo "@@ serving $(cut -d' ' -f1 /proc/uptime)"
wait
cat /run/*.log
exit 1

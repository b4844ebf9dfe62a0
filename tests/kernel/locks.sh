#!/bin/bash
# SPDX-License-Identifier: ISC
#
# A client with rpc.statd and the kernel's lockd. Mounts the export on /mnt/a and
# runs agents that lock files there, one process for each port. The test asks them
# until it ends the guest. /var/lib/nfs outlives the guest where VAR names a
# directory of the host.
# From the environment: SERVER EXPORT VERS PROTO ADDRESS NAME VAR HERE
# Runs in: the guest.
set -u
hostname "$NAME"
if [ -n "${VAR:-}" ]; then
	mount -t hostfs -o "$VAR" none /var/lib/nfs
else
	mount -t tmpfs tmpfs /var/lib/nfs
fi
mkdir -p /var/lib/nfs/sm /var/lib/nfs/sm.bak /run/rpcbind
chown -R statd /var/lib/nfs
chmod 700 /var/lib/nfs/sm /var/lib/nfs/sm.bak
[ ! -e /proc/sys/fs/nfs/nsm_local_state ] || cat /proc/sys/fs/nfs/nsm_local_state
rpcbind -w
rpc.statd # which also tells the server that this client was away
mkdir -p /mnt/a
o=vers=$VERS,proto=$PROTO,mountproto=$PROTO,hard,addr=$SERVER,mountaddr=$SERVER
[ "$PROTO" = udp ] || o+=,timeo=100
mount -i -t nfs -o "$o" "$SERVER:$EXPORT" /mnt/a || {
	echo '@@ fail mount 0'
	dmesg | tail -n 5
	exit 1
}
for port in 7000 7001; do
	python3 "$HERE/lock_agent.py" serve "$ADDRESS" $port &
done
echo '@@ round 1 0'
while [ ! -e /run/stop ]; do sleep 0.2; done
umount -l /mnt/a

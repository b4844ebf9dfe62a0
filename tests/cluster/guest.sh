#!/bin/bash
# SPDX-License-Identifier: ISC
#
# Mounts the floating addresses, and works there until the test makes the file STOP.
# From the environment: FOUR SIX EXPORT STOP CLUSTER
# Runs in: the guest.
set -u
modprobe -d /run/modules ipv6 2>/dev/null
dev=$(ip -o link | awk -F': ' '$2 != "lo" && $2 ~ /^(vec|eth|en)/ { print $2; exit }')
ip -6 address add fd77::2/64 dev "$dev" nodad
o=vers=3,hard,nolock,nosharecache,timeo=600,retrans=2
mkdir /mnt/4 /mnt/6
mount -i -t nfs -o "$o,proto=tcp,mountproto=tcp,addr=$FOUR,mountaddr=$FOUR" "$FOUR:$EXPORT" /mnt/4 ||
    { echo '@@ fail mount 4' && exit 1; }
mount -i -t nfs -o "$o,proto=tcp6,mountproto=tcp6,addr=$SIX,mountaddr=$SIX" "[$SIX]:$EXPORT" /mnt/6 ||
    { echo '@@ fail mount 6' && exit 1; }
mkdir /mnt/4/four /mnt/4/six
export STOP
python3 "$CLUSTER/load.py" /mnt/4/four /mnt/6/six || exit 1
umount /mnt/4 /mnt/6

#!/bin/bash
# SPDX-License-Identifier: ISC
#
# What a client sees when an export is revoked, comes back, and when the server
# has another key. The test makes a file in STEPS when the server is ready for
# the next look.
# From the environment: SERVER EXPORT OTHER STEPS
# Runs in: the guest.
set -u
options="-i -t nfs -o vers=3,proto=tcp,mountproto=tcp,nolock,hard,noac,addr=$SERVER,mountaddr=$SERVER"

# step NUMBER: waits for the server.
step() { until [ -e "$STEPS/$1" ]; do sleep 0.1; done; }

# look NAME WANTED COMMAND...
look() {
	local name=$1 want=$2 out
	shift 2
	out=$("$@" 2>&1)
	case $out in
	*"$want"*) echo "@@ pass $name 0" ;;
	*) echo "$*: $out"; echo "@@ fail $name 0" ;;
	esac
}

mkdir -p /mnt/a /mnt/b
# shellcheck disable=SC2086 # options are words
{
	mount $options "$SERVER:$EXPORT" /mnt/a
	mount $options "$SERVER:$OTHER" /mnt/b
}
look mounted hello cat /mnt/b/greeting
echo '@@ round 1 0'
step 1
look revoked 'Stale file handle' ls /mnt/b
look kept kept cat /mnt/a/greeting
echo '@@ round 2 0'
step 2
look listed-again hello cat /mnt/b/greeting
echo '@@ round 3 0'
step 3
look another-key 'Stale file handle' cat /mnt/a/greeting
umount -l /mnt/a
# shellcheck disable=SC2086
mount $options "$SERVER:$EXPORT" /mnt/a
look mounted-again kept cat /mnt/a/greeting
umount /mnt/a
umount -l /mnt/b

# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2010,SC2012,SC2046,SC2059,SC2103,SC2154,SC2164
# The usual mount: mount.nfs, portmapper, mountd; without a version it falls back to 3.
mkdir -p /mnt/c
mount.nfs "$SERVER:$EXPORT" /mnt/c -o "vers=3,proto=$PROTO,nolock"
: >f
[ -e "/mnt/c/${D##*/}/f" ]
umount /mnt/c
# The client asks for version 4 first, is refused, and falls back.
mount.nfs "$SERVER:$EXPORT" /mnt/c -o "proto=$PROTO,nolock"
grep ' /mnt/c nfs ' /proc/mounts | grep -q vers=3
umount /mnt/c

#!/bin/bash
# SPDX-License-Identifier: ISC
#
# A head with a kernel of its own. Runs the commands that the test leaves in the
# directory SHARED, until its power goes off. From the environment: HEAD T SHARED
# Runs in: the guest, as a head.
set -u
for m in ipv6 ceph; do modprobe -d /run/modules $m; done
hostname "$HEAD"
dev=$(ip -o link | awk -F': ' '$2 != "lo" && $2 ~ /^(vec|eth|en)/ { print $2; exit }')
ip link set "$dev" down
ip link set "$dev" name eth0
ip link set eth0 up
ip -6 address add "fd77::${ADDRESS##*.}/64" dev eth0 nodad
mkdir /run/shared
mount -t hostfs -o "$SHARED" none /run/shared
mount -t tmpfs -o mode=755 tmpfs "$T/$HEAD" # its sockets and state
cd /run/shared || exit 1
mkfifo /run/never
exec {never}<>/run/never
declare -A seen=()
# No process but those of the commands: here they are slow to start.
echo '@@ head'
while :; do
	for c in *.command; do
		[ -e "$c" ] && [ -z "${seen[$c]:-}" ] || continue
		seen[$c]=1
		c=${c%.command}
		{
			# shellcheck source=/dev/null
			(. "./$c.command") >"$c.out" 2>"$c.err"
			echo $? >"$c.status"
		} &
	done
	read -r -t 0.05 -u "$never"
done

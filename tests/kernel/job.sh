#!/bin/bash
# SPDX-License-Identifier: ISC
#
# Mounts the server twice (as two clients, each with its own cache) and runs
# workloads. Each prints one line on the console: "@@ pass NAME SECONDS" or
# "@@ fail NAME SECONDS". All other lines are explanation. WORK holds their
# names, or NAME*SCALE for one with its own scale.
# From the environment: SERVER EXPORT VERS PROTO CACHE WORK SCALE BIN HERE
# Runs in: the guest.
set -u
export MNT=/mnt/a MNT2=/mnt/b VERS PROTO CACHE SCALE BIN HERE
o=vers=$VERS,proto=$PROTO,nolock,hard,nosharecache,addr=$SERVER,mountaddr=$SERVER
o+=,mountproto=$PROTO
# Longer timeouts than usual, since a slow guest would break the connection.
[ "$PROTO" = udp ] || o+=,timeo=100
[ "$CACHE" = ac ] || o+=,noac

for m in "$MNT" "$MNT2"; do
	mkdir -p "$m"
	# The kernel itself calls portmapper and mountd: mount.nfs no longer has
	# version 2.
	if ! mount -i -t nfs -o "$o" "$SERVER:$EXPORT" "$m"; then
		echo "@@ fail mount 0"
		dmesg | tail -n 5
		exit 1
	fi
done
echo "@@ mounted $(cut -d' ' -f1 /proc/uptime)"

now() { cut -d' ' -f1 /proc/uptime; }
bad=0
set -f # no names of files for NAME*SCALE
for item in $WORK; do
	w=${item%\**}
	case $item in *\**) n=${item#*\*} ;; *) n=$SCALE ;; esac
	begin=$(now)
	echo "@@ run $w"
	export D=$MNT/$w D2=$MNT2/$w
	rm -rf "$D"
	if mkdir "$D" && (cd "$D" && SCALE=$n bash "$HERE/load.sh" "$w"); then
		r=pass
	else
		r=fail bad=1
	fi
	cd /
	rm -rf "$D" || { r=fail bad=1; echo "$w: rm -rf failed"; }
	echo "@@ $r $w $(echo "$(now) $begin" | awk '{ printf "%.1f", $1 - $2 }')"
done
dmesg | grep -iE 'nfs|rpc' | grep -viE 'registered|installing|module' | tail -n 20
umount "$MNT2" "$MNT" || { echo "@@ fail umount 0"; bad=1; }
exit $bad

# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2154,SC2034 # T, four, dir...: lib.sh, heads.sh
#
# The engines that two heads are tried on. An engine is some functions; one that is
# missing does nothing:
#
#	NAME_install		before the test has a network of its own
#	NAME_prepare		once, when the bridge is there and no head
#	NAME_join HEAD		a head has started: it mounts the engine at $T/export
#	NAME_give HEAD		a head gets the address: it mounts what one head can have
#	NAME_lose HEAD		a head loses the address
#	NAME_fence HEAD		the manager keeps a lost head from the engine
#	NAME_heal HEAD KIND	before a head comes back from such a failure
#	NAME_kinds		prints the kinds of failure it is tried with
#	NAME_timeout KIND	prints for how long the engine itself waits for a lost head
#
# Clients see $T/export/data. Lists of tern-takeover are in $T/export/heads, except
# where the whole engine must be exported.
# Runs in: the tests.

# shellcheck source=tests/cluster/gluster.sh
. "$top/tests/cluster/gluster.sh"
# shellcheck source=tests/cluster/ceph.sh
. "$top/tests/cluster/ceph.sh"

# engine_do VERB [ARGUMENT...]
engine_do() {
	! declare -F "${engine}_$1" >/dev/null || "${engine}_$1" "${@:2}"
}

# One ext4 that both heads see: what a perfect engine would be.
ideal_prepare() {
	ram 900
	loop_fs ext4 800 "$T/export" || skip_all "no loop-mounted ext4"
	_directories "$T/export"
}
ideal_kinds() { echo moved stopped killed cable hung back; }
_directories() {
	mkdir -m 700 "$1/heads"
	mkdir "$1/data" && chmod 777 "$1/data"
}

# A disk that one head mounts at a time. Two that mount it destroy it: the power of
# a lost head is off, and its kernel has lost everything when it comes back.
disk_prepare() { _disk ext4; }
xfs_prepare() { _disk xfs; }
_disk() { # TYPE
	ram 900
	loop_fs "$1" 800 "$T/disk" || skip_all "no loop-mounted $1"
	_device=$(awk -v d="$T/disk" '$2 == d { print $1 }' /proc/mounts)
	_directories "$T/disk"
	mkdir "$T/export"
	# Kept by a second descriptor: the loop device ends with its last user.
	exec {_held}<"$_device"
	umount "$T/disk"
}
_unmounted() { at "$1" umount "$T/export"; }
disk_give() {
	at "$1" mount "$_device" "$T/export"
	wait_for 20 head_healthy "$1"
}
disk_lose() { wait_for 20 _unmounted "$1"; }
disk_fence() { power_off "$1"; }
disk_kinds() { echo stopped killed cable hung; }
xfs_give() { disk_give "$@"; }
xfs_lose() { disk_lose "$@"; }
xfs_fence() { disk_fence "$@"; }
xfs_kinds() { disk_kinds; }

# GlusterFS: clients see the whole volume, so a second one has the lists. A brick
# keeps the locks of a lost head until TCP gives that head up. It may also forget an
# UNLINK that waited for them (tern-cluster(7), CAVEATS): then its client gives up that
# call. It looks for such calls every 10 s.
GLUSTER_KEEPALIVE=3
GLUSTER_FRAME=30
gluster_prepare() {
	local o
	mkdir -p "$T/engine" "$T/export" "$T/heads"
	gluster_start "$T/engine" 10.77.0.1 || bail 'GlusterFS does not start'
	at_end gluster_stop
	for o in keepalive-time:1 keepalive-interval:1 keepalive-count:2 tcp-user-timeout:$GLUSTER_KEEPALIVE; do
		gluster --mode=script volume set v "server.${o%:*}" "${o#*:}" || bail "no server.${o%:*}"
	done
	gluster --mode=script volume set v network.frame-timeout $GLUSTER_FRAME || bail 'no frame-timeout'
	gluster_volume heads "10.77.0.1:$T/engine/bricks/heads" || bail 'no second volume'
	dir=$T/export lists=$T/heads handles=gfid
}
gluster_join() {
	on_head "$1" gluster_mount 10.77.0.1 "$T/export" &&
	    on_head "$1" gluster_mount 10.77.0.1 "$T/heads" heads &&
	    at "$1" chmod 777 "$T/export" && at "$1" chmod 700 "$T/heads"
}
# A brick throws no client out. A lost head that lives would still write what it had
# read, when its cable is back.
gluster_fence() { power_off "$1"; }
gluster_kinds() { echo moved stopped killed cable hung back; }
gluster_timeout() {
	case $1 in
	cable | hung) echo $((GLUSTER_KEEPALIVE + GLUSTER_FRAME + 10)) ;;
	*) echo 0 ;;
	esac
}

# CephFS by ceph-fuse. The manager evicts the client of a lost head. In the kind
# "lost" it does not, and the engine waits for that client.
CEPH_SESSION=30 # the least that it takes
ceph_prepare() {
	mkdir -p "$T/engine" "$T/export"
	ceph_start "$T/engine" 10.77.0.1 || bail 'Ceph does not start'
	at_end ceph_stop
	ceph fs set cephfs session_timeout $CEPH_SESSION || bail 'no session_timeout'
}
ceph_join() {
	on_head "$1" ceph_mount 10.77.0.1 "$T/export" || return 1
	at "$1" test -d "$T/export/data" || _on_head_directories "$1"
}
_on_head_directories() {
	at "$1" mkdir -m 700 "$T/export/heads" && at "$1" mkdir -m 777 "$T/export/data" &&
	    at "$1" chmod 777 "$T/export/data"
}
ceph_fence() { ceph tell mds.0 client evict "client_metadata.hostname=$1"; }
# A client that was evicted stays out: the machine starts anew.
ceph_heal() { case $2 in cable | lost) power_off "$1" ;; esac; }
ceph_kinds() { echo moved stopped killed cable lost hung back; }
# The MDS looks for lost clients every 5 s.
ceph_timeout() { if [ "$1" = lost ]; then echo $((CEPH_SESSION + 5)); else echo 0; fi; }

# CephFS by the kernel of each head, which is user-mode-linux: that of this machine
# may have no such module.
kceph_install() { ceph_install; }
kceph_prepare() {
	ceph_prepare
	head -c 32 /dev/urandom >"$T/key" && chmod 600 "$T/key"
	# shellcheck source=tests/cluster/kernel.sh
	. "$cluster/kernel.sh"
}
kceph_join() {
	at "$1" mount -i -t ceph 10.77.0.1:3300:/ "$T/export" -o name=admin,ms_mode=crc || return 1
	at "$1" test -d "$T/export/data" || _on_head_directories "$1"
}
kceph_fence() { ceph_fence "$@"; }
kceph_heal() { ceph_heal "$@"; }
kceph_kinds() { ceph_kinds; }
kceph_timeout() { ceph_timeout "$@"; }

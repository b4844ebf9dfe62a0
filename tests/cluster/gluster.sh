# SPDX-License-Identifier: ISC
# shellcheck shell=bash
#
# GlusterFS with two replicas on this machine, for tests that have their own
# network and mounts (tests/system/lib.sh). A client in another namespace reaches
# it at ADDRESS, which must not be on the loopback interface.
# Runs in: the tests.

# Installs what is missing. Its service is not started.
gluster_install() {
	command -v glusterd >/dev/null && command -v glusterfs >/dev/null && return
	DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
	    -o DPkg::Lock::Timeout=600 glusterfs-server glusterfs-client >&2
}

# gluster_start DIRECTORY ADDRESS: bricks on a disk image in DIRECTORY, which has
# 2 GB of room when they are full.
gluster_start() {
	local where=$1 address=$2 n
	for n in /var/lib/glusterd /var/log/glusterfs /run/gluster; do
		mkdir -p "$n" && mount -t tmpfs tmpfs "$n" || return 1
	done
	truncate -s 4G "$where/bricks.img"
	mkfs.ext4 -q -F -I 512 -i 4096 "$where/bricks.img" || return 1
	mkdir -p "$where/bricks"
	mount -o loop "$where/bricks.img" "$where/bricks" || return 1
	glusterd -N --log-level ERROR &
	_glusterd=$!
	wait_for 60 gluster --mode=script volume list || return 1
	gluster_volume v replica 2 "$address:$where/bricks/1" "$address:$where/bricks/2"
}

# gluster_volume NAME [replica 2] BRICK...
gluster_volume() {
	gluster --mode=script volume create "$@" force &&
	    gluster --mode=script volume set "$1" storage.build-pgfid on &&
	    gluster --mode=script volume set "$1" performance.md-cache-timeout 0 &&
	    gluster --mode=script volume start "$1"
}

# gluster_mount ADDRESS DIRECTORY [VOLUME]: for one head, in its own namespaces. It
# keeps no attributes, names and data that another head may have changed.
gluster_mount() {
	mount -t glusterfs -o aux-gfid-mount,attribute-timeout=0,entry-timeout=0,direct-io-mode=enable \
	    "$1:/${3:-v}" "$2"
}

# gluster_client DIRECTORY: the process behind a mount.
gluster_client() { pgrep -f "glusterfs .*--process-name fuse .*$1\$"; }

gluster_stop() {
	gluster --mode=script volume stop v force
	kill "$_glusterd"
}

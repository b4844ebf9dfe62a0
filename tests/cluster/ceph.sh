# SPDX-License-Identifier: ISC
# shellcheck shell=bash
#
# CephFS with one process of each kind on this machine, for tests that have their
# own network and mounts (tests/system/lib.sh). Authentication is off: no other
# machine reaches it.
# Runs in: the tests.

# Installs what is missing. Its services are not started.
ceph_install() {
	command -v ceph-mds >/dev/null && command -v ceph-fuse >/dev/null &&
	    command -v ceph-osd >/dev/null && command -v ceph >/dev/null && return
	DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
	    -o DPkg::Lock::Timeout=600 ceph-mon ceph-osd ceph-mds ceph-mgr ceph-fuse ceph-common >&2
}

# ceph_start DIRECTORY ADDRESS: the data is on a disk image in DIRECTORY.
ceph_start() {
	local where=$1 address=$2
	mkdir -p /var/run/ceph && mount -t tmpfs tmpfs /var/run/ceph || return 1
	mkdir -p "$where/mon" "$where/osd" "$where/mds" "$where/mgr" "$where/log"
	cat >"$where/ceph.conf" <<-C
	[global]
	fsid = 0b2f3a4c-1d5e-4f60-8a7b-9c8d7e6f5a41
	mon initial members = a
	mon host = v2:$address:3300/0
	auth cluster required = none
	auth service required = none
	auth client required = none
	osd pool default size = 1
	osd pool default min size = 1
	osd crush chooseleaf type = 0
	mon allow pool size one = true
	mon allow pool delete = true
	mon warn on pool no redundancy = false
	osd pool default pg num = 8
	osd objectstore = memstore
	memstore device bytes = 2147483648
	osd max object name len = 256
	osd max object namespace len = 64
	log file = $where/log/\$name.log
	mon cluster log file = $where/log/cluster.log
	run dir = /var/run/ceph
	pid file = /var/run/ceph/\$name.\$pid.pid
	admin socket = /var/run/ceph/\$name.\$pid.asok
	mon data = $where/mon
	osd data = $where/osd
	mds data = $where/mds
	mgr data = $where/mgr
	keyring = $where/keyring
	public addr = $address
	[client]
	# Else a head reads its own old copy of what another head has written.
	fuse disable pagecache = true
	C
	CEPH_CONF=$where/ceph.conf
	export CEPH_CONF
	_ceph_mon "$where" "$address" && _ceph_rest "$where"
}

_ceph_mon() {
	local where=$1 address=$2
	ceph-authtool --create-keyring "$where/keyring" --gen-key -n mon. \
	    --cap mon 'allow *' >/dev/null &&
	    monmaptool --create --fsid 0b2f3a4c-1d5e-4f60-8a7b-9c8d7e6f5a41 \
		--addv a "[v2:$address:3300]" --clobber "$where/monmap" >/dev/null &&
	    ceph-mon -i a --mkfs --monmap "$where/monmap" --keyring "$where/keyring" || return 1
	ceph-mon -i a -f &
	_ceph_pids=($!)
	wait_for 60 timeout 10 ceph -s
}

_ceph_rest() {
	local where=$1 id
	ceph-mgr -i a -f &
	_ceph_pids+=($!)
	id=$(ceph osd create) || return 1
	ceph-osd -i "$id" --mkfs || return 1
	ceph-osd -i "$id" -f &
	_ceph_pids+=($!)
	ceph osd pool create meta 8 && ceph osd pool create data 8 &&
	    ceph fs new cephfs meta data || return 1
	ceph-mds -i a -f &
	_ceph_pids+=($!)
	wait_for 120 _ceph_active
}
_ceph_active() { timeout 10 ceph mds stat | grep -q 'up:active'; }

# ceph_mount ADDRESS DIRECTORY: for one head, in its own namespaces.
ceph_mount() {
	ceph-fuse "$2" --client-mountpoint=/ -o allow_other
}

# ceph_client DIRECTORY: the process behind a mount.
ceph_client() { pgrep -f "ceph-fuse $1 "; }

ceph_stop() { kill "${_ceph_pids[@]}"; }

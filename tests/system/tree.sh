# SPDX-License-Identifier: ISC
# shellcheck shell=bash
#
# A Debian tree with a real systemd, for the tests of the package:
#
#	. "${0%/*}/lib.sh"
#	. "${0%/*}/tree.sh"
#	tree_boot
#	in_tree systemctl status tern-nfsd
#
# mmdebstrap makes the tree once from the machine's package mirror. It is kept
# beside the package as debian-tree-*.tar, and each test unpacks its own.
# Runs in: the tests.

tree_packages=systemd-sysv,dbus,libevent-2.1-7,libbsd0,libseccomp2,libsodium23
tree_packages=$tree_packages,libutf8proc2,libnfs-utils,rpcbind,procps,iproute2
tree_packages=$tree_packages,netbase,nfs-common

# Makes the tree if there is none with these packages. Two tests may want it at
# the same time.
_tree_make() {
	local cache=$1
	exec 9>"$cache.lock"
	flock 9
	if [ ! -s "$cache" ]; then
		diag "making a Debian tree"
		timeout 800 mmdebstrap --quiet --variant=minbase --include="$tree_packages" \
		    bookworm "$T/tree.tar" >"$T/mmdebstrap.out" 2>&1 ||
		    skip_all "no Debian tree: $(tail -n 1 "$T/mmdebstrap.out")"
		mv "$T/tree.tar" "$cache"
	fi
	exec 9>&-
}

# A container finds its units by the names of their cgroups. Each has a group of its
# own, so that it does not see the units of a container that another test boots.
_tree_groups() {
	local top
	for top in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/systemd; do
		[ ! -e "$top/cgroup.procs" ] || echo "$top/tern-test-$$"
	done
}
_tree_enter_groups() {
	local group
	for group in $(_tree_groups); do
		mkdir "$group" && echo 0 >"$group/cgroup.procs"
	done
}
_tree_remove_groups() {
	local group
	for group in $(_tree_groups); do
		[ ! -d "$group" ] || find "$group" -depth -type d -exec rmdir {} +
	done
}

_tree_booted() {
	kill -0 "${pid[nspawn]}" || return 0
	in_tree systemctl is-system-running | grep -Eq 'running|degraded'
}

# in_tree COMMAND...: runs it in the booted tree.
in_tree() {
	nsenter -t "$(pgrep -P "${pid[nspawn]}" | head -n 1)" -m -u -i -n -p -C -- "$@"
}

# tree_boot: sets $deb, the package, and $tree, where a system has booted. Skips
# the test if no container can boot here.
tree_boot() {
	local cache
	need_root
	need mmdebstrap mmdebstrap systemd-nspawn systemd-container unshare util-linux
	need_daemons
	deb=$(find "$O" "$O/build" -maxdepth 1 -name 'tern_*.deb' 2>/dev/null | head -n 1)
	[ -n "$deb" ] || skip_all "no package in $O: run make deb"
	scratch
	tree=$T/tree
	cache=$(dirname "$deb")/debian-tree-$(echo "$tree_packages" | cksum | cut -d ' ' -f 1).tar
	_tree_make "$cache"
	mkdir "$tree"
	tar -xf "$cache" -C "$tree"
	cp "$deb" "$tree/tern.deb"

	# The container shares no mounts with the host. nspawn's filter is off, since
	# it refuses open_by_handle_at(2), and cgroups are version 2 unless CGROUPS is 1.
	at_end _tree_remove_groups
	(
		_tree_enter_groups
		export SYSTEMD_SECCOMP=0 SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=$((${CGROUPS:-2} > 1))
		exec unshare -m systemd-nspawn --register=no --keep-unit --quiet -D "$tree" \
		    --private-network --capability=all --console=pipe --boot
	) </dev/null >"$T/console" 2>&1 &
	pid[nspawn]=$!
	at_end "kill ${pid[nspawn]}; wait ${pid[nspawn]}"
	wait_for 60 _tree_booted
	kill -0 "${pid[nspawn]}" 2>/dev/null && in_tree true 2>/dev/null ||
	    skip_all "systemd-nspawn cannot boot here: $(tail -n 1 "$T/console")"
	at_end 'in_tree systemctl poweroff'
}

# journal UNIT [LINES]: its last lines.
journal() { in_tree journalctl --no-pager -u "$1" -n "${2:-20}"; }
main_pid() { in_tree systemctl show -P MainPID "$1"; }

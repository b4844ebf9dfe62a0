#!/bin/bash
# SPDX-License-Identifier: ISC
# A real systemd boots. The package is installed, serves, survives kills and is
# purged.
#
# mmdebstrap makes the tree once from the machine's package mirror; it is kept
# as $O/debian-tree-*.tar. Skipped if no container can boot here.
. "${0%/*}/lib.sh"
need_root
need mmdebstrap mmdebstrap systemd-nspawn systemd-container unshare util-linux
need_daemons
deb=$(find "$O" "$O/build" -maxdepth 1 -name 'tern_*.deb' 2>/dev/null | head -n 1)
[ -n "$deb" ] || skip_all "no package in $O: run make deb"
scratch
tree=$T/tree
packages=systemd-sysv,dbus,libevent-2.1-7,libbsd0,libseccomp2,libsodium23
packages=$packages,libutf8proc2,libnfs-utils,rpcbind,procps,iproute2,netbase
# A tree with other packages than these is not used again.
cache=$(dirname "$deb")/debian-tree-$(echo "$packages" | cksum | cut -d ' ' -f 1).tar

if [ ! -s "$cache" ]; then
	diag "making a Debian tree"
	timeout 400 mmdebstrap --quiet --variant=minbase --include="$packages" \
	    bookworm "$T/tree.tar" >"$T/mmdebstrap.out" 2>&1 ||
	    skip_all "no Debian tree: $(tail -n 1 "$T/mmdebstrap.out")"
	mv "$T/tree.tar" "$cache"
fi
mkdir "$tree"
tar -xf "$cache" -C "$tree"

# The container shares no mounts with the host. nspawn's filter is off, since it
# refuses open_by_handle_at(2), and cgroups are version 2.
SYSTEMD_SECCOMP=0 SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 unshare -m \
    systemd-nspawn --register=no --keep-unit --quiet -D "$tree" \
    --private-network --capability=all --console=pipe --boot \
    </dev/null >"$T/console" 2>&1 &
pid[nspawn]=$!
at_end "kill ${pid[nspawn]}; wait ${pid[nspawn]}"

leader() { pgrep -P "${pid[nspawn]}" | head -n 1; }
in_tree() { nsenter -t "$(leader)" -m -u -i -n -p -C -- "$@"; }
booted() {
	kill -0 "${pid[nspawn]}" || return 0
	in_tree systemctl is-system-running | grep -Eq 'running|degraded'
}
wait_for 60 booted
kill -0 "${pid[nspawn]}" 2>/dev/null && in_tree true 2>/dev/null ||
    skip_all "systemd-nspawn cannot boot here: $(tail -n 1 "$T/console")"
at_end 'in_tree systemctl poweroff'
units=(tern-portmapd tern-mountd tern-nfsd)

main_pid() { in_tree systemctl show -P MainPID "$1"; }
is_back() { # UNIT OLD-PID
	in_tree systemctl is-active --quiet "$1" && [ "$(main_pid "$1")" != "$2" ]
}
can_read() { [ "$(in_tree nfs-cat nfs://127.0.0.1/srv/x/file)" = content ]; }

cp "$deb" "$tree/tern.deb"
like "$(in_tree dpkg -i /tern.deb 2>&1)" 'rpcbind.* is running' \
    'beside a running rpcbind the package enables nothing and says so'
check 'rpcbind was not stopped' in_tree systemctl is-active rpcbind.socket
in_tree systemctl disable --quiet --now rpcbind.socket rpcbind

mkdir -p "$tree/srv/x"
echo content >"$tree/srv/x/file"
echo '/srv/x 127.0.0.0/8(rw)' >"$tree/etc/exports"
check 'the units start' in_tree systemctl enable --quiet --now \
    tern-portmapd.socket tern-portmapd tern-mountd tern-nfsd
for u in "${units[@]}"; do
	check "$u is active" in_tree systemctl is-active "$u"
done
wait_for 10 can_read
check 'a client reads a file' can_read
like "$(in_tree rpcinfo -p 127.0.0.1)" '100003 +3 +tcp +2049' 'nfsd is registered at port 2049'
like "$(in_tree stat -c %a:%U /var/lib/tern/handle.key)" '^600:root' 'only root can read the key'
for u in portmapd mountd nfsd; do
	like "$(in_tree ps -o user= -C $u)" "^_$u" "$u serves the network as _$u"
done

for u in "${units[@]}"; do
	old=$(main_pid "$u")
	in_tree kill -9 "$old"
	check "$u is restarted after kill -9" wait_for 10 is_back "$u" "$old"
	check 'clients go on' wait_for 10 can_read
done

old=$(main_pid tern-nfsd)
mkdir "$tree/srv/y"
echo new >"$tree/srv/y/file"
echo '/srv/y 127.0.0.0/8(ro)' >>"$tree/etc/exports"
check 'systemctl reload succeeds' in_tree systemctl reload tern-mountd tern-nfsd
new_there() { [ "$(in_tree nfs-cat nfs://127.0.0.1/srv/y/file)" = new ]; }
check 'the new export is served' wait_for 10 new_there
is "$(main_pid tern-nfsd)" "$old" 'nfsd was not restarted'

# no_errors FLAG...: of journalctl.
no_errors() {
	unlike "$(in_tree journalctl --no-pager -u 'tern-*' -p 3 "$@")" \
	    'portmapd|mountd|nfsd\[' 'the journal has no errors'
}
no_errors -b
cp "$tree/etc/exports" "$T/exports.good"
echo '/srv/x 127.0.0.0/8(rww)' >"$tree/etc/exports"
for u in tern-mountd tern-nfsd; do
	check_not "$u: a reload with a mistake fails" in_tree systemctl reload "$u"
	like "$(in_tree journalctl --no-pager -u "$u" -n 20)" 'exports:1:.*did you mean "rw"' \
	    'the journal names the place'
	check 'clients go on' can_read
done
check_not 'a start with a mistake fails' in_tree systemctl restart tern-nfsd
is "$(in_tree systemctl show -p NRestarts -p ExecMainStatus --value tern-nfsd |
    tr '\n' ' ')" '0 78 ' 'systemd does not start it again'
like "$(in_tree systemctl status --no-pager tern-nfsd)" 'exports:1:.*did you mean "rw"' \
    'systemctl status shows the reason'
cp "$T/exports.good" "$tree/etc/exports"
check 'mended, it starts' in_tree systemctl restart tern-nfsd
cursor=$(in_tree journalctl -n 1 --show-cursor | sed -n 's/^-- cursor: //p')

check 'the units stop' in_tree systemctl stop "${units[@]}" tern-portmapd.socket
is "$(in_tree systemctl list-units --failed --plain --no-legend 'tern-*')" '' 'no unit has failed'
no_errors "--after-cursor=$cursor"
in_tree systemctl start "${units[@]}"
check 'purge succeeds' in_tree dpkg --purge tern
is "$(in_tree ps -o args= -C portmapd,mountd,nfsd)" '' 'no process remains'
is "$(in_tree find / -xdev -path /proc -prune -o -name '*tern[-.d]*' -print |
    grep -Ev 'pattern|extern|intern|/tern.deb|journal|/sys/')" '' 'no file remains'
check_not 'no state remains' in_tree test -e /var/lib/tern
done_testing

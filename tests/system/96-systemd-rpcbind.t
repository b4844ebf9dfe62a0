#!/bin/bash
# SPDX-License-Identifier: ISC
# The usual Debian machine: rpcbind runs and has port 111. Tern registers there,
# by itself or as it is told, and moves when the portmapper changes. What an
# administrator types ends well, or says what is wrong.
. "${0%/*}/lib.sh"
. "${0%/*}/tree.sh"
tree_boot

mkdir -p "$tree/srv/x"
echo content >"$tree/srv/x/file"
portmapper=(tern-portmapd.socket tern-portmapd.service)
state() { in_tree systemctl is-active "$@" | tr '\n' ' '; }
failed() { in_tree systemctl list-units --failed --plain --no-legend 'tern-*' 'rpcbind*'; }
tells() { in_tree rpcinfo -p 127.0.0.1 | grep -Eq "$1"; }
both() { tells '100005 +3 +tcp +20048' && tells '100003 +3 +tcp +2049'; }
can_read() { [ "$(in_tree nfs-cat nfs://127.0.0.1/srv/x/file)" = content ]; }
logged() { journal "$1" 50 | grep -Eq "$2"; }
set_flags() { # NAME FLAGS
	sed -i "s|^$1=.*|$1=\"$2\"|" "$tree/etc/default/tern"
}

# ---- the package is installed, before there are exports -------------------------------

is "$(state rpcbind.socket rpcbind.service)" 'active active ' 'rpcbind runs'
echo '# see exports(5)' >"$tree/etc/exports" # as nfs-kernel-server leaves it
out=$(in_tree dpkg -i /tern.deb 2>&1)
like "$out" 'rpcbind serves port 111; mountd and nfsd register there' 'the package says who has port 111'
like "$out" 'nothing is exported yet: write /etc/exports' 'and that nothing is exported'
is "$(state rpcbind.socket rpcbind.service)" 'active active ' 'rpcbind still runs'
rm "$tree/etc/exports"
in_tree systemctl restart tern-mountd tern-nfsd
check 'the line of README ends well' in_tree systemctl enable --now \
    tern-portmapd.socket tern-mountd tern-nfsd
is "$(state tern-mountd tern-nfsd)" 'active active ' 'mountd and nfsd run'
is "$(state "${portmapper[@]}")" 'inactive inactive ' "Tern's portmapper does not"
is "$(failed)" '' 'no unit has failed'
like "$(in_tree systemctl status --no-pager tern-portmapd.socket)" 'rpcbind.s[a-z]* was not met' \
    'systemctl status names rpcbind'
check 'both are registered with rpcbind' wait_for 20 both
for u in tern-mountd tern-nfsd; do
	check "$u says that nothing is exported" wait_for 20 logged $u 'no such file: nothing is exported'
	check "$u says where it is registered" wait_for 20 logged $u 'registered with the portmapper at /run/rpcbind.sock'
done
is "$(in_tree showmount --no-headers -e 127.0.0.1)" '' 'showmount -e is empty'

# ---- exports, as the server itself sees them --------------------------------------------

printf '/srv/x 127.0.0.1(rw) 192.0.2.7(ro)\n' >"$tree/etc/exports"
check 'a reload serves them' in_tree systemctl reload tern-mountd tern-nfsd
check 'a client reads a file' wait_for 20 can_read
unlike "$(journal tern-nfsd 50)" 'killed by signal' 'replaced workers do not look like a crash'
is "$(in_tree journalctl --no-pager -b -u 'tern-*' | grep -c 'made a new handle key')" 1 \
    'one daemon made the key and says so'
in_tree ip address add 10.9.9.9/32 dev lo
for a in 127.0.0.1 10.9.9.9; do
	is "$(in_tree showmount --no-headers -e $a)" '/srv/x 127.0.0.1,192.0.2.7' \
	    "showmount -e $a tells all exports and clients"
done
like "$(in_tree showmount --no-headers -a 10.9.9.9)" '^127.0.0.1:/srv/x$' 'showmount -a tells all mounts'

# ---- the portmapper changes -----------------------------------------------------------------

in_tree systemctl restart rpcbind.service
check 'rpcbind is restarted: both are there' wait_for 20 both
in_tree systemctl disable --quiet --now rpcbind.socket rpcbind.service
check "Tern's portmapper starts now" in_tree systemctl start tern-portmapd.socket
check 'both move there' wait_for 20 both
check 'which is Tern' in_tree systemctl is-active --quiet tern-portmapd.service
for u in tern-mountd tern-nfsd; do
	check "$u says that it moved" wait_for 20 logged $u 'registered with the portmapper at /run/tern/portmap.sock'
done
check 'and so do the locks' wait_for 20 logged tern-nfsd 'locks: registered with the portmapper at /run/tern/portmap.sock'
check 'a client reads a file' wait_for 20 can_read
check_not 'rpcbind cannot take the port' in_tree systemctl start rpcbind.socket
is "$(state "${portmapper[@]}")" 'active active ' 'nor end the portmapper'

# ---- flags about sockets that systemd opens ----------------------------------------------------

set_flags PORTMAPD_FLAGS '-a 127.0.0.1'
check_not 'portmapd -a is refused' in_tree systemctl restart tern-portmapd.service
# Servers that register start it again, until systemd has enough.
gave_up() { in_tree systemctl is-failed tern-portmapd.socket; }
check 'and not started for ever' wait_for 60 gave_up
like "$(in_tree systemctl status --no-pager tern-portmapd.service)" \
    'portmapd: -a has no effect on sockets that systemd opens: .*systemctl edit tern-portmapd.socket' \
    'systemctl status shows the reason'
set_flags PORTMAPD_FLAGS ''
mkdir -p "$tree/etc/systemd/system/tern-portmapd.socket.d"
cat >"$tree/etc/systemd/system/tern-portmapd.socket.d/override.conf" <<-E
	[Socket]
	ListenStream=
	ListenDatagram=
	ListenStream=/run/tern/portmap.sock
	ListenStream=127.0.0.1:111
	ListenDatagram=127.0.0.1:111
E
in_tree systemctl daemon-reload
in_tree systemctl reset-failed 'tern-*'
check 'the socket unit says where to listen' in_tree systemctl restart "${portmapper[@]}"
is "$(in_tree ss -Hltn 'sport = 111' | awk '{ print $4 }')" 127.0.0.1:111 'at that address alone'
check 'both register again' wait_for 20 both

# ---- rpcbind by name, Tern's portmapper switched off -------------------------------------------------

in_tree systemctl disable --quiet --now "${portmapper[@]}"
in_tree systemctl reset-failed
check 'rpcbind starts' in_tree systemctl enable --quiet --now rpcbind.socket rpcbind.service
set_flags MOUNTD_FLAGS '-p 20048 -s /run/rpcbind.sock'
set_flags NFSD_FLAGS '-p 2049 -s /run/rpcbind.sock'
check 'mountd and nfsd restart with -s /run/rpcbind.sock' \
    in_tree systemctl restart tern-mountd tern-nfsd
check 'both are registered' wait_for 20 both
is "$(state rpcbind.socket rpcbind.service "${portmapper[@]}")" 'active active inactive inactive ' \
    'rpcbind stays the portmapper'
check 'nfsd -S finds its socket' in_tree nfsd -S -s /run/rpcbind.sock
is "$(in_tree find /run -maxdepth 1 -name 'nfsd*')" '' 'no socket of Tern is beside that of rpcbind'
is "$(failed)" '' 'no unit has failed'
done_testing

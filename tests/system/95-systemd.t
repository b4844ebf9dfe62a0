#!/bin/bash
# SPDX-License-Identifier: ISC
# A real systemd boots. The package is installed, serves, survives kills and is
# purged.
. "${0%/*}/lib.sh"
. "${0%/*}/tree.sh"
tree_boot
units=(tern-portmapd tern-mountd tern-nfsd)

is_back() { # UNIT OLD-PID
	in_tree systemctl is-active --quiet "$1" && [ "$(main_pid "$1")" != "$2" ]
}
can_read() { [ "$(in_tree nfs-cat nfs://127.0.0.1/srv/x/file)" = content ]; }

need python3 python3
in_tree systemctl disable --quiet --now rpcbind.socket rpcbind
mkdir -p "$tree/srv/x"
echo content >"$tree/srv/x/file"
echo '/srv/x 127.0.0.0/8(rw)' >"$tree/etc/exports"
check 'the package is installed' in_tree dpkg -i /tern.deb
for u in "${units[@]}"; do
	check "$u is started" in_tree systemctl is-active "$u"
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
	[ "$old" = 0 ] || in_tree kill -9 "$old"
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

# A disk that is unmounted under the units: propagation brings the umount into
# their namespaces, and they let go of it.
mkdir "$tree/srv/usb"
truncate -s 32M "$T/image"
mkfs.ext4 -q -F "$T/image"
disk=$(losetup -f --show "$T/image") || bail 'no loop device'
at_end "losetup -d $disk"
in_tree mknod /dev/usb b $((0x$(stat -c %t "$disk"))) $((0x$(stat -c %T "$disk")))
mount_usb() { # TEXT
	in_tree mount /dev/usb /srv/usb &&
	    in_tree sh -c "chmod 777 /srv/usb && echo $1 >/srv/usb/file"
}
# Only a device that nothing has mounted can be opened exclusively.
usb_is_free() { python3 -c 'import os, sys; os.open(sys.argv[1], os.O_RDONLY | os.O_EXCL)' "$disk"; }
usb_has() { [ "$(in_tree nfs-cat nfs://127.0.0.1/srv/usb/file)" = "$1" ]; }
usb_used() { in_tree sh -c "grep -l ' /srv/usb ' /proc/[0-9]*/mountinfo; ls -l /proc/[0-9]*/fd | grep /srv/usb"; }
usb_free() { [ -z "$(usb_used 2>/dev/null)" ]; }
mount_usb one
echo '/srv/usb 127.0.0.0/8(rw)' >>"$tree/etc/exports"
in_tree systemctl reload tern-mountd tern-nfsd
check 'a mounted filesystem is served' wait_for 10 usb_has one
check 'umount succeeds while nfsd has its files open' in_tree umount /srv/usb
check 'the daemons let go of it' wait_for 10 usb_free
check 'the device is free' wait_for 10 usb_is_free
e2fsck -fn "$disk" >"$T/fsck" 2>&1
is $? 0 'the filesystem is clean'
unmounted() { [[ $(journal "$1") == *'export /srv/usb: unmounted; clients wait'* ]]; }
for u in tern-mountd tern-nfsd; do
	check "$u says so" wait_for 10 unmounted "$u"
done
mount_usb two
check 'mounted again, it is served without a reload' wait_for 10 usb_has two
in_tree umount /srv/usb
sed -i '/srv.usb/d' "$tree/etc/exports"
in_tree systemctl reload tern-mountd tern-nfsd

# What flags of nfsd ask of its unit: an administrators' group, the groups of users,
# metrics, a file for the audit.
as_user() { in_tree setpriv --reuid "$1" --regid "$1" --init-groups -- "${@:2}"; }
by_wire() { nsenter -t "$(pgrep -P "${pid[nspawn]}" | head -n 1)" -n -- "$top/tests/lib/nfs_call.py" -s 700 "$@"; }
in_tree groupadd admins
in_tree useradd -G admins kim
in_tree useradd lee
echo 'crew:x:5040:kim' >>"$tree/etc/group"
echo ours >"$tree/srv/x/crew" && chown 0:5040 "$tree/srv/x/crew" && chmod 040 "$tree/srv/x/crew"
cp "$tree/etc/default/tern" "$T/flags"
sed -i 's|^NFSD_FLAGS="|&-o strict -o admin-group=admins -o manage-gids -o metrics=127.0.0.1@9049 -o audit=/var/log/changes |' \
    "$tree/etc/default/tern"
sed -i 's|^/srv/x .*|/srv/x 127.0.0.0/8(rw,audit)|' "$tree/etc/exports"
check 'nfsd starts with all of its features, and every layer' in_tree systemctl restart tern-nfsd
check 'an administrator who is not root may ask' as_user kim nfsd -S 1 1
check_not 'another user may not' as_user lee nfsd -S 1 1
crew=$(by_wire lookup "$(by_wire mnt /srv/x)" crew)
is "$(by_wire -u "$(in_tree id -u kim)" read "$crew" 0 9)" ours 'a user has the groups of the server'
is "$(by_wire -u "$(in_tree id -u lee):5040" read "$crew" 0 9)" ACCES 'and not those that the client claims'
scrape() {
	in_tree bash -c 'exec 3<>/dev/tcp/127.0.0.1/9049
	    printf "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" >&3; cat <&3'
}
like "$(scrape)" '^tern_mountd_up 1' 'metrics are served, with those of mountd'
by_wire -u 1000 setattr "$crew" 666 >/dev/null
check 'the audit is in its file' wait_for 10 in_tree grep -q 'SETATTR PERM .*path="/srv/x/crew"' /var/log/changes
cp "$T/flags" "$tree/etc/default/tern"
in_tree systemctl restart tern-nfsd

# The audit is in the journal, with a field for each fact.
sed -i 's|^/srv/x .*|/srv/x 127.0.0.0/8(rw,audit,no_root_squash,all_squash,anonuid=0,anongid=0)|' "$tree/etc/exports"
chmod 1777 "$tree/srv/x"
in_tree systemctl reload tern-mountd tern-nfsd
audited() { in_tree journalctl --no-pager -o json -u tern-nfsd TERN_PATH=/srv/x/made TERN_PROCEDURE=CREATE; }
is_audited() { audited | grep -q TERN_STATUS; }
make_file() { in_tree nfs-cp /etc/hostname nfs://127.0.0.1/srv/x/made; }
wait_for 10 make_file
check 'journalctl finds a change by its path' wait_for 20 is_audited
entry=$(audited | head -n 1)
for field in '"TERN_STATUS" *: *"OK"' '"TERN_CLIENT" *: *"127.0.0.1"' '"TERN_EXPORT" *: *"/srv/x"' \
    '"SYSLOG_IDENTIFIER" *: *"nfsd"' '"_SYSTEMD_UNIT" *: *"tern-nfsd.service"' '"PRIORITY" *: *"6"'; do
	like "$entry" "$field" "its entry has $field"
done
like "$(in_tree journalctl --no-pager -u tern-nfsd TERN_PATH=/srv/x/made)" 'nfsd\[[0-9]+\]: audit: CREATE OK client=' \
    'and reads as a line'

# no_errors FLAG...: of journalctl.
no_errors() {
	unlike "$(in_tree journalctl --no-pager -u 'tern-*' -p 3 "$@")" \
	    'portmapd|mountd|nfsd\[' 'the journal has no errors'
}
no_errors -b
cp "$tree/etc/exports" "$T/exports.good"
echo '/srv/x 127.0.0.0/8(rww)' >"$tree/etc/exports"
# The journal has a line some time after the process that wrote it has ended.
shows() { "$@" | grep -q 'exports:1:.*did you mean "rw"'; }
for u in tern-mountd tern-nfsd; do
	check_not "$u: a reload with a mistake fails" in_tree systemctl reload "$u"
	check 'the journal names the place' wait_for 10 shows journal "$u"
	check 'clients go on' can_read
done
check_not 'a start with a mistake fails' in_tree systemctl restart tern-nfsd
is "$(in_tree systemctl show -p NRestarts -p ExecMainStatus --value tern-nfsd |
    tr '\n' ' ')" '0 78 ' 'systemd does not start it again'
check 'systemctl status shows the reason' \
    wait_for 10 shows in_tree systemctl status --no-pager tern-nfsd
cp "$T/exports.good" "$tree/etc/exports"
check 'mended, it starts' in_tree systemctl restart tern-nfsd
cursor=$(in_tree journalctl -n 1 --show-cursor | sed -n 's/^-- cursor: //p')

# The units have a /tmp of their own: what an administrator sees there is not served.
in_tree mkdir /tmp/x
echo '/tmp/x 127.0.0.0/8(ro)' >>"$tree/etc/exports"
out=$(in_tree mountd -n -x 127.0.0.1 /tmp/x 2>&1)
is $? 2 'mountd -n -x does not grant what the units do not see'
like "$out" 'exports:[0-9]+:1: warning: "/tmp/x" is not served: the units have a /tmp of their own \(PrivateTmp=' \
    'and names PrivateTmp='
like "$out" '^/tmp/x: refused: the units have a /tmp' 'as the reason'
like "$(in_tree mountd -n)" ' /tmp/x absent$' 'it is absent'
in_tree systemctl reload tern-mountd tern-nfsd
like "$(by_wire mnt /tmp/x 2>&1)" NOENT 'as a client finds'
for u in tern-mountd tern-nfsd; do
	mkdir -p "$tree/etc/systemd/system/$u.service.d"
	printf '[Service]\nPrivateTmp=no\n' >"$tree/etc/systemd/system/$u.service.d/override.conf"
done
in_tree systemctl daemon-reload
in_tree systemctl restart tern-mountd tern-nfsd
check 'with PrivateTmp=no it is granted' in_tree mountd -n -x 127.0.0.1 /tmp/x
check 'and served' wait_for 10 by_wire mnt /tmp/x
rm -r "$tree"/etc/systemd/system/tern-{mountd,nfsd}.service.d
sed -i '/tmp.x/d' "$tree/etc/exports"
in_tree systemctl daemon-reload

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

#!/bin/bash
# SPDX-License-Identifier: ISC
# A system with cgroups of version 1, or of both: rpcbind is found there as well, and
# a port 111 that is taken by something else ends well too.
. "${0%/*}/lib.sh"
. "${0%/*}/tree.sh"
CGROUPS=1 tree_boot

mkdir -p "$tree/srv/x"
echo content >"$tree/srv/x/file"
mkdir -p "$tree/etc/exports.d"
echo '/srv/x 127.0.0.1(rw)' >"$tree/etc/exports.d/x.exports"
state() { in_tree systemctl is-active "$@" | tr '\n' ' '; }
failed() { in_tree systemctl list-units --failed --plain --no-legend 'tern-*' 'rpcbind*'; }
tells() { in_tree rpcinfo -p 127.0.0.1 | grep -Eq "$1"; }
both() { tells '100005 +3 +tcp +20048' && tells '100003 +3 +tcp +2049'; }
can_read() { [ "$(in_tree nfs-cat nfs://127.0.0.1/srv/x/file)" = content ]; }

check 'cgroups are of version 1' in_tree test -d /sys/fs/cgroup/systemd/system.slice
check 'rpcbind runs' in_tree systemctl is-active --quiet rpcbind.service
out=$(in_tree dpkg -i /tern.deb 2>&1)
is $? 0 'the package is installed'
unlike "$out" 'nothing is exported' 'and knows that something is exported'
check 'the line of README ends well' in_tree systemctl enable --now tern-portmapd.socket tern-mountd tern-nfsd
is "$(state tern-portmapd.socket tern-portmapd.service)" 'inactive inactive ' "Tern's portmapper does not run"
is "$(failed)" '' 'no unit has failed'
check 'both are registered with rpcbind' wait_for 20 both
check 'a client reads a file' wait_for 20 can_read

# Another program has the port, started by hand: the sockets cannot be had, and the
# servers find whichever portmapper answers.
in_tree systemctl disable --quiet --now rpcbind.socket rpcbind.service
in_tree systemd-run --quiet --unit other-portmapper rpcbind -f -w
check 'another rpcbind has the port' wait_for 20 tells '100000 +4 +tcp'
check_not "Tern's portmapper cannot start" in_tree systemctl restart tern-portmapd.socket
says_why() { in_tree systemctl status --no-pager tern-portmapd.socket | grep -q 'Address already in use'; }
check 'systemctl status says why' wait_for 10 says_why # from the journal
check 'both are registered all the same' wait_for 60 both
check 'a client reads a file' wait_for 20 can_read
is "$(state tern-mountd tern-nfsd)" 'active active ' 'mountd and nfsd run'
done_testing

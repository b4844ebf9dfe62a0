#!/bin/bash
# SPDX-License-Identifier: ISC
# Netgroups in the exports: the resolver expands them in the background and looks
# up their hosts, whose coming and going is followed.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need_daemons

mkdir -m 777 "$T/export"
cat >/etc/nsswitch.conf <<-E
	passwd: files
	group: files
	hosts: files
	netgroup: files
E
printf '127.0.0.1 localhost\n127.0.0.1 one.example\n127.0.0.2 two.example\n' >/etc/hosts
says() { grep -Eq "$2" "$T/$1.log"; }
reload() { kill -HUP "${pid[mountd]}" "${pid[nfsd]}"; }
# mounts ADDRESS: may this host mount, and call nfsd?
mounts() {
	local fh
	fh=$(nfs -a "$1" mnt "$T/export") && nfs -a "$1" getattr "$fh"
}
refused() { ! nfs -a "$1" mnt "$T/export"; }

# ---- no such group yet ----------------------------------------------------------------

tern_start "$T/export @trusted(rw,insecure)"
check 'the log names a netgroup that is missing' \
    wait_for 60 says nfsd 'client "@trusted": no such netgroup is found: refused .*getent netgroup trusted'
check_not 'its hosts are refused' mounts 127.0.0.1

# ---- its hosts, one of them in a group within --------------------------------------------

cat >/etc/netgroup <<-E
	trusted (one.example,,) (,-,) inner
	inner (two.example,-,example) (-,ann,)
E
reload
for p in mountd nfsd; do
	check "$p counts its hosts" wait_for 60 says $p 'client "@trusted": 2 hosts found'
	check "$p finds them" wait_for 60 says $p 'client "two.example" is 127.0.0.2'
done
check 'a host of the group may mount' wait_for 60 mounts 127.0.0.1
check 'and one of the group within' wait_for 60 mounts 127.0.0.2
check_not 'an entry without a host admits no stranger' mounts 127.0.0.3
out=$("$O/mountd/mountd" -n -f "$T/exports" -x 127.0.0.2 "$T/export" 2>&1)
is $? 0 'mountd -n -x expands the group'
like "$out" "granted: line 1 allows @trusted; read and write" 'and names it'

# ---- a host leaves, its address changes ----------------------------------------------------

echo 'trusted (one.example,,)' >/etc/netgroup
reload
check 'a host that left is refused' wait_for 60 refused 127.0.0.2
check 'the other stays' mounts 127.0.0.1
printf '127.0.0.1 localhost\n127.0.0.4 one.example\n' >/etc/hosts
reload
check 'a new address is followed' wait_for 60 mounts 127.0.0.4
check 'the old one is refused' wait_for 60 refused 127.0.0.1

# ---- the group cannot be found for a while ---------------------------------------------------

rm /etc/netgroup
reload
check 'its hosts stay' mounts 127.0.0.4

# ---- a directory that hangs ---------------------------------------------------------------------

mkfifo -m 644 /etc/netgroup
exports "$T/export @trusted(rw,insecure) @others(rw,insecure)"
reload
for p in mountd nfsd; do
	check "$p names the netgroup that has no answer" \
	    wait_for 60 says $p 'client "@others": the directory of netgroups does not answer: refused'
done
check 'the hosts that are known stay' mounts 127.0.0.4
check 'the daemons stop' tern_stop
done_testing

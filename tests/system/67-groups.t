#!/bin/bash
# SPDX-License-Identifier: ISC
# -o manage-gids: the groups of a caller are those of this machine, not those of
# the call. They follow the directory of users, and a call never waits long for it.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3
need_daemons

printf 'passwd: files\ngroup: files\nhosts: files\n' >/etc/nsswitch.conf
cat >>/etc/passwd <<-E
	many:x:4001:4001::/:/bin/false
	wheel:x:4002:0::/:/bin/false
	later:x:4003:4003::/:/bin/false
E
members() { # members FIRST LAST: the user "many" is in these groups
	local g
	for g in $(seq "$1" "$2"); do echo "g$g:x:$g:many"; done
}
cp /etc/group "$T/group"
extra='many:x:4001:
later:x:4003:'
{ cat "$T/group"; echo "$extra"; members 5001 5040; } >/etc/group

mkdir -m 755 "$T/x"
for g in 5001 5017 5040 5041 0; do
	echo "of $g" >"$T/x/f$g"
	chown "0:$g" "$T/x/f$g" && chmod 040 "$T/x/f$g"
done
mkdir -m 730 "$T/x/drop" && chown 0:5040 "$T/x/drop"
echo mine >"$T/x/mine" && chown 4001:4001 "$T/x/mine" && chmod 600 "$T/x/mine"
says() { grep -q "$1" "$T/nfsd.log"; }
reload() { kill -HUP "${pid[nfsd]}"; }
reads() { [ "$(nfs -u "$1" read "$(nfs lookup "$x" "$2")" 0 10)" = "of ${2#f}" ]; }
denied() { [ "$(nfs -u "$1" read "$(nfs lookup "$x" "$2")" 0 10)" = ACCES ]; }

# ---- without the option the call counts ----------------------------------------------

tern_start "$T/x 127.0.0.1(rw,insecure)"
x=$(nfs mnt "$T/x")
check 'without the option a client may claim a group' reads 9999:5017 f5017
check 'and the groups here do not count' denied 4001:4001 f5017
check 'the daemons stop' tern_stop

# ---- with it, the groups of this machine do ----------------------------------------------

tern_start "$T/x 127.0.0.1(rw,insecure)" -o manage-gids
x=$(nfs mnt "$T/x")
check 'a user in 40 groups: the first' reads 4001:4001 f5001
check 'the 17th' reads 4001:4001 f5017
check 'the last' reads 4001:4001 f5040
check 'not one more' denied 4001:4001 f5041
check 'a group that the client claims is ignored' denied 4001:4001:5041 f5041
check 'as primary group too' denied 4001:5041 f5041
check 'a user without entry has no group' denied 9999:5017:5001 f5001
check 'a user who is in group 0 here does not get it' denied 4002:0:0 f0
check 'a squashed root has no group' denied 0:5001:5001 f5001
d=$(nfs -u 4001:4001 lookup "$x" drop)
check 'the broker opens by these groups too' nfs -u 4001:5040 create "$d" new 644
is "$(stat -c %u:%g "$T/x/drop/new")" 4001:5040 \
    'a group of the call that the user has here stays the primary one'
check 'a caller with a false primary group creates' nfs -u 4001:9 create "$d" other 644
is "$(stat -c %u:%g "$T/x/drop/other")" 4001:4001 'with its group here'
is "$(nfs -u 4001:4001 read "$(nfs lookup "$x" mine)" 0 4)" mine 'its own files are its own'

# ---- membership changes ----------------------------------------------------------------------

{ cat "$T/group"; echo "$extra"; members 5002 5041; } >/etc/group
reload
check 'a new group counts after a reload' wait_for 60 reads 4001:4001 f5041
check 'a lost one does not' wait_for 60 denied 4001:4001 f5001

# ---- a directory that hangs --------------------------------------------------------------------

mv /etc/passwd "$T/passwd" && mkfifo -m 644 /etc/passwd
reload
check 'a directory that hangs is logged' \
    wait_for 60 says 'the directory of users does not answer'
check 'a user keeps its groups' reads 4001:4001 f5041
check 'an unknown user is served, without groups' denied 4003:4003:5017 f5017
check 'other users do not wait' nfs -u 4001:4001 getattr "$x"
check 'the daemons stop' tern_stop

# ---- a directory that is down -------------------------------------------------------------------

# LDAP, SSSD and winbind then say what a missing file says.
rm /etc/passwd && cp "$T/passwd" /etc/passwd
tern_start "$T/x 127.0.0.1(rw,insecure)" -o manage-gids
x=$(nfs mnt "$T/x")
check 'a user has its groups' wait_for 60 reads 4001:4001 f5041
mv /etc/passwd "$T/passwd"
: >"$T/nfsd.log"
reload
check 'a directory that is down is logged' \
    wait_for 60 says 'the directory of users does not answer'
check 'the user keeps its groups' reads 4001:4001 f5041
mv "$T/passwd" /etc/passwd
check 'the daemons stop' tern_stop
done_testing

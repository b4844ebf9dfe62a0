#!/bin/bash
# SPDX-License-Identifier: ISC
#
# Who the caller is: squashing, groups, odd numbers, the owner's rights, ACLs,
# read-only exports, and who may come at all; in the three modes.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3 setfacl acl

owner() { stat -c %u:%g "$1"; }

mkdir "$T/x" "$T/trust" "$T/all" "$T/ro" "$T/secure" "$T/away"
chmod 1777 "$T/x" "$T/trust" "$T/all" "$T/ro" "$T/secure"
base="$T/x 127.0.0.1(rw,insecure)
$T/all 127.0.0.1(rw,insecure,all_squash,anonuid=1234,anongid=4321)
$T/ro 127.0.0.1(ro,insecure)
$T/secure 127.0.0.1(rw)
$T/away 127.0.0.2(rw,insecure)"
tern_start "$base"
x=$(nfs mnt "$T/x")
like "$(cat "$T/nfsd.log")" 'mode: multi-user' 'multi-user mode'

nfs -u 1000:1001 create "$x" mine 644 >"$T/mine"
is "$(owner "$T/x/mine")" 1000:1001 'a file belongs to its maker'
nfs -u 0:0 create "$x" roots 644 >/dev/null
is "$(owner "$T/x/roots")" 65534:65534 'root is nobody'
nfs -u 1000:0:0,7 create "$x" zero 644 >/dev/null
is "$(owner "$T/x/zero")" 1000:65534 'group 0 is nobody'"'"'s group'
for u in 65535 65536 131072 2147483648 4294967294; do
	nfs -u "$u:5" create "$x" "u$u" 644 >/dev/null
	is "$(owner "$T/x/u$u")" "$u:5" "user $u is user $u"
done
nfs -u 4294967295:5 create "$x" minus 644 >/dev/null
is "$(owner "$T/x/minus")" 65534:65534 'user -1 is nobody'
all=$(nfs mnt "$T/all")
nfs -u 1000 create "$all" f 644 >/dev/null
is "$(owner "$T/all/f")" 1234:4321 'all_squash: everybody is the one user'

# Permissions are the kernel's.
echo secret >"$T/x/secret" && chmod 600 "$T/x/secret"
s=$(nfs lookup "$x" secret)
is "$(nfs -u 1000 read "$s" 0 10)" ACCES 'another one'"'"'s file is not read'
is "$(nfs -u 0 read "$s" 0 10)" ACCES 'not by root either'
chown 1000 "$T/x/secret"
is "$(nfs -u 1000 read "$s" 0 10)" secret 'now it is his'
is "$(nfs -u 1001 read "$s" 0 10)" ACCES 'and only his'
is "$(nfs -u 1001 write "$s" 0 x)" ACCES 'for writing as well'
chown 5 "$T/x/secret" && chgrp 77 "$T/x/secret" && chmod 640 "$T/x/secret"
is "$(nfs -u 1001:1001:3,77 read "$s" 0 10)" secret 'a group opens it'
is "$(nfs -u 1001:1001:3,78 read "$s" 0 10)" ACCES 'another does not'
is "$(nfs -u 1001:1001:3,77 access "$s" 0x3f)" 0x1 'ACCESS says the same'
setfacl -m u:1002:rw "$T/x/secret"
is "$(nfs -u 1002 write "$s" 0 acl)" 3 'an ACL lets him write'
setfacl -m g:88:--- -m o::r "$T/x/secret"
is "$(nfs -u 1003:88 read "$s" 0 10)" ACCES 'an ACL shuts him out'
is "$(nfs -u 1003:89 read "$s" 0 3)" acl 'whom the mode lets in'
# Who may execute may read; what the mode shows is not what an ACL says.
echo run >"$T/x/program" && chmod 755 "$T/x/program"
setfacl -m u:1002:--- "$T/x/program"
p=$(nfs lookup "$x" program)
is "$(nfs -u 1002 access "$p" 0x3f)" 0x0 'an ACL grants one nothing of a program'
is "$(nfs -u 1002 read "$p" 0 3)" ACCES 'he does not read it either'
is "$(nfs -u 1003 access "$p" 0x3f)" 0x21 'others read and execute it'
chmod 700 "$T/x/program"
setfacl -m g::---,u:1002:x "$T/x/program"
chgrp 77 "$T/x/program"
is "$(nfs -u 1002 read "$p" 0 3)" run 'an ACL that lets him execute lets him read'
is "$(nfs -u 1003:77 read "$p" 0 3)" ACCES 'its mask lets in no group'

# The owner of a file may use it by handle, whatever its mode.
f=$(nfs -u 1000:1001 create "$x" locked 444)
is "$(nfs -u 1000 write "$f" 0 one)" 3 'the maker of a 0444 file writes it'
stop nfsd
start nfsd -p 2049 && wait_for 10 nfs null
is "$(nfs -u 1000 write "$f" 0 two)" 3 'and goes on after a restart'
is "$(nfs -u 1001 write "$f" 0 bad)" ACCES 'nobody else does'
nfs -u 1000 setattr "$f" 200 >/dev/null
is "$(nfs -u 1000 read "$f" 0 3)" two 'a 0200 file is read by its owner'
is "$(nfs -u 1001 read "$f" 0 3)" ACCES 'and by nobody else'
chmod 711 "$T/x/locked"
is "$(nfs -u 1001 read "$f" 0 3)" two 'who may execute may read'
is "$(nfs -u 1000 truncate "$f" 1)" '' 'the owner cuts it'

# A change of mode is seen at once, though rights are remembered.
echo open >"$T/x/open" && chmod 644 "$T/x/open"
o=$(nfs lookup "$x" open)
is "$(nfs -u 1000 read "$o" 0 4)" open 'readable'
is "$(nfs -u 1000 read "$o" 0 4)" open 'again'
chmod 600 "$T/x/open"
is "$(nfs -u 1000 read "$o" 0 4)" ACCES 'not any more'

# Who may come, with which port, and what a read-only export refuses.
r=$(nfs mnt "$T/ro")
for c in "create $r f 644" "mkdir $r d 755" "symlink $r l x" "remove $r f" \
	"rmdir $r f" "rename $r a $r b" "mknod $r f 7" "setattr $r 755"; do
	# shellcheck disable=SC2086 # words of the command
	is "$(nfs $c)" ROFS "read-only: ${c%% *}"
done
is "$(nfs access "$r" 0x3f)" 0x3 'read-only: ACCESS grants no change'
q=$(nfs -s 700 mnt "$T/secure")
is "$(nfs getattr "$q")" ACCES 'secure: not from a port above 1023'
like "$(nfs -s 901 getattr "$q")" 'type=2' 'secure: from one below'
host_add there 10.9.0.1/24 10.9.0.2/24
is "$(on_host there "$top/tests/lib/nfs_call.py" -h 10.9.0.1 getattr "$x")" \
	ACCES 'a handle is worth nothing at another address'
is "$(nfs -u 1000 mknod "$x" dev 4)" PERM 'nobody makes device nodes'
like "$(nfs -u 1000 mknod "$x" fifo 7)" '^[0-9a-f]{64}$' 'but FIFOs'
is "$(nfs -u 1000 read "$(nfs lookup "$x" fifo)" 0 1)" INVAL 'never opened'

# Squash mode and root mode, chosen by the exports.
exports "$T/all 127.0.0.1(rw,insecure,all_squash,anonuid=1234,anongid=4321)"
kill -HUP "${pid[nfsd]}"
wait_for 5 grep -q 'mode: squash' "$T/nfsd.log"
wait_for 10 nfs -u 1000 create "$all" squash 644
is "$(owner "$T/all/squash")" 1234:4321 'squash mode: the one user'
like "$(grep 'worker: sandbox' "$T/nfsd.log" | tail -n 1)" 'caps=none' \
	'squash mode: no capability'
exports "$base
$T/trust 127.0.0.1(rw,insecure,no_root_squash)"
kill -HUP "${pid[nfsd]}"
wait_for 5 grep -q 'mode: root' "$T/nfsd.log"
stop mountd
start mountd -p 20048
t=$(nfs mnt "$T/trust")
wait_for 10 nfs getattr "$t"
nfs -u 0:0 create "$t" root 600 >/dev/null
is "$(owner "$T/trust/root")" 0:0 'root mode: root is root where he may'
nfs -u 0:0 create "$x" squashed 600 >/dev/null
is "$(owner "$T/x/squashed")" 65534:65534 'and nobody elsewhere'
nfs -u 1000:1000 create "$t" user 600 >/dev/null
is "$(owner "$T/trust/user")" 1000:1000 'others stay themselves'
is "$(nfs -u 1000 read "$(nfs lookup "$t" root)" 0 1)" ACCES \
	'and have no right of root'"'"'s'
is "$(nfs -u 0 read "$(nfs lookup "$t" user)" 0 1)" '' 'root reads everything'
echo old >"$T/trust/other" && chown 1000 "$T/trust/other" && chmod 600 "$T/trust/other"
o=$(nfs lookup "$t" other)
is "$(nfs -u 0 write "$o" 0 new)" 3 'and writes it'
is "$(nfs -u 1001 write "$o" 0 bad)" ACCES 'where others do not'
mkdir -m 700 "$T/trust/closed" && chown 1000 "$T/trust/closed"
c=$(nfs lookup "$t" closed)
is "$(nfs -u 1001 link "$o" "$c" name)" ACCES 'nobody links into another'"'"'s directory'
is "$(nfs -u 0 link "$o" "$c" name)" '' 'but root'
like "$(nfs -u 0 create "$c" in 644)" '^[0-9a-f]{64}$' 'and enters everywhere'
is "$(nfs -u 1001 create "$c" out 644)" ACCES 'others do not'
is "$(nfs -u 0 mknod "$t" dev 4)" PERM 'device nodes need -o mknod'
done_testing

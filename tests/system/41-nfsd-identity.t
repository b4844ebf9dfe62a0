#!/bin/bash
# SPDX-License-Identifier: ISC
#
# The identity of a caller: squashing, groups, odd ids, the owner's rights,
# ACLs, read-only exports, and which clients are permitted, in the three modes.
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
like "$(cat "$T/nfsd.log")" 'mode: multi-user' 'nfsd runs in multi-user mode'

nfs -u 1000:1001 create "$x" mine 644 >"$T/mine"
is "$(owner "$T/x/mine")" 1000:1001 'a new file belongs to the caller'
nfs -u 0:0 create "$x" roots 644 >/dev/null
is "$(owner "$T/x/roots")" 65534:65534 'root is squashed to 65534'
nfs -u 1000:0:0,7 create "$x" zero 644 >/dev/null
is "$(owner "$T/x/zero")" 1000:65534 'group 0 is squashed to 65534'
for u in 65535 65536 131072 2147483648 4294967294; do
	nfs -u "$u:5" create "$x" "u$u" 644 >/dev/null
	is "$(owner "$T/x/u$u")" "$u:5" "user $u is not squashed"
done
nfs -u 4294967295:5 create "$x" minus 644 >/dev/null
is "$(owner "$T/x/minus")" 65534:65534 'user -1 is squashed to 65534'
all=$(nfs mnt "$T/all")
nfs -u 1000 create "$all" f 644 >/dev/null
is "$(owner "$T/all/f")" 1234:4321 'all_squash: every caller is the one user'

# Permissions are the kernel's.
echo secret >"$T/x/secret" && chmod 600 "$T/x/secret"
s=$(nfs lookup "$x" secret)
is "$(nfs -u 1000 read "$s" 0 10)" ACCES 'a file of another user is not read'
is "$(nfs -u 0 read "$s" 0 10)" ACCES 'squashed root does not read it'
chown 1000 "$T/x/secret"
is "$(nfs -u 1000 read "$s" 0 10)" secret 'the new owner reads it'
is "$(nfs -u 1001 read "$s" 0 10)" ACCES 'another user does not read it'
is "$(nfs -u 1001 write "$s" 0 x)" ACCES 'another user does not write it'
chown 5 "$T/x/secret" && chgrp 77 "$T/x/secret" && chmod 640 "$T/x/secret"
is "$(nfs -u 1001:1001:3,77 read "$s" 0 10)" secret 'a caller with its group reads it'
is "$(nfs -u 1001:1001:3,78 read "$s" 0 10)" ACCES 'a caller with another group does not'
is "$(nfs -u 1001:1001:3,77 access "$s" 0x3f)" 0x1 'ACCESS grants the same'
setfacl -m u:1002:rw "$T/x/secret"
is "$(nfs -u 1002 write "$s" 0 acl)" 3 'a user whom an ACL permits writes it'
setfacl -m g:88:--- -m o::r "$T/x/secret"
is "$(nfs -u 1003:88 read "$s" 0 10)" ACCES 'a group that an ACL excludes does not read it'
is "$(nfs -u 1003:89 read "$s" 0 3)" acl 'a user whom the mode permits reads it'
# A user with execute permission may read. An ACL decides, not the mode.
echo run >"$T/x/program" && chmod 755 "$T/x/program"
setfacl -m u:1002:--- "$T/x/program"
p=$(nfs lookup "$x" program)
is "$(nfs -u 1002 access "$p" 0x3f)" 0x0 'ACCESS grants nothing to a user that an ACL excludes'
is "$(nfs -u 1002 read "$p" 0 3)" ACCES 'that user does not read it'
is "$(nfs -u 1003 access "$p" 0x3f)" 0x21 'ACCESS grants others READ and EXECUTE'
chmod 700 "$T/x/program"
setfacl -m g::---,u:1002:x "$T/x/program"
chgrp 77 "$T/x/program"
is "$(nfs -u 1002 read "$p" 0 3)" run 'a user whom an ACL permits to execute reads'
is "$(nfs -u 1003:77 read "$p" 0 3)" ACCES 'the mask of an ACL permits no group'

# The owner of a file may use it by its handle, whatever its mode.
f=$(nfs -u 1000:1001 create "$x" locked 444)
is "$(nfs -u 1000 write "$f" 0 one)" 3 'the owner writes a file of mode 0444'
stop nfsd
start nfsd -p 2049 && wait_for 10 nfs null
is "$(nfs -u 1000 write "$f" 0 two)" 3 'the owner writes it after a restart'
is "$(nfs -u 1001 write "$f" 0 bad)" ACCES 'another user does not'
nfs -u 1000 setattr "$f" 200 >/dev/null
is "$(nfs -u 1000 read "$f" 0 3)" two 'the owner reads a file of mode 0200'
is "$(nfs -u 1001 read "$f" 0 3)" ACCES 'another user does not read it'
chmod 711 "$T/x/locked"
is "$(nfs -u 1001 read "$f" 0 3)" two 'a user with execute permission reads it'
is "$(nfs -u 1000 truncate "$f" 1)" '' 'the owner truncates it'

# A change of mode takes effect at once, although rights are cached.
echo open >"$T/x/open" && chmod 644 "$T/x/open"
o=$(nfs lookup "$x" open)
is "$(nfs -u 1000 read "$o" 0 4)" open 'a file of mode 0644 is read'
is "$(nfs -u 1000 read "$o" 0 4)" open 'it is read again'
chmod 600 "$T/x/open"
is "$(nfs -u 1000 read "$o" 0 4)" ACCES 'it is not read after chmod 600'

# Which addresses and ports are permitted, and what a read-only export refuses.
r=$(nfs mnt "$T/ro")
for c in "create $r f 644" "mkdir $r d 755" "symlink $r l x" "remove $r f" \
	"rmdir $r f" "rename $r a $r b" "mknod $r f 7" "setattr $r 755"; do
	# shellcheck disable=SC2086 # words of the command
	is "$(nfs $c)" ROFS "read-only: ${c%% *} is refused"
done
is "$(nfs access "$r" 0x3f)" 0x3 'read-only: ACCESS grants no change'
q=$(nfs -s 700 mnt "$T/secure")
is "$(nfs getattr "$q")" ACCES 'secure: a port above 1023 is refused'
like "$(nfs -s 901 getattr "$q")" 'type=2' 'secure: a port below 1024 is permitted'
host_add there 10.9.0.1/24 10.9.0.2/24
is "$(on_host there "$top/tests/lib/nfs_call.py" -h 10.9.0.1 getattr "$x")" \
	ACCES 'a valid handle is refused from another address'
is "$(nfs -u 1000 mknod "$x" dev 4)" PERM 'a plain user makes no device nodes'
like "$(nfs -u 1000 mknod "$x" fifo 7)" '^[0-9a-f]{64}$' 'a plain user makes a fifo'
is "$(nfs -u 1000 read "$(nfs lookup "$x" fifo)" 0 1)" INVAL 'READ of a fifo gets INVAL'

# Squash mode and root mode, chosen by the exports.
exports "$T/all 127.0.0.1(rw,insecure,all_squash,anonuid=1234,anongid=4321)"
kill -HUP "${pid[nfsd]}"
wait_for 5 grep -q 'mode: squash' "$T/nfsd.log"
wait_for 10 nfs -u 1000 create "$all" squash 644
is "$(owner "$T/all/squash")" 1234:4321 'squash mode: a new file belongs to the one user'
# The mode is logged before the worker of the old one ends, which may have served.
has_none() { grep 'worker: sandbox' "$T/nfsd.log" | tail -n 1 | grep -q 'caps=none'; }
check 'squash mode: the worker has no capability' wait_for 10 has_none
exports "$base
$T/trust 127.0.0.1(rw,insecure,no_root_squash)"
kill -HUP "${pid[nfsd]}"
wait_for 5 grep -q 'mode: root' "$T/nfsd.log"
stop mountd
start mountd -p 20048
t=$(nfs mnt "$T/trust")
wait_for 10 nfs getattr "$t"
nfs -u 0:0 create "$t" root 600 >/dev/null
is "$(owner "$T/trust/root")" 0:0 'root mode: root is root in a no_root_squash export'
nfs -u 0:0 create "$x" squashed 600 >/dev/null
is "$(owner "$T/x/squashed")" 65534:65534 'root mode: root is squashed in other exports'
nfs -u 1000:1000 create "$t" user 600 >/dev/null
is "$(owner "$T/trust/user")" 1000:1000 'root mode: other users are not squashed'
is "$(nfs -u 1000 read "$(nfs lookup "$t" root)" 0 1)" ACCES \
	'root mode: other users do not read files of root'
is "$(nfs -u 0 read "$(nfs lookup "$t" user)" 0 1)" '' 'root mode: root reads any file'
echo old >"$T/trust/other" && chown 1000 "$T/trust/other" && chmod 600 "$T/trust/other"
o=$(nfs lookup "$t" other)
is "$(nfs -u 0 write "$o" 0 new)" 3 'root mode: root writes any file'
is "$(nfs -u 1001 write "$o" 0 bad)" ACCES 'root mode: other users do not'
mkdir -m 700 "$T/trust/closed" && chown 1000 "$T/trust/closed"
c=$(nfs lookup "$t" closed)
is "$(nfs -u 1001 link "$o" "$c" name)" ACCES 'root mode: a user does not link into a directory of another'
is "$(nfs -u 0 link "$o" "$c" name)" '' 'root mode: root links into any directory'
like "$(nfs -u 0 create "$c" in 644)" '^[0-9a-f]{64}$' 'root mode: root creates files in any directory'
is "$(nfs -u 1001 create "$c" out 644)" ACCES 'root mode: other users do not create files there'
is "$(nfs -u 0 mknod "$t" dev 4)" PERM 'device nodes need -o mknod'
done_testing

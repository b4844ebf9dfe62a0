#!/bin/bash
# SPDX-License-Identifier: ISC
#
# Users and groups that have other numbers on the client: callers, owners that
# are seen and set, ACLs; and what is refused.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3 setfacl acl

owner() { stat -c %u:%g "$1"; }
seen() { nfs getattr "$1" | tr ' ' '\n' | sed -n 's/^uid=//p;s/^gid=//p' | paste -sd:; }

mkdir "$T/x" "$T/x/closed" "$T/root"
chmod 1777 "$T/x"
mkdir "$T/x/closed/inner"
chown 1000:100 "$T/x/closed" && chmod 011 "$T/x/closed"
tern_start "$T/x 127.0.0.1(rw,insecure,map_uids=501/1000:2000-2999/12000,map_gids=20/100,squash_uids=600-699,squash_gids=5)
$T/root 127.0.0.1(rw,insecure,no_root_squash,map_uids=501/1000,map_gids=20/100)"
x=$(nfs mnt "$T/x")

f=$(nfs -u 501:20 create "$x" mine 600)
is "$(owner "$T/x/mine")" 1000:100 'user 501 of the client is 1000 here'
is "$(seen "$f")" 501:20 'the client sees its own number'
is "$(nfs -u 501:20 write "$f" 0 text)" 4 'and writes its file'
is "$(nfs -u 1000:100 read "$f" 0 4)" ACCES \
    'user 1000 of the client is not user 1000 here'
nfs -u 1000:100 create "$x" theirs 644 >/dev/null
is "$(owner "$T/x/theirs")" 65534:65534 'but anonymous'
nfs -u 2999:7 create "$x" range 644 >/dev/null
is "$(owner "$T/x/range")" 12999:7 'the last of a range'
nfs -u 650:5:20 create "$x" listed 644 >/dev/null
is "$(owner "$T/x/listed")" 65534:65534 'listed numbers are squashed'
nfs -u 0:0 create "$x" roots 644 >/dev/null
is "$(owner "$T/x/roots")" 65534:65534 'root is'

r=$(nfs create "$(nfs mnt "$T/root")" given 644)
is "$(nfs chown "$r" 501 20)$(owner "$T/root/given")" 1000:100 'owners that a client sets are mapped'
is "$(seen "$r")" 501:20 'and it sees what it has set'
is "$(nfs chown "$r" 7 100)$(owner "$T/root/given")" 7:65534 \
    'a number that another is mapped to becomes anonymous there too'

touch "$T/x/foreign" && chown 501:20 "$T/x/foreign"
is "$(seen "$(nfs lookup "$x" foreign)")" 65534:65534 \
    'a file of a local user whose number is taken there belongs to nobody'
touch "$T/x/group" && chown 9:100 "$T/x/group" && chmod 640 "$T/x/group"
is "$(nfs -u 9999:7:20 read "$(nfs lookup "$x" group)" 0 1)" '' \
    'a further group is mapped too'
is "$(nfs -u 9999:7:100 read "$(nfs lookup "$x" group)" 0 1)" ACCES \
    'and not one that another is mapped to'

setfacl -m u:1000:r,u:501:r "$T/x/group"
g=$(nfs lookup "$x" group)
is "$(nfs -u 501:20 getacl "$g")" '1:9:6 2:65534:4 2:501:4 4:20:4 16:0:4 32:0:0' \
    'an ACL has the numbers of the client'
is "$(nfs -u 501:20 setacl "$f" 1:0:6 2:2000:4 2:7:4 4:0:0 8:20:4 16:0:4 32:0:0)" '' \
    'the client sets one'
is "$(getfacl -cpnE "$T/x/mine" | grep -E '^(user|group):[0-9]' | paste -sd,)" \
    'user:7:r--,user:12000:r--,group:100:r--' 'which has the numbers here'

is "$(nfs -u 501:20 mnt "$T/x/closed/inner")" ACCES \
    'mountd judges a path by the mapped user, whom this directory excludes'
is "$(nfs -u 1000:100 mnt "$T/x/closed/inner" | wc -c)" 65 \
    'and not by the number of the client'

for bad in 'map_uids=501' 'map_uids=1/10:2/10' 'map_uids=1/10:1/11' \
    'squash_uids=9-5' 'map_uids=5/0' 'map_gids=5/0'; do
	echo "$T/x 127.0.0.1(rw,$bad)" >"$T/bad"
	out=$("$O/mountd/mountd" -n -f "$T/bad" 2>&1)
	is $? 1 "$bad is refused"
	like "$out" "$T/bad:1" 'with file and line'
done
like "$("$O/mountd/mountd" -n -f "$T/exports" -x 127.0.0.1)" \
    'users 501/1000, 2000-2999/12000, 600-699 squashed; groups 20/100, 5 squashed' \
    'mountd -n -x shows the maps'
done_testing

#!/bin/bash
# SPDX-License-Identifier: ISC
# A kernel that lacks what came after Debian 12's: fchmodat2 (Linux 6.6) and
# its likes. What is called instead must be in the filters too.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3 setfacl acl

here=${0%/*}

mkdir "$T/x"
chmod 1777 "$T/x"
TERN_WRAP="$here/without.py 452,464" tern_start "$T/x 127.0.0.1(rw,insecure)" -w 1
x=$(nfs mnt "$T/x")
echo run >"$T/x/program" && chmod 755 "$T/x/program"
echo run >"$T/x/granted" && chmod 700 "$T/x/granted"
setfacl -m u:1000:x "$T/x/granted" # group bits of the mode: x, but not for the group
chgrp 77 "$T/x/granted"

is "$(nfs -u 1000 access "$(nfs lookup "$x" program)" 0x20)" 0x20 \
    'who may execute is told so'
g=$(nfs lookup "$x" granted)
is "$(nfs -u 1000 read "$g" 0 3)" run 'an ACL that lets him execute lets him read'
is "$(nfs -u 1001:77 read "$g" 0 3)" ACCES 'the group it does not'
f=$(nfs -u 1000 create "$x" mine 644)
is "$(nfs -u 1000 setattr "$f" 600)" '' 'the mode of a file is changed'
is "$(stat -c %a "$T/x/mine")" 600 'as the client said'
unlike "$(cat "$T/nfsd.log")" 'killed' 'no process was killed'
done_testing

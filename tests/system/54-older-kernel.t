#!/bin/bash
# SPDX-License-Identifier: ISC
# A kernel without system calls newer than Debian 12, such as fchmodat2 (Linux
# 6.6). The filters must permit the calls that replace them.
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
    'ACCESS grants EXECUTE to a user with execute permission'
g=$(nfs lookup "$x" granted)
is "$(nfs -u 1000 read "$g" 0 3)" run 'a user whom an ACL permits to execute reads'
is "$(nfs -u 1001:77 read "$g" 0 3)" ACCES 'its group does not read'
f=$(nfs -u 1000 create "$x" mine 644)
is "$(nfs -u 1000 setattr "$f" 600)" '' 'SETATTR of a mode succeeds'
is "$(stat -c %a "$T/x/mine")" 600 'the file has the new mode'
is "$(nfs -u 1000 setattr "$f" 0)$(nfs -u 1000 setattr "$f" 640)" '' \
    'also if its owner may not read it'
is "$(stat -c %a "$T/x/mine")" 640 'the file has the new mode again'
mkfifo -m 644 "$T/x/fifo" && chown 1000 "$T/x/fifo"
p=$(nfs lookup "$x" fifo)
is "$(nfs -u 1000 setattr "$p" 644)" '' 'SETATTR of a fifo succeeds with the mode that it has'
is "$(nfs -u 1000 setattr "$p" 600)" INVAL 'and gets INVAL with another, which no call can set'
is "$(stat -c %a "$T/x/fifo")" 644 'the fifo keeps its mode'
unlike "$(cat "$T/nfsd.log")" 'killed' 'no process was killed'
done_testing

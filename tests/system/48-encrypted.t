#!/bin/bash
# SPDX-License-Identifier: ISC
# The names of an encrypted directory change when its key is added, although its
# times do not.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3
key() { "$top/tests/system/fscrypt.py" "$1" "$T/x/d"; }
ram 100
loop_fs encrypt 64 "$T/x" || skip_all 'no loop-mounted ext4'
mkdir "$T/x/d"
key make 2>"$T/key.out" || skip_all "no fscrypt: $(tail -n 1 "$T/key.out")"
touch "$T/x/d/a name in the clear"
sync
key lock
tern_start "$T/x 127.0.0.1(rw,insecure)" -w 1
d=$(nfs lookup "$(nfs mnt "$T/x")" d)
settled() { [ "$(date +%s)" -gt $((then + 1)) ]; }
then=$(date +%s)
wait_for 5 settled
unlike "$(nfs list "$d")" clear 'a locked directory lists encrypted names'
unlike "$(nfs list "$d")" clear 'it does the second time'
key unlock
like "$(nfs list "$d")" 'a name in the clear' 'an unlocked directory lists the names in the clear'
done_testing

#!/bin/bash
# SPDX-License-Identifier: ISC
# Handles of more files than are kept open are remembered, and only for the
# files they were made for.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3
ram 200
mkdir "$T/x"
loop_fs ext4 64 "$T/x" || skip_all 'no loop-mounted ext4'
mkdir "$T/x/many" "$T/x/others"
for i in $(seq 0 499); do : >"$T/x/many/f$i"; done
for i in $(seq 0 199); do : >"$T/x/others/f$i"; done
# Births of this second are not remembered.
settled() { [ "$(($(date +%s) - $(stat -c %W "$T/x/others/f199")))" -gt 2 ]; }
wait_for 10 settled
tern_start "$T/x 127.0.0.1(rw,insecure)" -w 1 -o files=64
check 'a directory of 500 with 64 files open' \
    "$top/tests/system/notes.py" "$T/x" "$T/run/nfsd.stats"
done_testing

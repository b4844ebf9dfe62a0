#!/bin/bash
# SPDX-License-Identifier: ISC
#
# SETATTR, CREATE, MKDIR and SYMLINK of several attributes do all or nothing, and
# what the same calls do locally.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3
ram 100
mkdir "$T/fs"
loop_fs ext4 64 "$T/fs" || skip_all 'no loop-mounted ext4'
mkdir -m 777 "$T/fs/x" "$T/fs/trust" "$T/fs/local"
chmod 777 "$T/fs"/{x,trust,local}
tern_start "$T/fs/x 127.0.0.1(rw,insecure)
$T/fs/trust 127.0.0.1(rw,insecure,no_root_squash)"
exec "$top/tests/system/attributes.py" "$T/fs/x" "$T/fs/trust" "$T/fs/local"

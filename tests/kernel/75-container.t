#!/bin/bash
# SPDX-License-Identifier: ISC
# A Linux kernel mounts Tern in a container without privilege, and works there as
# root and as other users. Only with LONG=1: 98-container.t has the rest.
# shellcheck source=tests/system/lib.sh
. "${0%/*}/../system/lib.sh"
[ -n "${LONG:-}" ] || skip_all "LONG=1 runs it"
# shellcheck source=tests/kernel/rig.sh
. "$top/tests/kernel/rig.sh"
# shellcheck source=tests/system/container.sh
. "$top/tests/system/container.sh"
private "$@"
need runc runc python3 python3
need_guest
need_daemons
guest_net 1
image
chmod 1777 "$T/srv"
echo '/srv 127.0.0.1(insecure) 10.77.0.0/24(rw,no_root_squash,setid)' >"$T/exports.d/data.exports"
config yes
run &
pid[container]=$!
wait_for 20 nfs null || bail "no container: $(cat "$T/out")"
EXPORT=/srv kernel_test 3 tcp ac 1 120 attrs append openfiles
contain kill tern TERM
wait "${pid[container]}"
is $? 0 'SIGTERM stops the container'
done_testing

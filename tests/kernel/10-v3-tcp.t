#!/bin/bash
# SPDX-License-Identifier: ISC
# A Linux kernel mounts Tern with NFS version 3 over TCP and works on it.
# LONG=1: all workloads, with attribute caching on and off.
# shellcheck source=tests/system/lib.sh
. "${0%/*}/../system/lib.sh"
private "$@"
# shellcheck source=tests/kernel/rig.sh
. "$top/tests/kernel/rig.sh"
need_guest
guest_server
if [ -n "${LONG:-}" ]; then
	kernel_test 3 tcp ac 10 3000 mountnfs "${all_work[@]}" acl
	kernel_test 3 tcp noac 1 1500 mountnfs "${all_work[@]}" acl
else
	kernel_test 3 tcp ac 1 600 mountnfs posix copytree openfiles append \
	    names fsx stress acl
fi
done_testing

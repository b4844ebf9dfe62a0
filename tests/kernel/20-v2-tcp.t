#!/bin/bash
# SPDX-License-Identifier: ISC
# A Linux kernel mounts Tern with NFS version 2 over TCP and works on it.
# LONG=1: all workloads, with attribute caching on and off.
# shellcheck source=tests/system/lib.sh
. "${0%/*}/../system/lib.sh"
private "$@"
# shellcheck source=tests/kernel/rig.sh
. "$top/tests/kernel/rig.sh"
need_guest
guest_server
if [ -n "${LONG:-}" ]; then
	kernel_test 2 tcp ac 10 3000 "${all_work[@]}"
	kernel_test 2 tcp noac 1 1500 "${all_work[@]}"
else
	kernel_test 2 tcp ac 1 600 posix copytree openfiles append names fsx \
	    stress
fi
done_testing

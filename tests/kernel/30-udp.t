#!/bin/bash
# SPDX-License-Identifier: ISC
# A Linux kernel mounts Tern over UDP, versions 3 and 2. Only with LONG=1: a
# kernel has to be fetched and a module built, and the guest is emulated.
# shellcheck source=tests/system/lib.sh
. "${0%/*}/../system/lib.sh"
[ -n "${LONG:-}" ] || skip_all "LONG=1 runs it"
UDP_GUEST=$(built kernel)/udp
why=$("${0%/*}/udp-guest" "$UDP_GUEST" 2>&1) || skip_all "$why"
export UDP_GUEST
private "$@"
# shellcheck source=tests/kernel/rig.sh
. "$top/tests/kernel/rig.sh"
guest_server
kernel_test 3 udp ac 1 400 "${all_work[@]}"
kernel_test 2 udp ac 1 400 "${all_work[@]}"
done_testing

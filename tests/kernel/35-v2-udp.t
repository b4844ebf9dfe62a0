#!/bin/bash
# SPDX-License-Identifier: ISC
# A Linux kernel mounts Tern with NFS version 2 over UDP and works on it, with
# attribute caching on and off. Only with LONG=1: the test fetches a kernel,
# builds a module and emulates the guest.
# shellcheck source=tests/system/lib.sh
. "${0%/*}/../system/lib.sh"
[ -n "${LONG:-}" ] || skip_all "LONG=1 runs it"
# shellcheck source=tests/kernel/rig.sh
. "$top/tests/kernel/rig.sh"
udp_guest
[ -z "$NO_UDP" ] || skip_all "$NO_UDP"
private "$@"
need_guest
guest_server
kernel_test 2 udp ac 1 3000 "${all_work[@]}"
kernel_test 2 udp noac 1 1500 "${all_work[@]}"
done_testing

#!/bin/bash
# SPDX-License-Identifier: ISC
# Traffic of a Linux kernel and Tern as Wireshark sees it: no malformed packet
# and no expert error, in both versions and over UDP. Only with LONG=1. (Without
# large files: tshark loses its place in such streams.)
# shellcheck source=tests/system/lib.sh
. "${0%/*}/../system/lib.sh"
[ -n "${LONG:-}" ] || skip_all "LONG=1 runs it"
need tshark tshark
# shellcheck source=tests/kernel/rig.sh
. "$top/tests/kernel/rig.sh"
udp_guest
private "$@"
# shellcheck source=tests/interop/tshark.sh
. "$top/tests/interop/tshark.sh"
need_guest
guest_server

judged() { # VERSION PROTOCOL
	capture_start tap0 "v$1$2"
	kernel_test "$1" "$2" ac 1 900 posix openfiles names attrs
	capture_stop
	judge "v$1$2" "version $1 over $2" 2000
}
unset TABLE # these rows are not measured
judged 3 tcp
judged 2 tcp
if [ -z "$NO_UDP" ]; then judged 3 udp; else skip "$NO_UDP"; fi
done_testing

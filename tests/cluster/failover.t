#!/bin/bash
# SPDX-License-Identifier: ISC
# Two heads on $ENGINE, a floating address of each family, and a Linux kernel as client
# that works all the time. The head with the address fails in every way that the engine
# is tried with, COUNT times each. No program sees an error, and none waits longer than
# the address was away, and 2 s. OLD=DIRECTORY has the programs of an older Tern for
# head-b. Without KINDS it is every kind that the engine is tried with.
# shellcheck source=tests/system/lib.sh
. "${0%/*}/../system/lib.sh"
# shellcheck source=tests/kernel/rig.sh
. "$top/tests/kernel/rig.sh"
# shellcheck source=tests/cluster/heads.sh
. "$top/tests/cluster/heads.sh"
engine=${ENGINE:-ideal}
[ -n "${TERN_PRIVATE:-}" ] || engine_do install || bail "$engine cannot be installed"
private "$@"
need_guest
need_daemons
need perl perl-base ss iproute2 python3 python3
[ -z "${OLD:-}" ] || programs[head-b]=$OLD
cluster_start "$engine"
for kind in ${KINDS:-$("${engine}_kinds")}; do
	for ((i = 0; i < ${COUNT:-10}; i++)); do failure "$kind"; done
done
cluster_end
done_testing

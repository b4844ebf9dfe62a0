#!/bin/bash
# SPDX-License-Identifier: ISC
# Two heads on one ext4 that both see, a floating address of each family, and a Linux
# kernel as client that works all the time. The head with the address is stopped, then
# killed; then one hangs. No program sees an error, and none waits much longer than
# the address was away. make check-cluster does this with real engines, many times.
# Repeats are counted apart: calls that the other head did again, since their reply was
# lost with the first.
# shellcheck source=tests/system/lib.sh
. "${0%/*}/../system/lib.sh"
# shellcheck source=tests/kernel/rig.sh
. "$top/tests/kernel/rig.sh"
# shellcheck source=tests/cluster/heads.sh
. "$top/tests/cluster/heads.sh"
private "$@"
need_guest
need_daemons
need perl perl-base ss iproute2 python3 python3
MARGIN=$(patient 2)
cluster_start ideal
for kind in stopped killed hung; do failure $kind; done
cluster_end
done_testing

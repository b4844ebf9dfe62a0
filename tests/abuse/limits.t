#!/bin/bash
# SPDX-License-Identifier: ISC
#
# When a client is refused because of a limit, the log says once which limit it is
# and what raises it.
# Runs in: the tests.
. "${0%/*}/../system/lib.sh"
private "$@"
need python3 python3
need_daemons
mkdir "$T/elsewhere" "$T/outside"
ip address add 10.66.0.1/32 dev lo # rates are not limited on 127.0.0.1
python3 "$top/tests/abuse/limits.py"

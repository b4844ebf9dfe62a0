# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2010,SC2012,SC2046,SC2059,SC2103,SC2154,SC2164
# Random work on names (fsstress style) against a model in memory, three at once.
chmod 777 .
"$BIN/stress" . 3 $((30 * SCALE)) 7

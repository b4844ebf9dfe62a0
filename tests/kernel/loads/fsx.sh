# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2010,SC2012,SC2046,SC2059,SC2103,SC2154,SC2164
# Random reads, writes, truncations and mappings of a file against a copy in memory.
"$BIN/fsx" f $((50 * SCALE)) 1
"$BIN/fsx" g $((30 * SCALE)) 2 3000000
"$BIN/fsx" h $((50 * SCALE)) 3 20000

# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2154 # pid: lib.sh
#
# The cost of an operation at the nfsd that runs, and its fields. Source after
# lib.sh. SECS and WARM are the seconds of a run and those before it.
# Runs in: make growth, make growth-wide.

load=$(built bench)/load
SECS=${SECS:-1}
WARM=${WARM:-3} # until the files in use are cached
[ -x "$load" ] || bail "$load is not built: make growth builds it"

# field NAME: prints that field of the JSON on standard input.
field() { sed -n "s/.*\"$1\": \([0-9.]*\).*/\1/p"; }
# one FILES EXPORT SPEC [FLAG...]: prints a line of JSON.
one() {
	local files=$1 export=$2 spec=$3
	shift 3
	"$load" "$@" -n "$files" -s "$SECS" -P "${pid[nfsd]}" -p 2049 -m 20048 -w "$WARM" \
	    -e "$export" "$spec" | grep '^{'
}
cost() { # FILES EXPORT SPEC [FLAG...]: CPU of the server, us for each unit
	one "$@" | python3 -c 'import json, sys
d = json.loads(sys.stdin.read())
print("%.2f" % (d["cpu_us_op"] * d["ops_s"] / d["units_s"]))'
}

# SPDX-License-Identifier: ISC
# shellcheck shell=sh
# Every lint test sources this file. A check prints each fault as one line,
# file:line:reason, and passes if it prints nothing:
#
#	. "${0%/*}/lib.sh"
#	check | none 'no file is longer than 800 lines'
#	done_testing
# Runs in: the tests.

set -eu
cd "$(dirname "$0")/../.."
LC_ALL=C
export LC_ALL
count=$(mktemp)
trap 'rm -f "$count"' EXIT

# Prints the tracked files (in a tarball all files) that match a pattern of git
# ls-files.
files() {
	if git rev-parse --git-dir >/dev/null 2>&1; then
		git ls-files --cached --others --exclude-standard -- "$@"
	else
		for pattern in "${@:-*}"; do
			find . -path ./build -prune -o -type f -path "./$pattern" -print
		done | sed 's,^\./,,'
	fi | sort -u | while read -r f; do [ ! -f "$f" ] || echo "$f"; done
}
sources() { files '*.c' '*.h'; }
product() { sources | grep -E '^(common|portmapd|mountd|nfsd)/'; }

# Prints file:line:text of C without comments and the contents of strings.
code() {
	xargs -r awk -f tests/lint/code.awk
}

none() {
	found=$(cat)
	echo x >>"$count"
	n=$(wc -l <"$count" | tr -d ' ')
	if [ -z "$found" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		printf '%s\n' "$found" | sed 's/^/#   /' | head -n 40 >&2
	fi
}

skip() {
	echo x >>"$count"
	echo "ok $(wc -l <"$count" | tr -d ' ') # skip $1"
}

skip_all() {
	echo "1..0 # skip $1"
	exit 0
}

done_testing() { echo "1..$(wc -l <"$count" | tr -d ' ')"; }

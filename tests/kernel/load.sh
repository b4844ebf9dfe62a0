#!/bin/bash
# SPDX-License-Identifier: ISC
#
# Runs one workload, loads/NAME.sh, in the current directory, with what they
# share; ends at the first command that fails and says which it was. No "a && b"
# in a workload: the shell would overlook a failing a.
# From the environment: MNT MNT2 (two mounts of the server, as of two clients),
# D D2 (the working directory in both), SCALE, VERS, BIN, HERE
# Runs in: the guest.
set -eu
trap 'echo "${BASH_SOURCE[0]##*/}:$LINENO: failed: $BASH_COMMAND"' ERR

# refused MESSAGE COMMAND...: it fails, and says so.
refused() {
	local want=$1 out
	shift
	if out=$("$@" 2>&1); then
		echo "allowed: $*"
		return 1
	fi
	case $out in
	*"$want"*) ;;
	*)
		echo "$*: $out (expected: $want)"
		return 1
		;;
	esac
}

# as USER COMMAND...
as() {
	local user=$1
	shift
	setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups -- "$@"
}

# Every byte comes from the server again.
cold() {
	sync
	echo 3 >/proc/sys/vm/drop_caches
}

# random BYTES FILE: up to 12,000 bytes that differ from file to file; starts no
# process, which is what costs time in a guest.
pool=
random() {
	local LC_ALL=C
	[ -n "$pool" ] || pool=$(head -c 34000 /dev/urandom | base64 -w 0)
	printf %s "${pool:RANDOM:$1}" >"$2"
}

# shellcheck source=/dev/null
. "$HERE/loads/$1.sh"

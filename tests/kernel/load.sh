#!/bin/bash
# SPDX-License-Identifier: ISC
#
# Runs one workload, loads/NAME.sh, in the current directory, with the functions
# that workloads share. It ends at the first command that fails and prints it. A
# workload must not use "a && b": the shell would ignore a failing a.
# From the environment: MNT MNT2 (two mounts of the server, as of two clients),
# D D2 (the working directory in both), SCALE, VERS, BIN, HERE
# Runs in: the guest.
set -eu
trap 'echo "${BASH_SOURCE[0]##*/}:$LINENO: failed: $BASH_COMMAND"' ERR

# refused MESSAGE COMMAND...: the command must fail with this message.
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

# Drops caches: every byte comes from the server again.
cold() {
	sync
	echo 3 >/proc/sys/vm/drop_caches
}

# random BYTES FILE: up to 12,000 bytes that differ from file to file. It starts
# no process, since that is slow in a guest.
pool=
random() {
	local LC_ALL=C
	[ -n "$pool" ] || pool=$(head -c 34000 /dev/urandom | base64 -w 0)
	printf %s "${pool:RANDOM:$1}" >"$2"
}

# shellcheck source=/dev/null
. "$HERE/loads/$1.sh"

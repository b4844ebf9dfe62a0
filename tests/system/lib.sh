# SPDX-License-Identifier: ISC
# shellcheck shell=bash
#
# What every system test starts with:
#
#	. "${0%/*}/lib.sh"
#	private "$@"		(root; own network, mounts, processes, users)
#	tern_start '/x 127.0.0.1(rw)'
#	check 'answers NULL' rpcinfo -t 127.0.0.1 nfs 3
#	done_testing
#
# A test that calls private runs itself again inside its own namespaces, with
# only loopback, its own process tree, /run and users. So tests can run in
# parallel, use port 111, and leave nothing behind however they end. The
# programs under test come from $O (default: the top of the tree).
# Runs in: the tests.

set -u
umask 022
export LC_ALL=C.UTF-8
# Without these, Python and Bash read /etc/passwd, and a test makes that a pipe.
export HOME="${HOME:-/}" SHELL="${SHELL:-/bin/sh}"
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
O=${O:-$top}
case $O in /*) ;; *) O=$(cd "$top" && cd "$O" && pwd) ;; esac
export O top PATH="$PATH:/usr/sbin:/sbin"
# The Python client that all tests share; no compiled files in the tree.
export PYTHONPATH=$top/tests/lib PYTHONDONTWRITEBYTECODE=1

_tests=0
_failed=0
_at_end=()
declare -A pid=()

# ---- TAP ---------------------------------------------------------------------

diag() { printf '%s\n' "$*" | sed 's/^/# /'; }

# ok STATUS DESCRIPTION: passes when STATUS is 0.
ok() {
	_tests=$((_tests + 1))
	if [ "$1" = 0 ]; then
		echo "ok $_tests - $2"
		return 0
	fi
	_failed=$((_failed + 1))
	echo "not ok $_tests - $2"
	echo "#   failed: $2" >&2 # prove shows standard error only
	return 1
}

# is GOT WANT DESCRIPTION
is() {
	if [ "$1" = "$2" ]; then
		ok 0 "$3"
	else
		ok 1 "$3"
		diag "got:  $1"
		diag "want: $2"
		return 1
	fi
}

# like TEXT EXTENDED-REGEX DESCRIPTION
like() {
	if printf '%s\n' "$1" | grep -Eq -- "$2"; then
		ok 0 "$3"
	else
		ok 1 "$3"
		diag "got:     $1"
		diag "no match: $2"
		return 1
	fi
}

# unlike TEXT EXTENDED-REGEX DESCRIPTION
unlike() {
	if printf '%s\n' "$1" | grep -Eq -- "$2"; then
		ok 1 "$3"
		diag "got:     $1"
		diag "matches: $2"
		return 1
	fi
	ok 0 "$3"
}

# check DESCRIPTION COMMAND...: passes when the command succeeds.
check() {
	local what=$1
	shift
	# not in a subshell: the command may be start, loop_fs, ...
	if "$@" >"${T:?}/check.out" 2>&1; then
		ok 0 "$what"
	else
		ok 1 "$what"
		diag "$*: $(head -c 2000 "$T/check.out")"
		return 1
	fi
}

# check_not DESCRIPTION COMMAND...: passes when the command fails.
check_not() {
	local what=$1
	shift
	if "$@" >"${T:?}/check.out" 2>&1; then
		ok 1 "$what"
		diag "succeeded: $*: $(head -c 2000 "$T/check.out")"
		return 1
	fi
	ok 0 "$what"
}

# lines_ok COMMAND...: each line "STATUS TEXT" that it prints is a test.
lines_ok() {
	local status what
	"$@" >"$T/lines" 2>"$T/lines.err"
	ok $? "$2 comes to its end" || diag "$(cat "$T/lines.err")"
	while read -r status what; do
		ok "$status" "$what"
	done <"$T/lines"
}

# skip REASON [COUNT]: this many tests are not run.
skip() {
	local n=${2:-1}
	while [ "$n" -gt 0 ]; do
		_tests=$((_tests + 1)) n=$((n - 1))
		echo "ok $_tests # skip $1"
	done
}

# skip_all REASON: this machine cannot run the test. A make target that is for this
# test alone sets MUST_RUN, and then that is a failure.
skip_all() {
	[ -z "${MUST_RUN:-}" ] || bail "$*"
	echo "1..0 # skip $*"
	exit 0
}

# Prints the plan. If a test failed, prints the daemons' logs as comments.
done_testing() {
	local f
	if [ $_failed -gt 0 ] && [ -n "${T:-}" ]; then
		for f in "$T"/*.log; do
			[ -s "$f" ] || continue
			diag "${f##*/}:"
			diag "$(tail -n "${LOG_LINES:-30}" "$f")"
		done
	fi
	echo "1..$_tests"
	exit $((_failed > 0))
}

bail() {
	echo "Bail out! $*"
	exit 1
}

# ---- surroundings --------------------------------------------------------------

# need COMMAND PACKAGE ...: skips the whole test when one is missing.
need() {
	while [ $# -gt 0 ]; do
		command -v "$1" >/dev/null || skip_all "no $1 (package $2)"
		shift 2
	done
}

# Is this a build with sanitizers? It has no filter and more memory.
sanitized() { grep -q __asan_init "$O/portmapd/portmapd"; }
# Has it no filter? The build of make cover has none either.
unfiltered() { sanitized || grep -q __gcov_dump "$O/portmapd/portmapd"; }
# The leak check traces the process, which the sandbox forbids.
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0}

need_root() { [ "$(id -u)" = 0 ] || skip_all "needs root"; }

need_daemons() {
	local p
	[ $# -gt 0 ] || set -- portmapd mountd nfsd
	for p; do
		[ -x "$O/$p/$p" ] || skip_all "$p is not built in $O"
	done
}

# at_end COMMAND...: runs when the test ends, last one first.
at_end() { _at_end+=("$*"); }

_cleanup() {
	local i
	for ((i = ${#_at_end[@]} - 1; i >= 0; i--)); do
		eval "${_at_end[i]}" >/dev/null 2>&1
	done
	# A daemon that is still ending would write into the removed directory.
	for i in "${pid[@]}"; do
		wait "$i"
	done 2>/dev/null
	cd /
	awk -v t="$T/" 'index($2 "/", t) == 1 { print $2 }' /proc/mounts | sort -r |
	    xargs -r umount -l 2>/dev/null
	[ -z "${KEEP:-}" ] || { echo "# kept: $T" && return; }
	rm -rf --one-file-system "$T"
}

# Makes $T, a directory of this test alone. All users can read it.
scratch() {
	T=$(mktemp -d "${TMPDIR:-/tmp}/tern-test.XXXXXX") || bail "no scratch"
	chmod 755 "$T"
	export T
	trap _cleanup EXIT
	trap 'exit 1' INT TERM HUP
}

# The users of a Tern host and two plain users, in an /etc of this test alone. A
# single file mounted over /etc/passwd would be lost when the installation of a
# package renames a new passwd over it.
_users() {
	mkdir "$T/etc"
	mount -t tmpfs -o mode=755 tmpfs "$T/etc" || bail "no tmpfs"
	cp -a /etc/. "$T/etc" 2>/dev/null # a file may vanish meanwhile
	sed -Ei '/^(_portmapd|_mountd|_nfsd|_nfsd-tls|_nfsd-metrics|_tern-resolve|alice|bob|both):/d' "$T"/etc/{passwd,group}
	cat >>"$T/etc/passwd" <<-E
	_portmapd:x:901:901::/nonexistent:/usr/sbin/nologin
	_mountd:x:902:902::/nonexistent:/usr/sbin/nologin
	_nfsd:x:903:903::/nonexistent:/usr/sbin/nologin
	_nfsd-tls:x:904:904::/nonexistent:/usr/sbin/nologin
	_nfsd-metrics:x:905:905::/nonexistent:/usr/sbin/nologin
	_tern-resolve:x:906:906::/nonexistent:/usr/sbin/nologin
	alice:x:1001:1001::/tmp:/bin/sh
	bob:x:1002:1002::/tmp:/bin/sh
	E
	cat >>"$T/etc/group" <<-E
	_portmapd:x:901:
	_mountd:x:902:
	_nfsd:x:903:
	_nfsd-tls:x:904:
	_nfsd-metrics:x:905:
	_tern-resolve:x:906:
	alice:x:1001:
	bob:x:1002:
	both:x:1100:alice,bob
	E
	mount --move "$T/etc" /etc || bail "cannot mount over /etc"
	rmdir "$T/etc"
}

# private "$@": continues in its own network, mount and process namespaces.
private() {
	if [ -z "${TERN_PRIVATE:-}" ]; then
		need_root
		need unshare util-linux ip iproute2
		unshare -n true 2>/dev/null || skip_all "no namespaces here"
		TERN_PRIVATE=1 exec unshare -n -m -p --fork --kill-child \
		    --mount-proc --propagation private "$BASH" "$0" "$@"
	fi
	unset TERN_PRIVATE
	scratch
	ip link set lo up
	mount -t tmpfs -o mode=755 tmpfs /run
	_users
}

# wait_for SECONDS COMMAND...: waits until it succeeds, or fails after SECONDS, 20
# at least: a machine that runs many tests has its pauses.
wait_for() {
	local end=$((SECONDS + ($1 > 20 ? $1 : 20)))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
}

# patient NUMBER: a limit of time for this machine, which others use too: the
# number if it is idle, and more by the load of each CPU.
patient() {
	awk -v n="$1" -v cpus="$(nproc)" '{ print int(n * (1 + $1 / cpus)) }' /proc/loadavg
}

# host_add NAME OUR-ADDRESS/LEN ITS-ADDRESS/LEN: adds another machine, a network
# namespace at the end of a virtual cable. The interfaces are NAME and eth0.
host_add() {
	unshare -n sleep infinity &
	pid[$1]=$!
	at_end "kill ${pid[$1]}"
	wait_for 5 _other_net "${pid[$1]}" || bail "no namespace for $1"
	ip link add "$1" type veth peer name eth0 netns "${pid[$1]}"
	ip address add "$2" dev "$1" nodad 2>/dev/null || ip address add "$2" dev "$1"
	ip link set "$1" up
	on_host "$1" ip link set lo up
	on_host "$1" ip address add "$3" dev eth0 nodad 2>/dev/null ||
	    on_host "$1" ip address add "$3" dev eth0
	on_host "$1" ip link set eth0 up
	wait_for 5 _link_up "$1"
}

_other_net() {
	[ "$(readlink /proc/self/ns/net)" != "$(readlink "/proc/$1/ns/net")" ]
}
_link_up() { ip -o link show "$1" | grep -q 'state UP'; }

# on_host NAME COMMAND...: runs the command on that machine.
on_host() {
	local name=$1
	shift
	nsenter -t "${pid[$name]}" -n -- "$@"
}

# as USER COMMAND...
as() {
	local user=$1
	shift
	setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups -- "$@"
}

# reachable: prints a directory like $O whose daemons every user can run. The
# clone itself may be in root's home.
reachable() {
	local p
	for p in portmapd mountd nfsd; do
		[ ! -x "$O/$p/$p" ] || install -D -m 755 "$O/$p/$p" "$T/programs/$p/$p"
	done
	echo "$T/programs"
}

# hex TEXT
hex() { printf %s "$1" | od -An -v -tx1 | tr -d ' \n'; }

# ram MEGABYTES: keeps later images of loop_fs in memory.
ram() {
	LOOP_IN=$T/ram
	mkdir -p "$LOOP_IN"
	mount -t tmpfs -o "size=$1m" tmpfs "$LOOP_IN"
}

# loop_fs TYPE MEGABYTES DIRECTORY: makes a filesystem and mounts it there. TYPE
# is ext4 (INODES sets their number), seconds (ext4 with times of whole
# seconds), encrypt (ext4 with encryption), xfs (from 300 MB) or btrfs (from 120
# MB). Fails if this machine cannot. The directory may be $T itself while it is
# empty.
loop_fs() {
	local image
	image=$(mktemp "${LOOP_IN:-$T}/loop.XXXXXX")
	truncate -s "$2M" "$image"
	case $1 in
	ext4) mkfs.ext4 -q -F ${INODES:+-N "$INODES"} "$image" ;;
	seconds) mkfs.ext4 -q -F -I 128 "$image" >/dev/null 2>&1 ;;
	encrypt) mkfs.ext4 -q -F -O encrypt "$image" ;;
	xfs) mkfs.xfs -q -f "$image" ;;
	btrfs) mkfs.btrfs -q -f "$image" ;;
	*) return 1 ;;
	esac || return 1
	mkdir -p "$3"
	mount -o loop "$image" "$3"
}

# built DIRECTORY: where make puts the helper programs of tests/DIRECTORY.
built() {
	local d=$O/tests/$1
	[ "$O" != "$top" ] || d=$top/build/tests/$1
	echo "$d"
}

# ---- daemons ---------------------------------------------------------------------

alive() { [ -n "${pid[$1]:-}" ] && kill -0 "${pid[$1]}" 2>/dev/null; }

# Is every socket of the daemon bound, or has it ended?
_started() { grep -q 'listening on' "$T/$1.log" || ! alive "$1"; }

# start portmapd|mountd|nfsd [FLAG...]: starts it in the foreground, logs to
# $T/NAME.log, and waits until it listens. Adds -s, -f, -k of this test.
start() {
	local p=$1 own=(-s "$T/run/portmap.sock")
	shift
	mkdir -p "$T/run" && chmod 755 "$T/run"
	[ "$p" = portmapd ] || own+=(-f "$T/exports" -k "$T/key")
	[ ! -e "$T/$p.log" ] || cat "$T/$p.log" >>"$T/$p.old.log"
	: >"$T/$p.log"
	# shellcheck disable=SC2086 # TERN_WRAP is a command with arguments
	${TERN_WRAP:-} "$O/$p/$p" -d "${own[@]}" "$@" 2>"$T/$p.log" >&2 &
	pid[$p]=$!
	at_end "kill ${pid[$p]}"
	wait_for "${START_SECONDS:-10}" _started "$p"
	if ! alive "$p" || ! grep -q 'listening on' "$T/$p.log"; then
		diag "$p did not start: $(tail -n 5 "$T/$p.log")"
		return 1
	fi
}

# stop NAME [SIGNAL]: ends it and waits. Returns the daemon's exit status.
stop() {
	local n=${pid[$1]:-}
	[ -n "$n" ] || return 0
	kill "-${2:-TERM}" "$n" 2>/dev/null
	unset "pid[$1]"
	wait "$n" 2>/dev/null
}

# start_again NAME [FLAG...]: after a kill -9 the roles need a moment to notice
# it and to close the port.
start_again() {
	local n
	for n in $(seq 30); do
		start "$@" >"$T/again.out" && return 0
		sleep 0.1
	done
	cat "$T/again.out"
	return 1
}

# exports TEXT: writes the file that the next start (or SIGHUP) reads.
exports() { printf '%s\n' "$1" >"$T/exports"; }

# tern_start EXPORTS-TEXT [NFSD-FLAG...]: starts all three, with ports 111 and
# 2049. Clients without a portmapper use port 2049.
tern_start() {
	exports "$1"
	shift
	need_daemons portmapd mountd nfsd
	start portmapd || bail "portmapd did not start"
	start mountd -p 20048 || bail "mountd did not start"
	start nfsd -p 2049 "$@" || bail "nfsd did not start"
	wait_for 10 registered 100005 3 tcp || bail "mountd is not registered"
	wait_for 10 registered 100003 3 tcp || bail "nfsd is not registered"
}

tern_stop() {
	local p rc=0
	for p in nfsd mountd portmapd; do
		stop $p || rc=1
	done
	return $rc
}

# registered PROGRAM VERSION tcp|udp: is it registered here?
registered() {
	rpcinfo -p 127.0.0.1 2>/dev/null |
	    awk -v p="$1" -v v="$2" -v t="$3" \
		'$1 == p && $2 == v && $3 == t { hit = 1 } END { exit !hit }'
}

# port_of NAME udp|tcp: the first port its log names.
port_of() {
	sed -n "s/.*listening on $2 .*:\([0-9]*\)\( .*\)*\$/\1/p" "$T/$1.log" |
	    head -n 1
}

# pids_of NAME: the daemon and all its roles.
pids_of() { _tree "${pid[$1]}"; }
_tree() {
	local c
	echo "$1"
	for c in $(pgrep -P "$1"); do
		_tree "$c"
	done
}

# halt PID: stops a process. kill(1) alone returns while its threads still run.
halt() { kill -STOP "$1" && wait_for 20 _halted "$1"; }
_halted() { awk '{ sub(/.*\) /, "") } !/^[Tt]/ { n++ } END { exit n > 0 }' "/proc/$1/task/"*/stat; }

# ---- clients ---------------------------------------------------------------------

# nfs [FLAG...] COMMAND...: one call of NFS 3, or MNT.
nfs() { "$top/tests/lib/nfs_call.py" "$@"; }
# pmap COMMAND...: calls of a portmapper that normal clients do not make.
pmap() { "$top/tests/system/pmap_call.py" "$@"; }

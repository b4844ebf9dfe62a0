# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2154,SC2034 # T, O, pid, number, programs...: lib.sh, heads.sh
#
# Heads that are kernels of their own (user-mode-linux), where the kernel of this
# machine lacks what the engine needs. Source after heads.sh: these functions take
# the place of those.
# Runs in: the tests.

# at HEAD COMMAND...: the head runs what it finds in its directory.
at() {
	local head=$1 c status
	shift
	c=$(mktemp -u "$T/shared-$head/XXXXXXXX")
	printf '%q ' "$@" >"$c.new"
	mv "$c.new" "$c.command"
	until read -r status <"$c.status"; do
		[ -n "${pid[$head]:-}" ] && kill -0 "${pid[$head]}" || return 1
		sleep 0.02
	done 2>/dev/null
	cat "$c.out"
	cat "$c.err" >&2
	return "$status"
}

# Their guests are number 9 and 10, so that the addresses are those of other heads.
_guest_of() { echo $((number[$1] + 8)); }
head_add() { # HEAD NUMBER
	local n console=$T/console-$1
	number[$1]=$2
	n=$(_guest_of "$1")
	rm -rf "$T/shared-$1"
	mkdir -p "$T/$1" "$T/shared-$1"
	ip link show "tap$n" >/dev/null 2>&1 || ip tuntap add "tap$n" mode tap || bail "no tap for $1"
	cable_in "$1"
	: >"$console"
	guest_boot "$n" "$cluster/kernel-head.sh" "HEAD=$1" "T=$T" "SHARED=$T/shared-$1"
	pid[$1]=${pid[guest$n]}
	unset "pid[guest$n]"
	wait_for 120 grep -q '^@@ head' "$console" || bail "$1 does not boot: $(tail "$console")"
	engine_do join "$1" || bail "$1 does not get the engine"
}
head_remove() { ip link del "tap$(_guest_of "$1")"; }
# Its network card does not survive a tap that is down.
cable_out() { ip link set "tap$(_guest_of "$1")" nomaster; }
cable_in() { ip link set "tap$(_guest_of "$1")" master br0 up; }

head_start() {
	local p own
	for p in portmapd mountd nfsd; do
		own=(-s "$T/$1/portmap.sock")
		[ $p = portmapd ] || own+=(-f "$T/exports" -k "$T/key")
		[ $p != mountd ] || own+=(-p 20048)
		[ $p != nfsd ] || own+=(-p 2049 -o "state=$T/$1")
		_start "$1" $p "${programs[$1]}/$p/$p" -d "${own[@]}"
	done
	_start "$1" takeover "$top/etc/tern-takeover" watch "$lists" "$four" "$six"
}
# _start HEAD NAME COMMAND...
_start() {
	# shellcheck disable=SC2016 # for the other shell
	at "$1" bash -c 'setsid "${@:2}" </dev/null >>"/run/shared/$1.log" 2>&1 & echo $! >"/run/$1.pid"' - "${@:2}"
}
head_runs() { at "$1" bash -c 'kill -0 "$(cat /run/nfsd.pid)"' 2>/dev/null; }
head_hang() { at "$1" bash -c 'pkill -STOP -P "$(cat /run/nfsd.pid)"'; }
head_kill() {
	[ -z "${pid[$1]:-}" ] || at "$1" bash -c 'kill -9 $(cat /run/takeover.pid) $(pgrep "^(nfsd|mountd|portmapd)")'
}
head_stop() {
	at "$1" bash -c 'for p in nfsd mountd portmapd takeover; do
		n=$(cat /run/$p.pid)
		kill $n
		while kill -0 $n 2>/dev/null; do sleep 0.05; done
	done'
}
power_off() {
	local all
	mapfile -t all < <(pids_of "$1")
	kill -9 "${all[@]}" 2>/dev/null
	wait "${pid[$1]}" 2>/dev/null
	off=$1
}

# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2154 # top, O, pid, rig, console: lib.sh, rig.sh
#
# Two heads, head-a and head-b: each has its own network and mounts, and runs Tern.
# A floating address of each family, 10.77.0.100 and fd77::100, is at one of them. A
# Linux kernel is the client. Source after lib.sh and tests/kernel/rig.sh.
#
# An engine is some functions: NAME_prepare once, when the bridge is there and no head;
# NAME_give HEAD and NAME_lose HEAD, which mount it at $T/export on the head that gets
# the address, and take it from the head that loses it; NAME_kinds prints the kinds of
# failure it is tried with.
# Runs in: the tests.

cluster=$top/tests/cluster
four=10.77.0.100 six=fd77::100
declare -A number=()
declare -A programs=([head-a]=$O [head-b]=$O) # which build a head runs

# at HEAD COMMAND...: with its network and its mounts.
at() {
	local head=$1
	shift
	nsenter -t "${pid[$head]}" -n -m -- "$@"
}
other() { if [ "$1" = head-a ]; then echo head-b; else echo head-a; fi; }

head_add() { # HEAD NUMBER
	number[$1]=$2
	unshare -n -m sleep infinity &
	pid[$1]=$!
	at_end "kill $!"
	wait_for 5 _other_net "${pid[$1]}" || bail "no namespace for $1"
	ip link add "$1" type veth peer name eth0 netns "${pid[$1]}"
	ip link set "$1" master br0 up
	at "$1" ip link set lo up
	at "$1" ip address add "10.77.0.1$2/24" dev eth0
	at "$1" ip -6 address add "fd77::1$2/64" dev eth0 nodad
	at "$1" ip link set eth0 up
	mkdir -p "$T/$1"
}

# head_start HEAD: all three daemons, and tern-takeover.
head_start() {
	local p own
	for p in portmapd mountd nfsd; do
		own=(-s "$T/$1/portmap.sock")
		[ $p = portmapd ] || own+=(-f "$T/exports" -k "$T/key")
		[ $p != mountd ] || own+=(-p 20048)
		[ $p != nfsd ] || own+=(-p 2049 -o "state=$T/$1")
		nsenter -t "${pid[$1]}" -n -m -- "${programs[$1]}/$p/$p" -d "${own[@]}" >>"$T/$1-$p.log" 2>&1 &
		pid["$1-$p"]=$!
		at_end "kill -9 $!"
	done
	nsenter -t "${pid[$1]}" -n -m -- "$top/etc/tern-takeover" -n "$1" -t 1 watch "$T/lists" "$four" "$six" \
	    >>"$T/$1-takeover.log" 2>&1 &
	pid[$1-takeover]=$!
	at_end "kill $!"
}
head_answers() { at "$1" "$O/nfsd/nfsd" -S -s "$T/$1/portmap.sock"; }
head_healthy() { at "$1" "$O/nfsd/nfsd" -H -s "$T/$1/portmap.sock" -o timeout=3; }
head_pids() {
	local p
	for p in nfsd mountd portmapd; do pids_of "$1-$p"; done
}
# head_kill HEAD: every process at once, as when the power fails.
head_kill() {
	local all p
	mapfile -t all < <(head_pids "$1")
	kill -9 "${all[@]}" "${pid[$1-takeover]}" 2>/dev/null
	for p in nfsd mountd portmapd takeover; do
		wait "${pid[$1-$p]}" 2>/dev/null
		unset "pid[$1-$p]"
	done
}
head_stop() {
	local p
	for p in nfsd mountd portmapd takeover; do stop "$1-$p"; done
}

come() {
	at "$1" ip address add $four/24 dev eth0
	at "$1" ip -6 address add $six/64 dev eth0 nodad
	at "$1" "$cluster/announce.py" eth0 $four $six
}
go() {
	at "$1" ip address del $four/24 dev eth0
	at "$1" ip -6 address del $six/64 dev eth0
}

# ---- engines -------------------------------------------------------------------

# One ext4 that both heads see: what a perfect engine would be.
ideal_prepare() {
	ram 900
	loop_fs ext4 800 "$T/export" || skip_all "no loop-mounted ext4"
}
ideal_give() { :; }
ideal_lose() { :; }
ideal_kinds() { echo moved stopped killed cable hung back; }

# A disk that one head mounts at a time.
disk_prepare() {
	ram 900
	loop_fs ext4 800 "$T/disk" || skip_all "no loop-mounted ext4"
	_device=$(awk -v d="$T/disk" '$2 == d { print $1 }' /proc/mounts)
	mkdir "$T/disk/data" "$T/export"
	chmod 777 "$T/disk/data"
	# Kept by a second descriptor: the loop device ends with its last user.
	exec {_held}<"$_device"
	umount "$T/disk"
}
_unmounted() { at "$1" umount "$T/export"; }
disk_give() {
	at "$1" mount "$_device" "$T/export"
	wait_for 20 head_healthy "$1"
}
disk_lose() { wait_for 20 _unmounted "$1"; }
disk_kinds() { echo stopped killed cable hung; }

# ---- failures ------------------------------------------------------------------

# What a manager needs to notice that a head is lost: keepalived with etc/keepalived.
notice() { sleep 1.2; }
# The manager fences a lost head where the engine is a disk: its power is off, and its
# kernel has lost everything when it comes back.
fence() {
	[ "$engine" = disk ] || return 0
	head_kill "$1"
	fenced=$1
}
# Each takes the head that has the address, and the other one.
over() { # FROM TO: the engine and the address come to the other head
	"${engine}_lose" "$1"
	"${engine}_give" "$2"
	come "$2"
}
fail_moved() { go "$1" && over "$@"; }
fail_stopped() {
	go "$1"
	over "$@"
	head_stop "$1"
}
fail_killed() {
	head_kill "$1"
	notice
	go "$1"
	over "$@"
}
fail_cable() {
	ip link set "$1" down
	notice
	fence "$1"
	over "$@"
}
# It takes calls and answers none of them, then it is lost.
fail_hung() {
	# shellcheck disable=SC2046 # a list of numbers
	kill -STOP $(pgrep -P "${pid[$1-nfsd]}")
	sleep 2
	ip link set "$1" down
	notice
	fence "$1"
	over "$@"
}
fail_back() {
	fail_moved "$1" "$2"
	fail_moved "$2" "$1"
	fail_moved "$1" "$2"
	fail_moved "$2" "$1"
	fail_moved "$1" "$2"
}

# heal HEAD: it is as it was, without the address.
heal() {
	if [ "${fenced:-}" = "$1" ]; then
		fenced=
		stop "$1" KILL
		ip link del "$1"
		head_add "$1" "${number[$1]}"
	fi
	at "$1" ip address del $four/24 dev eth0 2>/dev/null
	at "$1" ip -6 address del $six/64 dev eth0 2>/dev/null
	ip link set "$1" up
	# shellcheck disable=SC2046 # a list of numbers
	! alive "$1-nfsd" || kill -CONT $(pgrep -P "${pid[$1-nfsd]}")
	alive "$1-nfsd" || head_start "$1"
	wait_for 30 head_answers "$1"
}

# ---- what the client notices -------------------------------------------------------

now() { echo "$EPOCHREALTIME"; }
seconds() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.1f", b - a }'; }
# works_since TIME: has every process on the client ended what it began after TIME?
works_since() {
	tr -d '\r' <"$console" | awk -v t="$1" '$1 == "@@" && $2 == "alive" && $3 > t { hit = 1 } END { exit !hit }'
}
# noticed FROM: longest stall, errors and repeats of operations that ended after FROM.
noticed() {
	tr -d '\r' <"$console" | awk -v from="$1" '
	    $1 != "@@" { next }
	    $2 == "op" && $5 > from && $5 - ($4 > from ? $4 : from) > longest { longest = $5 - ($4 > from ? $4 : from) }
	    $2 == "error" && $5 > from { errors++ }
	    $2 == "repeat" && $5 > from { repeats++ }
	    END { printf "%.1f %d %d\n", longest, errors, repeats }'
}

# failure KIND: the head with the address fails so; the client goes on.
failure() {
	local begin end away stall errors repeats to unended=
	to=$(other "$has")
	begin=$(now)
	"fail_$1" "$has" "$to" >"$T/failure.out" 2>&1
	end=$(now)
	away=$(seconds "$begin" "$end")
	wait_for 150 works_since "$end"
	ok $? "$engine, $1: the client works on" || unended=1
	read -r stall errors repeats < <(noticed "$begin")
	[ -z "$unended" ] || { stall=$(seconds "$begin" "$(now)") && diag "$(tail -n 5 "$T/failure.out" "$console")"; }
	is "$errors" 0 "$engine, $1: no error" || diag "$(grep -a '@@ error' "$console" | tail -n 5)"
	awk -v s="$stall" -v a="$away" -v m="${MARGIN:-2}" 'BEGIN { exit s > a + m }'
	ok $? "$engine, $1: away $away s, longest stall $stall s, $repeats repeats"
	[ -z "${TABLE:-}" ] || echo "$engine${OLD:+,old} $1 $away $stall $errors $repeats" >>"$TABLE"
	heal "$has"
	has=$to
}

# cluster_start ENGINE: two heads that serve, and a client that works.
cluster_start() {
	local n
	engine=$1 has=head-a
	"${engine}_prepare"
	mkdir -p "$T/export" && chmod 777 "$T/export"
	mkdir -m 700 "$T/lists"
	dir=$T/export
	[ "$engine" != disk ] || dir=$T/export/data
	exports "$dir 10.77.0.0/24(rw,no_root_squash,insecure,fsid=77) fd77::/64(rw,no_root_squash,insecure,fsid=77)"
	guest_net 1
	for n in a:1 b:2; do
		head_add "head-${n%:*}" "${n#*:}"
		head_start "head-${n%:*}"
		wait_for 20 head_answers "head-${n%:*}" || bail "head-${n%:*} did not start"
	done
	"${engine}_give" $has
	wait_for 20 head_healthy $has || bail "$has is not healthy"
	come $has
	guest_start "$cluster/guest.sh" FOUR=$four SIX=$six "EXPORT=$dir" "STOP=$T/stop" "CLUSTER=$cluster"
	wait_for 180 works_since 1
	ok $? "$engine: the client works" || { diag "$(tail -n 30 "$console")" && done_testing; }
}

cluster_end() {
	: >"$T/stop"
	guest_wait 120
	ok $? "$engine: all appends are there once, and the client unmounts" ||
	    diag "$(tail -n 20 "$console")"
}

# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2154 # top, O, pid, rig, console: lib.sh, rig.sh
#
# Two heads, head-a and head-b: each has its own network and mounts, and runs Tern.
# A floating address of each family, 10.77.0.100 and fd77::100, is at one of them. A
# Linux kernel is the client. Source after lib.sh and tests/kernel/rig.sh.
#
# engines.sh has the engines; kernel.sh has heads with kernels of their own.
# Runs in: the tests.

cluster=$top/tests/cluster
# shellcheck source=tests/cluster/engines.sh
. "$cluster/engines.sh"
four=10.77.0.100 six=fd77::100
declare -A number=()
declare -A programs=([head-a]=$O [head-b]=$O) # which build a head runs

# at HEAD COMMAND...: with its network, its mounts and its name.
at() {
	local head=$1
	shift
	nsenter -t "${pid[$head]}" -n -m -u -- "$@"
}
# on_head HEAD FUNCTION ARGUMENT...: a function of an engine, there.
on_head() {
	# shellcheck disable=SC2016 # for the other shell
	at "$1" "$BASH" -c '. "$1/gluster.sh"; . "$1/ceph.sh"; "${@:2}"' - "$cluster" "${@:2}"
}
other() { if [ "$1" = head-a ]; then echo head-b; else echo head-a; fi; }

head_add() { # HEAD NUMBER
	number[$1]=$2
	unshare -n -m -u sleep infinity &
	pid[$1]=$!
	at_end "kill $!"
	wait_for 5 _other_net "${pid[$1]}" || bail "no namespace for $1"
	ip link add "$1" type veth peer name eth0 netns "${pid[$1]}"
	ip link set "$1" master br0 up
	at "$1" ip link set lo up
	at "$1" ip address add "10.77.0.1$2/24" dev eth0
	at "$1" ip -6 address add "fd77::1$2/64" dev eth0 nodad
	at "$1" ip link set eth0 up
	at "$1" hostname "$1"
	mkdir -p "$T/$1"
	wait_for 5 _link_up "$1" || bail "$1 has no network"
	engine_do join "$1" || bail "$1 does not get the engine"
}
head_remove() { ip link del "$1"; }
cable_out() { ip link set "$1" down; }
cable_in() { ip link set "$1" up; }

# head_start HEAD: all three daemons, and tern-takeover.
head_start() {
	local p own
	for p in portmapd mountd nfsd; do
		own=(-s "$T/$1/portmap.sock")
		[ $p = portmapd ] || own+=(-f "$T/exports" -k "$T/key")
		[ $p != mountd ] || own+=(-p 20048)
		[ $p != nfsd ] || own+=(-p 2049 -o "state=$T/$1")
		nsenter -t "${pid[$1]}" -n -m -u -- "${programs[$1]}/$p/$p" -d "${own[@]}" >>"$T/$1-$p.log" 2>&1 &
		pid["$1-$p"]=$!
		at_end "kill -9 $!"
	done
	nsenter -t "${pid[$1]}" -n -m -u -- "$top/etc/tern-takeover" watch "$lists" "$four" "$six" \
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
head_runs() { alive "$1-nfsd"; }
# shellcheck disable=SC2046 # a list of numbers
head_hang() { kill -STOP $(pgrep -P "${pid[$1-nfsd]}"); }
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

# listed HEAD: has tern-takeover written the connections that clients have now? A head
# that is lost sooner after they came lets them wait for a minute.
listed() {
	local a peer
	for a in $four $six; do
		peer=$(at "$1" ss -Htn state established src "[$a]" sport = 2049 | awk '{ print $4 }')
		[ -n "$peer" ] && at "$1" grep -q " ${peer##*:} 2049\$" "$lists/$a/$1" || return 1
	done
}

# ---- failures ------------------------------------------------------------------

# What a manager needs to notice that a head is lost: keepalived with etc/keepalived.
notice() { sleep 1.2; }
# _same_net PROCESS: prints all processes of its network namespace.
_same_net() {
	local net p
	net=$(readlink "/proc/$1/ns/net")
	for p in /proc/[0-9]*; do
		[ "$(readlink "$p/ns/net")" != "$net" ] || echo "${p#/proc/}"
	done
}
# power_off HEAD: everything that runs there ends, and its kernel knows nothing more.
power_off() {
	local all
	# All at once: a daemon that waits for its engine's client ends with that.
	mapfile -t all < <(_same_net "${pid[$1]}")
	kill -9 "${all[@]}" 2>/dev/null
	head_kill "$1"
	wait "${pid[$1]}" 2>/dev/null
	off=$1
}
# Each takes the head that has the address, and the other one.
over() { # FROM TO: the engine and the address come to the other head
	[ "$off" = "$1" ] || engine_do lose "$1"
	engine_do give "$2"
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
	cable_out "$1"
	notice
	engine_do fence "$1"
	over "$@"
}
# The cable again. The manager does not tell the engine.
fail_lost() {
	cable_out "$1"
	notice
	over "$@"
}
# It takes calls and answers none of them, then it is lost. Its power goes off: it
# would do what it had read when it wakes.
fail_hung() {
	head_hang "$1"
	sleep 2
	cable_out "$1"
	notice
	engine_do fence "$1"
	[ "$off" = "$1" ] || power_off "$1"
	over "$@"
}
# There and back, twice, and there. It stays at each head for a moment.
fail_back() {
	local n from=$1 to=$2 came
	for n in 1 2 3 4 5; do
		came=$(now)
		wait_for 30 listed "$from"
		stayed=$(seconds "$came" "$(now)" "-$stayed")
		go "$from"
		notice
		over "$from" "$to"
		set -- "$to" "$from"
		from=$1 to=$2
	done
}

# heal HEAD KIND: it is as it was, without the address.
heal() {
	engine_do heal "$@"
	if [ "$off" = "$1" ]; then
		off=
		unset "pid[$1]"
		head_remove "$1"
		head_add "$1" "${number[$1]}"
	fi
	at "$1" ip address del $four/24 dev eth0 2>/dev/null
	at "$1" ip -6 address del $six/64 dev eth0 2>/dev/null
	cable_in "$1"
	head_runs "$1" || head_start "$1"
	wait_for 30 head_answers "$1"
}

# ---- what the client notices -------------------------------------------------------

now() { echo "$EPOCHREALTIME"; }
# seconds FROM TO [LESS]
seconds() { awk -v a="$1" -v b="$2" -v c="${3:-0}" 'BEGIN { printf "%.1f", b - a - c }'; }
# The client's clock is behind ours by the time that its kernel took to start. It
# tells its time once.
ask_time() {
	until grep -q '^@@ clock' "$console"; do
		kill -0 "${pid[guest]}" 2>/dev/null || return 1
		sleep 0.02
	done
	behind=$(seconds "$(sed -n 's/^@@ clock \([0-9.]*\).*/\1/p' "$console")" "$(now)")
}
# works_since TIME: has every process on the client ended what it began after TIME?
works_since() {
	tr -d '\r' <"$console" |
	    awk -v t="$1" -v b="$behind" '$1 == "@@" && $2 == "alive" && $3 + b > t { hit = 1 } END { exit !hit }'
}
# noticed FROM: longest stall of operations that ended after FROM, then all errors and
# repeats since it was called last, and the whole lines of the console so far.
noticed() {
	head -n "$(wc -l <"$console")" "$console" | tr -d '\r' | awk -v from="$1" -v b="$behind" -v known="$lines" '
	    $1 != "@@" { next }
	    $2 == "op" && $5 + b > from && $5 + b - ($4 + b > from ? $4 + b : from) > longest { longest = $5 + b - ($4 + b > from ? $4 + b : from) }
	    NR > known && $2 == "error" { errors++ }
	    NR > known && $2 == "repeat" { repeats++ }
	    END { printf "%.1f %d %d %d\n", longest, errors, repeats, NR }'
}

# failure KIND: the head with the address fails so; the client goes on. What the engine
# itself waits for a lost head is not counted.
failure() {
	local begin end away stall errors repeats to timeout unended='' stayed=0
	to=$(other "$has") off=
	timeout=$(engine_do timeout "$1")
	wait_for 30 listed "$has" || diag "$has: no list of its clients"
	begin=$(now)
	"fail_$1" "$has" "$to" >"$T/failure.out" 2>&1
	end=$(now)
	away=$(seconds "$begin" "$end" "$stayed")
	wait_for 150 works_since "$end"
	ok $? "$engine, $1: the client works on" || unended=1
	read -r stall errors repeats lines < <(noticed "$begin")
	[ -z "$unended" ] || { stall=$(seconds "$begin" "$(now)") && diag "$(tail -n 5 "$T/failure.out" "$console")"; }
	is "$errors" 0 "$engine, $1: no error" || diag "$(grep -aE '@@ (error|repeat)' "$console" | tail -n 8)"
	awk -v s="$stall" -v a="$away" -v t="${timeout:-0}" -v m="${MARGIN:-2}" 'BEGIN { exit s > a + t + m }'
	ok $? "$engine, $1: away $away s, the engine waits ${timeout:-0} s, longest stall $stall s, $repeats repeats" ||
	    diag "$(cat "$T/failure.out")"
	[ -z "${TABLE:-}" ] || echo "$engine${OLD:+,old} $1 $away ${timeout:-0} $stall $errors $repeats" >>"$TABLE"
	heal "$has" "$1"
	has=$to
}

# cluster_start ENGINE: two heads that serve, and a client that works.
cluster_start() {
	local n who
	engine=$1 has=head-a off='' handles=kernel behind=0 lines=0
	dir=$T/export/data lists=$T/export/heads
	guest_net 1
	engine_do prepare
	who="rw,no_root_squash,insecure,fsid=77,handles=$handles"
	exports "$dir 10.77.0.0/24($who) fd77::/64($who)"
	for n in a:1 b:2; do
		head_add "head-${n%:*}" "${n#*:}"
		head_start "head-${n%:*}"
		wait_for 20 head_answers "head-${n%:*}" || bail "head-${n%:*} did not start"
	done
	engine_do give $has
	wait_for 20 head_healthy $has || bail "$has is not healthy"
	come $has
	guest_start "$cluster/guest.sh" FOUR=$four SIX=$six "EXPORT=$dir" "STOP=$T/stop" "CLUSTER=$cluster"
	ask_time && wait_for 180 works_since 1
	ok $? "$engine: the client works" || { diag "$(tail -n 30 "$console")" && done_testing; }
}

cluster_end() {
	: >"$T/stop"
	guest_wait 120
	ok $? "$engine: all appends are there once, and the client unmounts" ||
	    diag "$(tail -n 20 "$console")"
	is "$(tail -n "+$((lines + 1))" "$console" | grep -ac '^@@ error')" 0 "$engine: no error after the last failure" ||
	    diag "$(grep -a '^@@ error' "$console" | tail -n 8)"
}

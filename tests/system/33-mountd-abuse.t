#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Hostile and broken clients of mountd: those of cases 33 to 45 of
# tests/abuse/README.md that need more than bytes, by their numbers.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3
need_daemons mountd

export MOUNT_PORT=20048
call() { on_host "$1" "$top/tests/lib/mount_call.py" "${@:2}"; }
load() { on_host "$1" "$top/tests/system/mount_load.py" "${@:2}"; }
long() { printf 'hex:2f'; printf '78%.0s' $(seq "$1"); }
memory() {
	local p n=0
	for p in $(pids_of mountd); do
		n=$((n + $(awk '/VmRSS/ { print $2 }' "/proc/$p/status")))
	done
	echo $n
}

host_add near 10.1.0.1/24 10.1.0.2/24
host_add far 10.2.0.1/24 10.2.0.2/24
for h in near far; do
	ip address add fe80::77/64 dev $h nodad
	on_host $h ip address add fe80::78/64 dev eth0 nodad
done

mkdir -p "$T/x/d" "$T/y" "$T/zone"
(cd "$T/x/d" && seq 300 | xargs mkdir)
exports "$T/x 10.1.0.0/24(rw,insecure)
$T/y 10.2.0.2(rw,insecure)
$T/zone fe80::%near/64(insecure)"
start mountd -R -p 20048 || bail "mountd did not start"
wait_for 5 grep -q sandbox: "$T/mountd.log"
at_start=$(pids_of mountd)

is "$(call near 10.1.0.1 tcp 3 1 "$(long 1024)")" 0000003f '33: a path of 1025 bytes gets NAMETOOLONG'
is "$(call near 10.1.0.1 tcp 3 1 "$(long 4096)")" 'accept 4' \
    '33: a path of 4097 bytes gets GARBAGE_ARGS'
is "$(call near 10.1.0.1 udp 3 1 "$(long 4096)")" 'accept 4' \
    '33: it does over UDP'
is "$(call near 10.1.0.1 tcp 3 1 "$(long 9000)")" none \
    '33: a record beyond the limit ends the connection'

# A busy machine may disturb an attempt.
for _ in 1 2 3 4 5; do
	times=$(load far times 10.2.0.1 20048 "$T/x" "$T/n" "$T/x/d")
	[ "${times##* }" != close ] || break
done
is "$times" \
    '0000000d 0000000d 0000000d close' '38: refusals have the same status and take a similar time'

like "$(call near fe80::77%eth0 udp 3 1 "$T/zone")" ^00000000 \
    '39: a link-local client is served on the interface of the export'
is "$(call far fe80::77%eth0 udp 3 1 "$T/zone")" 0000000d \
    '39: it is refused on another interface'
kill -HUP "${pid[mountd]}"
check '39: exports are reloaded' \
    wait_for 5 grep -q 'exports: nothing changed' "$T/mountd.log"
like "$(call near fe80::77%eth0 tcp 3 1 "$T/zone")" ^00000000 \
    '39: the worker still knows the interface'

worker=$(pgrep -P "${pid[mountd]}")
is "$(nsenter -t "$worker" -n ip -o link show up 2>/dev/null)" '' \
    '40: the worker has no network to resolve a name'

before=$(memory)
load near burst 10.1.0.1 20048 "$T/x/d"
ok $? '42: 3000 mounts in bursts are answered'
n=$(call near 10.1.0.1 tcp 3 2 | grep -o "$(hex 10.1.0.2)" | wc -l)
is "$n" 64 '42: DUMP lists the last 64 of them'
grown=$(($(memory) - before))
if grep -q 'sanitizer build' "$T/mountd.log"; then
	skip 'a sanitizer keeps what is freed'
else
	[ $grown -lt 2048 ]
	ok $? "42: memory has grown by less than 2 MiB ($grown KiB)"
fi
like "$(call far 10.2.0.1 tcp 3 1 "$T/y")" ^00000000 '42: other clients are served'
call near 10.1.0.1 udp 3 4 >/dev/null
like "$(call far 10.2.0.1 tcp 3 2)" "$(hex 10.2.0.2)" \
    '42: UMNTALL leaves the entries of other clients'

have=
for fs in ext4:64 xfs:320 btrfs:128; do
	loop_fs ${fs%:*} ${fs#*:} "$T/fs/${fs%:*}" 2>/dev/null || continue
	have="$have ${fs%:*}"
	mkdir "$T/fs/${fs%:*}/sub"
	echo "$T/fs/${fs%:*} 10.1.0.0/24(rw,insecure)" >>"$T/exports"
done
kill -HUP "${pid[mountd]}"
# The log is no sign: the parent writes it before the worker has the new list.
served() { [[ $(call near 10.1.0.1 udp 1 1 "$1") == 00000000* ]]; }
for fs in $have; do
	wait_for 5 served "$T/fs/$fs"
	for v in 1 2 3; do
		out=$(call near 10.1.0.1 udp $v 1 "$T/fs/$fs")
		is "${out:0:8}:${#out}" "00000000:$((v < 3 ? 72 : 104))" \
		    "45: version $v gives a handle of 32 bytes on $fs"
	done
	like "$(call near 10.1.0.1 udp 3 1 "$T/fs/$fs/sub")" ^00000000 \
	    "45: a directory below an export on $fs is mounted"
done
[ -n "$have" ] || skip 'no loop devices' 1

is "$(pids_of mountd)" "$at_start" 'the same processes as at the start'
lines=$(wc -l <"$T/mountd.log")
[ "$lines" -lt 100 ]
ok $? "the log is bounded ($lines lines)"
done_testing

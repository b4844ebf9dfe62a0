#!/bin/bash
# SPDX-License-Identifier: ISC
#
# nfsd -H: exit status 0 while every worker answers and every export is listed
# through worker, door, broker and filesystem. Each of the ways in which one of
# them can fail makes it exit with 1 within its time, and one line names it.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3

health() { # SECONDS [FLAG...]: sets line and status
	line=$("$O/nfsd/nfsd" -H -s "$T/run/portmap.sock" -o timeout="$1" "${@:2}" 2>&1)
	status=$?
}
healthy() {
	health 5
	[ "$status" = 0 ]
}
sick() { # REGEX: is it sick for this reason?
	health 3
	[ "$status" = 1 ] && [[ $line =~ $1 ]]
}
# fails SECONDS REGEX NAME: it fails in time, with one line. A second is for the
# start of the process on a busy machine.
fails() {
	local from=${EPOCHREALTIME/./} ms
	health "$1"
	ms=$(((${EPOCHREALTIME/./} - from) / 1000))
	is "$status" 1 "$3: exit status 1"
	like "$line" "$2" "$3: the reason"
	is "$(printf '%s\n' "$line" | wc -l)" 1 "$3: in one line"
	ok $((ms > ($1 + 2) * 1000)) "$3: in time ($ms ms)"
}
worker() { pgrep -P "${pid[nfsd]}" -f '^nfsd: worker' | sed -n "$1p"; }
role() { pgrep -P "${pid[nfsd]}" -f "^nfsd: $1" | head -n 1; }
another() { local n; n=$(role "$1") && [ -n "$n" ] && [ "$n" != "$2" ]; }

mkdir -m 777 "$T/a" "$T/usb" "$T/sick" "$T/player"
mkdir -m 700 "$T/private"
fails 1 'no answer|No such file' 'nfsd does not run'
mount -t tmpfs tmpfs "$T/usb"

# No client here is this machine, one export is for TLS alone, one needs a
# certificate, one squashes all, one has names in UTF-16.
text="$T/a 10.9.9.9(rw)
$T/private 10.9.9.9(ro,all_squash)
$T/player 10.9.9.9(ro,names=utf16le)
$T/usb 10.9.9.9(rw,mountpoint)"
tern_start "$text" -w 2
check 'all is well' wait_for 20 healthy
like "$line" '^healthy: 2 workers, 4 exports, [0-9]+ ms$' 'and says what was asked'
health 5 --json
is "$status" 78 'flags of -S are refused'
"$O/nfsd/nfsd" -n -f "$T/exports" -k "$T/key" -o timeout=3 >"$T/out" 2>&1
is $? 78 '-o timeout without -H is refused'
for v in 0 301 x; do
	"$O/nfsd/nfsd" -H -s "$T/run/portmap.sock" -o timeout=$v >"$T/out" 2>&1
	is $? 78 "-o timeout=$v is refused"
done
calls() { "$O/nfsd/nfsd" -S -s "$T/run/portmap.sock" | grep -c READDIR; }
is "$(calls)" 0 'the statistics do not count its calls'

# Each worker is asked, not one of them.
for n in 1 2; do
	w=$(worker $n)
	halt "$w"
	fails 2 "worker [0-9] does not answer" "worker $n is stopped"
	kill -CONT "$w"
	check "worker $n goes on" wait_for 30 healthy
done
b=$(role broker)
halt "$b"
fails 2 "export $T/.*: no answer" 'the broker is stopped'
kill -CONT "$b"
check 'the broker goes on' wait_for 30 healthy
kill -9 "$b"
check 'a killed broker is replaced' wait_for 20 another broker "$b"
check 'and all is well again' wait_for 20 healthy
halt "${pid[nfsd]}"
fails 1 'no answer' 'the parent is stopped'
kill -CONT "${pid[nfsd]}"
check 'the parent goes on' wait_for 20 healthy

umount "$T/usb"
check 'a missing mount is noticed' wait_for 20 sick "export $T/usb: "
fails 2 "export $T/usb: .*not (there|mounted)" 'a mount is missing'
mount -t tmpfs tmpfs "$T/usb"
check 'it is mounted again' wait_for 20 healthy
mv "$T/a" "$T/b"
kill -HUP "${pid[nfsd]}"
check 'a removed directory is noticed' wait_for 20 sick "export $T/a: "
mv "$T/b" "$T/a"
kill -HUP "${pid[nfsd]}"
check 'it is back' wait_for 20 healthy

# An engine that hangs, and one whose process is dead.
if [ -c /dev/fuse ]; then
	engine() {
		"$top/tests/system/slowfs.py" "$T/sick" "$T/mood" 2>>"$T/slowfs.log" &
		fuse=$!
		at_end "kill $fuse"
		wait_for 10 grep -q " $T/sick " /proc/self/mountinfo
	}
	check 'an engine is mounted' engine
	exports "$text
$T/sick 10.9.9.9(rw)"
	kill -HUP "${pid[nfsd]}"
	served() { healthy && [[ $line == *' 5 exports'* ]]; }
	check 'its export is healthy' wait_for 20 served
	echo hang >"$T/mood"
	fails 2 "export $T/sick: no answer" 'the engine hangs'
	# Many checks of one that hangs take no more of the worker than one.
	for n in $(seq 6); do
		health 1
		[ "$status" = 1 ] || ok 1 'a hung engine is healthy'
	done
	rm "$T/mood"
	check 'it answers again' wait_for 30 healthy
	kill -9 "$fuse"
	check 'a dead engine is noticed' wait_for 20 sick "export $T/sick: "
	fails 2 "export $T/sick: " 'the engine is dead'
	umount -l "$T/sick"
	check 'it is mounted anew' engine
	check 'and healthy, without a reload' wait_for 30 served
else
	skip 'no FUSE in this kernel' 14
fi

# Other users may not ask.
r=$(reachable)
as alice "$r/nfsd/nfsd" -H -s "$T/run/portmap.sock" >"$T/out" 2>&1
is $? 1 'another user is refused'
like "$(cat "$T/out")" 'only root' 'and told so'
unlike "$(cat "$T"/nfsd*.log)" 'compromised|breaks' 'no role broke a rule'
stop nfsd
fails 1 'no answer' 'nfsd was stopped'
done_testing

#!/bin/bash
# SPDX-License-Identifier: ISC
# The mistakes of a newcomer: each gets one line that names the remedy.
. "${0%/*}/lib.sh"
private "$@"
need_daemons

mkdir "$T/x" "$T/dead"
exports "$T/x 127.0.0.1(ro)"

# says NAME REGEX DESCRIPTION FLAG...: it exits after one such line, with the
# status of a mistake in the configuration, or with $status.
says() {
	local name=$1 want=$2 what=$3 rc
	shift 3
	timeout 10 "$O/$name/$name" -d -s "$T/sock" "$@" >"$T/out" 2>&1
	rc=$?
	like "$(cat "$T/out")" "$want" "$name: $what"
	is "$rc" "${status:-78}" "it exits with status ${status:-78}"
	is "$(grep -cE "$want" "$T/out")" 1 'it prints one such line'
}

files=(-f "$T/exports" -k "$T/key")
sed -i '/^_nfsd:/d' /etc/passwd
says nfsd '_nfsd.* does not exist.*systemd-sysusers|useradd' 'a missing user' "${files[@]}"
says nfsd 'nosuchuser.* does not exist' 'a wrong user' -u nosuchuser "${files[@]}"

touch "$T/open.key"
chmod 644 "$T/open.key"
says mountd 'open.key: .*chmod 600' 'a key that others can read' -f "$T/exports" -k "$T/open.key"

mkdir "$T/full"
mount -t tmpfs -o size=4k,nr_inodes=4 tmpfs "$T/full"
head -c 4096 /dev/zero >"$T/full/fill"
says mountd "full/key: cannot make the handle key: No space left on device \(make room there, or name another file with -k\)" \
    'a full disk' -f "$T/exports" -k "$T/full/key"

echo "$T/x 127.0.0.1(rww)" >"$T/wrong"
says mountd 'wrong:1:[0-9]+: .*"rww".*did you mean "rw"' 'a mistyped option' \
    -f "$T/wrong" -k "$T/key"
says mountd '^[^ ]*mountd: invalid option' 'a wrong flag' -Q
says mountd 'try .*--help' 'a wrong flag: the message names --help' -Q
says mountd '^mountd: -o dumpall: no such setting \(did you mean "dump-all"\?\)$' \
    'a mistyped setting' -o dumpall
says portmapd '^portmapd: -o zzz: no such setting$' 'a setting like no other' -o zzz=1
for d in portmapd mountd nfsd; do
	settings=$("$O/$d/$d" --help | sed -n '/ -o, --option/,$s/^       \([a-z0-9-]*\).*/\1/p')
	ok $(($(echo "$settings" | wc -w) < 5)) "$d: --help lists its settings"
	for s in $settings; do
		"$O/$d/$d" -n -o "${s%?}x${s#"${s%?}"}" 2>&1 | grep -qF \
		    ": no such setting (did you mean \"$s\"?)" || echo "$s"
	done >"$T/unknown"
	is "$(cat "$T/unknown")" '' "$d: a letter too many in any setting: its name is suggested"
done
says nfsd '"0": not a number from 1 to 64' 'a number out of range' -w 0

start portmapd || bail 'no portmapd'
status=1 says portmapd '111.*(taken|in use).*portmapd' 'port 111 in use: the message names the process' -p 111
stop portmapd

as alice timeout 10 "$(reachable)/portmapd/portmapd" -d -s "$T/dead/sock" >"$T/out" 2>&1
like "$(cat "$T/out")" 'ports below 1024 need root.*-p' 'portmapd: a plain user needs another port'

# Two mistakes must not end the daemon, since they may resolve later.
exports "$T/gone 127.0.0.1(ro)
$T/x 127.0.0.1(ro)"
start mountd -p 20048 || bail 'no mountd'
check 'mountd: the log names a missing path' wait_for 5 grep -q "$T/gone.*not served" "$T/mountd.log"
check 'mountd: the log names a missing portmapper and the remedy' wait_for 5 \
    grep -Eq 'waiting for the portmapper at .*start portmapd' "$T/mountd.log"
done_testing

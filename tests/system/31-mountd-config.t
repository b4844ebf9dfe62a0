#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# mountd and its configuration: checking, explaining, reloading, paths that
# are not there, restarts of the portmapper and of the worker.
. "${0%/*}/lib.sh"
private "$@"
need showmount nfs-common rpcinfo rpcbind python3 python3
need_daemons portmapd mountd

mountd=$O/mountd/mountd
call() { "$top/tests/lib/mount_call.py" 127.0.0.1 udp "$@"; }
log() { cat "$T/mountd.log"; }
logged() { grep -Eq -- "$1" "$T/mountd.log"; }
# reload PATTERN: SIGHUP, until a new line of the log matches.
reload() {
	local before
	before=$(wc -l <"$T/mountd.log")
	kill -HUP "${pid[mountd]}"
	wait_for 5 _after "$before" "$1"
}
_after() { tail -n "+$(($1 + 1))" "$T/mountd.log" | grep -Eq -- "$2"; }

# ---- -n and -x

exports "/srv/x 10.0.0.0/8(rw,all-squash) *(ro)
/srv/y @group"
out=$("$mountd" -n -f "$T/exports" 2>&1)
is $? 1 '-n: status 1 for a bad file'
like "$out" "^$T/exports:1:22: unknown option \"all-squash\" \(did you mean \"all_squash\"\?\)\$" \
    'file, line, column and the nearest spelling'
like "$out" "^$T/exports:2:8: .*netgroups are not supported" 'all errors'
exports "$T 10.0.0.5(rw)"
out=$("$mountd" -n -f "$T/exports" 2>&1)
is "$?:$out" 0: '-n: status 0 and silence for a good file'
exports "$T 10.0.0.5(rw)
$T/missing 10.0.0.5(rw)"
out=$("$mountd" -n -f "$T/exports" 2>&1)
is "$?:$out" "0:$T/exports:2:1: warning: \"$T/missing\" does not exist: not served until it does and exports are reloaded" \
    '-n: a path that is not there'
exports "/srv/x 10.0.0.0/8(rw) 10.0.0.5(ro,all_squash,anonuid=99)
/srv/m *(ro,insecure,names=utf16le,alias=/C/)
/srv/y 192.168.1.0/24"
out=$("$mountd" -n -f "$T/exports" -x 10.0.0.5:912 2>&1)
like "$out" '^/srv/x: granted: line 1 allows 10.0.0.5; read-only; all users become 99:65534; port below 1024$' \
    '-x: the line that decides, the rights, the user'
like "$out" '^/srv/y: refused: line 3 allows 192.168.1.0/24$' '-x: why not'
like "$out" '^/srv/m \(names=utf16le\): granted: .*; also as /C/$' \
    '-x: the names a player uses'
out=$("$mountd" -n -f "$T/exports" -x 10.1.1.1:40112 /srv/x/sub 2>"$T/err")
is "$out" 'client 10.1.1.1:40112
/srv/x/sub: refused: port 40112 is not below 1024 (add "insecure"); read and write; root becomes 65534:65534; port below 1024; inside export /srv/x' \
    '-x: one path, one port'
out=$("$mountd" -n -f "$T/exports" -x '[::1]:5' /etc 2>&1)
like "$out" '^/etc: refused: not exported$' '-x: IPv6, not exported'
check_not '-x: not an address' "$mountd" -n -f "$T/exports" -x nowhere
check_not '-x without -n' "$mountd" -f "$T/exports" -x 10.0.0.5
chmod 666 "$T/exports"
out=$("$mountd" -n -f "$T/exports" 2>&1)
is "$?:$out" "1:$T/exports: others can write it (chmod go-w)" \
    'a file others can write is refused'
chmod 644 "$T/exports"

sed 's,^#/,/,' "$top/etc/exports.sample" >"$T/exports"
out=$("$mountd" -n -f "$T/exports" 2>&1)
is "$?:$(grep -v 'does not exist' <<<"$out")" 0: 'every example of the sample file is good'
sed -n '/^\.Sh EXAMPLES/,/^\.Sh DIAG/p' "$top/man/tern-exports.5" |
    sed 's/\\e$/\\/' | grep -A1 '^/' | grep -Ev '^(\.|--)' >"$T/exports"
out=$("$mountd" -n -f "$T/exports" 2>&1 | grep -v warning)
is "$(grep -c ^/ "$T/exports"):$out" 8: 'and of the manual page'

# ---- nothing to export, in the wrong order

rm "$T/exports"
start mountd -p 20048 || bail "mountd did not start"
export MOUNT_PORT=20048
check 'no file: said' logged "$T/exports: warning: no such file: nothing is exported"
is "$(call 1 5)" 00000000 'EXPORT: an empty list is a single zero word'
check 'waits for the portmapper, and serves meanwhile' \
    wait_for 5 logged 'waiting for the portmapper'
start portmapd || bail "portmapd did not start"
check 'registers when the portmapper appears' wait_for 10 registered 100005 3 tcp
stop portmapd KILL
start portmapd || bail "portmapd did not start"
check 'registers again when it was killed' wait_for 10 registered 100005 1 udp

# ---- reload

mkdir -p "$T/srv/a/in" "$T/srv/b"
exports "$T/srv/a 127.0.0.1(rw,insecure)
$T/srv/late 127.0.0.1(insecure)"
parent=${pid[mountd]}
worker=$(pgrep -P "$parent")
check 'SIGHUP is answered' reload "exports: added $T/srv/a\$"
check 'what is not there is named' logged "$T/srv/late"
like "$(call 3 1 "$T/srv/a")" ^00000000 'a new export is served at once'
like "$(call 3 1 "$T/srv/a/in")" ^00000000 'and what is below it'
is "$(call 3 1 "$T/srv/late")" 00000002 'the missing one is not'
a=$(call 3 1 "$T/srv/a")
mkdir "$T/srv/late"
check 'reload after it was made' reload 'exports: nothing changed'
like "$(call 3 1 "$T/srv/late")" ^00000000 'now it is served'

exports "$T/srv/a 127.0.0.1(rw,insecure)
$T/srv/b 127.0.0.1(bogus)"
check 'a broken file: the reason' reload "$T/exports:2:.* unknown option \"bogus\""
check 'and that the old exports stay' wait_for 5 logged 'not reloaded, the old ones stay active'
like "$(call 3 1 "$T/srv/late")" ^00000000 'they do'
is "$(call 3 1 "$T/srv/b")" 0000000d 'nothing of the broken file is in force'

exports "# reordered, edited
$T/srv/b 127.0.0.1(insecure)
$T/srv/a 127.0.0.1(ro,insecure)"
check 'a third reload' reload "exports: added $T/srv/b\$"
check 'says what is gone' logged "exports: removed $T/srv/late\$"
check 'says what changed' logged "exports: changed $T/srv/a\$"
is "$(call 3 1 "$T/srv/late")" 0000000d 'what is gone is refused'
is "$(call 3 1 "$T/srv/a")" "$a" 'the handle is the same after all edits'
is "$(pgrep -P "$parent")" "$worker" 'the worker has not been restarted'

# ---- the worker dies

kill -KILL "$worker"
check 'a killed worker is replaced' wait_for 10 logged 'worker: serving again'
is "$(call 3 1 "$T/srv/a")" "$a" 'and gives the same handles'
kill -USR1 "$parent"
check 'SIGUSR1 writes statistics' wait_for 5 logged 'statistics: 2 exports'
stop mountd KILL
start_again mountd -p 20048 || bail "mountd did not start"
is "$(call 3 1 "$T/srv/a")" "$a" 'the same handle after a restart of mountd'
done_testing

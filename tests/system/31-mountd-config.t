#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# mountd and its configuration: checking, explaining, reloading, missing paths,
# restarts of the portmapper and of the worker.
. "${0%/*}/lib.sh"
private "$@"
need showmount nfs-common rpcinfo rpcbind python3 python3
need_daemons portmapd mountd

mountd=$O/mountd/mountd
call() { "$top/tests/lib/mount_call.py" 127.0.0.1 udp "$@"; }
log() { cat "$T/mountd.log"; }
logged() { grep -Eq -- "$1" "$T/mountd.log"; }
# reload PATTERN: sends SIGHUP and waits for a new log line that matches.
reload() {
	local before
	before=$(wc -l <"$T/mountd.log")
	kill -HUP "${pid[mountd]}"
	wait_for 5 _after "$before" "$1"
}
_after() { tail -n "+$(($1 + 1))" "$T/mountd.log" | grep -Eq -- "$2"; }
# gets PATTERN ARGUMENT...: does this call get such an answer? The parent logs a reload
# before the worker has the new list.
gets() {
	# shellcheck disable=SC2053 # a pattern
	[[ $(call "${@:2}") == $1 ]]
}

# ---- -n and -x

exports "/srv/x 10.0.0.0/8(rw,all-squash) *(ro)
/srv/y *.example"
out=$("$mountd" -n -f "$T/exports" 2>&1)
is $? 1 '-n: status 1 for a bad file'
like "$out" "^$T/exports:1:22: unknown option \"all-squash\" \(did you mean \"all_squash\"\?\)\$" \
    '-n: file, line, column and the nearest spelling'
like "$out" "^$T/exports:2:8: .*wildcards would believe" '-n: all errors'
mkdir "$T/one"
exports "$T/one 10.0.0.5(rw)"
out=$("$mountd" -n -f "$T/exports" -k "$T/no-key" 2>&1)
like "$?:$out" "^0:handles: key none, [0-9]+ $T/one [a-z]+\$" '-n: status 0 and the fingerprint of a correct file'
check_not '-n: no key is made' test -e "$T/no-key"
exports "$T 10.0.0.5(rw)
$T/missing 10.0.0.5(rw)"
out=$("$mountd" -n -f "$T/exports" 2>&1 >"$T/out")
is "$?:$out" "0:$T/exports:2:1: warning: \"$T/missing\" does not exist: not served until it does and exports are reloaded" \
    '-n: a warning for a missing path'
like "$(cat "$T/out")" "^handles: key [a-z0-9]+, [0-9]+ $T/missing absent\$" '-n: its handles have no kind'
mount -t tmpfs tmpfs /srv
mkdir -p /srv/x/sub /srv/y /srv/m
exports "/srv/x 10.0.0.0/8(rw) 10.0.0.5(ro,all_squash,anonuid=99)
/srv/m *(ro,insecure,names=utf16le,alias=/C/)
/srv/y 192.168.1.0/24"
out=$("$mountd" -n -f "$T/exports" -x 10.0.0.5:912 2>&1)
is $? 0 '-x: status 0 where something is granted'
like "$out" '^/srv/x: granted: line 1 allows 10.0.0.5; read-only; all users become 99:65534; port below 1024$' \
    '-x: the deciding line, the rights, the user'
like "$out" '^/srv/y: refused: line 3 allows 192.168.1.0/24$' '-x: the reason of a refusal'
like "$out" '^/srv/m \(names=utf16le\): granted: .*; also as /C/$' \
    '-x: the names for players'
out=$("$mountd" -n -f "$T/exports" -x 10.1.1.1:40112 /srv/x/sub 2>"$T/err")
is "$out" 'client 10.1.1.1:40112
/srv/x/sub: refused: port 40112 is not below 1024 (add "insecure"); read and write; root becomes 65534:65534; port below 1024; inside export /srv/x' \
    '-x: one path and one port'
out=$("$mountd" -n -f "$T/exports" -x '[::1]:5' /etc 2>&1)
is $? 2 '-x: status 2 for a path that is refused'
like "$out" '^/etc: refused: not exported$' '-x: an IPv6 address, a path that is not exported'
out=$("$mountd" -n -f "$T/exports" -x 10.0.0.300 2>&1)
is $? 1 '-x: status 1 for what is neither address nor host'
like "$out" '^-x 10.0.0.300: neither an address .* nor a host that can be found: ' '-x: and says so'
printf '10.0.0.5 five.example\n10.9.9.9 five.example\n192.0.2.9 five.example\n' >>/etc/hosts
out=$("$mountd" -n -f "$T/exports" -x five.example /srv/x 2>&1)
is $? 2 '-x: a host name; status 2 if one of its addresses is refused'
like "$out" '^client 10.0.0.5:1023 \(five.example\)$' '-x: each address of a host is named'
like "$out" '^/srv/x: refused: line 1 allows' '-x: and explained'

exports '/srv/x five.example'
is "$("$mountd" -n -f "$T/exports" -x 10.1.1.1 /srv/x)" 'client 10.1.1.1:1023
/srv/x: refused: line 1 allows five.example' '-x: a host with several addresses is named once'
is "$("$mountd" -n -f "$T/exports" -x 10.0.0.5 /etc)" 'client 10.0.0.5:1023
/etc: refused: not exported' '-x: nothing is said of players where there are none'

# What mountd refuses is never called granted.
# refuses PATH REASON: as root, for whom every path is in reach.
refuses() {
	local out
	out=$("$mountd" -n -f "$T/exports" -x 10.0.0.5 "$1" 2>/dev/null)
	is $? 2 "-x $1: status 2"
	like "$out" "^$1: refused: $2" "-x $1: refused: $2"
}
mkdir -p /srv/z/closed/in /srv/z/other /srv/usb
chmod 700 /srv/z/closed
mount -t tmpfs tmpfs /srv/z/other
ln -s closed /srv/z/link
touch /srv/z/file
mkfifo /srv/z/pipe
exports "/srv/z 10.0.0.5
/srv/gone 10.0.0.5
/srv/usb 10.0.0.5(mountpoint)
/srv/y cert:laptop"
refuses /srv/gone 'No such file or directory; line 2 allows'
refuses /srv/usb 'nothing is mounted there'
refuses /srv/z/none 'no such file or directory'
refuses /srv/z/file/below 'not a directory'
refuses /srv/z/link 'a symbolic link is in the path'
refuses /srv/z/other 'another filesystem is mounted there'
refuses /srv/z/closed/in "the caller may not search|mountd's user cannot reach it"
refuses /srv/z/pipe "mountd's user cannot reach it"
ln -s /var/lib /srv/state
echo '/srv/state 10.0.0.5
/srv/m 10.0.0.5(handles=gfid)' >>"$T/exports"
refuses /srv/state 'a symbolic link in it leads to what is never exported'
refuses /srv/m 'its files cannot be named as handles= says'
check '-x: a file that can be mounted' "$mountd" -n -f "$T/exports" -x 10.0.0.5 /srv/z/file
like "$("$mountd" -n -f "$T/exports" -x 10.0.0.5 -o cert=laptop /srv/y/below 2>/dev/null)" \
    '^/srv/y/below: refused: line 4 allows cert:laptop: only the root' \
    '-x: with a certificate, still only the root'

# -v prints an exports file that means the same.
exports "\"/srv/my files\" -anonuid=7 10.0.0.0/8(rw,sync,mp) five.example(async,fsid=9)
/srv/m *(ro,insecure,names=utf16le,alias=/C/,readsize=4096) cert:laptop(xprtsec=tls,setid,map_uids=501/1000:2000-2999/12000,squash_uids=7,squash_gids=0-99)"
"$mountd" -n -v -f "$T/exports" >"$T/table" 2>/dev/null
is $? 0 '-v: status 0'
like "$(cat "$T/table")" '^/srv/my\\040files	10.0.0.0/8\(.*anongid=65534,anonuid=7,.*hide,.*root_squash,rw,secure,.*sync,sec=sys,mountpoint,fsid=9\)$' \
    '-v: every option is written out'
like "$(cat "$T/table")" '^/srv/m	cert:laptop.*,map_uids=501/1000,map_uids=2000-2999/12000,squash_uids=7,squash_gids=0-99,' \
    '-v: maps are written out'
is "$(wc -l <"$T/table")" 4 '-v: one line for each client'
unlike "$(cat "$T/table")" 'secure_locks' '-v: one word of those that mean the same'
is "$("$mountd" -n -v -f "$T/table" 2>/dev/null)" "$(cat "$T/table")" '-v: its output is an exports file that means the same'
exports "/srv/x 10.0.0.0/8(rw)"
check_not '-x without -n is refused' "$mountd" -f "$T/exports" -x 10.0.0.5
exports "/srv/x 10.0.0.0/8(ro,xprtsec=tls) cert:Laptop(rw)
/srv/y cert:* 10.0.0.5(xprtsec=mtls)"
out=$("$mountd" -n -f "$T/exports" -x 10.0.0.5 2>&1)
like "$out" "^$T/exports:1:.*: warning: demands TLS with a certificate: check with \"nfsd -n\"" \
    '-n: a warning, since only nfsd knows its certificate'
like "$out" '^/srv/x: granted: line 1 allows 10.0.0.0/8; read-only; .*; TLS$' '-x: TLS is demanded'
like "$out" '^/srv/y: granted: line 2 allows 10.0.0.5; .*; TLS with a certificate$' '-x: mtls is demanded'
out=$("$mountd" -n -f "$T/exports" -x 10.0.0.5 -o cert=laptop 2>&1)
like "$out" '^client 10.0.0.5:1023, certificate laptop$' '-x: a certificate by name'
like "$out" '^/srv/x: granted: line 1 allows cert:Laptop; read and write; .*; TLS with a certificate$' \
    '-x: the certificate counts before the address'
out=$("$mountd" -n -f "$T/exports" -x 192.0.2.1 /srv/x 2>&1)
like "$out" "^/srv/x: granted: line 1 allows cert:Laptop: the root's handle, by which nfsd does nothing without the certificate" \
    '-x: what mountd gives to a client without certificate'
like "$("$mountd" -n -f "$T/exports" -x 192.0.2.1 /srv/x/below 2>&1)" \
    '^/srv/x/below: refused: line 1 allows cert:Laptop: only the root' '-x: nothing below the root'
like "$("$mountd" -n -f "$T/exports" -x 192.0.2.1 -o cert=desk /srv/x 2>&1)" \
    '^/srv/x: refused: line 1 allows cert:Laptop, 10.0.0.0/8' '-x: another certificate'
check_not '-o cert without -x is refused' "$mountd" -n -f "$T/exports" -o cert=desk
chmod 666 "$T/exports"
out=$("$mountd" -n -f "$T/exports" 2>&1)
is "$?:$out" "1:$T/exports: others can write it (chmod go-w)" \
    '-n: a file that others can write is refused'
chmod 644 "$T/exports"

sed 's,^#/,/,' "$top/etc/exports.sample" >"$T/exports"
out=$("$mountd" -n -f "$T/exports" 2>&1 >"$T/out")
is "$?:$(grep -Ev 'does not exist|check with "nfsd -n"' <<<"$out")" 0: '-n: every example of the sample file is correct'
sed -n '/^\.Sh EXAMPLES/,/^\.Sh DIAG/p' "$top/man/tern-exports.5" |
    sed 's/\\e$/\\/' | grep -A1 '^/' | grep -Ev '^(\.|--)' >"$T/exports"
out=$("$mountd" -n -f "$T/exports" 2>&1 >"$T/out" | grep -v warning)
is "$(grep -c ^/ "$T/exports"):$out" 10: '-n: every example of the manual page is correct'

# ---- no exports, and daemons started in the wrong order

rm "$T/exports"
start mountd -p 20048 || bail "mountd did not start"
export MOUNT_PORT=20048
check 'a missing exports file is logged' logged "$T/exports: warning: no such file: nothing is exported"
is "$(call 1 5)" 00000000 'EXPORT: an empty list is a single zero'
check 'mountd serves while it waits for the portmapper' \
    wait_for 5 logged 'waiting for the portmapper'
start portmapd || bail "portmapd did not start"
check 'mountd registers when the portmapper starts' wait_for 10 registered 100005 3 tcp
stop portmapd KILL
start portmapd || bail "portmapd did not start"
check 'mountd registers again after the portmapper was killed' wait_for 10 registered 100005 1 udp

# ---- reload

mkdir -p "$T/srv/a/in" "$T/srv/b"
exports "$T/srv/a 127.0.0.1(rw,insecure)
$T/srv/late 127.0.0.1(insecure)"
parent=${pid[mountd]}
worker=$(pgrep -P "$parent")
check 'SIGHUP reloads exports' reload "exports: added $T/srv/a\$"
check 'a missing path is logged' logged "$T/srv/late"
check 'a new export is served' wait_for 5 gets '00000000*' 3 1 "$T/srv/a"
like "$(call 3 1 "$T/srv/a/in")" ^00000000 'a directory below it is served'
is "$(call 3 1 "$T/srv/late")" 00000002 'the missing path gets NOENT'
a=$(call 3 1 "$T/srv/a")
mkdir "$T/srv/late"
check 'SIGHUP after it was made' reload "exports: served now: $T/srv/late\$"
check 'it is served then' wait_for 5 gets '00000000*' 3 1 "$T/srv/late"

exports "$T/srv/a 127.0.0.1(rw,insecure)
$T/srv/b 127.0.0.1(bogus)"
check 'a file with errors: the reason is logged' reload "$T/exports:2:.* unknown option \"bogus\""
check 'a file with errors: the log says that old exports stay' wait_for 5 logged 'not reloaded, the old ones stay active'
like "$(call 3 1 "$T/srv/late")" ^00000000 'the old exports are served'
is "$(call 3 1 "$T/srv/b")" 0000000d 'nothing of the wrong file is served'

exports "# reordered, edited
$T/srv/b 127.0.0.1(insecure)
$T/srv/a 127.0.0.1(ro,insecure)"
check 'a reload logs added exports' reload "exports: added $T/srv/b\$"
check 'a reload logs removed exports' wait_for 5 logged "exports: removed $T/srv/late\$"
check 'a reload logs changed exports' wait_for 5 logged "exports: changed $T/srv/a\$"
check 'a removed export is refused' wait_for 5 gets 0000000d 3 1 "$T/srv/late"
is "$(call 3 1 "$T/srv/a")" "$a" 'the handle of an export is the same after all edits'
is "$(pgrep -P "$parent")" "$worker" 'the worker has not been restarted'

# ---- clients known by certificate, whom mountd cannot see

exports "$T/srv/a cert:laptop(rw,insecure)
$T/srv/b 127.0.0.1(insecure)"
check 'SIGHUP with a certificate entry' reload "exports: changed $T/srv/a\$"
is "$(call 3 1 "$T/srv/a")" "$a" "the root's handle is given to every client"
check 'but no path below it' wait_for 5 gets 0000000d 3 1 "$T/srv/a/in"
check 'the log says why' logged "refused MNT $T/srv/a/in .*line 1 allows cert:laptop: only the root"
host_add other 10.1.0.1/24 10.1.0.2/24
unlike "$(on_host other "$top/tests/lib/mount_call.py" 10.1.0.1 tcp 3 5)" "$(hex "$T/srv/a")" \
    'EXPORT does not list it to another machine'
like "$(call 3 5)" "$(hex "$T/srv/a")" 'but to this machine'
exports "$T/srv/b 127.0.0.1(insecure)
$T/srv/a 127.0.0.1(ro,insecure)"
check 'SIGHUP without it' reload "exports: changed $T/srv/a\$"

# ---- the worker dies

kill -KILL "$worker"
check 'a killed worker is replaced' wait_for 10 logged 'worker: serving again'
is "$(call 3 1 "$T/srv/a")" "$a" 'the new worker gives the same handles'
kill -USR1 "$parent"
check 'SIGUSR1 writes statistics' wait_for 5 logged 'statistics: 2 exports'
stop mountd KILL
start_again mountd -p 20048 || bail "mountd did not start"
is "$(call 3 1 "$T/srv/a")" "$a" 'a restart of mountd gives the same handles'
done_testing

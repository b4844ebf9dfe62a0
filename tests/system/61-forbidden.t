#!/bin/bash
# SPDX-License-Identifier: ISC
#
# What is never exported, whatever the exports say: the root directory, files that
# the kernel makes up, and Tern's own keys and state.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3

# refused DAEMON EXPORTS-TEXT WHY NAME [FLAG...]: -n refuses with one line.
refused() {
	local daemon=$1 why=$3 name=$4 out
	exports "$2"
	shift 4
	out=$("$O/$daemon/$daemon" -n -f "$T/exports" -k "$T/key" "$@" 2>&1)
	is "$? $(wc -l <<<"$out")" '1 1' "$name: $daemon -n refuses it with one line"
	like "$out" "$why" "$name: the line says why"
}
gets() { [ "$1" = "$("${@:2}")" ]; }
mount -t tmpfs tmpfs /var/lib
mkdir -m 755 "$T/keys" "$T/srv" "$T/link-to" "$T/bind" "$T/srv/sub" /var/lib/tern /var/lib/other
echo secret >/var/lib/tern/handle.key
echo secret >"$T/keys/tls.key"
chmod 644 /var/lib/tern/handle.key
: >"$T/key"

for d in mountd nfsd; do
	refused $d '/ *(ro)' '"/" is never exported: export the directories' 'the root directory'
	refused $d '/proc *(ro)' '"/proc" lies on proc, whose files the kernel makes up' proc
	refused $d '/sys *(ro)' 'lies on sysfs' sysfs
	refused $d '/var/lib *(ro)' "would show Tern's keys or state in /var/lib/tern" 'above the state'
	refused $d '/var/lib/tern *(ro)' "would show Tern's keys or state in /var/lib/tern" 'the state'
	mv /var/lib/tern /var/lib/later
	refused $d '/var/lib *(ro)' 'in /var/lib/tern' 'above the state, before there is one'
	mv /var/lib/later /var/lib/tern
	refused $d "$T *(ro)" "would show Tern's keys or state in $T/key" 'above the handle key'
	mount --bind /var/lib "$T/bind"
	refused $d "$T/bind *(ro)" "in /var/lib/tern" 'a bind mount of it'
	umount "$T/bind"
	mount --bind /var/lib/tern "$T/bind"
	refused $d "$T/bind *(ro)" "in /var/lib/tern" 'a bind mount of the state'
	umount "$T/bind"
	exports '/var/lib/other *(ro)'
	check "$d: a directory beside it is exported" \
		"$O/$d/$d" -n -f "$T/exports" -k "$T/key"
done
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 9 \
	-subj /CN=x -keyout "$T/keys/tls.key" -out "$T/cert.pem" 2>"$T/openssl.log"
refused nfsd "$T/keys *(ro)" "in $T/keys/tls.key" 'the key of TLS' \
	-o "tls-cert=$T/cert.pem" -o "tls-key=$T/keys/tls.key"
# A client that writes a list of clients with locks could add others that reclaim locks.
mkdir -m 700 "$T/engine" "$T/engine/10.7.9.100"
for o in state floating; do
	refused nfsd "$T/engine *(rw)" "in $T/engine/10.7.9.100/locks" "above -o $o" -o "$o=$T/engine/10.7.9.100"
	refused nfsd "$T/engine/10.7.9.100 *(rw)" "in $T/engine/10.7.9.100/locks" "-o $o itself" \
		-o "$o=$T/engine/10.7.9.100"
done
refused nfsd "$T/engine *(rw)" "in $T/engine/away/10.7.9.100/locks" '-o floating on a disk that is away' \
	-o "floating=$T/engine/away/10.7.9.100"
exports "$T/srv *(rw)"
check 'a directory beside -o floating is exported' \
	"$O/nfsd/nfsd" -n -f "$T/exports" -k "$T/key" -o "floating=$T/engine/10.7.9.100"

# What leads there later, or by a symbolic link, is not served either.
rm "$T/key"
ln -s /var/lib "$T/link"
mkdir -m 777 "$T/cross" "$T/cross/lib" "$T/cross/good"
echo beneath >"$T/cross/lib/beneath"
tern_start "$T/bind 127.0.0.1(ro,insecure)
$T/cross 127.0.0.1(ro,insecure,crossmnt)
$T/link 127.0.0.1(ro,insecure)
$T/srv 127.0.0.1(ro,insecure)" -w 1
check 'a symbolic link that leads there is not served' \
	grep -q "export $T/link: not served: /var/lib would show" "$T/nfsd.log"
like "$(NFS_TIMEOUT=1 nfs mnt "$T/link" 2>&1)" 'TimeoutError|timed out' 'it cannot be mounted'
like "$(nfs mnt "$T/srv")" '^[0-9a-f]{64}$' 'other exports are served'
b=$(nfs mnt "$T/bind")
mount --bind /var/lib "$T/bind"
check 'a later bind mount ends the export' wait_for 10 gets JUKEBOX nfs getattr "$b"
umount "$T/bind"
check 'it is served again without the bind mount' wait_for 10 gets '. ..' nfs list "$b"
c=$(nfs mnt "$T/cross")
mount --bind /var/lib "$T/cross/lib"
mount -t proc proc "$T/cross/good"
mkdir "$T/cross/more" && mount -t tmpfs -o mode=755 tmpfs "$T/cross/more" && : >"$T/cross/more/entered"
lists() { [ "$1" = "$(nfs list "$(nfs lookup "$c" "$2")")" ]; }
check 'crossmnt: an ordinary mount is entered' wait_for 10 lists '. .. entered' more
is "$(nfs list "$(nfs lookup "$c" lib)")" '. .. beneath' 'crossmnt: a mount that shows the state is not'
is "$(nfs list "$(nfs lookup "$c" good)")" '. ..' 'crossmnt: proc is not'
unlike "$(nfs mnt "$T/cross/lib/tern")$(nfs mnt "$T/cross/good/self")" '[0-9a-f]{64}' 'nor can they be mounted'
done_testing

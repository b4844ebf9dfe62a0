#!/bin/bash
# SPDX-License-Identifier: ISC
#
# The abuse cases against the real, sandboxed daemons. LONG=1 (make abuse) runs
# the long ones too; CASES="12 48" only some. faults.t has those that start
# daemons of their own.
# Runs in: the tests.
. "${0%/*}/../system/lib.sh"
. "$top/tests/lib/ca.sh"
private "$@"
ip address add 192.0.2.43/32 dev lo # case 43: not the server itself
need python3 python3 openssl openssl setfacl acl mkfs.ext4 e2fsprogs
# Cases know the largest file and the times of ext4. LONG: a million names.
size=2000
[ -z "${LONG:-}" ] || size=8000 INODES=1500000
loop_fs ext4 $size "$T" || skip_all "no loop-mounted ext4"

world() {
	local d
	mkdir "$T"/{rw,ro,all,secure,other,only2,outside,elsewhere}
	chmod 777 "$T"/{rw,ro,all,secure,only2,elsewhere}
	for d in rw ro; do
		mkdir "$T/$d/sub" "$T/$d/mnt"
		chmod 777 "$T/$d/sub"
		echo content >"$T/$d/f"
		chown 1001:1001 "$T/$d/f"
	done
	head -c 4194304 /dev/urandom >"$T/rw/big"
	ln -s t "$T/rw/link"
	ln -s "$T/outside" "$T/rw/escape"
	ln -s .. "$T/rw/up"
	mkfifo "$T/rw/fifo"
	python3 -c 'import socket, sys
socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$T/rw/sock"
	echo private >"$T/rw/private"
	chmod 600 "$T/rw/private"
	echo group >"$T/rw/rootgroup"
	chmod 640 "$T/rw/rootgroup"
	mkdir -p "$T/rw/hidden/inner"
	chmod 700 "$T/rw/hidden"
	echo secret >"$T/outside/secret"
	echo secret >"$T/elsewhere/secret"
	chmod 600 "$T/outside/secret" "$T/elsewhere/secret"
	mount -t tmpfs -o size=1m tmpfs "$T/rw/mnt"
	echo foreign >"$T/rw/mnt/foreign"
}

# Another server: a command that serves the directory it is given, on the usual
# ports, until it is killed.
if [ -n "${OTHER:-}" ]; then
	world
	$OTHER "$T/rw" >"$T/other.log" 2>&1 &
	at_end "kill $!"
	wait_for 30 rpcinfo -t 127.0.0.1 nfs 3 || bail "$OTHER does not serve"
	# shellcheck disable=SC2086 # a list of numbers
	python3 "$top/tests/abuse/abuse.py" \
	    --host 127.0.0.1 --export "$T/rw" ${CASES:-}
	exit
fi

# The certificates that encrypted.py shows. One is large, one has a long chain.
certificates() {
	local i above=ca names=DNS:large
	ca_new "$T/ca" && ca_server server IP:127.0.0.1 && ca_client laptop &&
	    ca_usage=serverAuth ca_client usage && ca_client revoked &&
	    ca_client expired -startdate 20200101000000Z -enddate 20210101000000Z &&
	    ca_client early -startdate 20900101000000Z -enddate 20910101000000Z &&
	    ca_revoke revoked && ca_stranger stranger
	for i in $(seq 700); do
		names+=,DNS:name-$i.large.example
	done
	ca_names=$names ca_client large
	for i in $(seq 20); do
		_key "$T/ca/chain.key"
		openssl req -new -key "$T/ca/chain.key" -subj "/CN=chain $i" -config /dev/null 2>/dev/null |
		    openssl x509 -req -days 9 -CA "$T/ca/$above.pem" -CAkey "$T/ca/$above.key" \
			-CAcreateserial -extfile <(echo basicConstraints=CA:TRUE) \
			-out "$T/ca/new.pem" 2>/dev/null
		cat "$T/ca/new.pem" "$T/ca/chain.pem" >"$T/ca/all.pem" 2>/dev/null
		mv "$T/ca/all.pem" "$T/ca/chain.pem"
		cp "$T/ca/chain.key" "$T/ca/above.key"
		cp "$T/ca/new.pem" "$T/ca/above.pem"
		above=above
	done
}

world
certificates
host_add far 10.77.0.1/24 10.77.0.2/24
tern_start "$T/rw 127.0.0.0/8(rw,insecure)
$T/ro 127.0.0.0/8(ro,insecure)
$T/all 127.0.0.0/8(rw,insecure,all_squash)
$T/secure 127.0.0.0/8(rw)
$T/only2 127.0.0.1(rw,insecure)
$T/other 10.9.9.0/24(rw)" -w 2 -o files=256 -o tls-seconds=3 \
    -o "tls-cert=$T/ca/server.pem" -o "tls-key=$T/ca/server.key" \
    -o "tls-ca=$T/ca/ca.pem" -o "tls-crl=$T/ca/crl.pem"
export OTHER_PID=${pid[far]} OUR_ADDRESS=10.77.0.1
export PIDS="${pid[portmapd]} ${pid[mountd]} ${pid[nfsd]}"
export LOGS="$T/portmapd.log $T/mountd.log $T/nfsd.log"
# shellcheck disable=SC2086 # a list of numbers
python3 "$top/tests/abuse/abuse.py" --shared ${CASES:-}
rc=$?
[ $rc = 0 ] || for f in $LOGS; do
	diag "${f##*/}: $(tail -n 15 "$f")"
done
exit $rc

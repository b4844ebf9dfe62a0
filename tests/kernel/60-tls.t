#!/bin/bash
# SPDX-License-Identifier: ISC
# Debian 13's Linux mounts Tern with RPC over TLS, with and without a certificate
# of its own. It works, and goes on by itself after each role and then all of nfsd
# was killed. A capture has no name and no content of a file. Only with LONG=1:
# the test fetches a kernel and a Debian tree.
# shellcheck source=tests/system/lib.sh
. "${0%/*}/../system/lib.sh"
[ -n "${LONG:-}" ] || skip_all "LONG=1 runs it"
need openssl openssl tshark tshark
# shellcheck source=tests/kernel/rig.sh
. "$top/tests/kernel/rig.sh"
tls_guest tls
[ -z "$NO_TLS" ] || skip_all "$NO_TLS"
private "$@"
# shellcheck source=tests/interop/tshark.sh
. "$top/tests/interop/tshark.sh"
# shellcheck source=tests/lib/ca.sh
. "$top/tests/lib/ca.sh"
need_guest
need_daemons
guest_net 1
label=v3/tls/ac

# settings NAME [CERTIFICATE]: what tlshd of the guest reads.
settings() {
	cat >"$T/certs/$1.conf" <<-E
	[debug]
	loglevel=1
	[authenticate.client]
	x509.truststore= /media/ca.pem
	E
	[ -z "${2:-}" ] || cat >>"$T/certs/$1.conf" <<-E
	x509.certificate= /media/$2.pem
	x509.private_key= /media/$2.key
	E
}

ca_new "$T/certs"
ca_server server IP:10.77.0.1
ca_client laptop.example.org
ca_client revoked.example.org
ca_revoke revoked.example.org
ca_stranger stranger
settings anonymous
settings laptop laptop.example.org
settings revoked revoked.example.org
settings stranger stranger

ram 2000
loop_fs ext4 1500 "$T/export" || skip_all "no loop-mounted ext4"
chmod 755 "$T/export"
mkdir "$T"/export/{tls,mtls,named,other}
tls=(-o "tls-cert=$T/certs/server.pem" -o "tls-key=$T/certs/server.key"
    -o "tls-ca=$T/certs/ca.pem" -o "tls-crl=$T/certs/crl.pem")
tern_start "$T/export/tls 10.77.0.0/24(rw,no_root_squash,xprtsec=tls)
$T/export/mtls 10.77.0.0/24(rw,no_root_squash,xprtsec=mtls)
$T/export/named cert:laptop.example.org(rw,no_root_squash)
$T/export/other cert:desktop.example.org(rw,no_root_squash)" "${tls[@]}"

more_rounds() { # NUMBER
	guest_news
	[ "$rounds" -ge "$1" ] || [ -n "$broken$ended" ] || ! alive guest
}

# copying NAME: waits for two more complete copies. The second one began after
# the fault.
copying() {
	local from=$SECONDS r=pass
	wait_for 300 more_rounds $((rounds + 2)) || r=fail
	[ -z "$broken$ended" ] && alive guest || r=fail
	row "$r" "$1" $((SECONDS - from)) "$label"
}

# kill_role ROLE: kills every process of nfsd with this title.
kill_role() {
	local n all
	mapfile -t all < <(pids_of nfsd)
	for n in "${all[@]}"; do
		[ "$(ps -o args= -p "$n")" != "nfsd: $1" ] || kill -9 "$n"
	done
	copying "kill-$1"
}

capture_start tap0 tls
guest_start "$rig/tls.sh" PROTO=tls "EXPORT=$T/export" "TREE=$bin/tls/tree" \
    "CERTS=$T/certs"
end=$((SECONDS + 600))
until [ "$rounds" -ge 1 ] || [ -n "$broken$ended" ] || [ $SECONDS -ge $end ]; do
	guest_news "$label" # each step is a test
	sleep 0.5
done
[ "$rounds" -ge 1 ]
ok $? "$label: the copy runs" || diag "$(tr -d '\r' <"$console" | tail -n 60)"
for role in worker tls broker; do kill_role $role; done
stop nfsd KILL
start_again nfsd -p 2049 "${tls[@]}"
copying kill-nfsd
: >"$T/export/tls/stop"
guest_wait 300 "$label"
ok $? "$label: the client unmounts and exits without error" ||
    diag "$(tr -d '\r' <"$console" | tail -n 60)"
capture_stop
for secret in secret-name secret-content confidential; do
	check_not "no packet has $secret" grep -qa "$secret" "$captured"
done
check "but packets have the MNT calls" grep -qa "$T/export/mtls" "$captured"
done_testing

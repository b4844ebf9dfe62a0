#!/bin/bash
# SPDX-License-Identifier: ISC
# The tables of permitted system calls are exact. The daemons do all they can
# under strace in every mode. The test fails for a permitted call that no role
# needed, and for a role that its filter killed. One run has no vDSO: then the C
# library makes the calls that the vDSO answers otherwise. LONG=1 runs other
# system tests under strace as well.
# Runs in: the tests.
. "${0%/*}/lib.sh"
. "$top/tests/lib/ca.sh"
private "$@"
sanitized && skip_all "a sanitizer build has no filter"
need strace strace python3 python3 openssl openssl
need_daemons
strace -D true 2>/dev/null || skip_all "strace may not trace here"

here=${0%/*}
export START_SECONDS=60 NFS_TIMEOUT=60
mkdir -p "$T/export/sub" "$T/later" "$T/traces"
chmod 1777 "$T/export" "$T/later"
echo readable >"$T/export/readable"
ca_new "$T/ca" && ca_server server IP:127.0.0.1 && ca_client laptop.example.org ||
    bail "no certificates"

# wrap FOLDER: traces the daemons started from now on into that folder.
wrap() {
	mkdir -p "$T/traces/$1"
	export TERN_WRAP="strace -D -f -ff -ttt -qq -s 40 -e signal=none -o $T/traces/$1/trace"
}

# wrap_novdso: the same without vDSO. The folder's name tells calls.py.
wrap_novdso() {
	mkdir -p "$T/traces/novdso"
	TERN_WRAP="$(built system)/novdso $T/traces/novdso"
}

# Have the event loops of the three processes that read the network compared
# their clocks? They do so at the first call after five seconds. A process that
# the filter killed has tried.
clocks_compared() {
	local f n=0
	for f in portmapper mountd nfs; do
		rpcinfo -T tcp 127.0.0.1 $f >/dev/null
	done
	for f in "$T"/traces/novdso/*; do
		grep -q 'seccomp()' "$f" || continue
		if sed '1,/seccomp()/d' "$f" | grep -Eq 'gettimeofday|\+\+\+ killed'; then
			n=$((n + 1))
		fi
	done
	[ $n -ge 3 ]
}

# all NAME OPTIONS: calls every procedure, reloads with one more export, and
# stops.
all() {
	if [ "$1" = novdso ]; then wrap_novdso; else wrap "$1"; fi
	tern_start "$T/export *(insecure,$2) localhost(insecure,$2)" -w 1 -t 2 \
	    -o "tls-ca=$T/ca/ca.pem" \
	    -o "tls-cert=$T/ca/server.pem" -o "tls-key=$T/ca/server.key" \
	    -o metrics=127.0.0.1@9049
	wait_for 30 registered 100021 4 udp || diag "$1: no locks"
	python3 "$here/every_call.py" "$T/export" || diag "$1: calls failed"
	"$here/tls_calls.py" "$T" works || diag "$1: TLS failed"
	"$here/scrape.py" 9049 value tern_nfsd_connections >/dev/null || diag "$1: no metrics"
	rpcinfo -T tcp 127.0.0.1 portmapper 2 >/dev/null
	rpcinfo -T udp 127.0.0.1 portmapper 4 >/dev/null
	printf '%s\n' "$T/later *(insecure,$2)" >>"$T/exports"
	kill -HUP "${pid[mountd]}" "${pid[nfsd]}"
	wait_for 30 nfs mnt "$T/later" >/dev/null
	for fh in $(nfs mnt "$T/later"); do
		wait_for 30 nfs -u 1001:1001 getattr "$fh"
	done
	[ "$1" != novdso ] || wait_for 60 clocks_compared || diag "no clock was compared"
	kill -USR1 "${pid[mountd]}" "${pid[nfsd]}" "${pid[portmapd]}"
	tern_stop
}

all multi rw,audit
all root rw,no_root_squash
all squash rw,all_squash,anonuid=1001,anongid=1001
[ -x "$(built system)/novdso" ] || skip_all "no novdso (make check makes it)"
all novdso rw
if [ -n "${LONG:-}" ]; then
	for t in 20-portmapd-rpcinfo 30-mountd 40-nfsd-handles 42-nfsd-life; do
		wrap "$t"
		timeout 200 "$here/$t.t" >"$T/$t.out" 2>&1
	done
fi
unset TERN_WRAP
"$here/calls.py" "$top" "$T"/traces/*

#!/bin/bash
# SPDX-License-Identifier: ISC
# The metrics role: off by default, the counters of all three daemons, and that the
# manual, the dashboard and the alerts have them; what the role is not allowed to do,
# requests that are not served, and scrapers that harm.
# Runs in: the tests.
. "${0%/*}/lib.sh"
. "$top/tests/lib/ca.sh"
private "$@"
need openssl openssl python3 python3

port=9049
metrics() { "$here/scrape.py" "$port" "$@"; }
role() { pgrep -f "^nfsd: $1" -P "${pid[nfsd]}" | head -n 1; }
log_says() { wait_for 10 grep -Eq -- "$1" "$T/nfsd.log"; }

here=${0%/*}
ca_new "$T/ca" && ca_server server IP:127.0.0.1 || bail "no certificates"
odd="$T/a \"b\\c"$'\303\251\377'
mkdir -m 1777 "$T/x" "$odd"
quoted=$(printf '%s' "$odd" | sed 's/\\/\\134/; s/"/\\042/')
text="$T/x 127.0.0.1(rw,insecure)
\"$quoted\" 127.0.0.1(rw,insecure)"
tern_start "$text" -w 1
check_not 'without -o metrics nothing listens' python3 -c "
import socket; socket.create_connection(('127.0.0.1', $port), 5)"
is "$(role metrics)" '' 'and there is no process'
stop nfsd
check_not 'an address without port is refused' "$O/nfsd/nfsd" -n -f "$T/exports" -o metrics=127.0.0.1
start nfsd -p 2049 -w 2 -o "tls-cert=$T/ca/server.pem" -o "tls-key=$T/ca/server.key" \
	-o "tls-ca=$T/ca/ca.pem" -o "tls-crl=$T/ca/crl.pem" -o metrics=127.0.0.1@$port -o metrics=::1@$port
log_says 'metrics: sandbox: .*chroot=empty caps=none.*net=closed'
ok $? 'the role has nothing'
unlike "$(cat "$T/nfsd.log")" 'close it with a firewall' 'the local machine is no risk'
is "$(ps -o user:20= -p "$(role metrics)")" _nfsd-metrics 'it has a user of its own'
check 'calls are made' "$here/live.py" load "$T/x"
check 'an export with an odd name is used' python3 -c "
import os, sys, mount, nfs
nfs.connect(uid=1001, gid=1001).getattr(mount.root(os.fsencode(sys.argv[1])))" "$odd"
lines_ok metrics counts "$T/x"
lines_ok metrics names "$top"/man/tern-metrics.7 "$top"/etc/prometheus/*
lines_ok metrics labels "$T/a \\\"b\\\\134c"$'\303\251'"\\\\377"
check 'IPv6 is served' python3 -c "import metrics; metrics.scrape($port, host='::1')"
lines_ok metrics requests
log_says 'metrics: client 127\.0\.0\.1: refused: 404 Not Found: only GET /metrics'
ok $? 'a refusal is in the log'

# A process that ends: the next one has the same sockets.
kill -9 "$(role metrics)"
works() { [ "$(metrics value tern_nfsd_role_starts_total role=metrics)" = 2.0 ]; }
check 'a role that dies is started again, and says so' wait_for 20 works
kill -9 "$(role broker)"
works() { [ "$(metrics value tern_nfsd_role_starts_total role=broker)" = 2.0 ]; }
check 'a broker that died is counted' wait_for 20 works
stop mountd
stop portmapd
up() { [ "$(metrics value tern_mountd_up)$(metrics value tern_portmapper_up)" = "$1$2" ]; }
check 'mountd and the portmapper are down' wait_for 10 up 0.0 0.0
start mountd -p 20048
check 'mountd is back' wait_for 10 up 1.0 0.0
lines_ok metrics hostile "$(role metrics)"
log_says 'metrics: client 127\.0\.0\.[23]: dropped: '
ok $? 'and the log names the client and the reason'
stop nfsd
start nfsd -p 2049 -w 1 -o metrics=0.0.0.0@$port
like "$(cat "$T/nfsd.log")" 'metrics: every machine that reaches 0\.0\.0\.0:9049' \
	'other machines are a risk, and the log says so'
done_testing

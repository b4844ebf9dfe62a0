#!/bin/bash
# SPDX-License-Identifier: ISC
#
# The agents for pacemaker pass ocf-tester. That of the daemons leaves no mount busy
# when it stops, and says why a head is sick. keepalived takes the example, and runs
# the health check as its example says.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need ocf-tester resource-agents xmllint libxml2-utils keepalived keepalived python3 python3
need_daemons
mount -t tmpfs -o mode=1777 tmpfs /var/log # ocf-tester and agents write there
mkdir -p "$T/engine" /run/resource-agents "$T/run"
mount -t tmpfs -o mode=777 tmpfs "$T/engine"
exports "$T/engine 127.0.0.1(rw,insecure)"
mkdir -p "$T/sbin"
for p in portmapd mountd nfsd; do ln "$O/$p/$p" "$T/sbin/$p" 2>/dev/null || cp "$O/$p/$p" "$T/sbin/$p"; done
keys=(sbin="$T/sbin" exports="$T/exports" key="$T/key" socket="$T/run/portmap.sock"
    nfsd_flags='-p 2049 -o lock-port=4045' health_timeout=3)
flags=()
for k in "${keys[@]}"; do
	flags+=(-o "$k")
	export "OCF_RESKEY_$k"
done
install -D -t /run/agents "$top/etc/ocf/"* # ocf-tester drops root before it reads
agent=/run/agents/tern
export OCF_ROOT=/usr/lib/ocf HA_RSCTMP=/run/resource-agents OCF_RESOURCE_INSTANCE=one
said() { "$agent" "$1" 2>&1; }

at_end "'$agent' stop"
check 'the agent passes ocf-tester' ocf-tester -n one "${flags[@]}" "$agent"
like "$(cat "$T/check.out")" 'passed all tests' 'all of its tests'
said monitor >/dev/null
is $? 7 'it does not run'
check 'it starts' said start
check 'and serves' nfs -s 800 mnt "$T/engine"
roles=$(pgrep -f '^nfsd: ' | wc -l)
ok $((roles < 3)) "nfsd has its roles ($roles)"
w=$(pgrep -f '^nfsd: worker' | head -n 1)
halt "$w"
said monitor >"$T/out"
is $? 1 'a sick head fails its monitor'
like "$(cat "$T/out")" 'worker [0-9] does not answer' 'with the reason'
kill -CONT "$w"
check 'well again' wait_for 20 said monitor
lost=$(cat /run/resource-agents/tern-one.mountd)
kill -9 "$lost"
ended() { [ ! -e "/proc/$lost/exe" ]; }
wait_for 10 ended
said monitor >"$T/out"
is $? 1 'a lost daemon fails it'
like "$(cat "$T/out")" 'mountd does not run' 'with its name'
check 'it stops' said stop
is "$(pgrep -fc '^(nfsd|mountd|portmapd): ')" 0 'no process is left'
check 'the filesystem is not busy' umount "$T/engine"
mv "$T/exports" "$T/exports.away"
said start >"$T/out"
is $? 5 'no exports file: it is not installed here'
mv "$T/exports.away" "$T/exports"
echo "$T/engine 127.0.0.1(wr)" >"$T/exports"
said start >"$T/out"
is $? 6 'a mistake in the exports: not configured'
like "$(cat "$T/out")" 'exports' 'and says so'

# ---- the watcher of connections ------------------------------------------------
ip address add 10.7.9.100/32 dev lo
export OCF_RESKEY_program=$top/etc/tern-takeover OCF_RESKEY_directory=$T/lists OCF_RESKEY_addresses=10.7.9.100
mkdir -m 700 "$T/lists"
agent=/run/agents/tern-takeover
at_end "'$agent' stop"
check 'the agent of tern-takeover passes ocf-tester' ocf-tester -n two -o program="$OCF_RESKEY_program" \
    -o directory="$T/lists" -o addresses=10.7.9.100 "$agent"
check 'it starts' said start
check 'and lists connections' wait_for 10 test -e "$T/lists/10.7.9.100/$(uname -n)"
check 'it stops' said stop

# ---- keepalived ----------------------------------------------------------------
ip link add eth0 type veth peer name eth1
ip link set eth0 up
sed "s,/usr/sbin/,$T/sbin/,g; s,/usr/local/,$T/,g; s,^\\(\t*\\)# notify,\\1notify," "$top/etc/keepalived/keepalived.conf" >"$T/keepalived.conf"
cp "$top/etc/keepalived/nfs-here" "$T/sbin"
keepalived -t -f "$T/keepalived.conf" >"$T/out" 2>&1
is $? 0 'keepalived takes the example' || diag "$(cat "$T/out")"
script=$(sed -n 's/^[ \t]*script "\(.*nfsd -H.*\)"/\1/p' "$T/keepalived.conf")
like "$script" 'nfsd -H' 'its check is nfsd -H'
$script >"$T/out" 2>&1
is $? 1 'which fails where nfsd does not run'
done_testing

#!/bin/bash
# SPDX-License-Identifier: ISC
#
# Tern without systemd: the examples for runit and OpenRC, each under its own
# supervisor.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need runsvdir runit openrc-run openrc python3 python3

mkdir "$T/x" "$T/sv" "$T/bin" "$T/lib"
chmod 1777 "$T/x"
mkdir -p /etc/default
cp "$top/etc/tern.default" /etc/default/tern
cat >>/etc/default/tern <<E
MOUNTD_FLAGS="-p 20048 -f $T/exports"
NFSD_FLAGS="-p 2049 -f $T/exports"
E
exports "$T/x 127.0.0.1(rw,insecure)"
# The state of a machine without Tern, and the daemons where a package has them.
mount --bind "$T/lib" /var/lib
for d in portmapd mountd nfsd; do
	cp "$O/$d/$d" "$T/bin/"
done
mount -t overlay -o "lowerdir=$T/bin:/usr/sbin" overlay /usr/sbin || bail "no overlay"

gone() { ! nfs null; }
# restarted COMMAND...: which prints a process, prints another one now.
restarted() { [ "$("$@")" != "$one" ] && nfs null; }

# runit
mkdir /var/lib/tern
for d in portmapd mountd nfsd; do
	mkdir "$T/sv/tern-$d"
	cp "$top/etc/init/runit" "$T/sv/tern-$d/run"
done
runsvdir -P "$T/sv" >"$T/runit.log" 2>&1 &
pid[runsvdir]=$!
wait_for 20 nfs null
ok $? 'runit starts the daemons'
wait_for 20 registered 100005 3 tcp
nfs -u 1000 create "$(nfs mnt "$T/x")" f 644 >/dev/null
is "$(stat -c %u "$T/x/f")" 1000 'and they serve'
of_runit() { sv status "$T/sv/tern-nfsd" | sed 's/.*(pid \([0-9]*\)).*/\1/'; }
one=$(of_runit)
kill -KILL "$one"
wait_for 20 restarted of_runit
ok $? 'a daemon that ends is started again'
kill -HUP "${pid[runsvdir]}"
wait "${pid[runsvdir]}"
wait_for 20 gone
ok $? 'and all of them stop'

# OpenRC, as after its start of a machine
rm -r /var/lib/tern
mkdir -p /run/openrc/{daemons,exclusive,failed,hotplugged,inactive,options} \
    /run/openrc/{scheduled,started,starting,stopping,tmp,wasinactive}
: >/run/openrc/softlevel
for d in portmapd mountd nfsd; do
	install -m 755 "$top/etc/init/openrc" "/etc/init.d/tern-$d"
done
rc() { rc-service "tern-$1" "$2" >"$T/rc.log" 2>&1; }
for d in portmapd mountd nfsd; do
	check "OpenRC starts $d" rc $d start
done
wait_for 20 nfs null
wait_for 20 registered 100005 3 tcp
nfs -u 1000 create "$(nfs mnt "$T/x")" g 644 >/dev/null
is "$(stat -c %u "$T/x/g")" 1000 'and they serve'
is "$(stat -c %a /var/lib/tern)" 700 'with a directory for the key'
mkdir "$T/y"
exports "$T/y 127.0.0.1(rw,insecure)"
check 'reload' rc mountd reload
wait_for 20 nfs mnt "$T/y"
ok $? 'has an effect'
exports 'junk'
check_not 'a reload with a mistake fails' rc mountd reload
like "$(cat "$T/rc.log")" 'exports:1:1: "junk"' 'and says where'
exports "$T/y 127.0.0.1(rw,insecure)"
of_openrc() { pgrep -o -x nfsd; }
one=$(of_openrc)
kill -KILL "$one"
wait_for 30 restarted of_openrc
ok $? 'a daemon that ends is started again' || diag "$(rc-service tern-nfsd status 2>&1)"
for d in nfsd mountd portmapd; do
	check "OpenRC stops $d" rc $d stop
done
wait_for 20 gone
ok $? 'and none is left'
done_testing

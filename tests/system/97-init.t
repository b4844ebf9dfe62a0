#!/bin/bash
# SPDX-License-Identifier: ISC
#
# Tern without systemd: the example for runit.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need runsvdir runit python3 python3

mkdir "$T/x" "$T/sv" "$T/bin"
chmod 1777 "$T/x"
echo "$T/x 127.0.0.1(rw,insecure)" >/etc/exports
mkdir -p /etc/default
cp "$top/etc/tern.default" /etc/default/tern
cat >>/etc/default/tern <<E
MOUNTD_FLAGS="-p 20048 -k $T/key"
NFSD_FLAGS="-p 2049 -k $T/key"
E
for d in portmapd mountd nfsd; do
	mkdir "$T/sv/tern-$d"
	cp "$top/etc/init/runit" "$T/sv/tern-$d/run"
	ln -s "$O/$d/$d" "$T/bin/$d"
done
PATH="$T/bin:$PATH" runsvdir -P "$T/sv" >"$T/log" 2>&1 &
pid[runsvdir]=$!
wait_for 20 nfs null
ok $? 'runit starts the daemons'
nfs -u 1000 create "$(nfs mnt "$T/x")" f 644 >/dev/null
is "$(stat -c %u "$T/x/f")" 1000 'and they serve'
one=$(sv status "$T/sv/tern-nfsd" | sed 's/.*(pid \([0-9]*\)).*/\1/')
kill -KILL "$one"
restarted() { ! sv status "$T/sv/tern-nfsd" | grep -q "(pid $one)" && nfs null; }
wait_for 20 restarted
ok $? 'a daemon that ends is started again'
kill -HUP "${pid[runsvdir]}"
wait "${pid[runsvdir]}"
gone() { ! nfs null; }
wait_for 20 gone
ok $? 'and all of them stop'
done_testing

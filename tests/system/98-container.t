#!/bin/bash
# SPDX-License-Identifier: ISC
#
# The entry point of the image, in a container of runc with the capabilities
# that containers have by default, no privilege and no mount of its own. The
# image is this machine's /usr and a few files.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need runc runc python3 python3

# image: the files that differ from /usr.
image() {
	local root=$T/image/rootfs d u id=900
	mkdir -p "$root" "$T/state" "$T/exports.d" "$T/srv"
	for d in usr proc dev sys run tmp srv etc etc/exports.d var var/lib \
	    var/lib/tern; do
		mkdir -p "$root/$d"
	done
	for d in bin sbin lib lib64; do
		[ ! -L /$d ] || cp -P /$d "$root/"
	done
	cp /etc/ld.so.cache "$root/etc/"
	echo 'root:x:0:0::/:/bin/sh' >"$root/etc/passwd"
	echo 'root:x:0:' >"$root/etc/group"
	for u in _portmapd _mountd _nfsd _nfsd-tls _nfsd-metrics _tern-resolve; do
		echo "$u:x:$id:$id::/:/bin/false" >>"$root/etc/passwd"
		echo "$u:x:$id:" >>"$root/etc/group"
		id=$((id + 1))
	done
	mkdir "$root/tern"
	cp "$O/portmapd/portmapd" "$O/mountd/mountd" "$O/nfsd/nfsd" "$root/tern/"
	cp "$top/etc/container/start" "$root/tern/tern-start"
}

# config VOLUME WORD...: writes config.json; VOLUME: is the key on one?
config() {
	local volume=$1
	shift
	python3 - "$T" "$volume" "$@" >"$T/image/config.json" <<'E'
import json, sys
T, volume, *words = sys.argv[1:]
caps = ["CAP_" + c for c in "CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW "
        "SETGID SETUID SETFCAP SETPCAP NET_BIND_SERVICE SYS_CHROOT KILL "
        "AUDIT_WRITE".split()]
def bind(source, target, how):
    return {"destination": target, "source": source, "type": "bind",
            "options": ["rbind", how]}
mounts = [bind("/usr", "/usr", "ro"), bind(f"{T}/srv", "/srv", "rw"),
          bind(f"{T}/exports.d", "/etc/exports.d", "ro"),
          {"destination": "/proc", "type": "proc", "source": "proc"},
          {"destination": "/dev", "type": "tmpfs", "source": "tmpfs"},
          {"destination": "/run", "type": "tmpfs", "source": "tmpfs"}]
if volume == "yes":
    mounts.append(bind(f"{T}/state", "/var/lib/tern", "rw"))
print(json.dumps({
    "ociVersion": "1.0.0", "hostname": "tern", "mounts": mounts,
    "root": {"path": "rootfs"},
    "process": {
        "user": {"uid": 0, "gid": 0}, "cwd": "/", "noNewPrivileges": True,
        "env": ["PATH=/tern:/usr/sbin:/usr/bin:/sbin:/bin"],
        "args": ["/tern/tern-start"] + words,
        "capabilities": {k: caps for k in
                         ("bounding", "effective", "permitted")}},
    # The network of the test, as with --network=host.
    "linux": {"namespaces": [{"type": t} for t in
                             ("pid", "mount", "ipc", "uts")]}}))
E
}
contain() { runc --root "$T/runc" "$@"; }
run() { (cd "$T/image" && contain run tern) >"$T/out" 2>&1; }

image
chmod 1777 "$T/srv"
config no
run
is $? 78 'without exports it does not start'
like "$(cat "$T/out")" 'no exports: mount a file at /etc/exports' 'and says so'
echo '/srv 127.0.0.1(rw,insecure)' >"$T/exports.d/data.exports"
run
is $? 78 'without a volume for the key it does not start'
like "$(cat "$T/out")" 'add -v tern:/var/lib/tern' 'and says how'

config yes
run &
pid[container]=$!
wait_for 20 nfs null || diag "$(cat "$T/out")"
x=$(nfs mnt /srv)
nfs -u 1000:1001 create "$x" mine 600 >"$T/fh"
is "$(stat -c %u:%g "$T/srv/mine")" 1000:1001 \
    'it serves several users without privilege'
is "$(nfs -u 1001 read "$(cat "$T/fh")" 0 1)" ACCES 'and keeps them apart'
ok "$(contain exec tern /tern/tern-start health >"$T/health" 2>&1; echo $?)" \
    'it is healthy'
mkdir "$T/srv/more"
echo '/srv/more 127.0.0.1(ro,insecure)' >"$T/exports.d/more.exports"
contain kill tern HUP
wait_for 10 nfs mnt /srv/more
ok $? 'SIGHUP reloads the exports'

contain kill tern KILL
wait "${pid[container]}"
contain delete -f tern >/dev/null 2>&1
run &
pid[container]=$!
wait_for 20 nfs null
is "$(nfs -u 1000 write "$(cat "$T/fh")" 0 text)" 4 \
    'handles hold in the next container'
victim=$(contain exec tern sh -c 'grep -lx mountd /proc/[0-9]*/comm' | head -n 1 | tr -dc 0-9)
contain exec tern sh -c "kill -KILL $victim"
wait "${pid[container]}"
wait "${pid[container]}"; ok $(($? == 0)) 'when a daemon ends, the container does'
like "$(tail -n 20 "$T/out")" 'stopping the others' 'and says so'
run &
pid[container]=$!
wait_for 20 nfs null
contain kill tern TERM
wait "${pid[container]}"
is $? 0 'SIGTERM stops it'
done_testing

# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2154 # T, O, top: lib.sh
#
# A container of runc with the capabilities that containers have by default, no
# privilege and no mount of its own. The image is this machine's /usr and a few
# files. Source after lib.sh.
# Runs in: the tests.

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

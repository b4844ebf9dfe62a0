#!/bin/bash
# SPDX-License-Identifier: ISC
#
# make check-container: podman runs the example for Kubernetes, and what its
# generator makes of the example for systemd.
# Runs in: the tests.
# shellcheck source=tests/system/lib.sh
. "${0%/*}/../system/lib.sh"
# shellcheck source=tests/container/podman.sh
. "${0%/*}/podman.sh"
need_root
need podman podman runc runc mmdebstrap mmdebstrap python3 python3
need systemd-analyze systemd
made image
made quadlet
private "$@"
image_here

# The pod's network has addresses of the example.
ip address add 10.1.2.3/32 dev lo
pod() { nfs -h 10.1.2.3 "$@"; }
example=$top/etc/container/kubernetes.yaml
play() { podman play kube --network host "$@"; }
# podman 4.3 may look before an init container has gone, and fail: it tries again. And
# it takes no claim for a volume that it has.
awk 'BEGIN { RS = ORS = "---\n" } !/PersistentVolumeClaim\n/' "$example" >"$T/again.yaml"
up() { play "$1" || { play --down "$1" && false; }; }
up_first() { up "$example" || wait_for 120 up "$T/again.yaml"; }
check 'podman plays the example for Kubernetes' up_first
wait_for 60 pod mnt /srv
tern=$(podman ps --format '{{.Names}}' | grep -e '-tern$')
pod -u 501 create "$(pod mnt /srv)" f 644 >"$T/fh"
data=$(podman volume inspect --format '{{.Mountpoint}}' tern-data)
is "$(stat -c %u:%g "$data/f")" 1000:1000 'its clients write as the user of the export'
is "$(podman inspect --format '{{.HostConfig.Privileged}} {{.HostConfig.CapAdd}}' "$tern")" \
    'false []' 'it has no privilege and no added capability'
for probe in health alive; do
	check "its probe $probe succeeds" podman exec "$tern" tern-start $probe
done
check 'podman uses the live probe' podman healthcheck run "$tern"
check 'the pod goes' play --down "$example"
check 'and comes' wait_for 120 up "$T/again.yaml"
wait_for 60 pod mnt /srv
is "$(pod -u 501 write "$(cat "$T/fh")" 0 text)" 4 'handles hold in the next pod'
check 'and ends' play --down "$T/again.yaml"

unit=tern.service
check "podman's generator is here" [ -z "$NO_QUADLET" ] || bail "$NO_QUADLET"
mkdir "$T/quadlet" "$T/quadlet/units"
mount --bind "$kept/quadlet" "$T/quadlet" && mkdir -p "$T/quadlet/tmp"
mount -t tmpfs tmpfs "$T/quadlet/tmp" && mkdir "$T/quadlet/tmp/made"
cp "$top/etc/container/tern.container" "$T/quadlet/tmp/"
QUADLET_UNIT_DIRS=/tmp chroot "$T/quadlet" /usr/libexec/podman/quadlet \
    -no-kmsg-log /tmp/made 2>"$T/generator.log"
ok $? 'it makes a unit of the example for systemd' || diag "$(cat "$T/generator.log")"
is "$(cat "$T/generator.log")" '' 'without a complaint'
made=$T/quadlet/tmp/made/$unit
is "$(systemd-analyze verify --man=no "$made" 2>&1 | grep "$unit")" '' 'that systemd understands'

# The unit's own command, but for the cgroup and the report to systemd.
mkdir -p /etc/tern/exports.d "$T/srv"
chmod 1777 "$T/srv"
mount --bind "$T/srv" /srv
echo '/srv 127.0.0.1(rw,insecure)' >/etc/tern/exports.d/data.exports
command=$(sed -n 's/^ExecStart=//p' "$made" |
    sed "s,%N,tern,g; s,%t,$T,g; s/--cgroups=split //; s/--sdnotify=conmon //")
like "$command" 'podman run .*-v tern-state:/var/lib/tern' 'its command runs the image'
# shellcheck disable=SC2086 # words
check 'which starts' $command
wait_for 60 nfs mnt /srv
nfs -u 1000 create "$(nfs mnt /srv)" g 644 >/dev/null
is "$(stat -c %u "$T/srv/g")" 1000 'and serves'
mkdir "$T/srv/more"
echo '/srv/more 127.0.0.1(rw,insecure)' >>/etc/tern/exports.d/data.exports
reload=$(sed -n 's/^ExecReload=//p' "$made" | sed s,%N,tern,)
# shellcheck disable=SC2086 # words
check 'its reload' $reload
wait_for 20 nfs mnt /srv/more
ok $? 'has an effect'
done_testing

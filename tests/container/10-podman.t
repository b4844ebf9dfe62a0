#!/bin/bash
# SPDX-License-Identifier: ISC
#
# make check-container: podman builds the image as tern(7) says, and runs it
# without privilege. A Linux kernel mounts it.
# Runs in: the tests.
# shellcheck source=tests/system/lib.sh
. "${0%/*}/../system/lib.sh"
# shellcheck source=tests/kernel/rig.sh
. "$top/tests/kernel/rig.sh"
# shellcheck source=tests/container/podman.sh
. "${0%/*}/podman.sh"
need_root
need podman podman runc runc mmdebstrap mmdebstrap python3 python3
need_guest
made image
private "$@"
image_here
guest_net 1

mkdir "$T/srv" "$T/exports.d"
chmod 1777 "$T/srv"
# run NAME FLAG...: tern(7)'s command.
run() {
	local name=$1
	shift
	podman run --name "$name" "$@" -v "$T/srv:/srv" \
	    -v "$T/exports.d:/etc/exports.d:ro" --network host tern
}
state() { podman inspect --format "{{.State.$2}}" "$1"; }
ended() { [ "$(state "$1" Status)" = exited ]; }

out=$(run no-exports -v tern:/var/lib/tern 2>&1)
is $? 78 'without exports it does not start'
like "$out" 'no exports: mount a file at /etc/exports' 'and says so'
echo '/srv 127.0.0.1(rw,insecure) 10.77.0.0/24(rw,no_root_squash,setid)' \
    >"$T/exports.d/data.exports"
out=$(run no-volume 2>&1)
is $? 78 'without a volume for the key it does not start'
like "$out" 'add -v tern:/var/lib/tern' 'and says how'

run one -d -v tern:/var/lib/tern >/dev/null
wait_for 60 nfs mnt /srv || diag "$(podman logs one 2>&1)"
is "$(podman inspect --format '{{.HostConfig.Privileged}} {{.HostConfig.CapAdd}}' one)" \
    'false []' 'it has no privilege and no added capability'
caps=0x$(sed -n 's/^CapBnd:\t//p' "/proc/$(state one Pid)/status")
is $((caps >> 21 & 1)) 0 'nor has its bounding set CAP_SYS_ADMIN'
nfs -u 1000:1001 create "$(nfs mnt /srv)" mine 600 >"$T/fh"
is "$(stat -c %u:%g "$T/srv/mine")" 1000:1001 'it serves several users'
is "$(nfs -u 1001 read "$(cat "$T/fh")" 0 1)" ACCES 'and keeps them apart'
check 'podman finds it healthy' podman healthcheck run one
EXPORT=/srv kernel_test 3 tcp ac 1 240 attrs append openfiles

echo '/gone 127.0.0.1(rw,insecure)' >"$T/exports.d/more.exports"
podman kill -s HUP one >/dev/null
unhealthy() { ! podman healthcheck run one; }
wait_for 20 unhealthy
ok $? 'SIGHUP reloads the exports: with one that is not there it is not healthy'
like "$(podman exec one tern-start health 2>&1)" /gone 'and says which'
rm "$T/exports.d/more.exports"

podman stop one >/dev/null
is "$(state one ExitCode)" 0 'podman stop ends it'
podman rm one >/dev/null
run two -d -v tern:/var/lib/tern >/dev/null
wait_for 60 nfs mnt /srv
is "$(nfs -u 1000 write "$(cat "$T/fh")" 0 text)" 4 'handles hold in the next container'
podman exec two sh -c 'kill -KILL $(grep -lx nfsd /proc/[0-9]*/comm | tr -dc "0-9 \n")'
wait_for 20 ended two
ok $? 'when nfsd ends, the container does'
check_not 'with an error, so that it is started again' [ "$(state two ExitCode)" = 0 ]
like "$(podman logs two 2>&1)" 'tern-start: nfsd ended with' 'and says so'
done_testing

#!/bin/bash
# SPDX-License-Identifier: ISC
# Power failures: the server runs in an emulated machine whose disk has a write
# cache (tests/abuse/powerdisk.c); a client on the host remembers which data,
# names and attributes it was promised (tests/abuse/durable.c). The machine is
# killed at any moment, its disk loses what was not flushed, and after the next
# boot the client looks. With the export option datasync names may be lost, and
# are: that shows that the test would notice.
# Only with LONG=1: a kernel has to be fetched. LOSSES=n: so many on each of
# FILESYSTEMS, 50 if unset.
# shellcheck source=tests/system/lib.sh
. "${0%/*}/../system/lib.sh"
[ -n "${LONG:-}" ] || skip_all "LONG=1 runs it"
guest=$(built kernel)/power
why=$("${0%/*}/../kernel/power-guest" "$guest" 2>&1) || skip_all "$why"
private "$@"
need mkfs.ext4 e2fsprogs mkfs.xfs xfsprogs mkfs.btrfs btrfs-progs ip iproute2
need_daemons mountd nfsd
[ -c /dev/net/tun ] || skip_all "no /dev/net/tun"
tools=$(built abuse)
[ -x "$tools/powerdisk" ] || skip_all "$tools/powerdisk is not built"
losses=${LOSSES:-50}

ip tuntap add tap0 mode tap || bail "no tap interface"
ip address add 10.77.0.1/24 dev tap0
ip link set tap0 up
mkdir "$T/x" "$T/guest"
head -c 32 /dev/urandom >"$T/key"
chmod 600 "$T/key"

# image FILESYSTEM: an empty one for the disk.
image() {
	rm -f "$T/image"
	case $1 in
	ext4) truncate -s 64M "$T/image" && mkfs.ext4 -q -F -b 4096 "$T/image" ;;
	xfs) truncate -s 320M "$T/image" && mkfs.xfs -q -f -s size=4096 "$T/image" ;;
	btrfs) truncate -s 160M "$T/image" && mkfs.btrfs -q -f "$T/image" >/dev/null ;;
	esac
}

# whole FILESYSTEM: is the image's filesystem without faults?
whole() {
	local device
	case $1 in
	ext4) e2fsck -fp "$T/image" || [ $? -eq 1 ] ;;
	btrfs) btrfs check --readonly "$T/image" ;;
	xfs) # its log is replayed first
		device=$(losetup --find --show -b 4096 "$T/image") &&
		    mount -t xfs "$device" "$T/x" && umount "$T/x" &&
		    xfs_repair -n "$device"
		set -- $?
		losetup -d "$device"
		return "$1"
		;;
	esac
}

power_on() {
	"$tools/powerdisk" "$T/image" "$T/disk" >>"$T/disk.out" 2>&1 &
	pid[disk]=$!
	wait_for 10 test -S "$T/disk" || bail "no disk"
	qemu-system-x86_64 -nodefaults -no-user-config -no-reboot -nographic \
	    -machine q35,accel=tcg -cpu qemu64 -m 512 -smp 1 -bios qboot.rom \
	    -kernel "$guest/vmlinux" -initrd "$guest/initrd" \
	    -append "console=ttyS0 quiet panic=-1 mitigations=off no_timer_check net.ifnames=0 \
ternroot=$top/tests/kernel/init tern=$T/guest" -serial stdio -monitor none \
	    -virtfs local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap \
	    -netdev tap,id=n,ifname=tap0,script=no,downscript=no \
	    -device virtio-net-pci,netdev=n,romfile= \
	    -drive "if=none,id=d,format=raw,file=nbd+unix:///?socket=$T/disk" \
	    -device virtio-blk-pci,drive=d,logical_block_size=4096,physical_block_size=4096 \
	    </dev/null >"$T/console" 2>&1 &
	pid[guest]=$!
	at_end "kill -9 ${pid[guest]}"
}

power_off() {
	kill -9 "${pid[guest]}"
	wait "${pid[guest]}" "${pid[disk]}" 2>/dev/null
	unset 'pid[guest]' 'pid[disk]'
	rm -f "$T/disk"
}

# How often the client has found the server and looked at every block.
looked() { grep -c '^looked' "$T/out"; }
looked_again() { [ "$(looked)" -gt "$1" ]; }
serving() { grep -q '^@@ serving' "$T/console"; }

# lose FILESYSTEM OPTION: the power fails again and again; what becomes of the
# client's promises is its exit status and $T/out.
lose() {
	local i before client datasync=${2#sync}
	image "$1" || bail "no $1"
	exports "$T/x 10.77.0.0/24(rw,insecure,no_root_squash,$2)"
	printf 'export %q\n' "JOB=$top/tests/abuse/power-job.sh" "O=$O" "T=$T" \
	    "FS=$1" ADDRESS=10.77.0.2 MODULES=/nonexistent >"$T/guest/env"
	power_on
	wait_for 300 serving || bail "the guest does not serve: $(tail -n 20 "$T/console")"
	"$tools/durable" 10.77.0.2 2049 20048 "$T/x" $((losses * 300)) \
	    ${datasync:+datasync} >"$T/out" 2>&1 &
	client=$!
	at_end "kill $client"
	for ((i = 0; i < losses; i++)); do
		sleep "$((RANDOM % 3)).$(printf %03d $((RANDOM % 1000)))"
		before=$(looked)
		power_off
		power_on
		wait_for 300 looked_again "$before" || break
		kill -0 $client 2>/dev/null || break
	done
	is "$i" "$losses" "$1, $2: $losses times the power failed and the server came back" ||
	    diag "$(tail -n 20 "$T/console")"
	kill $client
	wait $client
}

for fs in ${FILESYSTEMS:-ext4 xfs btrfs}; do
	lose "$fs" sync
	ok $? "$fs: no promise was broken" || diag "$(tail -n 20 "$T/out")"
	diag "$(tail -n 2 "$T/out")"
	like "$(cat "$T/out")" ' [1-9][0-9]* unstable writes lost' \
	    "$fs: what nobody had promised was lost now and then"
	power_off
	whole "$fs" >"$T/fsck" 2>&1
	ok $? "$fs: the filesystem is whole" || diag "$(tail -n 20 "$T/fsck")"
done
lose ext4 datasync
ok $? 'datasync: no promise about data was broken' || diag "$(tail -n 20 "$T/out")"
diag "$(tail -n 2 "$T/out")"
like "$(tail -n 1 "$T/out")" ' [1-9][0-9]* lost' 'datasync: names were lost now and then'
power_off
diag "disk: $(awk '{ w += $1; f += $3; l += $7; k += $9 } END {
	print w " writes, " f " flushes; unflushed blocks: " l " lost, " k " kept" }' "$T/disk.out")"
like "$(cat "$T/disk.out")" ' [1-9][0-9]* lost' 'the disk did lose what was not flushed'
done_testing

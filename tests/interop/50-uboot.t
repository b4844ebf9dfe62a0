#!/bin/bash
# SPDX-License-Identifier: ISC
# U-Boot, in an emulated ARM board, loads files by its nfs command over UDP. It
# asks for NFS version 2 first, and uses version 3 with a server that refuses 2
# (with a handle of MOUNT version 2).
# shellcheck source=tests/system/lib.sh
. "${0%/*}/../system/lib.sh"
need qemu-system-arm qemu-system-arm python3 python3 tshark tshark
image=/usr/lib/u-boot/qemu_arm/u-boot.bin
[ -r $image ] || skip_all "no $image (package u-boot-qemu)"
private "$@"
# shellcheck source=tests/interop/tshark.sh
. "$top/tests/interop/tshark.sh"
[ -c /dev/net/tun ] || skip_all "no /dev/net/tun"
ip tuntap add tap0 mode tap
ip address add 10.77.0.1/24 dev tap0
ip address add 10.77.0.3/24 dev tap0
ip link set tap0 up
mkdir "$T/x"
head -c 300003 /dev/urandom >"$T/x/kernel"
ln -s kernel "$T/x/link"
chmod -R a+rX "$T/x"

# Tern on one address, the relay that refuses version 2 on another.
exports "$T/x 10.77.0.0/24(ro,insecure)"
start portmapd -a 10.77.0.1 || bail "portmapd did not start"
start mountd -a 10.77.0.1 -p 20048 || bail "mountd did not start"
start nfsd -a 10.77.0.1 -p 2049 || bail "nfsd did not start"
there() { rpcinfo -p 10.77.0.1 | grep -q "$1"; }
wait_for 20 there '100003 .*udp .*2049' || bail "nfsd is not registered"
wait_for 20 there '100005 .*udp .*20048' || bail "mountd is not registered"
python3 "$top/tests/interop/no-v2.py" 10.77.0.3 10.77.0.1 111 2049 20048 >"$T/relay.out" &
at_end "kill $!"
wait_for 20 grep -q ready "$T/relay.out"

mkfifo "$T/in"
capture_start tap0 uboot
qemu-system-arm -nographic -no-user-config -nodefaults -M virt -cpu cortex-a15 \
    -m 256 -bios $image -serial stdio -monitor none \
    -netdev tap,id=n,ifname=tap0,script=no,downscript=no \
    -device virtio-net-pci,netdev=n,romfile= <"$T/in" >"$T/console" 2>&1 &
at_end "kill $!"
exec 7>"$T/in"
said() { tr -d '\r' <"$T/console" | grep -q "$1"; }
# Ctrl-C stops the countdown, or the program that it started already.
prompt() {
	printf '\003' >&7
	said '^=>'
}
wait_for 180 prompt
ok $? 'U-Boot boots' || diag "$(tail -c 1500 "$T/console" | tr -d '\r')"
want=$(python3 -c 'import sys, zlib; print("%08x" % zlib.crc32(open(sys.argv[1], "rb").read()))' "$T/x/kernel")
printf '%s\n' '' 'setenv ipaddr 10.77.0.2; setenv netmask 255.255.255.0' >&7

# loads SERVER FILE NAME: does U-Boot load the file with the same bytes?
loads() {
	# shellcheck disable=SC2016 # U-Boot's variable
	printf '%s\n' "nfs 0x41000000 $1:$T/x/$2 && crc32 0x41000000 \${filesize} && echo done-$3" >&7
	wait_for 180 said "^done-$3"
	ok $? "U-Boot loads $3" || diag "$(tail -c 1500 "$T/console" | tr -d '\r')"
}
loads 10.77.0.1 kernel file-by-v2
loads 10.77.0.1 link link-by-v2
loads 10.77.0.3 kernel file-by-v3
loads 10.77.0.3 link link-by-v3
is "$(tr -d '\r' <"$T/console" | grep -c "==> $want")" 4 'all files have the right checksum'
capture_stop
judge uboot 'traffic of U-Boot and Tern' 100
reads() { # VERSION ADDRESS: number of READ calls to that address
	tshark -r "$T/uboot.pcap" -Y "nfs && rpc.programversion == $1 && rpc.msgtyp == 0 && ip.dst == $2 && (nfs.procedure_v$1 == 6)" 2>/dev/null | wc -l
}
n=$(reads 2 10.77.0.1)
[ "$n" -gt 100 ]
ok $? "U-Boot uses READ of version 2 ($n)"
n=$(reads 3 10.77.0.3)
[ "$n" -gt 100 ]
ok $? "U-Boot uses READ of version 3 ($n)"
# What U-Boot reads in a second, and what it may: tern(7).
rate=$(tshark -r "$T/uboot.pcap" -Y 'ip.src == 10.77.0.1 && nfs' -T fields -e frame.time_relative -e frame.len 2>/dev/null |
    awk '{ s[int($1)] += $2 } END { for (i in s) if (s[i] > m) m = s[i]; print m + 0 }')
diag "U-Boot reads $rate bytes in its fastest second"
! grep -q 'replies exceed' "$T/nfsd.log" "$T/mountd.log"
ok $? 'no reply to U-Boot is dropped' || diag "$(grep exceed "$T"/*.log)"
done_testing

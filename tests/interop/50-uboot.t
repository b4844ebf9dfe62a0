#!/bin/bash
# SPDX-License-Identifier: ISC
# U-Boot, in an emulated ARM board, loads a file by its nfs command over UDP.
# shellcheck source=tests/system/lib.sh
. "${0%/*}/../system/lib.sh"
need qemu-system-arm qemu-system-arm
image=/usr/lib/u-boot/qemu_arm/u-boot.bin
[ -r $image ] || skip_all "no $image (package u-boot-qemu)"
private "$@"
[ -c /dev/net/tun ] || skip_all "no /dev/net/tun"
ip tuntap add tap0 mode tap && ip address add 10.77.0.1/24 dev tap0
ip link set tap0 up
mkdir "$T/x"
head -c 1000003 /dev/urandom >"$T/x/kernel"
ln -s kernel "$T/x/link"
chmod -R a+rX "$T/x"
tern_start "$T/x 10.77.0.0/24(ro,insecure)"

mkfifo "$T/in"
qemu-system-arm -nographic -no-user-config -nodefaults -M virt -cpu cortex-a15 \
    -m 256 -bios $image -serial stdio -monitor none \
    -netdev tap,id=n,ifname=tap0,script=no,downscript=no \
    -device virtio-net-pci,netdev=n,romfile= <"$T/in" >"$T/console" 2>&1 &
at_end "kill $!"
exec 7>"$T/in"
said() { tr -d '\r' <"$T/console" | grep -q "$1"; }
wait_for 60 said 'autoboot' || skip_all "U-Boot does not boot here"
printf ' \n' >&7
wait_for 30 said '^=>' || skip_all "no prompt of U-Boot"
want=$(crc32 "$T/x/kernel" 2>/dev/null ||
    python3 -c 'import sys, zlib; print("%08x" % zlib.crc32(open(sys.argv[1], "rb").read()))' "$T/x/kernel")
# shellcheck disable=SC2016 # U-Boot's variables
printf '%s\n' 'setenv ipaddr 10.77.0.2; setenv serverip 10.77.0.1; setenv netmask 255.255.255.0' >&7
# shellcheck disable=SC2016
for f in kernel link; do
	printf '%s\n' "nfs 0x41000000 10.77.0.1:$T/x/$f && crc32 0x41000000 \${filesize} && echo done-$f" >&7
	wait_for 90 said "^done-$f"
	ok $? "U-Boot loads $f" || diag "$(tail -c 1500 "$T/console" | tr -d '\r')"
done
is "$(tr -d '\r' <"$T/console" | grep -c "==> $want")" 2 'with the right checksum'
done_testing

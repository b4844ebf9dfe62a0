# SPDX-License-Identifier: ISC
# shellcheck shell=bash
#
# Makes guests for qemu from Debian's kernel package, unpacked and not
# installed. The scripts NAME-guest source it in the directory of the guest:
#
#	guest_needs qemu-system-x86_64:qemu-system-x86 ...
#	guest_kernel		(kernel/, $v), or guest_unpack PACKAGE
#	guest_modules MODULE...	(root/modules/)
#	guest_initrd		(vmlinuz, initrd)
#
# The guest mounts the host's root read-only over 9p and goes on with
# tests/kernel/init. A function that fails prints the reason and ends the
# script.
# Runs in: make check-kernel, make abuse, make bench-kernel.

no() {
	echo "${0##*/}: $*" >&2
	exit 1
}

# guest_needs COMMAND:PACKAGE...
guest_needs() {
	local p
	for p in qemu-system-x86_64:qemu-system-x86 busybox:busybox-static \
	    cpio:cpio modprobe:kmod xz:xz-utils "$@"; do
		command -v "${p%:*}" >/dev/null || no "no ${p%:*} (package ${p#*:})"
	done
	! ldd "$(command -v busybox)" >/dev/null 2>&1 ||
	    no "busybox is not static (package busybox-static)"
}

# Fetches Debian's kernel package, unpacks it, and sets v.
guest_kernel() {
	local image
	image=$(apt-cache depends linux-image-amd64 2>/dev/null |
	    sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
	[ -n "$image" ] || no "apt knows no linux-image-amd64 (apt-get update)"
	apt-get -qq -o APT::Sandbox::User=root download "$image" \
	    >fetch.log 2>&1 || no "cannot fetch $image"
	guest_unpack "$image"_*.deb
}

# guest_unpack PACKAGE: the kernel of this package instead; sets v.
guest_unpack() {
	v=$(dpkg-deb -f "$1" Package)
	v=${v#linux-image-}
	rm -rf kernel && mkdir kernel
	dpkg-deb -x "$1" kernel
	[ -d kernel/lib ] || ln -s usr/lib kernel/lib
	find kernel/ -name '*.ko.xz' -exec xz -d {} +
	depmod -b kernel "$v"
}

# guest_modules MODULE...: copies these and their dependencies, in order, to
# root/.
guest_modules() {
	local m n=100 ko
	rm -rf root && mkdir -p root/{bin,dev,proc,host,modules}
	for m in virtio_pci virtio_net 9p 9pnet_virtio "$@"; do
		modprobe -d "$PWD/kernel" -S "$v" --show-depends "$m"
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r ko; do
		n=$((n + 1))
		cp "$ko" "root/modules/$n-${ko##*/}"
	done
}

# Packs the root/ of guest_modules as initrd, and copies vmlinuz beside it.
guest_initrd() {
	cp "$(command -v busybox)" root/bin/busybox
	cat >root/init <<-'E'
	#!/bin/busybox sh
	b=/bin/busybox
	$b mount -t proc proc /proc
	for m in /modules/*; do $b insmod $m; done
	$b mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,cache=loose,ro host /host ||
		echo '@@ exit 1 no root'
	init=
	for w in $($b cat /proc/cmdline); do
		case $w in ternroot=*) init=${w#ternroot=} ;; esac
	done
	$b umount /proc
	exec $b switch_root /host "$init"
	E
	chmod +x root/init
	(cd root && find . | cpio -o -H newc -R 0:0 --quiet) | gzip -1 >initrd
	cp "kernel/boot/vmlinuz-$v" vmlinuz
	rm -rf kernel root ./*.deb
}

# Unpacks vmlinux, since an emulator takes long to do so.
guest_vmlinux() {
	local at
	at=$(LC_ALL=C grep -aobP '\xfd7zXZ\x00' vmlinuz | head -n 1 | cut -d: -f1)
	[ -n "$at" ] || no "vmlinuz is not packed with xz"
	# xz complains about the bytes behind the packed kernel.
	tail -c "+$((at + 1))" vmlinuz | xz -dc >vmlinux 2>/dev/null || :
	readelf -h vmlinux >/dev/null || no "vmlinuz cannot be unpacked"
}

guest_ready() {
	: >ready
	echo "${0##*/}: $v in $PWD"
}

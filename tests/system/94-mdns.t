#!/bin/bash
# SPDX-License-Identifier: ISC
# The service file for Avahi: another machine of the network finds the server,
# its port and the path of the export.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need avahi-daemon avahi-daemon python3 python3

host_add far 10.5.0.1/24 10.5.0.2/24
ip route add 224.0.0.0/4 dev far
on_host far ip route add 224.0.0.0/4 dev eth0
mkdir -p /etc/avahi/services
rm -f /etc/avahi/services/*
cp "$top/etc/avahi/tern.service" /etc/avahi/services/
cat >"$T/avahi.conf" <<-E
	[server]
	host-name=nas
	allow-interfaces=far
	enable-dbus=no
	use-ipv6=no
E
avahi-daemon -f "$T/avahi.conf" --no-drop-root --no-chroot --no-proc-title \
    >"$T/avahi.log" 2>&1 &
pid[avahi]=$!
at_end "kill ${pid[avahi]}"

# Asks for NAME of TYPE once, by multicast, and prints the answers as text.
ask() {
	on_host far python3 - "$@" <<-'E'
	import re, socket, struct, sys
	name, kind = sys.argv[1], int(sys.argv[2])
	s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
	s.bind(("10.5.0.2", 0))
	s.settimeout(1)
	labels = b"".join(bytes([len(p)]) + p.encode() for p in name.split(".")) + b"\0"
	s.sendto(struct.pack(">6H", 1, 0, 1, 0, 0, 0) + labels +
	         struct.pack(">HH", kind, 1), ("224.0.0.251", 5353))
	data = s.recv(9000)
	print(re.sub(rb"[^ -~]+", b"|", data).decode())
	print("port", 2049 if struct.pack(">HHH", 0, 0, 2049) in data else "none")
	E
}
found() { ask _nfs._tcp.local 12 | grep -q 'Files on nas'; }
check 'the server is found by its name' wait_for 30 found
# An answer is not repeated at once, so each question is asked until it has one.
says() { ask 'Files on nas._nfs._tcp.local' "$1" | grep -q "$2"; }
check 'with the path of the export' wait_for 30 says 16 'path=/srv/public'
check 'and the port of nfsd' wait_for 30 says 33 '^port 2049$'
unlike "$(cat "$T/avahi.log")" 'Failed to parse|failed to load' 'Avahi accepts the file'
done_testing

# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2154 # T: lib.sh
#
# Wireshark as the judge of an interface's traffic. Source after lib.sh.
# Runs in: the tests.

# capture_start INTERFACE NAME: captures into $T/NAME.pcap.
capture_start() {
	captured=$T/$2.pcap
	tshark -q -B 64 -i "$1" -f 'ip and not icmp' -w "$captured" 2>"$T/tshark.err" &
	pid[tshark]=$!
	at_end "kill ${pid[tshark]}"
	wait_for 60 grep -q 'Capturing' "$T/tshark.err"
	wait_for 60 test -s "$captured"
}

# capture_stop: waits until all packets are in the file, and stops.
capture_stop() {
	local size=-1
	while [ "$size" != "$(stat -c %s "$captured")" ]; do
		size=$(stat -c %s "$captured")
		sleep 0.5
	done
	stop tshark INT
}

# capture NAME COMMAND...: captures the command's traffic over loopback.
capture() {
	capture_start lo "$1"
	shift
	"$@" >"$T/capture.out" 2>&1
	capture_stop
}

# Wireshark looks at the lower port first: to it a client at 873 speaks rsync.
# So the ports of the servers are named.
_rpc_ports=()
for _port in 111 2049 20048; do
	_rpc_ports+=(-d "tcp.port==$_port,rpc" -d "udp.port==$_port,rpc")
done

# judge NAME DESCRIPTION LEAST-NUMBER-OF-PACKETS
judge() {
	local seen bad
	seen=$(tshark -r "$T/$1.pcap" "${_rpc_ports[@]}" -Y rpc 2>/dev/null | wc -l)
	[ "$seen" -ge "$3" ]
	ok $? "$2: $seen RPC packets" ||
	    diag "$(head -c 2000 "$T/capture.out" 2>/dev/null | tr -d '\0')"
	bad=$(tshark -r "$T/$1.pcap" "${_rpc_ports[@]}" \
	    -o tcp.check_checksum:FALSE \
	    -Y '_ws.malformed || (_ws.expert.severity >= 0x800000 && rpc)' \
	    2>/dev/null | head -n 5)
	is "$bad" '' "$2: nothing malformed, no expert error"
}

#!/bin/bash
# SPDX-License-Identifier: ISC
#
# A floating address leaves the machine: connections that clients made to it end
# at once, and no others. Their clients hear nothing. What they asked for and no thread
# has begun is not done any more: another head does it. When the address comes back, a
# client that uses its old port again, as Linux does, is served without a delay.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3 ss iproute2 fsfreeze util-linux
host_add client 10.7.1.1/24 10.7.1.2/24
ip -6 address add fd00:7::1/64 dev client nodad
on_host client ip -6 address add fd00:7::2/64 dev eth0 nodad
four=10.7.1.100 six=fd00:7::100
come() {
	ip address add $four/24 dev client
	ip -6 address add $six/64 dev client nodad
}
go() {
	ip address del $four/24 dev client
	ip -6 address del $six/64 dev client
}
mkdir -m 777 "$T/a"
ram 100
loop_fs ext4 64 "$T/disk" || skip_all 'no loop-mounted ext4'
chmod 777 "$T/disk"
: >"$T/disk/kept"
tern_start "$T/a 10.7.1.0/24(rw) fd00:7::/64(rw)
$T/disk 10.7.1.0/24(rw)" -w 2 -o lock-port=4045
come

# caller ADDRESS PORT FROM LOG: calls NULL over one connection, and again from the
# same port when that is lost; "again MILLISECONDS" tells how long it took.
cat >"$T/caller.py" <<'P'
import socket, struct, sys, time
to, port, own, log = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), open(sys.argv[4], "a", 1)
prog = 100021 if port == 4045 else 100003
call = struct.pack(">I10I", 1 << 31 | 40, 7, 0, 2, prog, 4 if port == 4045 else 3, 0, 0, 0, 0, 0)
def link():
    s = socket.socket(socket.AF_INET6 if ":" in to else socket.AF_INET)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("", own))
    s.connect((to, port))
    return s
s = link()
while True:
    s.sendall(call)
    if len(s.recv(28, socket.MSG_WAITALL)) != 28:
        break
    log.write("answered\n")
    line = sys.stdin.readline().strip()
    if line == "again":  # the connection is lost: RST or not, connect anew
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # No RST reaches the server: its address is gone.
        s.close()
        sys.stdin.readline()
        start = time.monotonic()
        s = link()
        s.sendall(call)
        s.recv(28, socket.MSG_WAITALL)
        log.write("again %d\n" % ((time.monotonic() - start) * 1000))
P
declare -A at=()
caller() { # NAME ADDRESS PORT FROM
	: >"$T/$1.caller"
	mkfifo "$T/$1.in"
	on_host client python3 "$T/caller.py" "$2" "$3" "$4" "$T/$1.caller" <"$T/$1.in" &
	at_end "kill $!"
	exec {fd}>"$T/$1.in"
	at[$1]=$fd
	wait_for 10 grep -q answered "$T/$1.caller"
	ok $? "$1: connected"
}
tell() { printf '%s\n' "$2" >&"${at[$1]}"; }
again() { grep -q again "$T/$1.caller"; }
connections() { ss -Htn state all "src $1" | wc -l; }
none() { [ "$(connections "$1")" = 0 ]; }
caller four $four 2049 801
caller six $six 2049 802
caller locks $four 4045 803
caller other 10.7.1.1 2049 804
is "$(connections $four) $(connections "[$six]")" '2 1' 'three connections to floating addresses'
w=$(pgrep -P "${pid[nfsd]}" -f '^nfsd: worker' | sort | tr '\n' ' ')
go
check 'four: the connections end at once' wait_for 5 none $four
check 'six: the connection ends at once' wait_for 5 none "[$six]"
# A client that hears of it connects again too early, and then tries less and less.
unaware() { on_host client ss -Htn state established "dst $1" | wc -l; }
is "$(unaware $four) $(unaware "[$six]")" '2 1' 'the clients hear nothing'
is "$(connections 10.7.1.1)" 1 'one to another address lives'
: >"$T/other.caller"
tell other go
check 'and is served' wait_for 5 grep -q answered "$T/other.caller"
for n in four six locks; do tell $n again; done
come
for n in four six locks; do
	tell $n go
	check "$n: connected again from the same port" wait_for 20 again $n
	ms=$(sed -n 's/^again //p' "$T/$n.caller")
	ok $((${ms:-9999} > 900)) "$n: without a delay (${ms:-?} ms)"
done
# ---- a call that waits when the address leaves

# MKDIR waits for the disk, and REMOVE for MKDIR: changes run in turn. NULL is answered
# when both have arrived.
cat >"$T/late.py" <<'P'
import sys
import nfs, rpc
c = nfs.Nfs3(rpc.tcp(2049, sys.argv[1], ("", rpc.up_from(900))))
root = rpc.opaque(bytes.fromhex(sys.argv[2]))
made, kept = rpc.opaque(b"made"), rpc.opaque(b"kept")
c.transport.send_call(c.message("MKDIR", root + made + nfs.sattr3(mode=0o755)))
c.transport.send_call(c.message("REMOVE", root + kept))
c.transport.send_call(c.message("NULL"))
c.transport.receive()
print("waiting", flush=True)
sys.stdin.read()
P
fh=$(on_host client "$top/tests/lib/nfs_call.py" -s 700 -h 10.7.1.1 mnt "$T/disk")
at_end "fsfreeze -u $T/disk"
fsfreeze -f "$T/disk"
mkfifo "$T/late.in"
PYTHONPATH=$top/tests/lib on_host client python3 "$T/late.py" $four "$fh" <"$T/late.in" >"$T/late" &
exec 9>"$T/late.in" # held open, so that late.py stays
at_end "kill $!"
check 'two changes wait for a disk' wait_for 20 grep -q waiting "$T/late"
go
check 'the address leaves, and its connections' wait_for 20 none $four
fsfreeze -u "$T/disk"
# In turn, too: what waited before has run.
on_host client "$top/tests/lib/nfs_call.py" -s 700 -h 10.7.1.1 mkdir "$fh" after 755 >"$T/out"
ok $? 'a change by another address is made'
[ -e "$T/disk/kept" ]
ok $? 'the change that waited behind the first is not made'

is "$(pgrep -P "${pid[nfsd]}" -f '^nfsd: worker' | sort | tr '\n' ' ')" "$w" 'no worker died'

stop nfsd
is $? 0 'nfsd ends as usual'
done_testing

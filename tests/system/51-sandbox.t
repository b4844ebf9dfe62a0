#!/bin/bash
# SPDX-License-Identifier: ISC
# What each process looks like from outside: user, capabilities, filter, root,
# network; what it holds in memory; what a plain user and a container lose, and
# that the daemons say so; that strict refuses.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need setpriv util-linux
need_daemons portmapd mountd

mkdir -p "$T/export" "$T/other"
chmod 1777 "$T/export" "$T/other"
ip link add name lan type veth peer name lan2 # a network that would be worth reaching
ip link set lan up

# role_pid NAME ROLE: the process with that title.
role_pid() { pids_of "$1" | while read -r p; do
	tr '\0' ' ' <"/proc/$p/cmdline" | grep -q "^$1: $2" && echo "$p"
done | head -n 1; }

status() { awk -v k="$2:" '$1 == k { print $2 }' "/proc/$1/status"; }

# locked PID NAME UID CAPS: every bit that can be seen from outside.
locked() {
	is "$(status "$1" Uid)" "$3" "$2: runs as its own user"
	is "$(status "$1" CapPrm)" "$4" "$2: holds the capabilities it needs"
	is "$(status "$1" CapBnd)" "$4" "$2: and can get no other"
	is "$(status "$1" NoNewPrivs)" 1 "$2: no_new_privs"
	is "$(status "$1" Seccomp)" 2 "$2: system call filter"
	is "$(awk '$1 ~ /:$/ { n++ } END { print n + 0 }' "/proc/$1/net/dev")" \
	    1 "$2: sees a network of its own with loopback only"
	isnt_ns "$1" net "$2: network namespace of its own"
	isnt_ns "$1" mnt "$2: mount namespace of its own"
	[ ! -e "/proc/$1/root/etc" ]
	ok $? "$2: no /etc in its root"
}

isnt_ns() {
	[ "$(readlink "/proc/$1/ns/$2")" != "$(readlink "/proc/self/ns/$2")" ]
	ok $? "$3"
}

none=0000000000000000

# ---- as root ------------------------------------------------------------------

exports "$T/export *(rw)"
check 'portmapd starts with everything in force' start portmapd -o strict
locked "${pid[portmapd]}" portmapd 901 $none
is "$(find -L "/proc/${pid[portmapd]}/root" -mindepth 1 | wc -l)" 0 \
    "portmapd: its root is empty"
check 'mountd starts with everything in force' start mountd -o strict
wait_for 10 grep -q 'worker: sandbox' "$T/mountd.log"
w=$(role_pid mountd worker)
like "$(tr '\0' ' ' <"/proc/${pid[mountd]}/cmdline")" '^mountd: parent' \
    'mountd: parent has its title'
locked "$w" 'mountd worker' 902 $none
[ -d "/proc/$w/root$T/export" ]
ok $? 'mountd worker: its root holds the export at its own path'
like "$(cat "$T/mountd.log")" \
    'worker: sandbox: mounts=private chroot=[^ ]* caps=none landlock=[0-9]+ seccomp=[0-9]+ net=closed' \
    'mountd worker: says what is in force'
unlike "$(cat "$T/mountd.log")" 'sandbox: missing' 'and that nothing is missing'

scan=$(built system)/memscan
if [ -x "$scan" ]; then
	is "$("$scan" "$w" "$T/key")" '' "mountd worker: no key in its memory"
	like "$("$scan" "${pid[mountd]}" "$T/key")" broker \
	    'mountd parent: has it (so the search finds what is there)'
else
	skip 'memscan is not built' 2
fi

kill -SEGV "$w"
new_worker() { p=$(role_pid mountd worker) && [ -n "$p" ] && [ "$p" != "$w" ]; }
check 'mountd worker: killed, it is there again within a second' wait_for 1 new_worker
check 'and serves' wait_for 5 rpcinfo -T udp 127.0.0.1 mountd 3
like "$(cat "$T/mountd.log")" 'worker: pid [0-9]+ was killed by signal 11' \
    'and the log says what happened'
p=$(role_pid mountd worker)
kill -KILL "${pid[mountd]}"
gone() { ! kill -0 "$p"; }
check 'mountd parent: killed, its worker does not outlive it' wait_for 2 gone

# ---- a plain user ---------------------------------------------------------------

exports "$T/export *(rw,insecure)"
stop portmapd
stop mountd
rm -rf "$T/run" "$T/key"
mkdir "$T/run"
chown alice:alice "$T/run" "$T"
TERN_WRAP="setpriv --reuid 1001 --regid 1001 --clear-groups"
touch "$T/portmapd.log" "$T/mountd.log"
check 'portmapd starts for a plain user' start portmapd -p 5111
is "$(status "${pid[portmapd]}" Uid)" 1001 'and runs as that user'
is "$(status "${pid[portmapd]}" Seccomp)" 2 'with its filter'
check 'mountd starts for a plain user' start mountd -p 5048
wait_for 10 grep -q 'worker: sandbox' "$T/mountd.log"
w=$(role_pid mountd worker)
is "$(status "$w" Uid)" 1001 'its worker runs as that user'
is "$(status "$w" Seccomp)" 2 'with its filter'
is "$(status "$w" CapPrm)" $none 'and no capability'
like "$(grep 'sandbox: missing' "$T/mountd.log")" 'network namespace.*chroot' \
    'one line says what is missing'
is "$(stat -c %U:%a "$T/key")" alice:600 'the key belongs to the user'
stop mountd
stop portmapd
check_not 'strict refuses for a plain user' start mountd -p 5048 -o strict
like "$(cat "$T/mountd.log")" '-o strict was given: missing' 'and says why'

# ---- a container: the capabilities Docker gives, nothing to be gained ----------

keep=chown,dac_override,fowner,fsetid,kill,setgid,setuid,setpcap
keep+=,net_bind_service,net_raw,sys_chroot,mknod,audit_write,setfcap
TERN_WRAP="setpriv --no-new-privs --bounding-set -all,+${keep//,/,+}"
chown -R root:root "$T/run" "$T"
rm -rf "$T/run" "$T/key"
check 'portmapd starts in a container' start portmapd
check 'mountd starts in a container' start mountd -p 20048
wait_for 10 grep -q 'worker: sandbox' "$T/mountd.log"
w=$(role_pid mountd worker)
is "$(status "$w" Uid)" 902 'mountd worker: runs as its own user'
is "$(status "$w" CapPrm)" $none 'mountd worker: no capability'
is "$(status "$w" Seccomp)" 2 'mountd worker: system call filter'
is "$(readlink "/proc/$w/root")" "$T/export" 'mountd worker: a bare chroot'
like "$(cat "$T/mountd.log")" 'jail: no mounts of our own' 'which the log says'
like "$(grep 'sandbox: missing' "$T/mountd.log")" \
    'network namespace.*private mounts' 'one warning names what is missing'
check 'and it serves' wait_for 5 rpcinfo -T tcp 127.0.0.1 mountd 3
done_testing

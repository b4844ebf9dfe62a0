#!/bin/bash
# SPDX-License-Identifier: ISC
# Each process as seen from outside: user, capabilities, filter, root, network,
# and keys in memory. What a plain user and a container lack, and that the
# daemons log it. strict refuses to start then.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
sanitized && skip_all "a sanitizer build has no filter"
need setpriv util-linux
need_daemons portmapd mountd

mkdir -p "$T/export" "$T/other"
chmod 1777 "$T/export" "$T/other"
ip link add name lan type veth peer name lan2 # a network that must not be reached
ip link set lan up

# role_pid NAME ROLE: the process with that title.
role_pid() { pids_of "$1" | while read -r p; do
	tr '\0' ' ' <"/proc/$p/cmdline" | grep -q "^$1: $2" && echo "$p"
done | head -n 1; }

# sealed NAME [ROLE...]: waits until these processes of it are sealed.
sealed() {
	local name=$1 role
	shift
	for role in "${@:-}"; do
		wait_for 10 grep -q "^$name: ${role:+$role: }sandbox: mounts" "$T/$name.log"
	done
}

status() { awk -v k="$2:" '$1 == k { print $2 }' "/proc/$1/status"; }

nfs() { "$top/tests/lib/nfs_call.py" -s 700 "$@"; }

has_filter() {
	if unfiltered; then
		skip 'a build without filter'
	else
		is "$(status "$1" Seccomp)" 2 "$2"
	fi
}

# locked PID NAME UID CAPS: checks everything that is visible from outside.
locked() {
	is "$(status "$1" Uid)" "$3" "$2: runs as its own user"
	is "$(status "$1" CapPrm)" "$4" "$2: holds the capabilities it needs"
	is "$(status "$1" CapBnd)" "$4" "$2: can get no other capability"
	is "$(status "$1" NoNewPrivs)" 1 "$2: has no_new_privs"
	has_filter "$1" "$2: has a system call filter"
	is "$(awk '$1 ~ /:$/ { n++ } END { print n + 0 }' "/proc/$1/net/dev")" \
	    1 "$2: sees only a loopback interface"
	isnt_ns "$1" net "$2: has its own network namespace"
	isnt_ns "$1" mnt "$2: has its own mount namespace"
	[ ! -e "/proc/$1/root/etc" ]
	ok $? "$2: has no /etc in its root"
}

isnt_ns() {
	[ "$(readlink "/proc/$1/ns/$2")" != "$(readlink "/proc/self/ns/$2")" ]
	ok $? "$3"
}

none=0000000000000000

# ---- as root ------------------------------------------------------------------

exports "$T/export *(rw)"
check 'portmapd starts with all layers of the sandbox' start portmapd -o strict
sealed portmapd
locked "${pid[portmapd]}" portmapd 901 $none
is "$(find -L "/proc/${pid[portmapd]}/root" -mindepth 1 | wc -l)" 0 \
    "portmapd: its root is empty"
check 'mountd starts with all layers of the sandbox' start mountd -o strict
sealed mountd worker
w=$(role_pid mountd worker)
like "$(tr '\0' ' ' <"/proc/${pid[mountd]}/cmdline")" '^mountd: parent' \
    'mountd: parent has its title'
is "$(status "${pid[mountd]}" NoNewPrivs)" 1 'mountd: parent can gain no privileges'
is "$(awk '/Max core/ { print $6 }' "/proc/${pid[mountd]}/limits")" 0 \
    'mountd: parent leaves no core file'
locked "$w" 'mountd worker' 902 $none
[ -d "/proc/$w/root$T/export" ]
ok $? 'mountd worker: its root holds the export at its own path'
like "$(cat "$T/mountd.log")" \
    "worker: sandbox: mounts=private chroot=$T/export caps=none landlock=[0-9]+ seccomp=[0-9]+ net=closed" \
    'mountd worker: logs the layers of its sandbox'
unlike "$(cat "$T/mountd.log")" 'sandbox: missing' 'mountd worker: logs no missing layer'

scan=$(built system)/memscan
if [ -x "$scan" ]; then
	is "$("$scan" "$w" "$T/key")" '' "mountd worker: no key in its memory"
	like "$("$scan" "${pid[mountd]}" "$T/key")" broker \
	    'mountd parent: the key is in its memory (so the search works)'
else
	skip 'memscan is not built' 2
fi

kill -SEGV "$w"
new_worker() { p=$(role_pid mountd worker) && [ -n "$p" ] && [ "$p" != "$w" ]; }
check 'mountd worker: is restarted after a kill' wait_for 1 new_worker
check 'the new worker serves' wait_for 5 rpcinfo -T udp 127.0.0.1 mountd 3
like "$(cat "$T/mountd.log")" 'worker: pid [0-9]+ was killed by signal 11' \
    'the log names the signal'
p=$(role_pid mountd worker)
kill -KILL "${pid[mountd]}"
gone() { ! kill -0 "$p"; }
check 'mountd worker: ends when the parent is killed' wait_for 2 gone

# ---- nfsd in its three modes ----------------------------------------------------

# cannot_stop PID NAME: processes of alice, the anonymous user, try to stop it.
cannot_stop() {
	check_not "$2: the anonymous user cannot signal it" as alice kill -STOP "$1"
	check_not "$2: the anonymous user cannot limit it" \
	    as alice prlimit --pid "$1" --nofile=3:3
	is "$(fs_user "$1")" 1001 "$2: acts on files as the anonymous user"
}
fs_user() { awk '$1 == "Uid:" { print $5 }' "/proc/$1/status"; }

# nfsd_mode NAME UID WORKER-CAPS BROKER-CAPS OPTIONS: starts nfsd, checks its
# roles, and stops it.
nfsd_mode() {
	local w b t
	exports "$T/export *($5)"
	check "nfsd $1: starts with all layers of the sandbox" \
	    start nfsd -R -w 1 -o strict || return
	sealed nfsd worker broker
	like "$(cat "$T/nfsd.log")" "mode: $1" "nfsd $1: logs its mode"
	w=$(role_pid nfsd worker)
	b=$(role_pid nfsd broker)
	locked "$w" "nfsd $1 worker" "$2" "$3"
	locked "$b" "nfsd $1 broker" "$2" "$4"
	if [ "$1" = squash ]; then
		cannot_stop "$w" "nfsd $1 worker"
		cannot_stop "$b" "nfsd $1 broker"
		is "$(for t in /proc/"$w"/task/* /proc/"$b"/task/*; do
			fs_user "${t#/proc/}"
		done | sort -u)" 1001 "nfsd $1: every thread acts as the anonymous user"
	fi
	if [ -x "$scan" ]; then
		is "$("$scan" "$w" "$T/key")" worker \
		    "nfsd $1 worker: only the key that checks handles is in its memory"
		unlike "$("$scan" "$b" "$T/key")" key \
		    "nfsd $1 broker: the key file's bytes are not in its memory"
	fi
	stop nfsd
	ok $? "nfsd $1: exits with status 0"
}

if [ -x "$O/nfsd/nfsd" ]; then
	nfsd_mode squash 903 $none 0000000000000006 \
	    rw,all_squash,anonuid=1001,anongid=1001
	nfsd_mode multi-user 903 00000000000000c0 00000000000000c6 rw
	nfsd_mode root 903 00000000000000db 00000000000000de rw,no_root_squash
fi

# ---- a plain user ---------------------------------------------------------------

O=$(reachable)
exports "$T/export *(rw,insecure)"
stop portmapd
stop mountd
rm -rf "$T/run" "$T/key"
mkdir "$T/run"
chown alice:alice "$T/run" "$T"
TERN_WRAP="setpriv --reuid 1001 --regid 1001 --clear-groups"
touch "$T/portmapd.log" "$T/mountd.log"
check 'portmapd starts for a plain user' start portmapd -p 5111
sealed portmapd
is "$(status "${pid[portmapd]}" Uid)" 1001 'portmapd runs as that user'
has_filter "${pid[portmapd]}" 'portmapd has a system call filter'
check 'mountd starts for a plain user' start mountd -p 5048
sealed mountd worker
w=$(role_pid mountd worker)
is "$(status "$w" Uid)" 1001 'its worker runs as that user'
has_filter "$w" 'its worker has a system call filter'
is "$(status "$w" CapPrm)" $none 'its worker has no capability'
like "$(grep 'sandbox: missing' "$T/mountd.log")" 'network namespace.*chroot' \
    'one line names the missing layers'
is "$(stat -c %U:%a "$T/key")" alice:600 'the key belongs to the user'
if [ -x "$O/nfsd/nfsd" ]; then
	check 'nfsd starts for a plain user' start nfsd -p 5049 -w 1
	sealed nfsd worker broker
	w=$(role_pid nfsd worker)
	is "$(status "$w" Uid)" 1001 'its worker runs as that user'
	has_filter "$w" 'its worker has a system call filter'
	echo hello >"$T/export/greeting"
	chown alice "$T/export/greeting"
	url="nfs://127.0.0.1$T/export/greeting?nfsport=5049&mountport=5048"
	is "$(nfs-cat "$url" 2>&1)" hello 'nfsd serves for a plain user'
	stop nfsd
fi
stop mountd
stop portmapd
# shellcheck disable=SC2086 # a command with arguments
timeout 20 $TERN_WRAP "$O/mountd/mountd" -d -R -p 5048 -f "$T/exports" \
    -k "$T/key" -o strict >"$T/strict" 2>&1
is $? 1 'strict refuses to start for a plain user'
like "$(cat "$T/strict")" 'sandbox: missing .*-o strict' 'strict logs the reason'

# ---- a container: the capabilities of Docker, no way to gain others -----------

keep=chown,dac_override,fowner,fsetid,kill,setgid,setuid,setpcap
keep+=,net_bind_service,net_raw,sys_chroot,mknod,audit_write,setfcap
TERN_WRAP="setpriv --no-new-privs --bounding-set -all,+${keep//,/,+}"
chown -R root:root "$T/run" "$T"
rm -rf "$T/run" "$T/key"
check 'portmapd starts in a container' start portmapd
check 'mountd starts in a container' start mountd -p 20048
sealed mountd worker
w=$(role_pid mountd worker)
is "$(status "$w" Uid)" 902 'mountd worker: runs as its own user'
is "$(status "$w" CapPrm)" $none 'mountd worker: has no capability'
has_filter "$w" 'mountd worker: has a system call filter'
is "$(readlink "/proc/$w/root")" "$T/export" 'mountd worker: has a chroot to the export'
like "$(cat "$T/mountd.log")" 'jail: no private mounts' 'the log says that there are no private mounts'
like "$(grep 'sandbox: missing' "$T/mountd.log")" \
    'network namespace.*private mounts' 'one warning names the missing layers'
check 'mountd serves in a container' wait_for 5 rpcinfo -T tcp 127.0.0.1 mountd 3
if [ -x "$O/nfsd/nfsd" ]; then
	check 'nfsd starts in a container' start nfsd -p 2049 -w 1
	sealed nfsd worker broker
	like "$(grep 'broker: sandbox: missing' "$T/nfsd.log")" \
	    'capabilities \(dac_read_search\)' \
	    'the broker logs that it may not open handles'
	is "$(nfs-cat "nfs://127.0.0.1$T/export/greeting" 2>&1)" hello \
	    'nfsd serves in a container'
	# Without the capability to open handles the broker opens files as the
	# caller.
	mkdir -m 700 "$T/export/drawer"
	echo his >"$T/export/drawer/closed"
	chmod 600 "$T/export/drawer/closed"
	chown -R alice:alice "$T/export/drawer"
	x=$(nfs mnt "$T/export")
	f=$(nfs -u 1001:1001 lookup "$(nfs lookup "$x" drawer)" closed)
	stop nfsd
	start nfsd -p 2049 -w 1 && wait_for 10 nfs null
	is "$(nfs -u 1002:1002 read "$f" 0 9)" ACCES 'another user does not read a file of mode 0600'
	is "$(nfs -u 1001:1001 read "$f" 0 9)" his 'its owner reads it'
	is "$(nfs -u 1002:1002 read "$f" 0 9)" ACCES 'another user does not read it after its owner did'
fi
done_testing

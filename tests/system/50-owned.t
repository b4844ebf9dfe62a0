#!/bin/bash
# SPDX-License-Identifier: ISC
# Every role, fully sandboxed, tries what an attacker in control of it would
# try. Everything must be denied except the role's purpose, which is listed here
# with its reason. prove -v lists each try.
# Runs in: the tests.
. "${0%/*}/lib.sh"
. "$top/tests/lib/ca.sh"
private "$@"
sanitized && skip_all "a sanitizer build has no filter"
need python3 python3 openssl openssl

owned=$(dirname "$(built owned)")/../owned
[ -x "$owned/portmapd/portmapd" ] || skip_all "no programs in $owned (make check makes them)"

# Prints the reason if a role may do this: role, try.
granted() {
	case $mode:$1:$2 in
	nfsd-root:*:'setfsuid(0)' | nfsd-root:*:'setfsgid(0)' | \
	    nfsd-root:*:'setfsuid of a squashed id')
		echo 'the mode is for unsquashed root' ;;
	nfsd-root:worker:"ask the broker for root's file")
		echo 'the mode is for unsquashed root' ;;
	nfsd-*:worker:'ask the broker for a readable file')
		echo 'reading files is the purpose of the broker' ;;
	*:resolver:'openat2 of an absolute path' | *:resolver:'open through ..')
		# The same file as the next one; only the filter prevents this way.
		[ -n "$without" ] && echo 'lookups read /etc' ;;
	*:resolver:'open an absolute path' | *:resolver:'send over UDP from a new socket' | \
	    *:resolver:'connect to a unix socket' | *:resolver:'bind a new socket')
		echo 'lookups read /etc and ask name servers and local services' ;;
	nfsd-*:broker:'open_by_handle_at with a forged handle')
		echo 'opening handles is the purpose of the broker' ;;
	nfsd-root:*:'setuid(0)' | nfsd-root:*:'setgid(0)' | \
	    nfsd-multi-user:*:'setuid(0)' | nfsd-multi-user:*:'setgid(0)')
		# Only the filter prevents this.
		[ -n "$without" ] && echo 'a process that acts as users has CAP_SETUID' ;;
	nfsd-*:locks:'a file it holds: lock')
		echo 'locking files is the purpose of the role' ;;
	*:locks:'a file it holds: '*)
		# Only the filter prevents this.
		[ -n "$without" ] && echo 'the role has descriptors of files' ;;
	*:'a file it holds: '*)
		echo 'it is no descriptor that the role gets' ;;
	*) return 1 ;;
	esac
}

# Tries that must fail even without the system call filter: name space, user,
# capabilities and Landlock must suffice.
other_layers='open|make a d|connect over|send over|connect to|ptrace|read its|'
other_layers+='take a descriptor|kill its|setuid|setgid|raise|chroot|mount|pivot|'
other_layers+='setns|perf|bpf|module|kernel log|clock|ask the broker'

# Judges the tries of one start in $T/results.
judge() {
	local role name verdict how n=0 why
	while IFS=$'\t' read -r role name verdict how; do
		[ "$role" != end ] || continue
		n=$((n + 1))
		if [ -n "$without" ] && ! [[ $name =~ $other_layers ]]; then
			continue
		fi
		if [ "$verdict" = ALLOWED ] && why=$(granted "$role" "$name"); then
			ok 0 "$mode $role: $name is allowed: $why"
		else
			[ "$verdict" = denied ]
			ok $? "$mode $role: $name is $verdict ($how)$without"
		fi
	done <"$T/results"
	[ $n -ge "$1" ]
	ok $? "$mode: $n tries were made"
}

# A broker that is never reached would seem to refuse everything.
judge_broker() {
	grep -q $'^worker\task the broker for a readable file\tALLOWED' "$T/results"
	ok $? "$mode: the broker answers a compromised worker$without"
}

# A try that fails for another reason would seem to be refused by the filter.
judge_setid() {
	[ -n "$without" ] || return
	is "$(grep -c $'^worker\tset-id program: .*\tALLOWED' "$T/results")" 7 \
		"$mode: only the filter refuses a worker the seven set-id programs"
}

# The other roles may read what they hold: the tries themselves work.
judge_held() {
	local how
	for how in read write writev pread; do
		grep -q "^worker.a file it holds: $how.ALLOWED" "$T/results"
		ok $? "$mode: a worker can try to $how"
	done
	[ -n "$without" ] ||
		is "$(grep -c $'^locks\ta file it holds: .*\tdenied' "$T/results")" 13 \
			"$mode: the locks role can do nothing with a file but lock it"
}

all_sealed() { [ "$(grep -c '^end' "$T/results")" -ge "$1" ]; }

# owned NAME ROLES FLAG...: starts the daemon and waits for the tries of that
# many roles.
owned() {
	local p=$1 roles=$2
	shift 2
	: >"$T/results"
	chmod 666 "$T/results"
	O=$owned START_SECONDS=60 start "$p" "$@" || bail "$p did not start"
	wait_for 60 all_sealed "$roles" || diag "not all roles came through"
	judge $((roles * 50))
}

# A listener outside that would answer, and a file outside that must not be
# read.
python3 -c '
import socket, time
s = socket.socket(); s.bind(("127.0.0.1", 7777)); s.listen(64)
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(("127.0.0.1", 7777))
time.sleep(900)' &
at_end "kill $!"
mkdir -p "$T/export" "$T/open"
chmod 1777 "$T/export"
echo sentinel >"$T/secret"
chmod 600 "$T/secret"
ln -s /etc/passwd "$T/export/owned-link"
ln -s ../secret "$T/export/owned-relative"
echo readable >"$T/export/owned-readable"
echo closed >"$T/export/owned-closed"
chmod 600 "$T/export/owned-closed"
echo program >"$T/export/owned-program"
chown 1001:1001 "$T/export/owned-program"
export TERN_OWNED=$T/results TERN_OWNED_PORT=7777 TERN_OWNED_SECRET=secret
echo held >"$T/held"
chmod 666 "$T/held"
export TERN_OWNED_FILE=$T/held
export TERN_OWNED_EXPORT=7 # fsid= of the export
export TERN_OWNED_SOCKET=$T/run/portmap.sock TERN_OWNED_SQUASHED=0
without=
ca_new "$T/ca" && ca_server server IP:127.0.0.1 || bail "no certificates"
more=(-o "tls-cert=$T/ca/server.pem" -o "tls-key=$T/ca/server.key" -o metrics=127.0.0.1@9049)

all_modes() {
	mode=portmapd
	owned portmapd 1
	if [ -x "$owned/mountd/mountd" ]; then
		mode=mountd
		exports "$T/export *(rw) localhost(rw)"
		owned mountd 2 -p 20048
		stop mountd
	fi
	if [ -x "$owned/nfsd/nfsd" ]; then
		mode=nfsd-squash
		export TERN_OWNED_SQUASHED=1002 # not the one user
		exports "$T/export *(rw,fsid=7,all_squash,anonuid=1001,anongid=1001)"
		owned nfsd 6 -p 2049 -w 1 "${more[@]}"
		judge_broker
		judge_setid
		judge_held
		stop nfsd
		export TERN_OWNED_SQUASHED=0
		mode=nfsd-multi-user
		exports "$T/export *(rw,fsid=7)"
		owned nfsd 6 -p 2049 -w 1 "${more[@]}"
		judge_broker
		judge_setid
		judge_held
		stop nfsd
		mode=nfsd-root
		exports "$T/export *(rw,fsid=7,no_root_squash)"
		owned nfsd 6 -p 2049 -w 1 "${more[@]}"
		judge_broker
		judge_setid
		judge_held
		stop nfsd
	fi
	stop portmapd
}

all_modes
export TERN_OWNED_WITHOUT_FILTER=1
without=' without seccomp'
all_modes

is "$(cat "$T/secret")" sentinel "the file beside the export is unchanged"
is "$(stat -c %a "$T/export/owned-program")" 644 'no file of another user became a set-id program'
[ ! -e "$T/owned-made" ]
ok $? "no file was made beside the export"
done_testing

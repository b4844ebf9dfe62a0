#!/bin/bash
# SPDX-License-Identifier: ISC
# A stable reply is sent only after its data, name or attributes are on disk. For
# every stable reply the trace shows that its sync system call had returned
# before the reply was sent, and for every change of names or attributes that the
# sync had begun after the change, by each procedure of both versions, on several
# filesystems. If such a call fails, the client gets an IO error and, from every
# worker, another verifier.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need strace strace python3 python3
need_daemons
strace -D true 2>/dev/null || skip_all "strace may not trace here"

here=${0%/*}
export START_SECONDS=60 NFS_TIMEOUT=60
mkdir "$T/x" && chmod 777 "$T/x"
echo x >"$T/x/failing" && chmod 666 "$T/x/failing"
list="$T/x 127.0.0.0/8(rw,insecure)"$'\n'
areas=()
# area NAME OPTIONS: exports a directory of this name, a filesystem if it is one.
area() {
	mkdir -p "$T/$1"
	case $1 in
	ext4 | xfs | btrfs) loop_fs "$1" 320 "$T/$1" ;;
	tmpfs | ramfs) mount -t "$1" "$1" "$T/$1" ;;
	overlay)
		mkdir -p "$T/ram/lower" "$T/ram/upper" "$T/ram/work" &&
		    mount -t overlay -o "lowerdir=$T/ram/lower,upperdir=$T/ram/upper,workdir=$T/ram/work" overlay "$T/$1"
		;;
	esac >"$T/area.out" 2>&1 || { diag "$1: $(tail -n 1 "$T/area.out")" && return 1; }
	chmod 777 "$T/$1"
	areas+=("$1")
	list+="$T/$1 127.0.0.0/8(rw,insecure,$2)"$'\n'
}
ram 1200
for fs in ext4 xfs btrfs tmpfs overlay ramfs; do
	area $fs sync || skip "no $fs here" 1
done
area datasync datasync
area async async
exports "$list"
start mountd -R -p 20048 || bail "mountd does not start"

# traced STRACE-FLAG...: starts nfsd under strace.
traced() {
	TERN_WRAP="strace -D -f -qq -e signal=none -o $T/trace $*" \
	    start nfsd -R -p 2049 -w 2 -t "${threads:-8}" || bail "nfsd does not start"
}

traced -y -xx -s 65536 -e trace=pwritev2,fsync,sendto,sendmsg
"$here/stable.py" load "$T/x" >"$T/calls"
ok $? 'stable writes and commits of four clients are answered'
stop nfsd
ended() { ! pgrep -f "strace.*$T/trace" >/dev/null; }
wait_for 20 ended
"$here/stable.py" judge "$T/trace" <"$T/calls" >"$T/verdict"
ok $? "$(tail -n 1 "$T/verdict")" || diag "$(head -n 10 "$T/verdict")"

# One client makes one call after the other: a sync belongs to its call.
traced -y -xx -s 65536 -e trace=fsync,syncfs,sendto,sendmsg,openat,mkdirat,symlinkat,mknodat,unlinkat,renameat,renameat2,linkat,?fchmodat2,fchownat,utimensat,ftruncate
for fs in "${areas[@]}"; do
	"$here/stable.py" names "$T/$fs" >"$T/calls.$fs" || rm "$T/calls.$fs"
done
stop nfsd
wait_for 20 ended
for fs in "${areas[@]}"; do
	"$here/stable.py" judge-names "$T/trace" <"$T/calls.$fs" >"$T/verdict"
	ok $? "$fs: $(tail -n 1 "$T/verdict")" || diag "$(head -n 10 "$T/verdict")"
done

# Each sync takes long, so that calls come meanwhile.
traced -y -xx -s 65536 -e trace=fsync,sendto,sendmsg,openat \
    -e inject=fsync:delay_enter=200000
"$here/stable.py" crowd "$T/ext4" >"$T/calls"
ok $? 'files are made in one directory at once'
stop nfsd
wait_for 20 ended
"$here/stable.py" judge-crowd "$T/trace" <"$T/calls" >"$T/verdict"
ok $? "$(tail -n 1 "$T/verdict")" || diag "$(head -n 10 "$T/verdict")"

# One file thread, so that the first call of each worker fails. strace calls
# gettid in its place, since the filter does not permit call -1.
threads=1
for call in fsync pwritev2 mkdir; do
	fails=${call/mkdir/fsync}
	traced -e "trace=$fails" -e "inject=$fails:error=EIO:when=1:syscall=gettid"
	check "$call: a failed $fails gives an IO error and a new verifier" \
	    "$here/stable.py" "$call" "$T/x"
	stop nfsd
	wait_for 20 ended
done

# ramfs does not write a name and its directory together, so the new directory is
# synced by itself. Its handle is needed for that, and here no broker makes it.
start nfsd -R -p 2049 -w 1 || bail "nfsd does not start"
fh=$(nfs mnt "$T/ramfs")
nfs getattr "$fh" >"$T/out"
halt "${pid[nfsd]}"
kill -KILL "$(pgrep -P "${pid[nfsd]}" -f 'nfsd: broker')"
like "$(nfs mkdir "$fh" made 755 2>&1)" '^IO$' \
    'MKDIR that cannot be synced is not answered with OK'
kill -CONT "${pid[nfsd]}"
check 'and the directory is there' test -d "$T/ramfs/made"
done_testing

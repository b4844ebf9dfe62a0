#!/bin/bash
# SPDX-License-Identifier: ISC
#
# Root makes a directory or a symbolic link and gives it an owner. Meanwhile a
# local user with write permission puts another object of root in its place. That object keeps its owner. strace(1) stops the worker after it made
# the object. It goes on when the local user is done.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need strace strace python3 python3
strace -D true 2>/dev/null || skip_all "strace may not trace here"

mkdir -m 777 "$T/x"
chmod 777 "$T/x"
mkdir -m 700 "$T/x/old"
ln -s secret "$T/x/oldlink"
exports "$T/x 127.0.0.1(rw,insecure,no_root_squash)"
export START_SECONDS=60 NFS_TIMEOUT=60
start mountd -R -p 20048 || bail "mountd does not start"
start nfsd -R -p 2049 -w 1 || bail "nfsd does not start"
x=$(nfs mnt "$T/x")

# made NAME PROCEDURE: root makes it with owner 1001; prints the status.
made() {
	python3 - "$x" "$@" <<-'E'
	import sys
	import nfs
	from rpc import Failed, opaque
	c = nfs.connect(0, 0)
	tail = opaque("x") if sys.argv[3] == "SYMLINK" else b""
	try:
	    c.call(sys.argv[3], opaque(bytes.fromhex(sys.argv[1])) +
	           opaque(sys.argv[2]) + nfs.sattr3(uid=1001) + tail)
	    print("OK")
	except Failed as e:
	    print(e)
	E
}
worker() { pgrep -f '^nfsd: worker'; }
is_stopped() { grep -q '^State:.*[Tt]' "/proc/$(worker)/status"; }
is_traced() { ! grep -q '^TracerPid:.0$' /proc/"$(worker)"/task/*/status; }
# swap NEW OLD: as alice, when the worker has made NEW.
swap() {
	wait_for 30 is_stopped || diag 'the worker was not stopped'
	as alice mv -T "$T/x/$1" "$T/x/$1.away"
	as alice mv -T "$T/x/$2" "$T/x/$1"
	kill -CONT "$(worker)"
}

is "$(made plain MKDIR) $(stat -c %u "$T/x/plain")" 'OK 1001' \
	'MKDIR of root gives the directory its owner'
is "$(made link SYMLINK) $(stat -c %u "$T/x/link")" 'OK 1001' \
	'SYMLINK of root gives the link its owner'
strace -f -qq -e signal=none -o "$T/trace" -e trace=mkdirat,symlinkat \
    -e inject=mkdirat,symlinkat:signal=SIGSTOP -p "$(worker)" &
at_end "kill $!"
wait_for 30 is_traced || bail 'strace traces nothing'
swap dir old &
is "$(made dir MKDIR)" NOENT 'MKDIR of root fails if another directory took the name'
wait $!
is "$(stat -c %u "$T/x/dir")" 0 'that directory stays with root'
swap slink oldlink &
is "$(made slink SYMLINK)" NOENT 'SYMLINK of root fails if another link took the name'
wait $!
is "$(stat -c %u "$T/x/slink")" 0 'that link stays with root'
done_testing

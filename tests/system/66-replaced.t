#!/bin/bash
# SPDX-License-Identifier: ISC
#
# An exported directory is removed and made again, or moved away and made again.
# After a reload, clients that mount it get the directory that is there now. One
# that is gone is not served. The same in a container, where there are no mounts.
# The log says what each reload changed.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3

inode() { stat -c %i "$1"; }
# fileid HANDLE
fileid() { nfs getattr "$1" | grep -o 'fileid=[0-9]*' | cut -d= -f2; }
ends="exports: (nothing changed|served now|no longer served)|export $T/x: another directory"
# is_read_again COUNT: have both daemons read the exports this many times?
is_read_again() {
	[ "$(grep -cE "$ends" "$T/mountd.log")" = "$1" ] &&
	    [ "$(grep -cE "$ends" "$T/nfsd.log")" = "$1" ]
}
reloads=0
reload() {
	reloads=$((reloads + 1))
	kill -HUP "${pid[mountd]}" "${pid[nfsd]}"
	wait_for 20 is_read_again $reloads || diag 'no reload'
}
# says TEXT: does the last line about a reload say so, in both logs?
says() {
	local log
	for log in "$T/mountd.log" "$T/nfsd.log"; do
		grep -E "$ends" "$log" | tail -n 1 | grep -qF "$1" || return 1
	done
}
serves() { [ "$(fileid "$(nfs mnt "$1")")" = "$(inode "$1")" ]; }

# all WHERE: every check, with the daemons running.
all() {
	local old new
	old=$(nfs mnt "$T/x")
	check "$1: the export is served" serves "$T/x"
	check "$1: an export inside it too" serves "$T/x/in"
	rm -r "$T/x" && mkdir -p "$T/x/in" && chmod 777 "$T/x" "$T/x/in"
	reload
	check "$1: removed and made again: the new directory is served" \
		wait_for 20 serves "$T/x"
	check "$1: the log says so" says "export $T/x: another directory is there now"
	check "$1: and the new one inside it" wait_for 20 serves "$T/x/in"
	is "$(nfs getattr "$old")" STALE "$1: the handle of the removed directory is stale"
	new=$(nfs mnt "$T/x")
	nfs -u 1001 create "$new" f 644 >/dev/null
	is "$(ls "$T/x")" $'f\nin' "$1: a new file is made there"
	mv "$T/x" "$T/away" && mkdir -p "$T/x/in" && chmod 777 "$T/x" "$T/x/in"
	reload
	check "$1: moved away and made again: the new directory is served" \
		wait_for 20 serves "$T/x"
	check "$1: and the new one inside it" wait_for 20 serves "$T/x/in"
	nfs -u 1001 create "$(nfs mnt "$T/x")" g 644 >/dev/null
	is "$(ls "$T/x" "$T/away" | paste -sd ' ')" \
		"$T/away: f in  $T/x: g in" "$1: a new file is made there"
	rm -r "$T/away"
	mv "$T/x/in" "$T/out"
	reload
	check "$1: one that was moved away is not served" \
		grep -q "export $T/x/in: not served: No such file" "$T/mountd.log"
	check "$1: the log says that it was" says "exports: no longer served: $T/x/in"
	reload
	check "$1: another reload changes nothing" says 'exports: nothing changed'
	like "$(nfs mnt "$T/x/in")" 'NOENT|ACCES' "$1: it cannot be mounted"
	check "$1: the export around it is" wait_for 20 serves "$T/x"
	new=$(nfs mnt "$T/x")
	mv "$T/out" "$T/x/in"
	reload
	check "$1: moved back: it is served again" wait_for 20 serves "$T/x/in"
	check "$1: the log says that it became served" says "exports: served now: $T/x/in"
	is "$(fileid "$new")" "$(inode "$T/x")" "$1: a handle of the export around it stays valid"
}

mkdir -p "$T/x/in" && chmod 777 "$T/x" "$T/x/in"
tern_start "$T/x 127.0.0.1(rw,insecure)
$T/x/in 127.0.0.1(rw,insecure)" -w 1
worker=$(pgrep -f '^nfsd: worker')
all mounts
is "$(pgrep -f '^nfsd: worker')" "$worker" 'mounts: the worker was not restarted'
tern_stop

# The capabilities of Docker, and no way to gain others.
keep=chown,dac_override,fowner,fsetid,kill,setgid,setuid,setpcap
keep+=,net_bind_service,net_raw,sys_chroot,mknod,audit_write,setfcap
export TERN_WRAP="setpriv --no-new-privs --bounding-set -all,+${keep//,/,+}"
reloads=0
tern_start "$(cat "$T/exports")" -w 1
like "$(cat "$T/nfsd.log")" 'no private mounts' 'a container has no private mounts'
all container
done_testing

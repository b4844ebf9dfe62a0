#!/bin/bash
# SPDX-License-Identifier: ISC
#
# Set-user-ID and set-group-ID bits: files get them only in an export with setid,
# directories everywhere. A reload that changes this restarts the roles, because
# the worker's filter decides too.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3

mode() { stat -c %a "$1"; }
mkdir "$T/x" "$T/trust" "$T/all"
chmod 777 "$T/x" "$T/trust" "$T/all"
# serve SETID: restarts or reloads with this text behind the options of x.
text() {
	echo "$T/x 127.0.0.1(rw,insecure$1)
$T/trust 127.0.0.1(rw,insecure,no_root_squash)
$T/all 127.0.0.1(rw,insecure,all_squash,anonuid=1234,anongid=1234)"
}
tern_start "$(text '')"
x=$(nfs mnt "$T/x")
trust=$(nfs mnt "$T/trust")
all=$(nfs mnt "$T/all")

# refused EXPORT-NAME HANDLE USER WHAT
refused() {
	local f m
	for m in 4755 2755 6755 6644; do
		is "$(nfs -u "$3" create "$2" new "$m")" PERM "$4: CREATE with $m gets PERM"
		is "$(nfs -u "$3" mknod_mode "$2" new 7 "$m")" PERM "$4: MKNOD with $m gets PERM"
	done
	[ ! -e "$T/$1/new" ]
	ok $? "$4: nothing was made"
	f=$(nfs -u "$3" create "$2" own 755)
	for m in 4755 2755 6755; do
		is "$(nfs -u "$3" setattr "$f" "$m")" PERM "$4: SETATTR with $m gets PERM"
	done
	is "$(mode "$T/$1/own")" 755 "$4: the mode stays"
	is "$(nfs -u "$3" setattr "$f" 1711)$(mode "$T/$1/own")" 1711 "$4: other bits are set"
	nfs -u "$3" remove "$2" own
}
# directories EXPORT-NAME HANDLE USER WHAT
directories() {
	local d
	d=$(nfs -u "$3" mkdir "$2" d 2775)
	is "$(mode "$T/$1/d")" 2775 "$4: MKDIR sets the set-group-ID bit"
	nfs -u "$3" setattr "$d" 755
	is "$(mode "$T/$1/d")" 755 "$4: SETATTR clears it"
	nfs -u "$3" setattr "$d" 6710
	is "$(mode "$T/$1/d")" 6710 "$4: SETATTR sets both set-id bits of a directory"
	is "$(nfs -u 1003:1003 setattr "$d" 2777)" "$5" "$4: what another user gets"
	nfs -u "$3" rmdir "$2" d
}
# everywhere: the checks of all exports without setid.
everywhere() {
	refused trust "$trust" 0:0 "root$1"
	refused all "$all" 1000:1000 "a squashed caller$1"
	directories x "$x" 1001:1001 "a user$1" PERM
	directories trust "$trust" 0:0 "root$1" PERM
	directories all "$all" 1000:1000 "a squashed caller$1" ''
}

refused x "$x" 1001:1001 'a user'
everywhere ''
mkdir "$T/trust/theirs" && chown 1001:1001 "$T/trust/theirs"
d=$(nfs lookup "$trust" theirs)
nfs -u 0:0 setattr "$d" 2770
is "$(mode "$T/trust/theirs")" 2770 "root sets the bit of another user's directory"
is "$(grep -c 'killed\|was ended\|restarting' "$T/nfsd.log")" 0 'no role was killed'

ended() { # PID...: has each of them?
	local p
	for p; do [ ! -e "/proc/$p" ] || return 1; done
}
# reload OPTION LOG-TEXT. The mode is logged before the roles of the old one end.
reload() {
	local was
	mapfile -t was < <(pgrep -P "${pid[nfsd]}" -f '^nfsd: (worker|broker)')
	exports "$(text "$1")"
	: >"$T/nfsd.log"
	kill -HUP "${pid[nfsd]}"
	wait_for 10 grep -q "$2" "$T/nfsd.log"
	ok $? "a reload logs: $2"
	wait_for 20 ended "${was[@]}"
	wait_for 20 nfs -u 1001:1001 getattr "$x"
}
reload ,setid 'mode: root, set-id bits permitted'
f=$(nfs -u 1001:1001 create "$x" made 4711)
is "$(mode "$T/x/made")" 4711 'setid: CREATE sets a set-id bit'
for m in 4755 2755 6755; do
	nfs -u 1001:1001 setattr "$f" "$m"
	is "$(mode "$T/x/made")" "$m" "setid: the owner sets $m"
done
is "$(nfs -u 1002:1002 setattr "$f" 4777)" PERM 'setid: another user does not'
chmod 666 "$T/x/made" && chmod u+s "$T/x/made"
is "$(nfs -u 1002:1002 write "$f" 0 x) $(mode "$T/x/made")" '1 666' 'setid: a write clears the bit'
everywhere ', setid elsewhere'
reload '' 'mode: root (user'
refused x "$x" 1001:1001 'a user, without setid again'
done_testing

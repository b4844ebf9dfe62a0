#!/bin/bash
# SPDX-License-Identifier: ISC
# Host names in the exports: a process without privilege looks them up, in the
# background. A name server that hangs, lies or sends rubbish delays neither
# start nor reload nor other names, and its answers never reach root.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3 showmount nfs-common
need_daemons

mkdir -m 777 "$T/export"
cat >/etc/nsswitch.conf <<-E
	passwd: files
	group: files
	hosts: files dns
E
rm -f /etc/resolv.conf
echo 'nameserver 127.0.0.53' >/etc/resolv.conf
echo '127.0.0.1 localhost' >/etc/hosts
: >"$T/zone"

# The name server, from now on.
serve_names() {
	"$top/tests/system/dns.py" 127.0.0.53 "$T/zone" 2>"$T/dns.log" &
	at_end "kill $!"
	wait_for 10 listens
}
listens() { ss -Hlnu 'sport = 53' | grep -q 127.0.0.53; }

# role_pid NAME ROLE: the process with that title.
role_pid() { pids_of "$1" | while read -r p; do
	tr '\0' ' ' <"/proc/$p/cmdline" | grep -q "^$1: $2" && echo "$p"
done | head -n 1; }
status() { awk -v k="$2:" '$1 == k { print $2 }' "/proc/$1/status"; }
says() { grep -Eq "$2" "$T/$1.log"; }
reload() { kill -HUP "${pid[mountd]}" "${pid[nfsd]}"; }

# ---- no name server at all ------------------------------------------------------

before=$SECONDS
tern_start "$T/export good.example(rw,insecure) bad.example(rw,insecure)
$T/export long.example(rw,insecure) 127.0.0.9(rw,insecure)"
ok $((SECONDS - before > 8)) 'without a name server the daemons start at once'
check 'mountd has a resolver' wait_for 10 role_pid mountd resolver
check_not 'a client by name is refused meanwhile' nfs mnt "$T/export"
check 'the log says that the name servers do not answer' \
    wait_for 60 says nfsd 'client "good.example": the name servers do not answer: refused'

# ---- it answers -------------------------------------------------------------------

cat >"$T/zone" <<-E
	good.example A 127.0.0.1
	good.example AAAA ::1
	bad.example junk
	long.example long
	long.example A 127.0.0.1
E
serve_names
reload
check 'the name is found' wait_for 60 says nfsd 'client "good.example" is 127.0.0.1, ::1'
check 'mountd found it too' wait_for 60 says mountd 'client "good.example" is 127.0.0.1, ::1'
check 'its host may mount now' wait_for 60 nfs mnt "$T/export"
is "$(showmount --no-headers -e 127.0.0.1 | grep -o good.example | wc -l)" 1 \
    'showmount -e lists a host with two addresses once'
fh=$(nfs mnt "$T/export")
check 'and call nfsd' wait_for 60 nfs getattr "$fh"
for p in mountd nfsd; do
	r=$(role_pid $p resolver)
	is "$(status "$r" Uid)" 906 "$p resolver: has a user of its own"
	is "$(status "$r" CapPrm)$(status "$r" CapBnd)" \
	    00000000000000000000000000000000 "$p resolver: has no capability"
	is "$(status "$r" NoNewPrivs)" 1 "$p resolver: can gain no privileges"
	unfiltered || is "$(status "$r" Seccomp)" 2 "$p resolver: has a system call filter"
	like "$(cat "$T/$p.log")" 'resolver: sandbox: .*caps=none landlock=[0-9]+ seccomp=[0-9]+ net=open' \
	    "$p resolver: logs its layers"
done

# ---- answers that are wrong; "long" above -------------------------------------------------------

r=$(role_pid nfsd resolver)
for mode in junk loop lie hang cut; do
	cat >"$T/zone" <<-E
	good.example A 127.0.0.1
	bad.example $mode
	bad.example A 127.0.0.8
	E
	reload
	check "$mode: a reload goes on" wait_for 8 nfs mnt "$T/export"
	is "$(role_pid nfsd resolver)" "$r" "$mode: the resolver goes on"
done
check 'cut: the resolver asks again by TCP' wait_for 60 says nfsd 'client "bad.example" is 127.0.0.8'

# ---- an address changes -----------------------------------------------------------

cat >"$T/zone" <<-E
	good.example A 127.0.0.7
E
reload
check 'a new address is followed' wait_for 60 says nfsd 'client "good.example" is 127.0.0.7'
refused() { ! nfs mnt "$T/export"; }
check 'the old one is refused, as the name has gone' wait_for 60 refused
check 'the resolver asks again without a reload' \
    eval 'echo "bad.example A 127.0.0.1" >>"$T/zone"; wait_for 90 nfs mnt "$T/export"'

# ---- very many names that get no answer -------------------------------------------

r=$(role_pid nfsd resolver) m=$(role_pid mountd resolver)
echo 'options timeout:1 attempts:1' >>/etc/resolv.conf
# many FIRST: 64 names whose lookups hang, one that is found, and a new export.
many() {
	local i
	for i in $(seq "$1" $(($1 + 63))); do echo "slow$i.example"; done >"$T/slow"
	{ sed 's/$/ hang/' "$T/slow" && echo "found$1.example A 127.0.0.1"; } >"$T/zone"
	mkdir "$T/e$1"
	exports "$T/export found$1.example(rw,insecure) $(sed 's/$/(rw)/' "$T/slow" | tr '\n' ' ')
$T/e$1 127.0.0.1(insecure)"
	reload
}
loaded() { nfs getattr "$(nfs mnt "$1")"; }
for i in 1000 2000 3000; do
	many $i
	check "list $i is loaded, while the names of another are looked up" \
	    wait_for 20 loaded "$T/e$i"
done
for p in mountd nfsd; do
	check "$p: a name is found behind 64 that hang, of an old list too" \
	    wait_for 90 says $p 'client "found3000.example" is 127.0.0.1'
	check_not "$p: nobody asks too much of the resolver" says $p 'too many questions'
done
is "$(role_pid nfsd resolver)" "$r" 'the resolver of nfsd goes on'
is "$(role_pid mountd resolver)" "$m" 'so does that of mountd'

# ---- the resolver is stopped and killed -------------------------------------------

r=$(role_pid nfsd resolver)
kill -KILL "$r"
again() { n=$(role_pid nfsd resolver) && [ -n "$n" ] && [ "$n" != "$r" ]; }
check 'a resolver that was killed is restarted' wait_for 20 again
check 'a name that was found counts, while others hang' wait_for 10 nfs mnt "$T/export"
check 'the daemons stop' tern_stop
done_testing

#!/bin/bash
# SPDX-License-Identifier: ISC
# Which users may register which programs, how long an entry lasts, and what a
# restart does.
. "${0%/*}/lib.sh"
need rpcinfo rpcbind python3 python3
private "$@"
need_daemons portmapd

sock=$T/run/portmap.sock
registrant=$(built system)/registrant

# up NAME LOG-PATTERN: waits for the pattern in $T/NAME.log.
up() { wait_for 5 grep -q "$2" "$T/$1.log"; }

# The servers come first, the portmapper afterwards.
mkdir -p "$T/run"
"$registrant" "$sock" 100003 3 0.0.0.0:2049 '[::]:2049' 2>"$T/nfs.log" &
pid[nfs]=$!
disown # bash must not report that it is killed
at_end "kill ${pid[nfs]}"
check 'a server that starts first waits for portmapd' up nfs 'waiting for the portmapper'
start portmapd -o register=alice:200001 || bail 'portmapd did not start'
check 'it registers when portmapd starts' up nfs registered
check 'the table has its entry' registered 100003 3 udp
is "$(grep -c . "$T/nfs.log")" 2 'it has logged two lines'

# A restart of portmapd, also by kill -9.
for signal in TERM KILL; do
	stop portmapd $signal
	start portmapd -o register=alice:200001 || bail 'portmapd did not start'
	took=$(pmap back 127.0.0.1 100003 3)
	ok $? "registered again at once after a restart by SIG$signal ($took)"
done

# Users. The uid is the kernel's, and rules bind programs to it.
is "$(pmap set "$sock" 100003 4)" true 'root registers any program'
is "$(PMAP_AS=_nfsd pmap set "$sock" 100003 4)" true \
    '_nfsd registers NFS'
is "$(PMAP_AS=_mountd pmap set "$sock" 100005 3)" \
    true '_mountd registers MOUNT'
is "$(PMAP_AS=_mountd pmap set "$sock" 100003 4)" \
    false 'case 25: _mountd does not register NFS'
is "$(PMAP_AS=bob pmap set "$sock" 100005 3)" false \
    'case 25: another user registers no program'
is "$(PMAP_AS=alice pmap set "$sock" 200001 1)" true \
    'a user registers the program of -o register'
is "$(PMAP_AS=alice pmap set "$sock" 200002 1)" \
    false 'that user registers no other program'
is "$(pmap set "$sock" 100000 2)" false 'root does not register the portmapper'
like "$(grep -c 'refused: permit it' "$T/portmapd.log")" '^[1-9]$' \
    'the log has some of the refusals, not all'

# An entry lasts as long as its connection.
is "$(pmap set "$sock" 100003 3 udp 0.0.0.0.9.9)" false \
    'case 27: a second server is refused while the first runs'
is "$(pmap unset "$sock" 100003 3)" false 'the second server does not remove its entry'
took=$(pmap kill "${pid[nfs]}" 127.0.0.1 100003 3)
ok $? "case 26: kill -9 of a server removes its entry at once ($took)"
"$registrant" "$sock" 100003 3 0.0.0.0:2050 2>"$T/nfs2.log" &
pid[nfs2]=$!
at_end "kill ${pid[nfs2]}"
check 'case 27: the next server is accepted then' up nfs2 registered
is "$(rpcinfo -p 127.0.0.1 | awk '$1 == 100003 && $3 == "udp" { print $4 }')" \
    2050 'the entry has its own port'
stop nfs2
check_not 'a server that ends is unregistered' registered 100003 3 udp

# The same client code with rpcbind itself.
stop portmapd
if command -v rpcbind >/dev/null; then
	mkdir -p /run/rpcbind && chown _rpc /run/rpcbind 2>/dev/null
	rpcbind -f -w >"$T/rpcbind.log" 2>&1 &
	pid[rpcbind]=$!
	at_end "kill ${pid[rpcbind]}"
	wait_for 5 test -S /run/rpcbind.sock
	"$registrant" /run/rpcbind.sock 100003 3 0.0.0.0:2049 2>"$T/rb.log" &
	pid[rb]=$!
	at_end "kill ${pid[rb]}"
	check 'registers with rpcbind' wait_for 5 registered 100003 3 tcp
	stop rb KILL
	"$registrant" /run/rpcbind.sock 100003 3 0.0.0.0:2051 2>"$T/rb2.log" &
	pid[rb2]=$!
	at_end "kill ${pid[rb2]}"
	check 'replaces the entries of a killed predecessor' up rb2 registered
	is "$(rpcinfo -p 127.0.0.1 |
	    awk '$1 == 100003 && $3 == "tcp" { print $4 }')" 2051 \
	    'the entry has its own port'
	stop rb2
	check_not 'removes its entries at the end' registered 100003 3 tcp
else
	skip 'no rpcbind' 4
fi
done_testing

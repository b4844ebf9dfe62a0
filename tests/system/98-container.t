#!/bin/bash
# SPDX-License-Identifier: ISC
#
# The entry point of the image, in a container without privilege.
# Runs in: the tests.
. "${0%/*}/lib.sh"
. "${0%/*}/container.sh"
private "$@"
need runc runc python3 python3

image
chmod 1777 "$T/srv"
config no
run
is $? 78 'without exports it does not start'
like "$(cat "$T/out")" 'no exports: mount a file at /etc/exports' 'and says so'
echo '/srv 127.0.0.1(rw,insecure)' >"$T/exports.d/data.exports"
run
is $? 78 'without a volume for the key it does not start'
like "$(cat "$T/out")" 'add -v tern:/var/lib/tern' 'and says how'

config yes
run &
pid[container]=$!
wait_for 20 nfs null || diag "$(cat "$T/out")"
x=$(nfs mnt /srv)
nfs -u 1000:1001 create "$x" mine 600 >"$T/fh"
is "$(stat -c %u:%g "$T/srv/mine")" 1000:1001 \
    'it serves several users without privilege'
is "$(nfs -u 1001 read "$(cat "$T/fh")" 0 1)" ACCES 'and keeps them apart'
ok "$(contain exec tern /tern/tern-start health >"$T/health" 2>&1; echo $?)" \
    'it is healthy'
mkdir "$T/srv/more"
echo '/srv/more 127.0.0.1(ro,insecure)' >"$T/exports.d/more.exports"
contain kill tern HUP
wait_for 10 nfs mnt /srv/more
ok $? 'SIGHUP reloads the exports'

contain kill tern KILL
wait "${pid[container]}"
contain delete -f tern >/dev/null 2>&1
run &
pid[container]=$!
wait_for 20 nfs null
is "$(nfs -u 1000 write "$(cat "$T/fh")" 0 text)" 4 \
    'handles hold in the next container'
victim=$(contain exec tern sh -c 'grep -lx mountd /proc/[0-9]*/comm' | head -n 1 | tr -dc 0-9)
contain exec tern sh -c "kill -KILL $victim"
wait "${pid[container]}"
wait "${pid[container]}"; ok $(($? == 0)) 'when a daemon ends, the container does'
like "$(tail -n 20 "$T/out")" 'stopping the others' 'and says so'
run &
pid[container]=$!
wait_for 20 nfs null
contain kill tern TERM
wait "${pid[container]}"
is $? 0 'SIGTERM stops it'
done_testing

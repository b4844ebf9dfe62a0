#!/bin/bash
# SPDX-License-Identifier: ISC
#
# What the server calls its clients for: waiting locks, results of _MSG calls as
# BSD and macOS make them, restarts. The client is another machine, by IPv4 and
# IPv6. From which address, how soon, how often, and what if it does not answer.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3
host_add one 10.7.1.1/24 10.7.1.2/24
ip address add 10.7.1.9/24 dev one
ip address add fd07::1/64 dev one nodad
on_host one ip address add fd07::2/64 dev eth0 nodad
for i in 3 4 5 6 7; do on_host one ip address add 10.7.1.$i/24 dev eth0; done
mkdir -m 1777 "$T/x"
for f in a b; do : >"$T/x/$f" && chmod 666 "$T/x/$f"; done
tern_start "$T/x 10.7.0.0/16(rw) fd07::/64(rw)" -o grace=5
can_lock() { registered 100021 4 udp && registered 100024 1 udp; }
wait_for 10 can_lock || bail "no locks"

# calls NAME: this part of lock_calls.py, on the other machine.
calls() { on_host one "$top/tests/system/lock_calls.py" "$T/x" "$1"; }
check 'results of _MSG calls come to the NLM of the client' calls results
check 'the same by IPv6, which has RPCBIND' calls results6
check 'from the address that the client called' calls other_address
check 'a waiting lock is granted within 10 ms' calls soon
check 'within 1 s where a program on the server held it' calls foreign
check 'again after a second, by GRANTED; DENIED passes it on' calls again
check 'a port that has changed is found' calls moved
check 'a client without a portmapper is not called' calls silent
told() { grep -q '10\.7\.1\.4 cannot be called back (its portmapper is silent); it waits until it asks again' "$T/nfsd.log"; }
check 'which the log tells, and why' wait_for 20 told
is "$(grep -c '10\.7\.1\.4 cannot' "$T/nfsd.log")" 1 'in one line'
check 'nor one whose NLM has no UDP port' calls tcp_only
like "$(cat "$T/nfsd.log")" '10\.7\.1\.5 cannot be called back \(its portmapper names no UDP port\)' 'which one line tells'
check 'a client that restarts is asked for its state' calls restart
stop nfsd
start nfsd -p 2049 -o nolocks
wait_for 10 can_lock || bail "no NLM"
check '-o nolocks: a client with a connection hears it by _RES, too' calls switched_off
done_testing

#!/bin/bash
# SPDX-License-Identifier: ISC
#
# The control socket of nfsd: which users may ask, what is answered, and that clients
# which are silent, slow or many neither stay nor delay others.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3

at=$T/run/nfsd.control
ask() { python3 "$top/tests/lib/control.py" "$at" "$@" 2>&1; }
# run PYTHON: has control, path and eventually().
run() {
	python3 -c "import socket, sys
import control
from process import eventually
path = '$at'
$1"
}

mkdir -m 1777 "$T/x"
tern_start "$T/x 127.0.0.1(rw,insecure)" -w 1
is "$(stat -c '%a %U' "$at")" '600 root' 'without -o admin-group the socket is for root'
like "$(ask help)" '^stats: ' 'help lists the requests'
like "$(ask stats)" '^# TYPE tern_nfsd_calls_total counter' 'stats are counters'
O=$(reachable) # for users that cannot read the tree
like "$(as alice "$O/nfsd/nfsd" -S -o control="$at" 2>&1)" \
	'only root and the group of -o admin-group may ask' 'another user is refused'
stop nfsd
check_not 'a group that does not exist is refused' "$O/nfsd/nfsd" -d -R -f "$T/exports" \
	-k "$T/key" -o control="$T/other" -o admin-group=nobody-knows
start nfsd -p 2049 -w 1 -o admin-group=both
given() { [ "$(stat -c '%a %U %G' "$at")" = '660 root both' ]; }
check 'the group may open the socket' wait_for 10 given
check 'a member of the group may ask' as alice "$O/nfsd/nfsd" -S -o control="$at"
check_not 'others may not' as nobody "$O/nfsd/nfsd" -S -o control="$at"
chmod 666 "$at"
like "$(as nobody "$O/nfsd/nfsd" -S -o control="$at" 2>&1)" 'not permitted' \
	'nor if the mode of the socket lets them in'

like "$(ask nonsense)" 'nonsense: no such request; "help" lists them' 'an unknown request'
like "$(ask stats now)" 'stats: takes no operand' 'an operand too many'
like "$(ask $'a\033[1mb')" '^a\\033\[1mb: no such' 'the request is escaped'
like "$(run "print(control.exchange(path, b'a' * 512))")" \
	'error [0-9]+.*the request is longer than 512 bytes' 'a request that is too long'
like "$(run "print(control.exchange(path, b'st\0ats\n'))")" \
	'the request has a byte 0' 'a request with a byte 0'
check 'a client that closes its half gets the answer' run "
s = socket.socket(socket.AF_UNIX); s.connect(path)
s.sendall(b'stats\nmore\n'); s.shutdown(socket.SHUT_WR)
assert s.makefile('rb').read().startswith(b'ok ')"

check 'silent clients are bounded and do not stay' run "
many = []
for _ in range(40):
    s = socket.socket(socket.AF_UNIX); s.connect(path); many.append(s)
def refused():
    try:
        control.ask(path, 'help')
    except control.Refused as e:
        return 'too many administrators at once' in str(e)
    except OSError:
        return True
    return False
assert eventually(refused), 'all are served'
for s in many:
    s.settimeout(30)
    while s.recv(100):
        pass
assert eventually(lambda: not refused(), 20), 'they stay'"
check 'a client that does not read is dropped' run "
s = socket.socket(socket.AF_UNIX)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
s.connect(path); s.sendall(b'stats\n')
assert 'help' in control.ask(path, 'help')
s.settimeout(30)
while s.recv(65536):
    pass"
check 'nfsd serves' nfs mnt "$T/x"
stop nfsd
like "$("$O/nfsd/nfsd" -S -o control="$at" 2>&1)" 'no answer \(is nfsd running\?\)' \
	'without nfsd, -S says so'
done_testing

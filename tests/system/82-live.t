#!/bin/bash
# SPDX-License-Identifier: ISC
#
# What runs, live: nfsd -S in its forms, compared with calls that were made. The
# view on a terminal is driven in tmux.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3 tmux tmux

at=$T/run/nfsd.control
nfsd_S() { "$O/nfsd/nfsd" -o control="$at" "$@"; }
live() { "$top/tests/system/live.py" "$@"; }

mkdir -m 1777 "$T/x" "$T/a b"
tern_start "$T/x 127.0.0.0/8(rw,insecure)
\"$T/a b\" 127.0.0.1(rw,insecure)" -w 2
# on_terminal FLAG...: what a person sees; a pipe gets no such words.
on_terminal() { script -qec "$O/nfsd/nfsd -o control=$at $*" /dev/null </dev/null; }
like "$(on_terminal -L)" '^no locks' '-L says that there are none'
is "$(nfsd_S -L)" '' 'but not to a program'
like "$(on_terminal -S --files)" '^no calls' 'so does --files'
check 'calls are made' live load "$T/x"
json() { nfsd_S -S --json >"$T/json" && live judge "$T/x" <"$T/json"; }
check '-S --json has each of them, by procedure, export and client' wait_for 5 json
like "$(nfsd_S -S)" '^3    READ +40 ' '-S without a number is the table of procedures'
is "$(nfsd_S -S 1 2 --files --json | wc -l)" 2 '-S 1 2 --files prints two times'
like "$(nfsd_S -S 1 1)" "^127\.0\.0\.1 .* 2,3 +udp,tcp .* $T/x$" '-S 1 in a pipe prints lines'

# Intervals: what a client did meanwhile is in them, to the call.
"$O/nfsd/nfsd" -o control="$at" -S 1 --json >"$T/intervals" &
view=$!
wait_for 10 grep -q interval "$T/intervals"
n=$(live busy "$T/x" 2)
shown() { wc -l <"$T/intervals"; }
enough=$(($(shown) + 2)) # the interval of the last call has ended
later() { [ "$(shown)" -ge "$enough" ]; }
wait_for 20 later
kill $view
wait $view
check "each of $n calls is in one interval" live pace "$n" <"$T/intervals"

# The last files, with names that a terminal must not see.
nfsd_S -S --files >"$T/files" # calls are kept from now on
live load "$T/x" >"$T/load.out" 2>&1
nfsd_S -S --files >"$T/files"
like "$(cat "$T/files")" '127\.0\.0\.1 +uid 1001 +3 CREATE +OK .*a\\040\\303\\251\\033\[31m\\377' \
	'--files shows calls, users and escaped names'
unlike "$(cat "$T/files")" $'\033' 'and no byte for the terminal'
python3 -c '
import json, sys
calls = json.load(sys.stdin)["calls"]
assert any(c["name"] == "a é\x1b[31m\\377" and c["uid"] == 1001 for c in calls)
assert any(c["procedure"] == "GETATTR" and c["times"] >= 300 for c in calls)
' < <(nfsd_S -S --files --json)
ok $? '--files --json is JSON, with names in UTF-8'

# The end of a client's connections.
live hold "$T/a b" >"$T/hold" &
held=$!
wait_for 10 grep -q holds "$T/hold"
like "$(nfsd_S --end 127.0.0.1 2>&1)" '^[1-9][0-9]* connections ended' '--end ends connections'
check 'the client notices' wait $held
like "$(cat "$T/nfsd.log")" 'control: user 0: end 127\.0\.0\.1' 'the log says which user asked'
is "$(nfsd_S --end 127.0.0.2)" '0 connections ended' 'a client that has none'
like "$(nfsd_S --end nonsense 2>&1)" 'not an IPv4 or IPv6 address' 'no address'

# On a terminal.
tm() { tmux -S "$T/tmux" -f /dev/null "$@"; }
screen() { tm capture-pane -p; }
shows() { screen | grep -Eq -- "$1"; }
at_end "tmux -S $T/tmux kill-server"
tm new-session -d -x 150 -y 12 "$O/nfsd/nfsd -S 1 -o control=$at; echo status \$?; sleep 60"
check 'the view shows workers' wait_for 10 shows '2 workers, [0-9]+ connections'
check 'and the client, with its export' wait_for 10 shows "127\.0\.0\.1 .* $T/x"
live busy "$T/x" 3 >"$T/n" &
load=$!
check 'a bar while calls are made' wait_for 10 shows '^#+ +127\.0\.0\.1 .*[1-9][0-9.]+ '
wait $load
tm send-keys n
check 'n sorts by name' wait_for 10 shows 'n\*name'
tm resize-window -x 60 -y 8
narrow() { [ "$(screen | awk '{ if (length > m) m = length } END { print m }')" -le 60 ] && shows 'c=calls'; }
check 'another size is noticed' wait_for 10 narrow
tm resize-window -x 80 -y 24
usual() { shows '^c=calls .* q=quit$' && shows "^127\.0\.0\.1 .* ${T:0:10}" && shows '^client .* refused +export'; }
check 'in 80 columns there are exports and all keys' wait_for 10 usual
tm resize-window -x 150 -y 12
tm send-keys f
check 'f shows the last calls' wait_for 10 shows 'the last calls'
live load "$T/x" >"$T/load.out" 2>&1
check 'with their names' wait_for 10 shows 'uid 1001 .*READ +OK '
tm send-keys f
check 'and the clients again' wait_for 10 shows '^ *#* *127\.0\.0\.1 '
live hold "$T/a b" >"$T/hold" &
held=$!
wait_for 10 grep -q holds "$T/hold"
wait_for 10 shows '127\.0\.0\.1 .* a|a.040b'
for _ in 1 2 3 4 5 6; do tm send-keys Down; done
tm send-keys x
check 'x asks first' wait_for 10 shows 'end all connections of 127\.0\.0\.1\? y or n'
tm send-keys y
check 'y ends them' wait_for 10 shows '127\.0\.0\.1: [1-9][0-9]* connections ended'
check 'the client notices that too' wait $held

# A question stays with the client that it names, while the rows move. Of two clients
# the one with fewer calls is the second.
live hold "$T/x" 127.0.0.2 >"$T/hold2" &
held=$!
wait_for 10 grep -q holds "$T/hold2"
live busy "$T/x" 3 >"$T/n" &
load=$!
tm send-keys c
order() { screen | grep -F "$T/x" | grep -Eo '127\.0\.0\.[12]' | tr '\n' ' '; }
ordered() { [ "$(order)" = "$1" ]; }
check 'the busiest is first' wait_for 10 ordered '127.0.0.1 127.0.0.2 '
chosen() { tm capture-pane -p -e | grep -Eq "\[[0-9;]*7m[^m]*$1 .*$T/x"; }
# choose ADDRESS: its row is so far below the first one, on the third line.
choose() {
	local line
	line=$(screen | grep -nE "$1 .*$T/x" | cut -d : -f 1)
	tm send-keys Up Up Up Up Up Up Up Up
	for ((; line > 3; line--)); do tm send-keys Down; done
	wait_for 10 chosen "$1"
}
check 'up and down choose a client' choose 127.0.0.2
tm send-keys x
check 'x names it' wait_for 10 shows 'end all connections of 127\.0\.0\.2\? y or n'
wait $load
live busy "$T/x" 4 127.0.0.2 >"$T/n" &
load=$!
check 'the rows move' wait_for 10 ordered '127.0.0.2 127.0.0.1 '
check 'the same client is chosen' wait_for 10 chosen 127.0.0.2
tm send-keys y
check 'and it is ended' wait_for 10 shows '127\.0\.0\.2: [1-9][0-9]* connections ended'
check 'as its other connection notices' wait $held
wait $load
tm send-keys q
check 'q ends the view and leaves the terminal as it was' wait_for 10 shows '^status 0'
tm respawn-pane -k "$O/nfsd/nfsd -S 1 -o control=$at; echo status \$?; stty -a; sleep 60"
wait_for 10 shows '2 workers'
stop nfsd
check 'without nfsd the view ends with a reason' wait_for 10 shows 'no answer \(is nfsd running\?\)'
check 'and an error' wait_for 5 shows '^status 1'
check 'the terminal echoes again' wait_for 5 shows ' echo '
done_testing

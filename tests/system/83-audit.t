#!/bin/bash
# SPDX-License-Identifier: ISC
#
# The export option "audit": a record for each change of names and attributes, in
# both versions, done and refused: in the log, in the journal with fields, or in a
# file. A flood of them is bounded and counted, and delays no other client.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3

audit() { "$top/tests/system/audit.py" "$@"; }
mkdir -m 1777 "$T/x" "$T/plain" "$T/ro"
mkdir -m 1777 "$T/ro/in"
tern_start "$T/x 127.0.0.1(rw,insecure,audit)
$T/ro/in 127.0.0.1(ro,insecure,audit)
$T/plain 127.0.0.1(rw,insecure)" -w 1
audit changes "$T/x" "$T/ro/in" >"$T/want" 2>"$T/changes.err"
is "$(cat "$T/changes.err")" '' 'all changes are tried'
said() { grep -o 'audit: .*' "$T/nfsd.log"; }
all_said() { [ "$(said | wc -l)" -ge "$(wc -l <"$T/want")" ]; }
wait_for 5 all_said
is "$(said | wc -l)" "$(wc -l <"$T/want")" 'the log has one line for each change'
said >"$T/got"
bad=0
while IFS= read -r want <&3 && IFS= read -r got <&4; do
	printf '%s\n' "$got" | grep -Eq -- "^$want" && continue
	bad=1
	diag "want: $want"
	diag "got:  $got"
done 3<"$T/want" 4<"$T/got"
ok $bad 'each says what was changed, by which user, with which result'
like "$(cut -d' ' -f2,3 "$T/got" | sort -u | tr '\n' ';')" 'RENAME NOENT;RENAME OK' \
	'done and refused changes are among them'

# A file whose name was not looked up has no path but its inode number.
touch "$T/x/unknown" && chown 1001 "$T/x/unknown"
f=$(nfs lookup "$(nfs mnt "$T/x")" unknown)
kill -9 "$(pgrep -P "${pid[nfsd]}" -f 'nfsd: worker')"
again() { grep -q 'worker: serving again' "$T/nfsd.log"; }
wait_for 10 again
wait_for 10 nfs -u 1001 setattr "$f" 600
check 'a file without a known name is named by its number' wait_for 5 grep -q \
	"audit: SETATTR .* path=\"$T/x/(inode $(stat -c %i "$T/x/unknown"))\"" "$T/nfsd.log"

# Its filesystem is not kept busy, and other exports are not audited.
n=$(said | wc -l)
nfs -u 1001 create "$(nfs mnt "$T/plain")" quiet 644 >/dev/null
is "$(said | wc -l)" "$n" 'an export without the option has no lines'

# A flood.
audit slowest "$T/plain" 6 >"$T/slowest" &
other=$!
audit flood "$T/x" 4000
wait $other
lost() { grep -q 'audit: [1-9][0-9]* changes not logged: log: more than it takes in a second' "$T/nfsd.log"; }
check 'a flood loses lines, and the log says how many' wait_for 5 lost
counts() {
	local lines lost
	lines=$(said | grep -c 'SETATTR.*times path')
	lost=$(grep -o 'audit: [0-9]* changes not logged' "$T/nfsd.log" |
	    awk '{ n += $2 } END { print n + 0 }')
	[ $((lines + lost)) -eq 4001 ] && [ "$lines" -lt 3000 ]
}
check 'each change is logged or counted' wait_for 5 counts
like "$("$top/tests/lib/control.py" "$T/run/nfsd.control" stats)" '^tern_nfsd_audit_lost_total [1-9]' \
	'the loss is a metric'
ok $(($(cat "$T/slowest") > $(patient 1000))) "others are not delayed (slowest call: $(cat "$T/slowest") ms)"

# The journal, with a field for each fact.
again_with() { # -o audit=...
	stop nfsd
	start_again nfsd -p 2049 -w 1 "$@"
}
mkdir -p /run/systemd/journal
echo 512 >/proc/sys/net/unix/max_dgram_qlen # as systemd sets it; a new namespace has 10
"$top/tests/system/audit.py" journal /run/systemd/journal/socket >"$T/journal" &
journal=$!
at_end "kill $journal"
wait_for 10 test -S /run/systemd/journal/socket
check 'nfsd starts with -o audit=journal' again_with -o audit=journal
n=$(said | wc -l)
audit changes "$T/x" "$T/ro/in" >"$T/want"
all_there() { [ "$(wc -l <"$T/journal")" -ge "$(wc -l <"$T/want")" ]; }
wait_for 10 all_there
is "$(wc -l <"$T/journal")" "$(wc -l <"$T/want")" 'the journal has one entry for each change'
is "$(said | wc -l)" "$n" 'and the log none'
python3 -c 'import json,sys
for l in sys.stdin: print(json.loads(l)["MESSAGE"])' <"$T/journal" >"$T/messages"
bad=0
while IFS= read -r want <&3 && IFS= read -r got <&4; do
	printf '%s\n' "$got" | grep -Eq -- "^$want" || bad=1
done 3<"$T/want" 4<"$T/messages"
ok $bad 'their texts are those of the log'
entry() { grep -F -- "$1" "$T/journal" | head -n 1; }
move=$(entry '"TERN_PROCEDURE": "RENAME"')
for field in '"TERN_STATUS": "OK"' '"TERN_CLIENT": "127.0.0.1"' '"TERN_CLIENT_PORT": "' '"TERN_UID": "1001"' \
    '"TERN_AS": "1001"' "\"TERN_EXPORT\": \"$T/x\"" "\"TERN_PATH\": \"$T/x/hard\"" \
    "\"TERN_TO\": \"$T/x/dir/new\"" '"SYSLOG_IDENTIFIER": "nfsd"' '"PRIORITY": "6"' '"MESSAGE_ID": "'; do
	like "$move" "$field" "RENAME has the field $field"
done
like "$(entry '"TERN_MODE": "0600"')" '"TERN_SIZE": "5"' 'SETATTR has what it set'
like "$(entry '"TERN_PROCEDURE": "CREATE"')" '"TERN_PATH": "[^"]*/dir/a \\"b\\"\\n\\\\c"' \
	'a path is not escaped in its field, and makes no other field'
kill $journal
wait $journal 2>/dev/null
nfs -u 1001 setattr "$(nfs mnt "$T/x")" 1777 >/dev/null
check 'a journal that is gone is said, and the loss counted' wait_for 10 grep -q \
	'audit: 1 changes not logged: /run/systemd/journal/socket: Connection refused' "$T/nfsd.log"

# A file.
mkdir "$T/logs"
check 'nfsd starts with -o audit=FILE' again_with -o "audit=$T/logs/audit"
is "$(stat -c %a:%U "$T/logs/audit")" 600:root 'the file is for root alone'
audit changes "$T/x" "$T/ro/in" >"$T/want"
in_file() { [ "$(wc -l <"$T/logs/audit")" -ge "$(wc -l <"$T/want")" ]; }
wait_for 10 in_file
sed -E 's/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}Z /audit: /' "$T/logs/audit" >"$T/lines.file"
bad=0
while IFS= read -r want <&3 && IFS= read -r got <&4; do
	printf '%s\n' "$got" | grep -Eq -- "^$want" || bad=1
done 3<"$T/want" 4<"$T/lines.file"
ok $bad 'the file has a line with the time for each change'
is "$(wc -l <"$T/logs/audit")" "$(wc -l <"$T/want")" 'and no other line'
mv "$T/logs/audit" "$T/logs/audit.1"
top_dir=$(nfs mnt "$T/x")
nfs -u 1001 mkdir "$top_dir" rotated 755 >/dev/null
check 'a file that was rotated away is made again' wait_for 10 grep -q 'MKDIR OK .*/rotated' "$T/logs/audit"

# A disk without room for it, and a file that is none.
mount -t tmpfs -o size=4k tmpfs "$T/logs"
head -c 4000 /dev/zero | tr '\0' '\n' >"$T/logs/audit"
nfs -u 1001 rmdir "$top_dir" rotated >/dev/null
check 'a full disk is named, and the change served' wait_for 10 grep -q \
	"audit: 1 changes not logged: $T/logs/audit: No space left on device" "$T/nfsd.log"
check_not 'it is removed' test -e "$T/x/rotated"
: >"$T/logs/audit"
nfs -u 1001 mkdir "$top_dir" later 755 >/dev/null
check 'with room again the file goes on' wait_for 10 grep -q 'MKDIR OK .*/later' "$T/logs/audit"
is "$(grep -c . "$T/logs/audit")" 1 'with a whole line'
rm "$T/logs/audit"
mkfifo "$T/logs/audit"
nfs -u 1001 rmdir "$top_dir" later >/dev/null
check 'a FIFO in its place makes nobody wait' wait_for 10 grep -Eq \
	"audit: 1 changes not logged: $T/logs/audit: (not a regular file|No such device or address)" "$T/nfsd.log"
rm "$T/logs/audit"
ln -s "$T/x/stolen" "$T/logs/audit"
nfs -u 1001 mkdir "$top_dir" last 755 >/dev/null
check 'a link is not followed' wait_for 10 grep -q \
	"audit: 1 changes not logged: $T/logs/audit: Too many levels" "$T/nfsd.log"
check_not 'nothing is made at its end' test -e "$T/x/stolen"
rm "$T/logs/audit"

# Mistakes at the start: one line, and status 78.
stop nfsd
wrong() { # VALUE REGEX WHAT
	"$O/nfsd/nfsd" -d -R -f "$T/exports" -k "$T/key" -s "$T/run/portmap.sock" -o "audit=$1" >"$T/wrong" 2>&1
	is $? 78 "$3: status 78"
	like "$(cat "$T/wrong")" "$2" "$3: said"
}
wrong somewhere 'audit.*neither log nor journal nor the path of a file' 'a word that is none'
wrong "$T/none/audit" "$T/none/audit: No such file" 'a file in no directory'
wrong "$T/logs" "$T/logs: Is a directory" 'a directory'
wrong "$T/x/audit" "$T/x.*$T/x/audit" 'a file that clients can reach'
rm -rf /run/systemd
wrong journal '/run/systemd/journal/socket: No such file' 'a machine without journal'
done_testing

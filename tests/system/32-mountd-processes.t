#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# The processes of mountd: titles, what the worker can do and see. Paths below
# an export: links, permissions, other filesystems, nested exports.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3
need_daemons mountd

call() { "$top/tests/lib/mount_call.py" 127.0.0.1 tcp "$@"; }
export MOUNT_PORT=20048

s=$T/srv
mkdir -p "$s/x/open/deep" "$s/x/closed/in" "$s/x/mounted" "$s/x/nested/in" \
    "$s/tmp" "$T/secret"
chmod 700 "$s/x/closed"
ln -s open "$s/x/link"
ln -s "$T/secret" "$s/x/out"
echo data >"$s/x/open/file"
mkfifo "$s/x/pipe"
mount -t tmpfs tmpfs "$s/x/mounted"
mount -t tmpfs tmpfs "$s/tmp"
mkdir "$s/x/mounted/in" "$s/tmp/in"
all='127.0.0.1(rw,insecure)'
exports "$s/x $all
$s/x/nested $all
$s/tmp $all"
start mountd -R -p 20048 || bail "mountd did not start"
mnt() { call 3 1 "$1" | cut -c1-8; }

mnt "hex:2f$(hex $'a\n%n%s\033[2J')" >/dev/null
is "$(mnt "$s/x")" 00000000 'an export is mounted'
is "$(mnt "$s/tmp")" 00000000 'an export on another filesystem is mounted'
is "$(mnt "$s/x/nested")" 00000000 'a nested export is mounted'
is "$(mnt "$s/x/nested/in")" 00000000 'a directory below a nested export is mounted'
is "$(mnt "$s/x/open/deep")" 00000000 'a subdirectory is mounted'
is "$(mnt "$s/x/open/file")" 00000000 'a file is mounted'
is "$(mnt "$s/tmp/in")" 00000000 'a subdirectory on the other filesystem is mounted'
is "$(mnt "$s/x/link")" 0000000d 'a symbolic link inside the export is refused'
is "$(mnt "$s/x/link/deep")" 0000000d 'a path through a symbolic link is refused'
is "$(mnt "$s/x/out")" 0000000d 'a symbolic link out of the export is refused'
is "$(mnt "$s/x/open/../open")" 0000000d 'a path with .. is refused'
is "$(mnt "$s/x/../../secret")" 0000000d 'a path out of the export is refused'
is "$(mnt "$s/x/closed/in")" 0000000d 'a path that the user of mountd cannot search is refused'
is "$(mnt "$s/x/pipe")" 0000000d 'a fifo is refused'
is "$(mnt "$s/x/none")" 00000002 'a missing path gets NOENT'
is "$(mnt "$s/x/open/file/more")" 00000014 'a path below a file gets NOTDIR'
is "$(mnt "$s/x/mounted/in")" 00000002 'a filesystem mounted inside is hidden'
is "$(mnt "$T/secret")" 0000000d 'a path that is not exported is refused'
is "$(mnt "$s")" 0000000d 'the directory above an export is refused'
like "$(cat "$T/mountd.log")" \
    "refused MNT $s/x/closed/in from 127.0.0.1:[0-9]+: the caller may not search a directory above it" \
    'the log names the obstacle'
unlike "$(cat "$T/mountd.log")" "$(printf '\033')" 'no escape sequence in the log'
like "$(cat "$T/mountd.log")" 'refused MNT /a.*%n%s' 'the log has the path, escaped'

parent=${pid[mountd]}
worker=$(pgrep -P "$parent")
like "$(ps -o args= -p "$parent")" '^mountd: parent *$' 'the parent has its title, and nothing after it'
like "$(ps -o args= -p "$worker")" '^mountd: worker' 'the worker has its title'
status=$(cat "/proc/$worker/status")
for set in CapInh CapPrm CapEff CapBnd CapAmb; do
	like "$status" "^$set:	0000000000000000\$" "the worker has no capability ($set)"
done
if unfiltered; then
	skip 'a build without filter'
else
	like "$status" '^Seccomp:	2$' 'the worker has a system call filter'
fi
like "$status" '^NoNewPrivs:	1$' 'the worker gains no privileges by execve'
like "$status" '^Uid:	902	902	902	902$' 'the worker runs as _mountd'
like "$status" '^Groups:	 ?$' 'the worker has no groups'
root=$(ls "/proc/$worker/root")
is "${root//[[:space:]]/}" tmp 'the root of the worker holds the exports and nothing else'
check_not 'a directory beside the exports is not in its root' ls "/proc/$worker/root$T/secret"
check 'the exports are in its root' ls "/proc/$worker/root$s/x/open"
unlike "$(readlink "/proc/$worker/ns/net")" "$(readlink /proc/$$/ns/net)" \
    'the worker has its own network namespace'
unlike "$(ls -l "/proc/$worker/fd")" "$T/key" 'the worker has no descriptor of the key'
done_testing

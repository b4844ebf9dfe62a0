#!/bin/bash
# SPDX-License-Identifier: ISC
# The directory of exports: which files count, in which order, and that mistakes
# and refusals name the file.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3
need_daemons

mountd=$O/mountd/mountd
d=$T/exports.d
mkdir -m 755 "$d"
mkdir -m 777 "$T/a" "$T/b" "$T/c"
check_file() { { "$mountd" -n -f "$T/exports" >"$T/out"; } 2>&1; }
mounts() { nfs getattr "$(nfs mnt "$1")"; }
refused() { ! nfs mnt "$1"; }
logged() { grep -Eq -- "$2" "$T/$1.log"; }
reload() { kill -HUP "${pid[mountd]}" "${pid[nfsd]}"; }

# ---- which files count ----------------------------------------------------------------

echo "$T/b 127.0.0.1(ro,insecure)" >"$d/20-b.exports"
mkdir "$d/c.exports" # a directory is no file of it
for f in .hidden.exports c.exports~ c.export exports c.exports.bak .exports; do
	echo "$T/c *(rww)" >"$d/$f"
done
rm -f "$T/exports"
out=$(check_file)
is "$?:$out" 0: 'without an exports file, those of the directory are correct'
printf '%s 127.0.0.1(ro,insecure) \134' "$T/a" >"$T/exports" # continued by nothing
echo "$T/b 192.0.2.1" >"$d/9-first.exports"
out=$(check_file)
is "$?:$out" 0: 'a line that continues at the end of a file does not reach the next'
is "$("$mountd" -n -v -f "$T/exports" | awk '{ print $1, $2 }' | sed 's/(.*//')" \
    "$T/a 127.0.0.1
$T/b 192.0.2.1
$T/b 127.0.0.1" 'they add up, in the order of their names, 9 before 20'

# ---- mistakes name file and line ----------------------------------------------------------

printf '\n%s 127.0.0.1(rww)\n' "$T/c" >"$d/30-c.exports"
echo "$T/b 192.0.2.1(rw)" >"$d/40-again.exports"
out=$(check_file)
is $? 1 'a mistake in one of them: status 1'
like "$out" "^$d/30-c.exports:2:[0-9]+: unknown option \"rww\" \(did you mean \"rw\"\?\)\$" 'its file, line and column'
like "$out" "^$d/40-again.exports:1:[0-9]+: warning: .* contradicts line 1 of $d/9-first.exports, which counts" \
    'another line is named with its file'
rm "$d/40-again.exports"
echo "$T/nowhere 127.0.0.1" >"$d/30-c.exports"
like "$(check_file)" "^$d/30-c.exports:1:1: warning: \"$T/nowhere\" does not exist" 'so are warnings'
echo "$T/c 192.0.2.1(rw,insecure)" >"$d/30-c.exports"
like "$("$mountd" -n -f "$T/exports" -x 127.0.0.1 "$T/c")" \
    "refused: line 1 of $d/30-c.exports allows 192.0.2.1" '-x names the file'
chmod 666 "$d/30-c.exports"
is "$(check_file)" "$d/30-c.exports: others can write it (chmod go-w)" 'a file that others can write is refused'
chmod 644 "$d/30-c.exports"
chmod 777 "$d"
is "$(check_file)" "$d: others can write it (chmod go-w)" 'so is the directory'
chmod 755 "$d"
ln -s nowhere "$d/50-dangling.exports"
is "$(check_file)" "$d/50-dangling.exports: No such file or directory" 'and a link to nothing'
rm "$d/50-dangling.exports"

# ---- the daemons ------------------------------------------------------------------------------

tern_start "$T/a 127.0.0.1(ro,insecure)"
check 'the exports of both are served' mounts "$T/a"
check 'those of the directory too' mounts "$T/b"
check 'another client is refused' refused "$T/c"
check 'and the log names the file' wait_for 10 logged mountd "refused MNT $T/c .*line 1 of $d/30-c.exports allows"
echo "$T/c 127.0.0.1(rw,insecure)" >"$d/30-c.exports"
reload
check 'a reload notices a change' wait_for 20 mounts "$T/c"
echo "$T/c 127.0.0.1(rww,insecure)" >"$d/30-c.exports"
reload
for p in mountd nfsd; do
	check "$p: a reload with a mistake names the file" wait_for 20 logged $p "$d/30-c.exports:1:.*rww"
done
check 'the old list stays' mounts "$T/c"
rm "$d/30-c.exports"
reload
check 'a file that is removed takes its exports away' wait_for 20 refused "$T/c"
check 'the others stay' mounts "$T/b"
check 'the daemons stop' tern_stop
done_testing

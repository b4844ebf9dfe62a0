#!/bin/bash
# SPDX-License-Identifier: ISC
#
# Borders of filesystems and exports: what is mounted inside an export, exports
# inside exports, "..", directories that are moved out.
# Runs in: the tests.
. "${0%/*}/lib.sh"
private "$@"
need python3 python3

field() { nfs getattr "$2" | grep -o "$1=[0-9]*" | cut -d= -f2; }

mkdir -m 777 "$T/plain" "$T/cross" "$T/outer" "$T/away"
for d in plain cross; do
	mkdir "$T/$d/sub" "$T/$d/sub/hidden"
	mount -t tmpfs -o mode=777 none "$T/$d/sub"
	echo inside >"$T/$d/sub/file"
	mkdir "$T/$d/sub/deep"
done
mkdir -m 777 "$T/outer/inner" "$T/outer/shut"
echo here >"$T/outer/inner/file"
tern_start "$T/plain 127.0.0.1(rw,insecure)
$T/cross 127.0.0.1(rw,insecure,crossmnt)
$T/outer 127.0.0.1(rw,insecure)
$T/outer/inner 127.0.0.1(ro,insecure)
$T/outer/shut 127.0.0.9(rw)"

# Without crossmnt: what lies below the mount, not what is mounted.
p=$(nfs mnt "$T/plain")
s=$(nfs lookup "$p" sub)
is "$(nfs list "$s")" '. .. hidden' 'a mount is not entered by itself'
is "$(nfs lookup "$s" file)" NOENT 'nor are its files found'

# With crossmnt it is, and looks like a filesystem of its own.
c=$(nfs mnt "$T/cross")
s=$(nfs lookup "$c" sub)
is "$(nfs list "$s")" '. .. deep file' 'crossmnt: it is'
f=$(nfs lookup "$s" file)
is "$(nfs read "$f" 0 9)" inside 'crossmnt: with its files'
isnt=$([ "$(field fsid "$c")" != "$(field fsid "$s")" ]; echo $?)
ok "$isnt" 'crossmnt: another fsid'
is "$(nfs parent "$s")" "$c" 'crossmnt: ".." leads back'
is "$(nfs parent "$(nfs lookup "$s" deep)")" "$s" 'crossmnt: and inside'
is "$(nfs rename "$s" file "$c" file)" XDEV 'crossmnt: nothing is moved over'
is "$(nfs link "$f" "$c" file)" XDEV 'crossmnt: nor linked'
is "$(nfs -u 1000 create "$s" made 644 | cut -c1-2)" "${f:0:2}" \
	'crossmnt: files are made there'
is "$(nfs mnt "$T/cross/sub")" "$s" 'crossmnt: its path can be mounted'
is "$(nfs mnt "$T/cross/sub/deep")" "$(nfs lookup "$s" deep)" 'crossmnt: and what is below'
is "$(nfs mnt "$T/plain/sub/deep")" NOENT 'without crossmnt it cannot'
stop nfsd
start nfsd -p 2049 -w 1 && wait_for 10 nfs null
is "$(nfs read "$f" 0 9)" inside 'crossmnt: handles last'

# What is mounted later is entered after a reload, what is gone is gone.
holds() { [ "$(nfs list "$(nfs lookup "$c" new)")" = "$1" ]; }
mounts() { [ "$(nfs mnt "$1")" = "$2" ]; }
mkdir "$T/cross/new"
mount -t tmpfs -o mode=777 none "$T/cross/new"
echo new >"$T/cross/new/file"
check 'a later mount is not seen by itself' holds '. ..'
kill -HUP "${pid[nfsd]}" "${pid[mountd]}"
check 'a later mount is entered after a reload' wait_for 10 holds '. .. file'
n=$(nfs lookup "$c" new)
is "$(nfs read "$(nfs lookup "$n" file)" 0 9)" new 'with its files'
check 'its path can be mounted' wait_for 10 mounts "$T/cross/new" "$n"
is "$(nfs read "$f" 0 9)" inside 'handles of before are good'
umount "$T/cross/new"
kill -HUP "${pid[nfsd]}" "${pid[mountd]}"
check 'an unmounted one is left after a reload' wait_for 10 holds '. ..'
worthless() { [ "$(nfs getattr "$1")" = BADHANDLE ]; }
check 'its handles are worth nothing' wait_for 10 worthless "$n"

# An export inside an export has its own handles and options.
o=$(nfs mnt "$T/outer")
i=$(nfs lookup "$o" inner)
is "$i" "$(nfs mnt "$T/outer/inner")" 'an inner export is entered as itself'
is "$(nfs read "$(nfs lookup "$i" file)" 0 9)" here 'and can be read'
is "$(nfs -u 1000 create "$i" new 644)" ROFS 'under its own options'
like "$(nfs -u 1000 create "$o" new 644)" '^[0-9a-f]{64}$' 'not those around it'
is "$(nfs lookup "$o" shut)" ACCES 'an inner export of others stays shut'
is "$(nfs rename "$i" file "$o" file)" ROFS 'nothing is moved out of it'

# The root's parent is the root; what was moved out leads nowhere.
is "$(nfs parent "$o")" "$o" '".." of the root is the root'
mkdir -m 777 "$T/outer/a" "$T/outer/a/b"
a=$(nfs lookup "$o" a)
b=$(nfs lookup "$a" b)
is "$(nfs parent "$a")" "$o" '".." one below is the root'
echo sentinel >"$T/away/secret"
mv "$T/outer/a/b" "$T/away/b"
is "$(nfs parent "$b")" STALE 'a directory moved out does not lead out'
is "$(nfs lookup "$b" ../secret)" ACCES 'no path is walked'
ln -s "$T/away" "$T/outer/link"
l=$(nfs lookup "$o" link)
is "$(nfs lookup "$l" secret)" NOTDIR 'no link is followed'
is "$(nfs readlink "$l")" "$T/away" 'but can be read'
is "$(cat "$T/away/secret")" sentinel 'the sentinel is untouched'
done_testing

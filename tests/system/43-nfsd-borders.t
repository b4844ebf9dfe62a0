#!/bin/bash
# SPDX-License-Identifier: ISC
#
# Borders of filesystems and exports: mounts inside an export, exports inside
# exports, "..", directories that are moved out.
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

# Without crossmnt clients see the directory below the mount.
p=$(nfs mnt "$T/plain")
s=$(nfs lookup "$p" sub)
is "$(nfs list "$s")" '. .. hidden' 'a mount inside is not entered without crossmnt'
is "$(nfs lookup "$s" file)" NOENT 'its files are not found'

# With crossmnt clients see the mount as another filesystem.
c=$(nfs mnt "$T/cross")
s=$(nfs lookup "$c" sub)
is "$(nfs list "$s")" '. .. deep file' 'crossmnt: a mount inside is entered'
f=$(nfs lookup "$s" file)
is "$(nfs read "$f" 0 9)" inside 'crossmnt: its files are read'
isnt=$([ "$(field fsid "$c")" != "$(field fsid "$s")" ]; echo $?)
ok "$isnt" 'crossmnt: it has another fsid'
is "$(nfs parent "$s")" "$c" 'crossmnt: ".." of its root leads back to the export'
is "$(nfs parent "$(nfs lookup "$s" deep)")" "$s" 'crossmnt: ".." inside leads to its root'
is "$(nfs rename "$s" file "$c" file)" XDEV 'crossmnt: RENAME across gets XDEV'
is "$(nfs link "$f" "$c" file)" XDEV 'crossmnt: LINK across gets XDEV'
is "$(nfs -u 1000 create "$s" made 644 | cut -c1-2)" "${f:0:2}" \
	'crossmnt: files are created there'
is "$(nfs mnt "$T/cross/sub")" "$s" 'crossmnt: its path can be mounted'
is "$(nfs mnt "$T/cross/sub/deep")" "$(nfs lookup "$s" deep)" 'crossmnt: a path below it can be mounted'
is "$(nfs mnt "$T/plain/sub/deep")" NOENT 'its path cannot be mounted without crossmnt'
stop nfsd
start nfsd -p 2049 -w 1 && wait_for 10 nfs null
is "$(nfs read "$f" 0 9)" inside 'crossmnt: handles stay valid after a restart'

# After a reload a later mount is entered, and an unmounted one is left.
holds() { [ "$(nfs list "$(nfs lookup "$c" new)")" = "$1" ]; }
mounts() { [ "$(nfs mnt "$1")" = "$2" ]; }
mkdir "$T/cross/new"
mount -t tmpfs -o mode=777 none "$T/cross/new"
echo new >"$T/cross/new/file"
check 'a later mount is not entered without a reload' holds '. ..'
kill -HUP "${pid[nfsd]}" "${pid[mountd]}"
check 'a later mount is entered after a reload' wait_for 10 holds '. .. file'
n=$(nfs lookup "$c" new)
is "$(nfs read "$(nfs lookup "$n" file)" 0 9)" new 'its files are read'
check 'its path can be mounted' wait_for 10 mounts "$T/cross/new" "$n"
is "$(nfs read "$f" 0 9)" inside 'older handles stay valid'
umount "$T/cross/new"
kill -HUP "${pid[nfsd]}" "${pid[mountd]}"
check 'an unmounted filesystem is not entered after a reload' wait_for 10 holds '. ..'
worthless() { [ "$(nfs getattr "$1")" = BADHANDLE ]; }
check 'its handles get BADHANDLE' wait_for 10 worthless "$n"

# An export inside an export has its own handles and options.
o=$(nfs mnt "$T/outer")
i=$(nfs lookup "$o" inner)
is "$i" "$(nfs mnt "$T/outer/inner")" 'LOOKUP of an inner export gives its own root handle'
is "$(nfs read "$(nfs lookup "$i" file)" 0 9)" here 'its files are read'
is "$(nfs -u 1000 create "$i" new 644)" ROFS 'an inner export has its own options'
like "$(nfs -u 1000 create "$o" new 644)" '^[0-9a-f]{64}$' 'the outer export keeps its options'
is "$(nfs lookup "$o" shut)" ACCES 'an inner export to other clients is refused'
is "$(nfs rename "$i" file "$o" file)" ROFS 'RENAME out of a read-only inner export gets ROFS'

# The root is its own parent. A directory moved out does not lead out.
is "$(nfs parent "$o")" "$o" '".." of the root is the root'
mkdir -m 777 "$T/outer/a" "$T/outer/a/b"
a=$(nfs lookup "$o" a)
b=$(nfs lookup "$a" b)
is "$(nfs parent "$a")" "$o" '".." of a directory in the root is the root'
echo sentinel >"$T/away/secret"
mv "$T/outer/a/b" "$T/away/b"
is "$(nfs parent "$b")" STALE '".." of a directory moved out gets STALE'
is "$(nfs lookup "$b" ../secret)" ACCES 'LOOKUP of a path is refused'
ln -s "$T/away" "$T/outer/link"
l=$(nfs lookup "$o" link)
is "$(nfs lookup "$l" secret)" NOTDIR 'LOOKUP through a symbolic link gets NOTDIR'
is "$(nfs readlink "$l")" "$T/away" 'READLINK gives the text of the link'
is "$(cat "$T/away/secret")" sentinel 'the file outside is unchanged'
done_testing

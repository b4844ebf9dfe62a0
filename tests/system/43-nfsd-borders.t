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
$T/outer/shut 127.0.0.9(rw)" -w 1

# Without crossmnt clients see the directory below the mount.
p=$(nfs mnt "$T/plain")
s=$(nfs lookup "$p" sub)
is "$(nfs list "$s")" '. .. hidden' 'a mount inside is not entered without crossmnt'
is "$(nfs lookup "$s" file)" NOENT 'its files are not found'

# With crossmnt clients see the mount as another filesystem. Both daemons give a
# filesystem 2 s to answer, and a loaded machine can take longer. Then they serve
# without it until it has answered.
holds() { [ "$(nfs list "$(nfs lookup "$c" "$1")")" = "$2" ]; }
mounts() { [ "$(nfs mnt "$1")" = "$2" ]; }
gets() { [ "$1" = "$("${@:2}")" ]; }
c=$(nfs mnt "$T/cross")
check 'crossmnt: a mount inside is entered' wait_for 10 holds sub '. .. deep file'
s=$(nfs lookup "$c" sub)
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
check 'crossmnt: its path can be mounted' wait_for 10 mounts "$T/cross/sub" "$s"
is "$(nfs mnt "$T/cross/sub/deep")" "$(nfs lookup "$s" deep)" 'crossmnt: a path below it can be mounted'
is "$(nfs mnt "$T/plain/sub/deep")" NOENT 'its path cannot be mounted without crossmnt'
stop nfsd
start nfsd -p 2049 -w 1 && wait_for 10 nfs null
check 'crossmnt: handles stay valid after a restart' wait_for 10 gets inside nfs read "$f" 0 9

# A later mount is entered, and an unmounted one is left, without a reload.
mkdir "$T/cross/new"
mount -t tmpfs -o mode=777 none "$T/cross/new"
echo new >"$T/cross/new/file"
check 'a later mount is entered' wait_for 10 holds new '. .. file'
n=$(nfs lookup "$c" new)
is "$(nfs read "$(nfs lookup "$n" file)" 0 9)" new 'its files are read'
check 'its path can be mounted' wait_for 10 mounts "$T/cross/new" "$n"
is "$(nfs read "$f" 0 9)" inside 'older handles stay valid'
check 'it is unmounted, although clients used it' umount "$T/cross/new"
check 'an unmounted filesystem is not entered' wait_for 10 holds new '. ..'
worthless() { [ "$(nfs getattr "$1")" = STALE ]; }
check 'its handles get STALE' wait_for 10 worthless "$n"

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
is "$(nfs lookup "$a" ../secret)" ACCES 'LOOKUP of a path is refused'
ln -s "$T/away" "$T/outer/link"
l=$(nfs lookup "$o" link)
is "$(nfs lookup "$l" secret)" NOTDIR 'LOOKUP through a symbolic link gets NOTDIR'
is "$(nfs readlink "$l")" "$T/away" 'READLINK gives the text of the link'
is "$(cat "$T/away/secret")" sentinel 'the file outside is unchanged'

# A directory that was moved out is not entered, listed or changed any more. The
# worker may believe for a second that it lies inside.
refusal=STALE
outside() { # outside NAME HANDLE: every use of the directory is refused
	check "$1: GETATTR gets STALE" wait_for 10 gets STALE nfs getattr "$2"
	like "$(nfs lookup "$2" secret)" "^($refusal)$" "$1: LOOKUP is refused"
	like "$(nfs -u 1000 create "$2" made 644)" "^($refusal)$" "$1: CREATE is refused"
	like "$(nfs -u 1000 rename "$2" secret "$o" secret)" "^($refusal)$" "$1: RENAME is refused"
	like "$(nfs parent "$2")" "^($refusal)$" "$1: \"..\" is refused"
	like "$(nfs list "$2")" "^($refusal)$" "$1: READDIRPLUS is refused"
}
moved() { # moved NAME: moves a directory and one below it out of the export
	mkdir -p "$T/outer/$1" "$T/outer/$1/deep" && chmod 777 "$T/outer/$1" "$T/outer/$1/deep"
	m=$(nfs lookup "$o" "$1")
	d=$(nfs lookup "$m" deep)
	is "$(nfs list "$m") $(nfs list "$d")" '. .. deep . ..' "$1: both are listed before"
	mv "$T/outer/$1" "$T/away/$1"
	echo later >"$T/away/$1/secret"
	echo later >"$T/away/$1/deep/secret"
	outside "$1" "$m"
	outside "$1, below" "$d"
	is "$(cat "$T/away/$1/secret")$(ls "$T/away/$1/deep")" latersecret "$1: nothing outside is changed"
	mv "$T/away/$1" "$T/outer/$1"
	check "$1: moved back, it is served again" wait_for 20 gets '. .. secret' nfs list "$d"
}
moved gone

# ".." works at any depth.
deepest=$(python3 - "$o" "$T/outer" <<'P'
import os, sys
import nfs
os.chdir(sys.argv[2])
for _ in range(5000):
    os.mkdir("d", 0o777)
    os.chdir("d")
c = nfs.connect()
fh = bytes.fromhex(sys.argv[1])
for _ in range(5000):
    above, fh = fh, c.lookup(fh, "d").fh
print(above.hex(), fh.hex())
P
)
is "$(nfs parent "${deepest#* }")" "${deepest% *}" '".." is found 5,000 levels deep'

# An export that a reload adds inside another takes what lies below its root
# with it.
reloaded() { # reloaded EXPORTS-TEXT
	exports "$1"
	kill -HUP "${pid[nfsd]}" "${pid[mountd]}"
}
mkdir -p "$T/outer/later" "$T/outer/later/sub" && chmod 777 "$T/outer/later" "$T/outer/later/sub"
later=$(nfs lookup "$o" later)
sub=$(nfs lookup "$later" sub)
f=$(nfs -u 1000 create "$sub" before 644)
like "$f" '^[0-9a-f]{64}$' 'the directory is served by the outer export'
is "$(nfs mnt "$T/outer/later/sub/before")" "$f" 'MNT of a file gives the same handle'
reloaded "$T/outer 127.0.0.1(rw,insecure)
$T/outer/later 127.0.0.9(rw)"
check 'LOOKUP of the new inner export is refused' wait_for 10 gets ACCES nfs lookup "$o" later
outside 'below a new inner export' "$sub"
like "$(nfs read "$f" 0 9)" '^(STALE|BADHANDLE)$' 'a file below it is not read'
like "$(nfs -u 1000 write "$f" 0 x 2)" '^(STALE|BADHANDLE)$' 'a file below it is not written'
like "$(nfs lookup "$o" new)" '^[0-9a-f]{64}$' 'files beside it are found'
is "$(nfs mnt "$T/outer/new")" "$(nfs lookup "$o" new)" 'and have one handle by LOOKUP and MNT'
is "$(nfs read "$(nfs lookup "$o" new)" 0 9)" '' 'and are read'
outside 'the root of a new inner export' "$later"
like "$(nfs -u 1000 create "$o" still 644)" '^[0-9a-f]{64}$' 'the outer export is served as before'
mv "$T/outer/gone" "$T/outer/later/gone"
outside 'moved into an inner export' "$d"

# The same without mounts, as in a container. There the broker walks the export
# to find a directory, and tells the client to try again between two walks.
tern_stop
refusal='STALE|JUKEBOX'
rm -rf "$T/outer/d" # without kernel handles a walk ends 4,096 levels deep
for without in sys_admin sys_admin,dac_read_search; do
	TERN_WRAP="setpriv --no-new-privs --bounding-set -${without//,/,-}"
	echo secret >"$T/outer/shut/secret"
	echo here >"$T/outer/inner/file"
	tern_start "$T/outer 127.0.0.1(rw,insecure)
$T/outer/inner 127.0.0.1(ro,insecure)
$T/outer/shut 127.0.0.9(rw)" -w 1
	like "$(cat "$T/nfsd.log")" 'jail: no private mounts' "$without: there are no mounts"
	o=$(nfs mnt "$T/outer")
	is "$(nfs lookup "$o" shut)" ACCES "$without: an inner export to other clients is refused"
	i=$(nfs lookup "$o" inner)
	is "$i" "$(nfs mnt "$T/outer/inner")" "$without: LOOKUP of an inner export gives its own root handle"
	is "$(nfs -u 1000 create "$i" new 644)" ROFS "$without: an inner export has its own options"
	is "$(nfs rename "$o" shut "$o" open)" ACCES "$without: RENAME of its root is refused"
	is "$(nfs rmdir "$o" shut)" ACCES "$without: RMDIR of its root is refused"
	rm -rf "$T/outer/moved"
	moved moved
	mkdir -p "$T/outer/later/sub" && chmod 777 "$T/outer/later/sub"
	later=$(nfs lookup "$o" later)
	sub=$(nfs lookup "$later" sub)
	f=$(nfs -u 1000 create "$sub" "before-$without" 644)
	reloaded "$T/outer 127.0.0.1(rw,insecure)
$T/outer/later 127.0.0.9(rw)"
	check "$without: LOOKUP of a new inner export is refused" wait_for 10 gets ACCES nfs lookup "$o" later
	check "$without: a file below it gets STALE" wait_for 10 gets STALE nfs read "$f" 0 9
	outside "$without: below a new inner export" "$sub"
	tern_stop
done
done_testing

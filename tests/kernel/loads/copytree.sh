# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2010,SC2012,SC2046,SC2059,SC2103,SC2154,SC2164
# cp -a of a tree of 300 x SCALE files, compared byte by byte and attribute by attribute.
n=$((30 * SCALE))
src=$TMPDIR/src
rm -rf "$src"
mkdir "$src"
(cd "$src" && seq -f dir%g "$n" | xargs mkdir)
for ((d = 1; d <= n; d++)); do
	for f in 1 2 3 4 5 6 7 8 9; do echo "file $f of $d" >"$src/dir$d/file $f"; done
	random $((d * 37)) "$src/dir$d/random"
done
ln -s ../dir1/random "$src/dir2/link"
ln "$src/dir1/random" "$src/hard"
chmod 640 "$src/dir1/random"
chown -R 1001:1100 "$src/dir3"
cp -a "$src" copy
shape() { (cd "$1" && find . -printf '%P %m %U %G %y %l %n %TY-%Tm-%Td %TH:%TM\n' | sort); }
shape "$src" >"$TMPDIR/shape.a"
shape copy >"$TMPDIR/shape.b"
# The link count of a directory depends on the filesystem.
diff <(sed -E 's/ d  [0-9]+ / d /' "$TMPDIR/shape.a") \
    <(sed -E 's/ d  [0-9]+ / d /' "$TMPDIR/shape.b")
[ "$(find copy -type f | wc -l)" = $((10 * n + 1)) ]
cp -a copy/dir1 again
diff -r --no-dereference copy/dir1 again
# The second client, whose cache is cold, reads it.
diff -r --no-dereference "$src" "$D2/copy"
rm -rf "$src"

# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2010,SC2012,SC2046,SC2059,SC2103,SC2164
# cp -a of a tree, compared byte by byte and attribute by attribute.
n=$((30 * SCALE))
src=$TMPDIR/src
rm -rf "$src" && mkdir "$src"
for d in $(seq "$n"); do
	mkdir "$src/dir$d"
	for f in $(seq 9); do echo "file $f of $d" >"$src/dir$d/file $f"; done
	head -c $((d * 37)) /dev/urandom >"$src/dir$d/random"
done
ln -s ../dir1/random "$src/dir2/link"
ln "$src/dir1/random" "$src/hard"
chmod 640 "$src/dir1/random"
chown -R 1001:1100 "$src/dir3"
cp -a "$src" copy
shape() { (cd "$1" && find . -printf '%P %m %U %G %y %l %n %TY-%Tm-%Td %TH:%TM\n' | sort); }
shape "$src" >"$TMPDIR/shape.a"
shape copy >"$TMPDIR/shape.b"
# a directory's link count is the filesystem's own affair
diff <(sed -E 's/ d  [0-9]+ / d /' "$TMPDIR/shape.a") \
    <(sed -E 's/ d  [0-9]+ / d /' "$TMPDIR/shape.b")
echo "$(find copy -type f | wc -l) files copied"
cp -a copy/dir1 again
diff -r --no-dereference copy/dir1 again
# read by the second client, whose cache is cold
diff -r --no-dereference "$src" "$D2/copy"
rm -rf "$src"

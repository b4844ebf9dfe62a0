# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2010,SC2012,SC2046,SC2059,SC2103,SC2164
# The conformance script as root and two users; the mount is root's.
chmod 755 .
bash "$HERE/posix.sh" "$VERS" >"$TMPDIR/posix.txt"
"$BIN/syscheck" . <"$TMPDIR/posix.txt" >"$TMPDIR/posix.tap" && rc=0 || rc=1
grep -A 1 '^not ok' "$TMPDIR/posix.tap" | head -n 60 || true
echo "posix: $(grep -c '^ok' "$TMPDIR/posix.tap") of $(grep -c ' = ' "$TMPDIR/posix.txt") assertions hold"
[ "$(grep -c '^ok' "$TMPDIR/posix.tap")" -ge 400 ]
exit "$rc"

# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2010,SC2012,SC2046,SC2059,SC2103,SC2154,SC2164
# The conformance script, more than 900 assertions, as root and two users.
chmod 755 .
bash "$HERE/posix.sh" "$VERS" >"$TMPDIR/posix.txt"
"$BIN/syscheck" . <"$TMPDIR/posix.txt" >"$TMPDIR/posix.tap" || bad=1
grep -A 1 '^not ok' "$TMPDIR/posix.tap" | head -n 60 || true
held=$(grep -c '^ok' "$TMPDIR/posix.tap")
echo "posix: $held of $(grep -c ' = ' "$TMPDIR/posix.txt") assertions hold"
[ -z "${bad:-}" ]
[ "$held" -ge 900 ]

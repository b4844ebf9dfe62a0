# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2010,SC2012,SC2046,SC2059,SC2103,SC2154,SC2164
# Two users at once, each with its own directory: tar, git, open files, fsx and stress.
chmod 755 .
for who in alice bob; do
	mkdir "$who"
	chown "$who:" "$who"
	chmod 700 "$who"
done
work() { # USER
	local w
	for w in tar git openfiles fsx stress; do
		export D=$MNT/users/$1/$w D2=$MNT2/users/$1/$w
		as "$1" mkdir "$D"
		cd "$D"
		as "$1" env SCALE=1 bash "$HERE/load.sh" "$w"
	done
}
work alice &
hers=$!
work bob &
his=$!
wait $hers
wait $his
refused 'Permission denied' as bob ls alice
refused 'Permission denied' as alice touch bob/f
refused 'Permission denied' as bob rm -rf alice
as alice rm -r alice/tar
[ "$(stat -c %u alice/git/repo bob/git/repo)" = $'1001\n1002' ]

# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2010,SC2012,SC2046,SC2059,SC2103,SC2154,SC2164
# git: init, commit, branch, merge, clone, gc, fsck, mv, push.
set -o pipefail
export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@example.org \
    GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@example.org
git init -q -b main repo
cd repo
for i in $(seq $((10 * SCALE))); do echo "text $i" >"f$i"; done
git add .
git commit -qm one
for i in 1 2 3; do
	echo "change $i" >>f1
	git commit -qam "change $i"
done
git tag v1
git checkout -qb side HEAD~2
echo side >side
git add side
git commit -qm side
git checkout -q main
git merge -q -m merge side
cd ..
git clone -q repo clone
cd clone
[ "$(git rev-parse HEAD)" = "$(git -C ../repo rev-parse HEAD)" ]
git gc -q --prune=now
git fsck --strict --no-progress
[ -z "$(git status --porcelain)" ]
git mv f2 moved
git rm -q f3
git commit -qm moves
git push -q origin HEAD:refs/heads/pushed
git -C ../repo fsck --no-progress
[ "$(git -C ../repo rev-parse pushed)" = "$(git rev-parse HEAD)" ]

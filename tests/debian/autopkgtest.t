#!/bin/bash
# SPDX-License-Identifier: ISC
#
# make check-autopkgtest: autopkgtest runs the package's own test in a Debian
# tree that a real systemd has booted. The package is one that was compiled
# with dpkg's flags in a copy of the sources, as a distribution does.
# Runs in: the tests.
. "${0%/*}/../system/lib.sh"
. "${0%/*}/../system/tree.sh"
# shellcheck disable=SC2154 # of tree.sh
# dpkg-dev: what autopkgtest itself wants; the tree has no network to get it.
tree_packages=$tree_packages,autopkgtest,dpkg-dev
tree_boot

touch "$T/before"
"$top/etc/debian/build" "$T/deb" >"$T/build.out" 2>&1
ok $? 'dpkg-buildpackage compiles the package' || diag "$(tail -n 20 "$T/build.out")"
is "$(find "$O/nfsd" "$O/common" -newer "$T/before" -name '*.[oa]')" '' \
    'in a copy: the tree is as it was'
# shellcheck disable=SC2154 # $tree is of tree.sh
cp "$T"/deb/tern_*.deb "$tree/tern.deb"
mkdir "$tree/src"
cp -r "$top/etc/debian" "$tree/src/debian"
in_tree systemctl disable --quiet --now rpcbind.socket rpcbind
out=$(in_tree autopkgtest --no-built-binaries /tern.deb /src -- null 2>&1)
is $? 0 'autopkgtest succeeds' || diag "$(echo "$out" | tail -n 40)"
like "$out" 'serve +PASS' 'the test of the package ran'
like "$out" 'nfsd is started again after a kill' 'to its end'
done_testing

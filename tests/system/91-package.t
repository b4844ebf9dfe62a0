#!/bin/bash
# SPDX-License-Identifier: ISC
# The package and the tarball: complete, without lintian errors, reproducible.
. "${0%/*}/lib.sh"
need_daemons
need dpkg-deb dpkg lintian lintian
deb=$(find "$O" "$O/build" -maxdepth 1 -name 'tern_*.deb' 2>/dev/null | head -n 1)
[ -n "$deb" ] || skip_all "no package in $O: run make deb"
scratch
cd "$top" || bail "no $top"

errors=$(lintian --no-cfg --fail-on none --tag-display-limit 0 "$deb" 2>&1 | grep '^E:')
is "$errors" '' 'lintian finds no error'

list=$(dpkg-deb -c "$deb" | awk '{ print $6 }')
for f in usr/sbin/portmapd usr/sbin/mountd usr/sbin/nfsd usr/sbin/tern-cert usr/sbin/tern-takeover lib/ocf/resource.d/tern/tern etc/default/tern \
    lib/systemd/system/tern-nfsd.service lib/sysusers.d/tern.conf lib/modules-load.d/tern.conf \
    man/man8/nfsd.8tern.gz man/man7/tern.7.gz doc/tern/copyright doc/tern/NEWS.Debian.gz \
    tern/tern.rules.yml tern/tern-dashboard.json; do
	like "$list" "$f\$" "the package has $f"
done
like "$(dpkg-deb -I "$deb" conffiles)" '^/etc/default/tern$' 'flags are a conffile'
like "$(dpkg-deb -f "$deb" Depends)" 'libevent.*libseccomp2' 'the package depends on the libraries'

# The same tree packed twice gives the same bytes.
etc/debian/build "$T/again" "$O" >"$T/build.out" 2>&1 || diag "$(tail -n 5 "$T/build.out")"
check 'the package is reproducible' cmp "$deb" "$T"/again/*.deb
is "$(dpkg-parsechangelog -l etc/debian/changelog -S Version)" \
    "$(sed -n 's/^VERSION := //p' GNUmakefile)" 'the changelog has the version of the makefile'
is "$(sed -n '/^Build-Depends:/,/^[^ B]/p' etc/debian/control | grep -o 'lib[a-z0-9]*-dev' | sort)" \
    "$(sed -n 's/^	build \(lib[a-z0-9]*-dev\) .*/\1/p' etc/packages | grep -v libc6 | sort)" \
    'the package is built with the libraries of etc/packages'

make -s O="$O" install DESTDIR="$T/local" PREFIX=/usr/local >"$T/make.out" 2>&1
check 'make install installs the programs' test -x "$T/local/usr/local/sbin/nfsd"
like "$(cat "$T/local/usr/local/lib/systemd/system/tern-nfsd.service")" \
    '^ExecStart=!?/usr/local/sbin/nfsd' 'units name the installed program'
# What pages, units and examples name is where they say.
named() {
	zcat -f "$T"/local/usr/local/share/{man/man*/*,doc/tern/*} \
	    "$T"/local/usr/local/lib/{systemd/system/*,ocf/resource.d/*/*} |
	    grep -Eo '/usr(/local)?/(sbin/(portmapd|mountd|nfsd|tern-[a-z]+)|share/(doc/)?tern|lib/ocf/resource.d/tern)\b' |
	    sort -u
}
for f in $(named); do
	check "what the documents name is there: $f" test -e "$T/local$f"
done
is "$(named | wc -l)" 7 'they name the programs, agents, examples and rules'
check 'zsh looks where make install puts the completion' \
    test -e "$T/local/usr/local/share/zsh/site-functions/_tern"
like "$list" '/usr/share/zsh/vendor-completions/_tern$' 'and where the package does'
make -s O="$O" uninstall DESTDIR="$T/local" PREFIX=/usr/local >"$T/make.out" 2>&1
is "$(find "$T/local" -type f)" '' 'make uninstall leaves no file'

if git rev-parse --git-dir >/dev/null 2>&1; then
	make -s dist O="$T/a" >/dev/null
	make -s dist O="$T/b" >/dev/null
	check 'the tarball is reproducible' cmp "$T"/a/*.tar.gz "$T"/b/*.tar.gz
	like "$(tar -tzf "$T"/a/*.tar.gz)" '^tern-[0-9.]*/GNUmakefile$' 'the tarball is complete'
else
	skip 'not a git tree' 2
fi
mkdir "$T/plain"
cp -r GNUmakefile etc "$T/plain"
out=$(GIT_CEILING_DIRECTORIES=$T make -s -C "$T/plain" dist 2>&1)
is $? 2 'make dist fails where there is no git tree'
like "$out" 'not a clone of Tern' 'and says why'
is "$(find "$T/plain" -name '*.tar*')" '' 'and makes no tarball'
done_testing

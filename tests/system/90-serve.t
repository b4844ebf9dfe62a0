#!/bin/bash
# SPDX-License-Identifier: ISC
# make serve says what it installs, starts, serves, and leaves nothing behind when
# interrupted.
. "${0%/*}/lib.sh"
private "$@"
sanitized && skip_all "make serve builds programs of its own"
need nfs-ls libnfs-utils showmount nfs-common rpcinfo rpcbind
need_daemons

export TMPDIR=$T/tmp
mkdir -m 1777 "$TMPDIR"

# serve NAME COMMAND...: runs it in its own process group, as a terminal does.
serve() {
	name=$1
	shift
	: >"$T/$name.log" # a run before it has said the same
	setsid env --default-signal=INT "$@" >"$T/$name.log" 2>&1 &
	pid[$name]=$!
	at_end "kill -- -${pid[$name]}"
	wait_for 60 grep -q 'Ctrl-C stops it' "$T/$name.log"
}

# Runs a command that was printed, unchanged.
run_told() { timeout 20 bash -c "$(told "$1" "$2")"; }
told() { sed -n "s/^ *\($2.*\)/\1/p" "$T/$1.log" | head -n 1; }

interrupt() {
	kill -INT -- "-${pid[$1]}"
	wait "${pid[$1]}" 2>/dev/null
	like "$(cat "$T/$1.log")" 'its own files are removed' "$1: prints that it has stopped"
	is "$(ls -A "$TMPDIR")" '' "$1: no file remains"
	is "$(pgrep -g "${pid[$1]}")" '' "$1: no process remains"
	is "$(ss -Hlntu | wc -l)" 0 "$1: no port remains open"
}

# A machine without libnfs-utils, as far as dpkg-query tells. What etc/packages
# writes to /usr/sbin stays here.
mkdir "$T/bin" /run/upper /run/work
mount -t overlay -o lowerdir=/usr/sbin,upperdir=/run/upper,workdir=/run/work overlay /usr/sbin
printf '#!/bin/sh\n%s "$@" | sed "s/installed:libnfs-utils //"\n' \
    "$(command -v dpkg-query)" >"$T/bin/dpkg-query"
printf '#!/bin/sh\necho "apt-get was called: $*"\n' >"$T/bin/apt-get"
chmod 755 "$T/bin"/*

check 'make serve starts' serve demo env PATH="$T/bin:$PATH" make -s -C "$top" O="$O" serve
is "$(head -n 1 "$T/demo.log")" \
    'etc/packages: make serve installs these Debian packages, which stay: libnfs-utils' \
    'it says first what it installs'
like "$(grep 'apt-get was called' "$T/demo.log")" 'install .* libnfs-utils$' 'it installs that, and no more'
check 'the nfs-ls line works' run_told demo nfs-ls
like "$(run_told demo nfs-ls)" 'README' 'the nfs-ls line lists the demo'
like "$(run_told demo showmount)" "$TMPDIR/.*demo" 'the showmount line works'
like "$(run_told demo rpcinfo)" '100003 +3 +tcp' 'the rpcinfo line works'
url=$(told demo nfs-ls | sed "s/.*'\(.*\)'.*/\1/")
is "$(timeout 20 nfs-cat "$url/README" | head -c 11)" 'This folder' 'a file can be read'
like "$(cat "$T/demo.log")" '^nfsd: .*listening on' 'the log names the daemon'
interrupt demo

mkdir "$T/my files"
echo mine >"$T/my files/one"
check 'make serve starts for a folder with a blank in its name' serve dir "$top/etc/serve" "$T/my files"
like "$(timeout 20 nfs-ls "nfs://127.0.0.1$T/my files")" ' one$' 'that folder is served'
interrupt dir

# The words of CLIENTS are no patterns of files, and what is printed works here.
cd "$top" || bail "no $top"
for clients in '*' 192.0.2.0/24; do
	check "make serve starts for $clients" serve clients env CLIENTS="$clients" etc/serve "$T/my files"
	like "$(run_told clients showmount)" "[ ,]${clients/\*/\\*}(,|\$)" "$clients may mount"
	like "$(run_told clients nfs-ls)" ' one$' 'the nfs-ls line works on this machine'
	interrupt clients
done

serve wrong "$top/etc/serve" "$T/nowhere" || true
like "$(cat "$T/wrong.log")" "nowhere is not a directory" 'the message names a missing folder'

O=$(reachable)
install "$top/etc/serve" "$T/programs/serve"
check 'make serve starts for a plain user' serve user setpriv --reuid alice \
    --regid alice --clear-groups "$O/serve"
like "$(run_told user nfs-ls)" 'README' 'it serves on high ports'
interrupt user
done_testing

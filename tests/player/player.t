#!/bin/bash
# SPDX-License-Identifier: ISC
# A DJ player mounts Tern and streams files with Japanese, emoji and very long
# names, through the portmapper at 111 and at 50111, and while another client
# copies at full speed. A computer sees the same files.
# shellcheck source=tests/system/lib.sh
. "${0%/*}/../system/lib.sh"
private "$@"
need nfs-ls libnfs-utils
need_daemons
player=$(built player)/player
load=$(built bench)/load
[ -x "$player" ] || skip_all "$player is not built"

# Its assertions become one of this test.
play() { # DESCRIPTION ARGUMENTS...
	local what=$1
	shift
	if "$player" -l "$(patient 20)" "$@" >"$T/out"; then
		ok 0 "$what: $(grep -c '^ok' "$T/out") checks"
	else
		ok 1 "$what"
		diag "$(grep -v '^ok' "$T/out")"
	fi
	diag "$(grep '^# .*p99' "$T/out" | tr -d '#')"
}

printf -v long 'n%.0s' {1..255}
m=$T/music
mkdir -p "$m/PIONEER" "$m/Contents/アーティスト/アルバム 🎧" "$m/$long"
head -c 30000000 /dev/urandom >"$m/Contents/アーティスト/アルバム 🎧/曲 №1.mp3"
# Long enough that a single slow READ is less than a hundredth.
head -c 10000000 /dev/urandom >"$m/$long/$long"
head -c 10000000 /dev/urandom >"$m/PIONEER/ガギグ.pdb"
chmod -R a+rX "$m"
mkdir "$T/rest" && "$load" -t "$T/rest"
# An address that is not loopback: there the bytes over UDP are limited.
ip address add 169.254.7.7/16 dev lo
exports "$m 127.0.0.1(ro,insecure,all_squash,names=utf16le,alias=/C/,alias=/B/) \
    169.254.0.0/16(ro,insecure,all_squash,names=utf16le,alias=/C/)
$m 127.0.0.1(ro,insecure)
$T/rest 127.0.0.1(rw,insecure)"
check 'portmapd on 111 and 50111' start portmapd -a 0.0.0.0 \
    -a 127.0.0.1@50111
check 'mountd' start mountd
check 'nfsd' start nfsd
wait_for 10 registered 100003 2 udp
wait_for 10 registered 100005 1 udp

song='Contents/アーティスト/アルバム 🎧/曲 №1.mp3'
play 'a player of 30 MB, port 111' 127.0.0.1 /C/ "$song" "$m/$song"
play 'port 50111, with EXPORT' -e -p 50111 127.0.0.1 /C/ "$song" "$m/$song"
play 'another alias, names of 255 characters' 127.0.0.1 /B/ "$long/$long" \
    "$m/$long/$long"
play 'without the slash, combining names' 127.0.0.1 /C PIONEER/ガギグ.pdb \
    "$m/PIONEER/ガギグ.pdb"
play 'AUTH_NULL' -n 127.0.0.1 /C/ PIONEER/ガギグ.pdb "$m/PIONEER/ガギグ.pdb"

# all of it at once, and then a quarter of it at the pace of playing
play 'bytes over UDP are limited: 30 MB at full speed' -e 169.254.7.7 /C/ "$song" "$m/$song"
play 'and played on' -i 4 169.254.7.7 /C/ PIONEER/ガギグ.pdb "$m/PIONEER/ガギグ.pdb"
! grep -q 'replies exceed' "$T/nfsd.log" "$T/mountd.log"
ok $? 'no reply to a player is dropped' || diag "$(grep exceed "$T"/*.log)"

# a second client at full speed: 64 KiB READs, eight outstanding
"$load" -p "$(port_of nfsd tcp)" -m "$(port_of mountd tcp)" -s 15 \
    -e "$T/rest" read64k@2x8 >"$T/load.out" 2>&1 &
busy=$!
play 'while another client streams 64 KiB READs' 127.0.0.1 /C/ "$song" "$m/$song"
[ ! -s "$T/load.out" ]
ok $? 'the other client was busy all the time' || diag "$(cat "$T/load.out")"
# two players at once: same call numbers, different sockets
"$player" 127.0.0.1 /C/ "$song" "$m/$song" >"$T/out2" &
second=$!
play 'two players with the same call numbers' 127.0.0.1 /C/ "$song" "$m/$song"
wait $second
ok $? 'the second player reads the same bytes' || diag "$(grep -v '^ok' "$T/out2")"
wait $busy
ok $? 'the other client saw no error' || diag "$(cat "$T/load.out")"
diag "the other client: $(grep -o '"ops_s": [0-9]*\|"mb_s": [0-9.]*' "$T/load.out" | tr '\n' ' ')"

is "$(nfs-ls "nfs://127.0.0.1$m/Contents/アーティスト?version=3" |
    awk '{ $1 = $2 = $3 = $4 = $5 = ""; print }' | sed 's/^ *//')" \
    'アルバム 🎧' 'a computer sees the same names in UTF-8'
nfs-cat "nfs://127.0.0.1$m/Contents/アーティスト/アルバム 🎧/曲 №1.mp3" 2>/dev/null |
    cmp - "$m/$song"
ok $? 'a computer reads the same bytes'
check 'nfsd still runs' alive nfsd
done_testing

#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# tern-cert: certificates that openssl accepts for what they are, keys that are
# never replaced, revoking, renewing, and instructions that fit.
. "${0%/*}/lib.sh"
private "$@"
need openssl openssl
need_daemons mountd

d=$T/tern
cert() { "$top/etc/tern-cert" -d "$d" "$@" 2>&1; }
verify() { openssl verify -CAfile "$d/ca.pem" -CRLfile "$d/crl.pem" -crl_check "$@" >"$T/verify" 2>&1; }
serial() { openssl x509 -noout -serial -in "$1"; }
modes() { find "$d" -name '*.key' ! -perm 600 -o -path '*/clients' ! -perm 700 -o -path '*/ca' ! -perm 700; }

out=$(cert server nfs.example.org 10.0.0.5 fd00::5 nfs.example.org)
is $? 0 'server: makes the authority and the certificate'
like "$out" "tls-cert=$d/server.pem -o tls-key=$d/server.key" 'server: says what to put where'
check 'the certificate is for a server, and the authority signed it' \
    verify -purpose sslserver -verify_hostname nfs.example.org "$d/server.pem"
check 'it has the IPv4 address' verify -verify_ip 10.0.0.5 "$d/server.pem"
check 'it has the IPv6 address' verify -verify_ip fd00::5 "$d/server.pem"
check_not 'it is for no client' verify -purpose sslclient "$d/server.pem"
check_not 'it is for no other name' verify -verify_hostname other.example.org "$d/server.pem"

key=$(cat "$d/server.key")
out=$(cert server other.example.org)
is $? 1 'server: a second time is refused'
like "$out" 'server.key exists, and a key is never replaced' 'and it says why'
is "$(cat "$d/server.key")" "$key" 'the key is as before'

out=$(cert client laptop laptop.example.org)
is $? 0 'client: makes a certificate'
check 'it is for a client' verify -purpose sslclient -verify_hostname laptop.example.org "$d/clients/laptop.pem"
check_not 'it is for no server' verify -purpose sslserver "$d/clients/laptop.pem"
like "$out" 'x509.certificate = /etc/tern/laptop.pem' 'it says what tlshd needs'
like "$out" 'xprtsec=mtls nfs.example.org:' "with the server's name in the mount command"
is "$(cert howto laptop)" "$(sed -n '/^$/,$p' <<<"$out")" 'howto: says it again'
cert -t 30 -u ann@example.org client desk >/dev/null
# users: the users in the certificate of desk.
users() {
	openssl asn1parse -in "$d/clients/desk.pem" -strparse "$(openssl asn1parse -in "$d/clients/desk.pem" |
	    awk -F: '/Subject Alternative Name/ { f = 1 } f && /OCTET/ { print $1; exit }')" |
	    sed -n '/:1\.3\.6\.1\.4\.1\.2238\.1\.1\.1$/,/UTF8STRING/s/.*UTF8STRING *://p'
}
is "$(users)" ann@example.org '-u: a user in the certificate'
cert -t 30 renew desk >/dev/null
is "$(users)" ann@example.org 'renew: the user stays'
cert -t 30 -u bob@example.org renew desk >/dev/null
is "$(users)" bob@example.org '-u, renew: another user takes the place of the first'
cert -t 30 renew desk >/dev/null
is "$(users)" bob@example.org 'and stays'
openssl x509 -noout -checkend $((31 * 86400)) -in "$d/clients/desk.pem" >/dev/null
is $? 1 '-t: it is valid for so many days'
is "$(modes)" '' 'keys have mode 0600, and their directories 0700'

# The lines it prints are correct, and mountd explains them.
{
	echo "$T cert:desk"
	sed -n "s,^  \\(cert:.*\\),$T \\1,p" <<<"$out"
} >"$T/exports"
out=$("$O/mountd/mountd" -n -f "$T/exports" -x 192.0.2.1 -o cert="$d/clients/laptop.pem" 2>&1)
like "$out" "^client 192.0.2.1:1023, certificate laptop, laptop, laptop.example.org\$" \
    'mountd -n -x reads its names'
like "$out" "^$T: granted: line 3 allows cert:sha256:.*; read and write" 'and its fingerprint counts'
out=$("$O/mountd/mountd" -n -f "$T/exports" -x 192.0.2.1 -o cert="$d/clients/desk.pem" 2>&1)
like "$out" "^$T: granted: line 1 allows cert:desk; read-only" 'another certificate gets its own line'

old=$(serial "$d/clients/laptop.pem")
cp "$d/clients/laptop.pem" "$T/old.pem"
key=$(cat "$d/clients/laptop.key")
cert renew laptop >/dev/null
is $? 0 'renew: succeeds'
is "$(cat "$d/clients/laptop.key")" "$key" 'renew: the key stays'
check 'renew: the names stay' verify -purpose sslclient -verify_hostname laptop.example.org "$d/clients/laptop.pem"
check 'renew: another serial number' test "$(serial "$d/clients/laptop.pem")" != "$old"
cert renew server new.example.org 10.0.0.6 >/dev/null
check 'renew server: with other names' verify -purpose sslserver -verify_ip 10.0.0.6 "$d/server.pem"
is "$(cert renew nobody)" 'tern-cert: there is no certificate for "nobody"' 'renew: an unknown name'

cp "$d/clients/laptop.pem" "$T/new.pem"
like "$(cert revoke laptop)" '^revoked 2 certificate' 'revoke: the renewed one and the one before'
check_not 'revoke: the old one is refused' verify "$T/old.pem"
like "$(cat "$T/verify")" 'certificate revoked' 'because it was revoked'
check_not 'revoke: so is the new one' verify "$T/new.pem"
check 'the others stay valid' verify "$d/server.pem" "$d/clients/desk.pem"
is "$(cert list | awk '{ print $1, $NF }' | sort | uniq -c | awk '{ print $1, $2, $3 }' | paste -sd,)" \
    '2 revoked laptop,4 valid desk,1 valid new.example.org,1 valid nfs.example.org' 'list: all of them'
cert client laptop >/dev/null
is $? 0 'client: a new one of the same name'
cert revoke laptop >/dev/null
is "$(find "$d/clients" -name 'laptop.revoked-*.key' | wc -l)" 2 'revoke: no key replaces another'

cert client moved >/dev/null
rm "$d/clients/moved.key"
cp "$d/clients/moved.pem" "$T/moved.pem"
like "$(cert revoke moved)" '^revoked 1 certificate' 'revoke: also if the key is on the client alone'
check_not 'it is refused' verify "$T/moved.pem"

# Several at once must not share a serial number.
for i in 1 2 3 4; do
	cert client "host$i" >/dev/null &
	jobs[i]=$!
done
failed=0
for i in 1 2 3 4; do
	wait "${jobs[i]}" || failed=$((failed + 1))
done
is "$failed" 0 'four at once succeed'
is "$(cut -f4 "$d/ca/index" | sort | uniq -d)" '' 'and no serial number is used twice'

for name in ../x . 'a b' -x 'a/b' server ''; do
	cert client "$name" >/dev/null
	is $? 1 "client: \"$name\" is no name"
done
for name in '*.example.org' 'a,b' 'DNS:x' ''; do
	cert client good "$name" >/dev/null
	is $? 1 "client: nor is \"$name\" in a certificate"
done
check_not 'nothing was made of those' test -e "$d/clients/good.key"
mv "$d/ca/ca.key" "$T/ca.key"
like "$(cert client another)" 'is the authority on another machine' 'without the key of the authority: an error'
is "$(find "$d" -name '.new.*')" '' 'nothing is left over'
done_testing

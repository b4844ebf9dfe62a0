# SPDX-License-Identifier: ISC
# shellcheck shell=bash
#
# A small certificate authority for tests. Every file is in one directory: ca.pem
# and crl.pem, and NAME.pem and NAME.key for each certificate. Source it, then:
#
#	ca_new DIRECTORY
#	ca_server NAME DNS:HOST|IP:ADDRESS...
#	ca_client NAME [openssl ca FLAG...]	(its DNS name is NAME)
#	ca_usage=OIDS ca_client NAME	(another extendedKeyUsage; - for none)
#	ca_names=SAN ca_client NAME	(another subjectAltName; - for none)
#	ca_revoke NAME			(and writes crl.pem anew)
#	ca_stranger NAME		(signed by an authority of its own)
# Runs in: the tests.

_openssl() { openssl "$@" >>"$ca_dir/openssl.log" 2>&1; }
_key() { _openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1"; }

# _authority NAME: a key and a certificate that signs itself.
_authority() {
	_key "$ca_dir/$1.key" &&
	    _openssl req -x509 -new -key "$ca_dir/$1.key" -out "$ca_dir/$1.pem" \
		-days 30 -subj "/CN=Test authority $1" -config /dev/null \
		-addext basicConstraints=critical,CA:TRUE \
		-addext keyUsage=critical,keyCertSign,cRLSign
}

ca_new() {
	ca_dir=$1
	mkdir -p "$ca_dir"
	: >"$ca_dir/index"
	echo 01 >"$ca_dir/serial"
	cat >"$ca_dir/ca.conf" <<-E
	[ca]
	default_ca = tern
	[tern]
	database = $ca_dir/index
	serial = $ca_dir/serial
	new_certs_dir = $ca_dir
	certificate = $ca_dir/ca.pem
	private_key = $ca_dir/ca.key
	default_md = sha256
	default_days = 30
	default_crl_days = 30
	policy = any
	unique_subject = no
	[any]
	commonName = supplied
	E
	_authority ca && _crl
}

_crl() { _openssl ca -batch -config "$ca_dir/ca.conf" -gencrl -out "$ca_dir/crl.pem"; }

# _signed NAME USAGE NAMES FLAG...
_signed() {
	local name=$1 usage=$2 names=$3
	shift 3
	{
		echo 'basicConstraints = CA:FALSE'
		[ "$usage" = - ] || echo "extendedKeyUsage = $usage"
		[ "$names" = - ] || echo "subjectAltName = $names"
	} >"$ca_dir/$name.ext"
	_key "$ca_dir/$name.key" &&
	    _openssl req -new -key "$ca_dir/$name.key" -subj "/CN=$name" \
		-config /dev/null -out "$ca_dir/$name.csr" &&
	    _openssl ca -batch -notext -config "$ca_dir/ca.conf" \
		-extfile "$ca_dir/$name.ext" -in "$ca_dir/$name.csr" \
		-out "$ca_dir/$name.pem" "$@"
}

ca_server() {
	local name=$1 IFS=,
	shift
	_signed "$name" serverAuth "$*"
}

ca_client() {
	local name=$1
	shift
	_signed "$name" "${ca_usage:-clientAuth}" "${ca_names:-DNS:$name}" "$@"
}

ca_revoke() {
	_openssl ca -batch -config "$ca_dir/ca.conf" -revoke "$ca_dir/$1.pem" && _crl
}

ca_stranger() { _authority "$1"; }

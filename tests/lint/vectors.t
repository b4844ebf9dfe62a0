#!/bin/sh
# SPDX-License-Identifier: ISC
# Every procedure row has a wire vector: tests/wire/<program><version>/<NAME>/.
. "${0%/*}/lib.sh"

tables=$(files '*_proc.c' | grep -v '^tests/')
[ -n "$tables" ] || skip_all 'no procedure table yet'

# Prints the folder of each row. The constant gives it, [NFSPROC3_READ] -> nfs3.
# If tables share constants, the table does, rpcb3_procs[] -> rpcb3. mount1 has
# the rows of mount2 without PATHCONF.
folders() {
	sed -n 's/^	\[\([A-Z0-9_]*\)\] *= *{ *"\([A-Z0-9_]*\)",.*/\1 \2/p
	    s/^const struct rpc_proc \(rpcb[34]\)_procs.*/table \1/p
	    s/^const struct rpc_proc \(nfsacl[23]\)_procs.*/table \1/p
	    s/^const struct rpc_proc \(rquota[12]\)_procs.*/table \1/p
	    s/^static const struct rpc_proc \(mount[23]\)\[.*/table \1/p
	    s/^static const struct rpc_proc \(n[ls]m[0-9]\)\[.*/table \1/p' "$1" |
	    while read -r constant name; do
		case $constant in
		table) folder=$name ;;
		NFSACLPROC* | RQUOTAPROC_*) echo "$folder/$name" ;;
		NFSPROC3_*) echo "nfs3/$name" ;;
		NFSPROC*) echo "nfs2/$name" ;;
		PMAPPROC_*) echo "pmap2/$name" ;;
		NLMPROC_* | NSMPROC_*) echo "$folder/$name" ;;
		MOUNTPROC_PATHCONF) echo "$folder/$name" ;;
		MOUNTPROC_* | RPCBPROC_*)
			echo "$folder/$name"
			[ "$folder" != mount2 ] || echo "mount1/$name"
			;;
		*) echo "unknown/$constant" ;;
		esac
	done
}

for table in $tables; do
	rows=$(folders "$table" | sort -u)
	[ -n "$rows" ] || echo "$table: no rows found"
	for row in $rows; do
		set -- tests/wire/"$row"/*.case
		[ -e "$1" ] || echo "$table: no vector in tests/wire/$row/"
	done
done | none 'every row has a vector'
done_testing

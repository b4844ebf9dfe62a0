# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2154,SC2034 # of lib.sh; for the scripts
#
# The servers that the measurements compare: where each is, and a function
# start_NAME that starts it and fails if it cannot. Source after lib.sh.
# Runs in: make bench, make bench-kernel.

limit=$(built bench)/limit
declare -A port mport lport root how more

# server_place NAME NUMBER DIRECTORY: its ports, and what it serves.
server_place() {
	root[$1]=$3 port[$1]=$((21000 + $2 * 10)) mport[$1]=$((21001 + $2 * 10))
	lport[$1]=$((21003 + $2 * 10))
}

tern() { # NAME CLIENT-OPTIONS [NFSD-FLAG...]
	local name=$1 opts=$2 home=$T/$1
	shift 2
	mkdir -p "$home"
	echo "${root[$name]} 127.0.0.1($opts)" >"$home/exports"
	"$O/mountd/mountd" -d -R -p "${mport[$name]}" -f "$home/exports" \
	    -k "$home/key" >"$home/mountd.log" 2>&1 &
	at_end "kill $!"
	wait_for 10 grep -q 'listening on' "$home/mountd.log" ||
	    { cat "$home/mountd.log" && return 1; }
	"$O/nfsd/nfsd" -d -R -p "${port[$name]}" -f "$home/exports" \
	    -o lock-port="${lport[$name]}" \
	    -k "$home/key" -o control="$home/control" "$@" \
	    >"$home/nfsd.log" 2>&1 &
	pid["$name"]=$!
	at_end "kill $!"
	wait_for 10 grep -q 'listening on' "$home/nfsd.log" ||
	    { cat "$home/nfsd.log" && return 1; }
}
# as the other servers do it: names are not synced
start_tern() { tern tern rw,insecure,datasync; }
# the default
start_names() { tern names rw,insecure,sync; }

bare() { # NAME [FLAG]
	local name=$1
	shift
	"$limit" "$@" "${root[$name]}" "${port[$name]}" &
	pid["$name"]=$!
	at_end "kill $!"
	mport[$name]=${port[$name]}
	wait_for 5 listening "${port[$name]}"
}
start_limit() { bare limit; }
# a bare loop that syncs names
start_limitsync() { bare limitsync -s; }

# A portmapper and a status monitor, which other servers' lock managers need.
monitor() {
	! listening 111 || return 0
	mkdir -p /run/rpcbind
	rpcbind -f -w >/dev/null 2>&1 &
	at_end "kill $!"
	wait_for 5 listening 111
	mount -t tmpfs tmpfs /var/lib/nfs
	mkdir -p /var/lib/nfs/sm /var/lib/nfs/sm.bak
	chown -R statd /var/lib/nfs
	rpc.statd -F --no-notify >"$T/statd.log" 2>&1 &
	at_end "kill $!"
}

start_ganesha() {
	local home=$T/ganesha plugins
	plugins=$(dirname "$(find /usr/lib -name libfsalvfs.so | head -n 1)")
	mkdir -p "$home" /run/ganesha
	monitor
	cat >"$home/conf" <<-E
	NFS_CORE_PARAM {
		NFS_Port = ${port[ganesha]}; MNT_Port = ${mport[ganesha]};
		Protocols = 3; NLM_Port = ${lport[ganesha]}; Enable_RQUOTA = false;
		Enable_NFS_Stats = false; Getattrs_In_Complete_Read = false;
		Clustered = false; RPC_Ioq_ThrdMax = 8;
		RPC_Max_Connections = 4096; Plugins_Dir = "$plugins";
	}
	NFSV4 { Graceless = true; } # its clients need not wait for locks
	MDCACHE { Entries_HWMark = 200000; Attr_Expiration_Time = 300; }
	EXPORT {
		Export_Id = 1; Path = ${root[ganesha]}; Pseudo = /x;
		Protocols = 3; Transports = TCP, UDP; Access_Type = RW;
		Squash = No_Root_Squash; SecType = sys;
		Attr_Expiration_Time = 300; FSAL { Name = VFS; }
	}
	E
	ganesha.nfsd -F -f "$home/conf" -L "$home/log" -p "$home/pid" \
	    -N NIV_CRIT >/dev/null 2>&1 &
	pid[ganesha]=$!
	at_end "kill $!"
	wait_for 10 listening "${mport[ganesha]}"
}

listening() { ss -Hltn "sport = :$1" | grep -q .; }

# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2154 # top, O, pid: lib.sh
#
# Boots a real Linux kernel as an NFS client: Debian's user-mode-linux, an
# ordinary process, with the host's root read-only over hostfs and a tap
# interface in this test's own network namespace (the server is 10.77.0.1, the
# clients 10.77.0.2 and so on, with privileged ports). UDP, which that kernel
# lacks, uses a guest in qemu. Source after lib.sh.
# Runs in: the tests.

rig=$top/tests/kernel
bin=$(built kernel)
guests=0
guest_flags=() # more flags of qemu
guest_cpu=max # what it emulates
guest_mb=1024 # its memory
# shellcheck disable=SC2034 # for the tests
all_work=(posix copytree tar git sqlite openfiles append mmap attrs
    holes big names deep many fsx stress parallel users)

# Skips the test if there is no client kernel here.
need_guest() {
	need linux.uml user-mode-linux modprobe kmod ip iproute2
	[ -c /dev/net/tun ] || skip_all "no /dev/net/tun"
	[ -x "$bin/syscheck" ] || skip_all "$bin/syscheck is not built"
}

# udp_guest, tls_guest GUEST: make a guest for UDP or TLS unless it exists. NO_UDP
# and NO_TLS say why it cannot be made. Call them before private, which has no
# network to fetch it from. GUEST is tls, or ktls: TLS in the kernel and no client.
# server_guest does the same for a guest with Linux's own server, and NO_SERVER.
udp_guest() {
	[ -n "${TERN_PRIVATE:-}" ] || NO_UDP=$(_guest_made udp)
	export NO_UDP
}
tls_guest() {
	[ -n "${TERN_PRIVATE:-}" ] || NO_TLS=$(_guest_made "$1")
	export NO_TLS
}
server_guest() {
	[ -n "${TERN_PRIVATE:-}" ] || NO_SERVER=$(_guest_made server)
	export NO_SERVER
}

# _guest_made NAME: prints why there is no such guest, or nothing.
_guest_made() {
	mkdir -p "$bin"
	diag "$rig/$1-guest $bin/$1" >&2
	flock "$bin/$1.lock" "$rig/$1-guest" "$bin/$1" >"$bin/$1.out" 2>&1 ||
	    cat "$bin/$1.out"
}

# guest_net GUESTS: the interface between server and guest, on a bridge, with a
# tap for each guest. br0 goes down instead of a cable, since a guest's network
# card does not survive a tap that is down.
guest_net() {
	local i
	ip link add br0 type bridge || bail "no bridge"
	ip address add 10.77.0.1/24 dev br0
	for ((i = 0; i < $1; i++)); do
		ip tuntap add "tap$i" mode tap || bail "no tap interface"
		ip link set "tap$i" master br0
		ip link set "tap$i" up
	done
	ip link set br0 up
}

# guest_start JOB NAME=VALUE...: boots in the background. The console goes to
# the file $console.
guest_start() {
	guests=$((guests + 1)) rounds=0 ended='' broken='' _rest=''
	console=$T/console.$guests
	: >"$console"
	exec {_news}<"$console"
	guest_boot 0 "$@"
	pid[guest]=${pid[guest0]}
	unset 'pid[guest0]'
}

# guest_boot NUMBER JOB NAME=VALUE...: boots a guest at a tap of guest_net with
# an address of its own: 10.77.0.2 and tap0 for number 0. Its console goes to the
# file $console.
guest_boot() {
	local job=$2 _tap=tap$1 _dir=$T/guest$1 number=$1
	shift 2
	mkdir -p "$_dir"
	printf 'export %q\n' "$@" "JOB=$job" "HERE=$rig" "BIN=$bin" \
	    "ADDRESS=10.77.0.$((number + 2))" SERVER=10.77.0.1 \
	    MODULES=/usr/lib/uml/modules >"$_dir/env"
	case " $* " in
	*' PROTO=udp '*) _guest_qemu "$bin/udp/vmlinux" qemu64 ;;
	*' PROTO=tls '*) _guest_qemu "$bin/tls/vmlinuz" "$guest_cpu" ;;
	*' PROTO=ktls '*) _guest_qemu "$bin/ktls/vmlinuz" "$guest_cpu" ;;
	*' PROTO=server '*) _guest_qemu "$bin/server/vmlinux" "$guest_cpu" ;;
	*) _guest_uml ;;
	esac
	pid[guest$number]=$!
	at_end "kill -9 $!"
}

_guest_uml() {
	[ -e "$T/xstate.so" ] ||
	    gcc -D_GNU_SOURCE -O2 -shared -fPIC -o "$T/xstate.so" "$rig/uml/xstate.c" ||
	    bail "cannot compile xstate.c"
	LD_PRELOAD=$T/xstate.so linux.uml mem="${GUEST_MB:-768}M" root=/dev/root rootfstype=hostfs \
	    rootflags=/ ro init="$rig/init" con=null con0=null,fd:1 ssl=null \
	    "vec0:transport=tap,ifname=$_tap,depth=64,gro=1" quiet \
	    "uml_dir=$_dir/" "umid=g$guests" "tern=$_dir" \
	    </dev/null >"$console" 2>&1 &
}

# KERNEL PROCESSOR: of a guest that udp-guest or tls-guest made; its
# initrd is beside the kernel.
_guest_qemu() {
	qemu-system-x86_64 -nodefaults -no-user-config -no-reboot -nographic \
	    -machine q35,accel=tcg -cpu "$2" -m "$guest_mb" -smp 1 -bios qboot.rom \
	    -kernel "$1" -initrd "${1%/*}/initrd" \
	    -append "console=ttyS0 quiet panic=-1 mitigations=off \
net.ifnames=0 ternroot=$rig/init tern=$_dir" -serial stdio -monitor none \
	    -virtfs local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap \
	    -netdev "tap,id=n,ifname=$_tap,script=no,downscript=no" \
	    -device virtio-net-pci,netdev=n,romfile= "${guest_flags[@]}" \
	    </dev/null >"$console" 2>&1 &
}

# guest_news [LABEL]: reads new lines of the console and sets rounds (how many
# are done), broken (what failed) and ended (the status of the job). With a
# label each workload is a test. Starts no process, since it is called all the
# time.
# shellcheck disable=SC2034 # for the tests
guest_news() {
	local line what name secs
	while IFS= read -r line <&"$_news"; do
		line=$_rest${line%$'\r'} _rest=
		[ "${line#@@ }" != "$line" ] || continue
		read -r what name secs <<<"${line#@@ }"
		_heard=1
		case $what in
		run) [ -z "${1:-}" ] || diag "$1: $name" ;;
		pass | fail)
			[ "$what" = pass ] || broken=$name
			[ -z "${1:-}" ] || row "$what" "$name" "$secs" "$1"
			;;
		round) rounds=$name ;;
		exit) ended=$name ;;
		esac
	done
	_rest+=$line # not yet a whole line
}

# row pass|fail NAME SECONDS VERSION/TRANSPORT/CACHE: a test. For make
# check-kernel also a row of its table, and a line of progress.
row() {
	[ "$1" = pass ]
	ok $? "$4 $2 ($3 s)"
	[ -n "${TABLE:-}" ] || return 0
	echo "$*" >>"$TABLE"
	echo "$(date +%T) $1 $4 $2 $3 s" >&2
}

# guest_wait SECONDS [LABEL]: reads news until the guest has powered off. News
# must come within SECONDS of each other. Returns the status of the job.
guest_wait() {
	local end=$((SECONDS + $1)) n=${pid[guest]} all _heard=
	while kill -0 "$n" 2>/dev/null && [ $SECONDS -lt "$end" ]; do
		guest_news "${2:-}"
		[ -z "$_heard" ] || end=$((SECONDS + $1)) _heard=
		sleep 0.5
	done
	if kill -0 "$n" 2>/dev/null; then
		diag "no line from the guest in $1 s"
		mapfile -t all < <(pids_of guest) # or the tap stays taken
		kill -9 "${all[@]}" 2>/dev/null
	fi
	wait "$n" 2>/dev/null
	unset 'pid[guest]'
	guest_news "${2:-}"
	exec {_news}<&-
	[ "$ended" = 0 ]
}

# guest_server: Tern on an ext4 in memory, for the guest alone.
guest_server() {
	need_daemons
	guest_net 1
	ram 4000
	loop_fs ext4 3500 "$T/export" || skip_all "no loop-mounted ext4"
	chmod 755 "$T/export"
	# These clients read more over UDP than strangers may.
	tern_start "$T/export 10.77.0.0/24(rw,no_root_squash,setid)" -o mknod \
	    -o datagram-bytes-per-second=0
}

# kernel_test VERSION PROTOCOL ac|noac SCALE SECONDS WORKLOAD...: one guest, and
# one test for each workload. NAME*SCALE gives it its own scale. EXPORT is another
# path than that of guest_server.
kernel_test() {
	local v=$1 proto=$2 cache=$3 scale=$4 limit=$5 label=v$1/$2/$3
	shift 5
	diag "$label: a kernel boots, to do $* at scale $scale"
	guest_start "$rig/job.sh" "EXPORT=${EXPORT:-$T/export}" "VERS=$v" "PROTO=$proto" \
	    "CACHE=$cache" "SCALE=$scale" "WORK=$*"
	guest_wait "$limit" "$label"
	ok $? "$label: the guest exited without error" ||
	    diag "$(tr -d '\r' <"$console" | tail -n 60)"
}

# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2154 # T, O, top: lib.sh
#
# podman with images and containers of its own, and the image of Tern. No
# registry is asked: Debian's base image is made of Debian's packages. Source
# after lib.sh.
# Runs in: the tests.

kept=$(built container)/tree # the makefile looks for dependencies below no "tree"

# podman_in DIRECTORY: podman keeps everything there. Its usual limits are above
# those of a machine whose root may not raise them.
podman_in() {
	mkdir -p "$1"
	cat >"$1/containers.conf" <<-E
	[containers]
	default_ulimits = ["nofile=$(ulimit -Hn):$(ulimit -Hn)", "nproc=4000:4000"]
	[engine]
	runtime = "runc"
	cgroup_manager = "cgroupfs"
	events_logger = "file"
	E
	cat >"$1/storage.conf" <<-E
	[storage]
	driver = "overlay"
	graphroot = "$1/store"
	runroot = "$1/run"
	E
	export CONTAINERS_CONF=$1/containers.conf CONTAINERS_STORAGE_CONF=$1/storage.conf
}

# tern(7)'s command makes the image. Finished steps are kept.
_image_build() {
	local base=docker.io/library/debian:12-slim
	podman_in "$kept/podman"
	podman image exists $base ||
	    mmdebstrap --quiet --variant=minbase bookworm - |
	    podman import -q - $base || return
	cd "$top" || return
	podman build --network host --format docker -t tern \
	    -f etc/container/Containerfile . &&
	    podman save -q -o "$kept/image.new" tern && mv "$kept/image.new" "$kept/image"
}

# quadlet makes a unit of a .container file. Debian has it since version 13.
_quadlet_unpack() {
	local root=$kept/quadlet
	[ ! -e "$root" ] || return 0
	mkdir -p "$root.new"
	mmdebstrap --quiet --variant=extract --include=podman trixie - |
	    tar -C "$root.new" -x --exclude=./usr/share || return
	ln -sfn usr/lib "$root.new/lib" && ln -sfn usr/lib64 "$root.new/lib64"
	mv "$root.new" "$root"
}

# made image|quadlet: sets NO_IMAGE or NO_QUADLET, why there is none. Call it before
# private, which has no network. Two tests may want the same.
made() {
	local what=$1 step=_image_build none=NO_IMAGE
	[ "$what" = image ] || step=_quadlet_unpack none=NO_QUADLET
	[ -z "${TERN_PRIVATE:-}" ] || return 0
	mkdir -p "$kept"
	diag "making $what in $kept"
	printf -v $none %s "$(
		exec 9>"$kept/$what.lock" && flock 9
		$step >"$kept/$what.out" 2>&1 || tail -n 5 "$kept/$what.out"
	)"
	export "${none?}"
}

# image_here: podman has the image, in this test's own store.
image_here() {
	check 'podman builds the image' [ -z "$NO_IMAGE" ] || bail "$NO_IMAGE"
	podman_in "$T/podman"
	at_end 'podman rm -fa -t 0'
	podman load -q -i "$kept/image" >/dev/null
}

/* SPDX-License-Identifier: ISC */
/*
 * The tries. Each is a raw system call, since an attacker need not use Tern's
 * functions. A try that succeeds does no harm.
 * Runs in: children of each role, sealed as the role is.
 */
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <netinet/in.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "owned.h"

static long
open2(int dir, const char *path, uint64_t flags)
{
	struct open_how how = { .flags = flags };

	return syscall(SYS_openat2, dir, path, &how, sizeof(how));
}

static bool
open_absolute(const struct owned *o UNUSED)
{
	return syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY) != -1;
}

static bool
open2_absolute(const struct owned *o UNUSED)
{
	return open2(AT_FDCWD, "/etc/passwd", O_RDONLY) != -1;
}

/* Opens the name in every directory that the process holds. */
static bool
from_dirs(const struct owned *o, const char *name, uint64_t flags)
{
	size_t i;

	if (open2(AT_FDCWD, name, flags) != -1)
		return true;
	for (i = 0; i < o->ndirs; i++)
		if (open2(o->dirs[i], name, flags) != -1)
			return true;
	return false;
}

static bool
open_dotdot(const struct owned *o)
{
	return from_dirs(o, "../../../../../../../../etc/passwd", O_RDONLY);
}

static bool
open_link(const struct owned *o)
{
	return from_dirs(o, "owned-link", O_RDONLY);
}

static bool
open_relative_link(const struct owned *o)
{
	return from_dirs(o, "owned-relative", O_RDONLY);
}

static bool
open_proc(const struct owned *o)
{
	return from_dirs(o, "/proc/self/environ", O_RDONLY) ||
	    from_dirs(o,
		"/proc/1/root"
		"/etc/passwd",
		O_RDONLY);
}

static bool
open_secret(const struct owned *o)
{
	char name[256];

	(void)snprintf(name, sizeof(name), "../%s", o->secret);
	return from_dirs(o, name, O_RDONLY) || from_dirs(o, name, O_WRONLY);
}

static bool
make_outside(const struct owned *o)
{
	size_t i;

	for (i = 0; i < o->ndirs; i++)
		if (syscall(SYS_mkdirat, o->dirs[i], "../owned-made", 0777) ==
		    0)
			return true;
	return false;
}

static bool
make_device(const struct owned *o)
{
	size_t i;

	for (i = 0; i < o->ndirs; i++)
		if (syscall(SYS_mknodat, o->dirs[i], "owned-device",
			S_IFBLK | 0666, makedev(8, 0)) == 0)
			return true;
	return false;
}

static struct sockaddr_in
inet(unsigned short port)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_port = htons(port) };

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return in;
}

static bool
connect_tcp(const struct owned *o)
{
	struct sockaddr_in in = inet(o->port);
	long fd = syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);

	return fd != -1 && syscall(SYS_connect, fd, &in, sizeof(in)) == 0;
}

static bool
connect_udp(const struct owned *o)
{
	struct sockaddr_in in = inet(o->port);
	long fd = syscall(SYS_socket, AF_INET, SOCK_DGRAM, 0);

	return fd != -1 &&
	    syscall(SYS_sendto, fd, "x", 1, 0, &in, sizeof(in)) == 1;
}

static bool
connect_unix(const struct owned *o)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	long fd = syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0);

	(void)snprintf(un.sun_path, sizeof(un.sun_path), "%s", o->socket);
	return fd != -1 && syscall(SYS_connect, fd, &un, sizeof(un)) == 0;
}

static bool
connect_held(const struct owned *o)
{
	struct sockaddr_in in = inet(o->port);
	size_t i;

	for (i = 0; i < o->nsockets; i++)
		if (syscall(SYS_connect, o->sockets[i], &in, sizeof(in)) == 0)
			return true;
	return false;
}

/*
 * A listening socket that is shut down for reading listens no more. The first
 * data of TCP Fast Open then connects it, without connect(2). Only the filter
 * prevents this, and the daemon's own sockets would be shut down.
 */
static bool
connect_listener(const struct owned *o)
{
	struct sockaddr_in in = inet(o->port);
	size_t i;

	for (i = 0; i < o->nsockets && !o->without_filter; i++)
		if (syscall(SYS_shutdown, o->sockets[i], SHUT_RD) == 0 &&
		    (syscall(SYS_sendto, o->sockets[i], "x", 1, MSG_FASTOPEN,
			 &in, sizeof(in)) == 1 ||
			errno == EINPROGRESS))
			return true;
	return false;
}

static bool
make_socket_pair(const struct owned *o UNUSED)
{
	int fd[2];

	return syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, fd) == 0;
}

static bool
bind_port(const struct owned *o UNUSED)
{
	struct sockaddr_in in = inet(0);
	long fd = syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);

	return fd != -1 && syscall(SYS_bind, fd, &in, sizeof(in)) == 0;
}

static bool
bind_held(const struct owned *o)
{
	struct sockaddr_in in = inet(0);
	size_t i;

	for (i = 0; i < o->nsockets; i++)
		if (syscall(SYS_bind, o->sockets[i], &in, sizeof(in)) == 0)
			return true;
	return false;
}

static bool
listen_held(const struct owned *o)
{
	size_t i;

	for (i = 0; i < o->nsockets; i++)
		if (syscall(SYS_listen, o->sockets[i], 1) == 0)
			return true;
	return false;
}

static bool
do_execve(const struct owned *o UNUSED)
{
	const char *argv[] = { "/bin/true", NULL };

	return syscall(SYS_execve, argv[0], argv, argv + 1) == 0;
}

static bool
do_execveat(const struct owned *o UNUSED)
{
	const char *argv[] = { "/proc/self/exe", NULL };

	return syscall(SYS_execveat, AT_FDCWD, argv[0], argv, argv + 1, 0) == 0;
}

/* A child that was forked exits at once: it must not run the later tries. */
static bool
forked(long child)
{
	if (child == 0)
		_exit(0);
	return child != -1 && waitpid((pid_t)child, NULL, 0) == child;
}

static bool
do_fork(const struct owned *o UNUSED)
{
	return forked(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
}

static bool
do_clone3(const struct owned *o UNUSED)
{
	uint64_t args[8] = { 0 };

	args[4] = SIGCHLD;
	return forked(syscall(SYS_clone3, args, sizeof(args)));
}

static bool
do_ptrace(const struct owned *o)
{
	return syscall(SYS_ptrace, PTRACE_ATTACH, o->parent, 0, 0) == 0;
}

static bool
read_parent_memory(const struct owned *o)
{
	char buf[16];
	struct iovec to = { buf, sizeof(buf) };
	struct iovec from = { &to, sizeof(buf) };

	return syscall(SYS_process_vm_readv, o->parent, &to, 1, &from, 1, 0) !=
	    -1;
}

static bool
steal_descriptor(const struct owned *o)
{
	long fd = syscall(SYS_pidfd_open, o->parent, 0);

	return fd != -1 && syscall(SYS_pidfd_getfd, fd, 0, 0) != -1;
}

static bool
place_parent(const struct owned *o)
{
	const unsigned long first = 1;

	return syscall(SYS_sched_setaffinity, o->parent, sizeof(first),
		   &first) == 0;
}

static bool
kill_parent(const struct owned *o)
{
	return syscall(SYS_kill, o->parent, 0) == 0;
}

static bool
tgkill_parent(const struct owned *o)
{
	return syscall(SYS_tgkill, o->parent, o->parent, 0) == 0;
}

static bool
kill_all(const struct owned *o UNUSED)
{
	return syscall(SYS_kill, -1, 0) == 0;
}

static bool
setuid_root(const struct owned *o UNUSED)
{
	return syscall(SYS_setuid, 0) == 0 ||
	    syscall(SYS_setresuid, 0, 0, 0) == 0;
}

static bool
setgid_root(const struct owned *o UNUSED)
{
	return syscall(SYS_setgid, 0) == 0;
}

/* setfsuid() reports no error: ask for the current one. */
static bool
take_fsuid(long id)
{
	(void)syscall(SYS_setfsuid, id);
	return (uint32_t)syscall(SYS_setfsuid, 0xffffffffL) == (uint32_t)id;
}

static bool
setfsuid_root(const struct owned *o UNUSED)
{
	return take_fsuid(0);
}

static bool
setfsuid_wrapped(const struct owned *o UNUSED)
{
	return take_fsuid(1L << 32);
}

static bool
setfsuid_squashed(const struct owned *o)
{
	return take_fsuid(o->squashed);
}

static bool
setfsuid_wrapped_squashed(const struct owned *o)
{
	return take_fsuid((1L << 32) + o->squashed);
}

static bool
take_fsgid(long id)
{
	(void)syscall(SYS_setfsgid, id);
	return (uint32_t)syscall(SYS_setfsgid, 0xffffffffL) == (uint32_t)id;
}

static bool
setfsgid_root(const struct owned *o UNUSED)
{
	return take_fsgid(0);
}

static bool
setfsgid_wrapped(const struct owned *o UNUSED)
{
	return take_fsgid(1L << 32);
}

static bool
raise_caps(const struct owned *o UNUSED)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2] = { { ~0U, ~0U, 0 },
		{ 0xff, 0xff, 0 } };

	return syscall(SYS_capset, &head, data) == 0;
}

static bool
do_prctl(const struct owned *o UNUSED)
{
	return syscall(SYS_prctl, 4 /* PR_SET_DUMPABLE */, 1, 0, 0, 0) == 0;
}

static bool
do_chroot(const struct owned *o UNUSED)
{
	return syscall(SYS_chroot, ".") == 0;
}

static bool
do_mount(const struct owned *o UNUSED)
{
	return syscall(SYS_mount, "none", "/", "tmpfs", 0, NULL) == 0;
}

static bool
do_umount(const struct owned *o UNUSED)
{
	return syscall(SYS_umount2, "/", MNT_DETACH) == 0;
}

static bool
do_pivot(const struct owned *o UNUSED)
{
	return syscall(SYS_pivot_root, ".", ".") == 0;
}

static bool
do_unshare(const struct owned *o UNUSED)
{
	return syscall(SYS_unshare, CLONE_NEWUSER) == 0;
}

static bool
do_setns(const struct owned *o UNUSED)
{
	return syscall(SYS_setns, 0, 0) == 0;
}

/* Inode 2 of an ext4: the root of the whole filesystem. */
static bool
open_handle(const struct owned *o)
{
	uint32_t handle[4] = { 8, 1, 2, 0 };
	size_t i;

	for (i = 0; i < o->ndirs; i++)
		if (syscall(SYS_open_by_handle_at, o->dirs[i], handle,
			O_RDONLY) != -1 ||
		    errno == ESTALE) /* the capability was there */
			return true;
	return syscall(SYS_open_by_handle_at, AT_FDCWD, handle, O_RDONLY) !=
	    -1 ||
	    errno == ESTALE;
}

static bool
name_handle(const struct owned *o)
{
	uint32_t handle[40];
	char name[256];
	size_t i;
	int id;

	(void)snprintf(name, sizeof(name), "../%s", o->secret);
	for (i = 0; i < o->ndirs; i++) {
		handle[0] = 128;
		if (syscall(SYS_name_to_handle_at, o->dirs[i], name, handle,
			&id, 0) == 0)
			return true;
	}
	handle[0] = 128;
	return syscall(SYS_name_to_handle_at, AT_FDCWD, "/etc/passwd", handle,
		   &id, 0) == 0;
}

static bool
map_code(const struct owned *o UNUSED)
{
	return syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_EXEC,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != -1;
}

static bool
make_code(const struct owned *o UNUSED)
{
	long p = syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p != -1 &&
	    syscall(SYS_mprotect, p, 4096, PROT_READ | PROT_EXEC) == 0;
}

static bool
make_memfd(const struct owned *o UNUSED)
{
	return syscall(SYS_memfd_create, "x", 0) != -1;
}

static bool
do_perf(const struct owned *o UNUSED)
{
	uint32_t attr[32] = { 1, sizeof(attr) };

	return syscall(SYS_perf_event_open, attr, 0, -1, -1, 0) != -1;
}

static bool
do_bpf(const struct owned *o UNUSED)
{
	uint32_t attr[32] = { 2, 4, 4, 1 };

	return syscall(SYS_bpf, 0, attr, sizeof(attr)) != -1;
}

static bool
do_io_uring(const struct owned *o UNUSED)
{
	char params[120] = { 0 };

	return syscall(SYS_io_uring_setup, 4, params) != -1;
}

static bool
do_keyctl(const struct owned *o UNUSED)
{
	return syscall(SYS_keyctl, 0, -3, 1) != -1;
}

static bool
do_userfaultfd(const struct owned *o UNUSED)
{
	return syscall(SYS_userfaultfd, 1) != -1;
}

static bool
do_module(const struct owned *o UNUSED)
{
	return syscall(SYS_init_module, "", 0, "") == 0;
}

static bool
do_syslog(const struct owned *o UNUSED)
{
	return syscall(SYS_syslog, 10, NULL, 0) != -1;
}

static bool
do_shm(const struct owned *o UNUSED)
{
	return syscall(SYS_shmget, 0, 4096, 01600) != -1;
}

static bool
do_ioctl(const struct owned *o UNUSED)
{
	char c = '\n';

	return syscall(SYS_ioctl, 2, 0x5412 /* TIOCSTI */, &c) == 0;
}

static bool
do_clock(const struct owned *o UNUSED)
{
	return syscall(SYS_clock_settime, 0, NULL) == 0;
}

/* A descriptor that every role holds. */
static int
held(const struct owned *o)
{
	return o->nsockets > 0 ? o->sockets[0] : 0;
}

/* An owner gets SIGIO, or the signal of F_SETSIG, when data arrives. */
static bool
set_owner(const struct owned *o)
{
	return syscall(SYS_fcntl, held(o), F_SETOWN, o->parent) == 0;
}

static bool
set_owner_wrapped(const struct owned *o)
{
	return syscall(SYS_fcntl, held(o), (UINT64_C(1) << 32) + F_SETOWN,
		   o->parent) == 0;
}

static bool
set_signal(const struct owned *o)
{
	return syscall(SYS_fcntl, held(o), F_SETSIG, SIGKILL) == 0;
}

static bool
set_async(const struct owned *o)
{
	return syscall(SYS_fcntl, held(o), F_SETFL, O_ASYNC) == 0;
}

static bool
take_lease(const struct owned *o)
{
	return syscall(SYS_fcntl, held(o), F_SETLEASE, F_UNLCK) == 0 ||
	    (o->ndirs > 0 &&
		syscall(SYS_fcntl, o->dirs[0], F_NOTIFY, DN_CREATE) == 0);
}

static bool
take_lock(const struct owned *o)
{
	struct flock lock = { .l_type = F_RDLCK };

	return syscall(SYS_fcntl, held(o), F_GETLK, &lock) == 0;
}

static bool
futex_pi(const struct owned *o UNUSED)
{
	static uint32_t word;

	return syscall(SYS_futex, &word, FUTEX_TRYLOCK_PI, 0, NULL, NULL, 0) ==
	    0;
}

static bool
merge_memory(const struct owned *o UNUSED)
{
	static char page[8192] __attribute__((aligned(4096)));

	return syscall(SYS_madvise, page, 4096, MADV_MERGEABLE) == 0 ||
	    errno == EINVAL; /* a kernel without it: it got past the filter */
}

static bool
map_file(const struct owned *o)
{
	return syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_SHARED, held(o),
		   0) != -1 ||
	    errno == ENODEV; /* not a file, but the call was made */
}

static bool
set_socket_option(const struct owned *o)
{
	int size = 65536;

	return syscall(SYS_setsockopt, held(o), SOL_SOCKET, SO_RCVBUF, &size,
		   sizeof(size)) == 0;
}

static bool
get_socket_option(const struct owned *o)
{
	int type = 0;
	socklen_t len = sizeof(type);

	return syscall(SYS_getsockopt, held(o), SOL_SOCKET, SO_TYPE, &type,
		   &len) == 0;
}

/* clang-format off */
const struct owned_try owned_tries[] = {
	{ "open an absolute path", open_absolute },
	{ "openat2 of an absolute path", open2_absolute },
	{ "open through ..", open_dotdot },
	{ "open through an absolute symbolic link", open_link },
	{ "open through a relative symbolic link", open_relative_link },
	{ "open /proc", open_proc },
	{ "open a file beside the export", open_secret },
	{ "make a directory beside the export", make_outside },
	{ "make a device node", make_device },
	{ "set-id program: new file", setid_new },
	{ "set-id program: new node", setid_node },
	{ "set-id program: fchmod", setid_fchmod },
	{ "set-id program: fchmod, of the group", setid_fchmod_group },
	{ "set-id program: fchmod with 64 bits", setid_wide },
	{ "set-id program: fchmodat", setid_fchmodat },
	{ "set-id program: fchmodat2", setid_fchmodat2 },
	{ "connect over TCP", connect_tcp },
	{ "send over UDP from a new socket", connect_udp },
	{ "connect to a unix socket", connect_unix },
	{ "connect a socket it holds", connect_held },
	{ "connect a listening socket by its first data", connect_listener },
	{ "make a socket pair", make_socket_pair },
	{ "bind a new socket", bind_port },
	{ "bind a socket it holds", bind_held },
	{ "listen on a socket it holds", listen_held },
	{ "execve", do_execve },
	{ "execveat", do_execveat },
	{ "fork", do_fork },
	{ "clone3", do_clone3 },
	{ "ptrace its parent", do_ptrace },
	{ "read its parent's memory", read_parent_memory },
	{ "take a descriptor of its parent", steal_descriptor },
	{ "choose the processor of its parent", place_parent },
	{ "kill its parent", kill_parent },
	{ "tgkill its parent", tgkill_parent },
	{ "kill all processes", kill_all },
	{ "setuid(0)", setuid_root },
	{ "setgid(0)", setgid_root },
	{ "setfsuid(0)", setfsuid_root },
	{ "setfsuid(2^32)", setfsuid_wrapped },
	{ "setfsuid of a squashed id", setfsuid_squashed },
	{ "setfsuid(2^32 + squashed id)", setfsuid_wrapped_squashed },
	{ "setfsgid(0)", setfsgid_root },
	{ "setfsgid(2^32)", setfsgid_wrapped },
	{ "raise capabilities", raise_caps },
	{ "prctl", do_prctl },
	{ "chroot", do_chroot },
	{ "mount", do_mount },
	{ "umount", do_umount },
	{ "pivot_root", do_pivot },
	{ "unshare", do_unshare },
	{ "setns", do_setns },
	{ "open_by_handle_at with a forged handle", open_handle },
	{ "name_to_handle_at outside", name_handle },
	{ "ask the broker for a readable file", ask_for_readable },
	{ "ask the broker for root's file", ask_for_closed },
	{ "ask the broker for a set-id program", ask_for_setid },
	{ "map executable memory", map_code },
	{ "make memory executable", make_code },
	{ "memfd_create", make_memfd },
	{ "perf_event_open", do_perf },
	{ "bpf", do_bpf },
	{ "io_uring_setup", do_io_uring },
	{ "keyctl", do_keyctl },
	{ "userfaultfd", do_userfaultfd },
	{ "load a kernel module", do_module },
	{ "read the kernel log", do_syslog },
	{ "shared memory", do_shm },
	{ "ioctl", do_ioctl },
	{ "set the clock", do_clock },
	{ "fcntl: own a descriptor's signals", set_owner },
	{ "fcntl: the same with 2^32", set_owner_wrapped },
	{ "fcntl: choose the signal", set_signal },
	{ "fcntl: signal when data arrives", set_async },
	{ "fcntl: lease or notification", take_lease },
	{ "fcntl: lock", take_lock },
	{ "futex with priorities", futex_pi },
	{ "madvise: merge memory with others'", merge_memory },
	{ "map a file", map_file },
	{ "a file it holds: read", file_read },
	{ "a file it holds: pread", file_pread },
	{ "a file it holds: preadv2", file_preadv },
	{ "a file it holds: map", file_map },
	{ "a file it holds: copy_file_range", file_copy },
	{ "a file it holds: write", file_write },
	{ "a file it holds: writev", file_writev },
	{ "a file it holds: pwrite", file_pwrite },
	{ "a file it holds: truncate", file_truncate },
	{ "a file it holds: dup to the log, write", file_as_log },
	{ "a file it holds: dup to 2^32 + the log, write", file_as_log_wide },
	{ "a file it holds: in place of standard output, write", close_log },
	{ "a file it holds: the same with 2^32", close_log_wide },
	{ "a file it holds: lock", file_lock },
	{ "set another option of a socket", set_socket_option },
	{ "read another option of a socket", get_socket_option },
};
/* clang-format on */

const size_t owned_ntries = nitems(owned_tries);

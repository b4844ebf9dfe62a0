/* SPDX-License-Identifier: ISC */
/*
 * Rare errors of the kernel. A filter in a child makes each system call of an
 * operation fail with several errors, and the client must get the matching
 * status. A reply never says that data is on disk if it is not.
 * Links: nfsd
 * Runs in: test program.
 */
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "nfs_fixture.h"
#include "tap.h"

#define NR_FCHMODAT2 452
#define NO_FILTER    250 /* exit status: no filter here */

static struct nfs_fixture *f;
static uint8_t args[256];
static struct xdr_out out;

static void
put_handle(const char *name)
{
	struct fh fh = nfs_fixture_handle(f, name);

	xdr_put_opaque(&out, fh.bytes, FH_SIZE);
}

static void
put_zeros(int n)
{
	while (n-- > 0)
		xdr_put_u32(&out, 0);
}

static void
put_write_as(enum nfs_stable stable)
{
	put_handle("file");
	put_zeros(2);
	xdr_put_u32(&out, 3);
	xdr_put_u32(&out, stable);
	xdr_put_opaque(&out, "abc", 3);
}

static void
put_write(void)
{
	put_write_as(NFS_UNSTABLE);
}

static void
put_size(void)
{
	put_handle("file");
	put_zeros(3);
	xdr_put_u32(&out, 1);
	xdr_put_u64(&out, 5);
	put_zeros(3);
}

static void
put_mode(void)
{
	put_handle("file");
	xdr_put_u32(&out, 1);
	xdr_put_u32(&out, 0600);
	put_zeros(6);
}

static void
put_owner(void)
{
	put_handle("file");
	put_zeros(1);
	xdr_put_u32(&out, 1);
	xdr_put_u32(&out, geteuid());
	put_zeros(5);
}

static void
put_times(void)
{
	put_handle("file");
	put_zeros(4);
	xdr_put_u32(&out, 1);
	xdr_put_u32(&out, 1);
	put_zeros(1);
}

static void
put_hello(void)
{
	put_handle("root");
	xdr_put_string(&out, "hello");
}

static void
put_empty(void)
{
	put_handle("root");
	xdr_put_string(&out, "empty");
}

/* Onto a name: to a free one there would be another call. */
static void
put_rename(void)
{
	put_hello();
	put_handle("root");
	xdr_put_string(&out, "link");
}

static void
put_mkdir(void)
{
	put_handle("root");
	xdr_put_string(&out, "new");
	put_zeros(6);
}

static void
put_symlink(void)
{
	put_mkdir();
	xdr_put_string(&out, "text");
}

static void
put_fifo(void)
{
	put_handle("root");
	xdr_put_string(&out, "new");
	xdr_put_u32(&out, NFS_FIFO);
	put_zeros(6);
}

static void
put_read(void)
{
	put_handle("file");
	put_zeros(2);
	xdr_put_u32(&out, 100);
}

static void
put_commit(void)
{
	put_handle("file");
	put_zeros(3);
}

static void
put_readdir(void)
{
	put_handle("sub");
	put_zeros(4);
	xdr_put_u32(&out, 4096);
}

static void
put_link(void)
{
	put_handle("link");
}

static void
put_root(void)
{
	put_handle("root");
}

/* clang-format off */
static const struct {
	const char *name;
	int call;
	uint32_t proc;
	void (*put)(void);
	bool always_io; /* whatever the error was */
} rows[] = {
	{ "pwritev2",   SYS_pwritev2,   NFSPROC3_WRITE,    put_write,   false },
	{ "pread",      SYS_pread64,    NFSPROC3_READ,     put_read,    false },
	{ "fsync",      SYS_fsync,      NFSPROC3_COMMIT,   put_commit,  true },
	{ "ftruncate",  SYS_ftruncate,  NFSPROC3_SETATTR,  put_size,    false },
	{ "fchmodat2",  NR_FCHMODAT2,   NFSPROC3_SETATTR,  put_mode,    false },
	{ "fchownat",   SYS_fchownat,   NFSPROC3_SETATTR,  put_owner,   false },
#ifdef SYS_utimensat_time32 /* a 32-bit machine, and a time before 2038 */
	{ "utimensat",  SYS_utimensat_time32, NFSPROC3_SETATTR, put_times, false },
#else
	{ "utimensat",  SYS_utimensat,  NFSPROC3_SETATTR,  put_times,   false },
#endif
	{ "unlinkat",   SYS_unlinkat,   NFSPROC3_REMOVE,   put_hello,   false },
	{ "unlinkat",   SYS_unlinkat,   NFSPROC3_RMDIR,    put_empty,   false },
	{ "renameat",   SYS_renameat,   NFSPROC3_RENAME,   put_rename,  false },
	{ "mkdirat",    SYS_mkdirat,    NFSPROC3_MKDIR,    put_mkdir,   false },
	{ "symlinkat",  SYS_symlinkat,  NFSPROC3_SYMLINK,  put_symlink, false },
	{ "mknodat",    SYS_mknodat,    NFSPROC3_MKNOD,    put_fifo,    false },
	{ "readlinkat", SYS_readlinkat, NFSPROC3_READLINK, put_link,    false },
	{ "getdents",   SYS_getdents64, NFSPROC3_READDIR,  put_readdir, false },
	{ "fstatfs",    SYS_fstatfs,    NFSPROC3_FSSTAT,   put_root,    false },
};
/* clang-format on */

static const int errors[] = { EIO, ENOSPC, EDQUOT, EROFS, EBADMSG, EUCLEAN,
	ENOKEY, ENOMEM };
/* The engine behind the filesystem is sick or gone: the client waits. */
static const int sick[] = { ENOTCONN, ESHUTDOWN, ETIMEDOUT, EHOSTDOWN,
	EHOSTUNREACH, ECONNABORTED, ECONNRESET };

static bool
forbid(int call, int error)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	return filter != NULL &&
	    seccomp_rule_add(filter, SCMP_ACT_ERRNO((uint16_t)error), call,
		0) == 0 &&
	    seccomp_load(filter) == 0;
}

static uint32_t
run(size_t row)
{
	struct xdr_in in;
	uint32_t status;

	in = nfs_fixture_call(f, 3, rows[row].proc, 0, args, out.len);
	status = xdr_get_u32(&in);
	return in.failed ? UINT32_MAX : status;
}

/* Runs in a child. Returns 0 if the client got the right status. */
static int
fault(size_t row, int error)
{
	uint32_t want = rows[row].always_io ? (uint32_t)NFSERR_IO :
					      (uint32_t)nfs_status(error);

	xdr_out_init(&out, args, sizeof(args));
	rows[row].put();
	if (!forbid(rows[row].call, error))
		return NO_FILTER;
	return run(row) == want ? 0 : 1;
}

static int
sick_fault(size_t row, int error)
{
	xdr_out_init(&out, args, sizeof(args));
	rows[row].put();
	if (!forbid(rows[row].call, error))
		return NO_FILTER;
	return run(row) == (uint32_t)NFSERR_JUKEBOX ? 0 : 1;
}

/* The verifier in the reply to a WRITE, or 0. */
static uint64_t
verifier(void)
{
	uint8_t skipped[116];
	struct xdr_in in;

	xdr_out_init(&out, args, sizeof(args));
	put_write();
	in = nfs_fixture_call(f, 3, NFSPROC3_WRITE, 0, args, out.len);
	if (xdr_get_u32(&in) != NFS_OK)
		return 0;
	xdr_get_fixed(&in, skipped, sizeof(skipped));
	(void)xdr_get_u64(&in);
	return xdr_get_u64(&in);
}

/* A failed COMMIT gets IO, and the verifier changes. */
static int
lost_data(size_t row UNUSED, int error UNUSED)
{
	uint64_t before = verifier();
	size_t i;

	for (i = 0; rows[i].call != SYS_fsync;)
		i++;
	if (before == 0 || verifier() != before)
		return 2;
	if (fault(i, EIO) != 0)
		return 3;
	return verifier() == before ? 4 : 0;
}

/*
 * A stable write that was refused at once. No data is lost, so no client must
 * write again.
 */
static int
refused_write(size_t row UNUSED, int error UNUSED)
{
	const struct rlimit none = { 0, RLIM_INFINITY };
	const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	uint64_t before = verifier();
	struct xdr_in in;

	(void)sigaction(SIGXFSZ, &ignore, NULL);
	xdr_out_init(&out, args, sizeof(args));
	put_write_as(NFS_FILE_SYNC);
	if (before == 0 || setrlimit(RLIMIT_FSIZE, &none) == -1)
		return 2;
	in = nfs_fixture_call(f, 3, NFSPROC3_WRITE, 0, args, out.len);
	if (xdr_get_u32(&in) != NFSERR_FBIG ||
	    setrlimit(RLIMIT_FSIZE, &all) == -1)
		return 3;
	return verifier() == before ? 0 : 4;
}

static int
in_child(int (*test)(size_t, int), size_t row, int error)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(test(row, error));
	if (pid == -1 || waitpid(pid, &status, 0) == -1 || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/* Makes one call fail with each of the errors. */
static void
try_all(int (*test)(size_t, int), size_t row, const int *list, size_t n)
{
	size_t k;
	int got;

	for (k = 0; k < n; k++) {
		f = nfs_fixture_new("");
		got = in_child(test, row, list[k]);
		nfs_fixture_free(f);
		skip(got == NO_FILTER, 1, "seccomp filters are not available");
		cmp_ok(got, "==", 0, "%s: %s", rows[row].name,
		    strerror(list[k]));
		end_skip;
	}
}

int
main(void)
{
	size_t i;

	plan(NO_PLAN);
	for (i = 0; i < nitems(rows); i++) {
		try_all(fault, i, errors, nitems(errors));
		try_all(sick_fault, i, sick, nitems(sick));
	}
	f = nfs_fixture_new("");
	cmp_ok(in_child(refused_write, 0, 0), "==", 0,
	    "a stable WRITE that is refused does not change the verifier");
	cmp_ok(in_child(lost_data, 0, 0), "==", 0,
	    "a failed COMMIT gets IO and changes the verifier");
	nfs_fixture_free(f);
	done_testing();
}

/* SPDX-License-Identifier: ISC */
/*
 * The operations of MOUNT on scratch exports, with a parent that seals or
 * refuses: what a client gets, what is listed, what is deferred.
 * Runs in: test programs only.
 */
#include <sys/stat.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "mountd/mount.h"
#include "mountd/worker/mount_table.h"
#include "tap.h"

#define EXPORTS                                                                \
	"/srv 10.0.0.1(insecure) 10.0.0.2(insecure)\n"                         \
	"/gone 10.0.0.1(insecure)\n/slow 10.0.0.1(insecure)\n"
enum { GONE, SLOW, SRV, NEXPORTS }; /* the list is sorted by path */

static char dir[] = "/tmp/tern-mount.XXXXXX";
static struct mount_state state;
static struct rpc_peer peer;
static struct rpc_call call;
static struct call_ctx ctx;
static struct call_res res;
static bool refuses; /* the parent */
static unsigned int seals;

static bool
seal(void *arg UNUSED, const struct export *e UNUSED,
    enum export_names names UNUSED, int fd UNUSED, const char *below UNUSED,
    struct fh *fh)
{
	seals++;
	memset(fh->bytes, 0x5e, FH_SIZE);
	return !refuses;
}

/* Runs an operation for a client, as the event loop or a file thread does. */
static enum mountstat
run(void (*op)(struct call_ctx *, const struct call_args *, struct call_res *),
    const char *client, const char *path, bool may_block)
{
	static struct call_args args;

	memset(&args, 0, sizeof(args));
	memset(&call, 0, sizeof(call));
	memset(&ctx, 0, sizeof(ctx));
	memset(&res, 0, sizeof(res));
	if (!addr_parse(&peer.from, client))
		BAIL_OUT("%s: no address", client);
	if (path == NULL)
		args.path.status = MNTERR_NAMETOOLONG;
	else
		(void)strlcpy(args.path.clean, path, sizeof(args.path.clean));
	call.peer = &peer;
	call.may_block = may_block;
	ctx.call = &call;
	ctx.state = &state;
	op(&ctx, &args, &res);
	return res.status;
}

static enum mountstat
mnt(const char *path, bool may_block)
{
	return run(op_mnt, "10.0.0.1:700", path, may_block);
}

/* How many mounts DUMP shows this client. */
static size_t
dumped(const char *client)
{
	(void)run(op_dump, client, "", false);
	return res.dump->nrows;
}

static void
check_root(void)
{
	uint8_t root[FH_SIZE];

	memset(root, 0xa0 + SRV, sizeof(root));
	cmp_ok(mnt("/srv", false), "==", MNT_OK, "MNT of an export succeeds");
	cmp_mem(res.fh.bytes, root, FH_SIZE, "it gives the handle of the root");
	ok(!call.deferred && seals == 0,
	    "it is not deferred and does not ask the parent");
	ok(ctx.is_new && !ctx.evicted, "it adds an entry to the list");
	cmp_ok(dumped("10.0.0.1:700"), "==", 1, "DUMP shows the entry");
	is(res.dump->rows[0].path, "/srv", "the entry has the path");
	(void)mnt("/srv", false);
	ok(!ctx.is_new, "the same MNT adds no second entry");
	cmp_ok(mnt("/gone", false), "==", MNTERR_NOENT,
	    "a missing export gets NOENT");
	like(ctx.why, "it does not exist", "the reason says so");
	cmp_ok(run(op_mnt, "10.0.0.3:700", "/srv", false), "==", MNTERR_ACCES,
	    "a client that no line permits gets ACCES");
	cmp_ok(mnt("/other", false), "==", MNTERR_ACCES,
	    "a path that is not exported gets ACCES");
	cmp_ok(mnt(NULL, false), "==", MNTERR_NAMETOOLONG,
	    "a malformed path gets the status of the decoder");
	cmp_ok(dumped("10.0.0.1:700"), "==", 1, "a refused MNT is not listed");
}

static void
check_below(void)
{
	cmp_ok(mnt("/srv/sub", false), "==", MNT_DEFERRED,
	    "MNT below an export is deferred by the event loop");
	ok(call.deferred && seals == 0, "the call runs again on a file thread");
	cmp_ok(dumped("10.0.0.1:700"), "==", 1, "it is not listed yet");
	(void)chmod(dir, 0700);
	cmp_ok(mnt("/srv/sub", true), "==", MNTERR_ACCES,
	    "a caller that may not search the directory above is refused");
	like(ctx.why, "the caller may not search", "the reason says so");
	(void)chmod(dir, 0755);
	cmp_ok(mnt("/srv/sub", true), "==", MNT_OK,
	    "a file thread gives a handle");
	ok(res.fh.bytes[0] == 0x5e && seals == 1, "the parent sealed it");
	ok(ctx.is_new, "it adds an entry");
	cmp_ok(dumped("10.0.0.1:700"), "==", 2, "DUMP shows both entries");
	cmp_ok(mnt("/srv/none", true), "==", MNTERR_NOENT,
	    "a missing directory gets NOENT");
	cmp_ok(mnt("/srv/link", true), "==", MNTERR_ACCES,
	    "a symbolic link gets ACCES");
	cmp_ok(mnt("/srv/link/x", true), "==", MNTERR_ACCES,
	    "a path through it gets ACCES");
	cmp_ok(mnt("/gone/sub", true), "==", MNTERR_NOENT,
	    "a path below a missing export gets NOENT");
	refuses = true;
	cmp_ok(mnt("/srv/sub", true), "==", MNTERR_SERVERFAULT,
	    "a refusal of the parent gets SERVERFAULT");
	refuses = false;
	cmp_ok(dumped("10.0.0.1:700"), "==", 2, "none of these is listed");
}

static void
check_slow(void)
{
	struct served_exports *x = state.active.list;

	atomic_store(&x->list[SLOW].busy, MOUNT_THREADS_ONE);
	cmp_ok(mnt("/slow/sub", true), "==", MNTERR_IO,
	    "a slow export beyond its share of threads gets IO");
	cmp_ok(x->list[SLOW].busy, "==", MOUNT_THREADS_ONE,
	    "a refused call takes no thread");
	atomic_store(&x->list[SLOW].busy, MOUNT_THREADS_ONE - 1);
	cmp_ok(mnt("/slow/sub", true), "==", MNT_OK,
	    "a call within its share is served");
	atomic_store(&x->list[SRV].busy, MOUNT_THREADS_ONE);
	cmp_ok(mnt("/srv/sub", true), "==", MNT_OK,
	    "a fast export may use all threads");
	(void)run(op_umnt, "10.0.0.1:700", "/slow/sub", false);
}

static void
check_list(void)
{
	(void)run(op_mnt, "10.0.0.2:700", "/srv", false);
	cmp_ok(dumped("10.0.0.2:999"), "==", 1, "a client sees its own mounts");
	state.dump_all = true;
	cmp_ok(dumped("10.0.0.2:700"), "==", 3,
	    "dump_all: a client sees all mounts");
	state.dump_all = false;
	(void)run(op_umnt, "10.0.0.2:700", "/srv/sub", false);
	cmp_ok(dumped("10.0.0.1:700"), "==", 2,
	    "UMNT leaves entries of other clients");
	(void)run(op_umnt, "10.0.0.1:700", "/srv/sub", false);
	cmp_ok(dumped("10.0.0.1:700"), "==", 1, "UMNT removes an entry");
	(void)run(op_umnt, "10.0.0.1:700", NULL, false);
	(void)run(op_umntall, "10.0.0.2:700", "", false);
	cmp_ok(dumped("10.0.0.2:700"), "==", 0,
	    "UMNTALL removes all entries of the client");
	cmp_ok(dumped("10.0.0.1:700"), "==", 1,
	    "UMNTALL leaves entries of other clients");
}

static void
check_others(void)
{
	(void)run(op_export, "10.0.0.2:700", "", false);
	ok(res.listing->nrows == 1 && res.listing->ngroups == 1,
	    "EXPORT shows a client its own exports");
	is(res.listing->rows[0].dir, "/srv", "an export has its path");
	is(res.listing->groups[0]->text, "10.0.0.2",
	    "an export has the entry of the client");
	state.export_all = true;
	(void)run(op_export, "10.0.0.2:700", "", false);
	ok(res.listing->nrows == 2 && res.listing->ngroups == 3,
	    "export_all: all exports that exist, with all clients");
	cmp_ok(run(op_pathconf, "10.0.0.2:700", "/srv", false), "==", MNT_OK,
	    "PATHCONF of an export succeeds");
	cmp_ok(run(op_pathconf, "10.0.0.2:700", "/slow", false),
	    "==", MNTERR_ACCES,
	    "PATHCONF of an export to another client is refused");
	cmp_ok(run(op_pathconf, "10.0.0.2:700", NULL, false),
	    "==", MNTERR_NAMETOOLONG,
	    "PATHCONF of a malformed path is refused");
}

static void
set_up(void)
{
	static const struct exports_hooks quiet;
	struct mountd_handles handles[NEXPORTS] = { 0 };
	struct fh_root roots[NEXPORTS] = { 0 };
	int i;

	/* The anonymous caller may search it. */
	if (mkdtemp(dir) == NULL || chmod(dir, 0755) == -1)
		BAIL_OUT("no directory");
	for (i = 0; i < NEXPORTS; i++) {
		roots[i].fd = open(dir, O_PATH | O_CLOEXEC);
		handles[i].served = handles[i].sealed[NAMES_BYTES] = i != GONE;
		memset(handles[i].fh[NAMES_BYTES].bytes, 0xa0 + i, FH_SIZE);
	}
	handles[SLOW].slow = true;
	if (mkdirat(roots[SRV].fd, "sub", 0755) == -1 ||
	    symlinkat("sub", roots[SRV].fd, "link") == -1)
		BAIL_OUT("no directory");
	active_init(&state.active);
	active_swap(&state.active,
	    mount_table_new(exports_parse(EXPORTS, strlen(EXPORTS), &quiet),
		roots, handles));
	state.list = mount_list_new();
	state.seal = seal;
}

static void
clean_up(void)
{
	int root = open(dir, O_PATH | O_CLOEXEC);

	(void)unlinkat(root, "sub", AT_REMOVEDIR);
	(void)unlinkat(root, "link", 0);
	close(root);
	(void)rmdir(dir);
	mount_list_free(state.list);
	active_clear(&state.active);
}

int
main(void)
{
	set_up();
	check_root();
	check_below();
	check_slow();
	check_list();
	check_others();
	clean_up();
	done_testing();
}

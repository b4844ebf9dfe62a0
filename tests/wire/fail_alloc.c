/* SPDX-License-Identifier: ISC */
/*
 * If the export's filesystem has handles, serving allocates only the memory for
 * listings, once. On other filesystems (the player export) the Nth allocation
 * of a scripted session fails, for every N, once alone and once with all later
 * ones. A call may be refused, but the server goes on, serves the next call and
 * leaks nothing. The program's own malloc, calloc and realloc count and fail;
 * glibc's do the work.
 * Links: nfsd
 * Runs in: tests.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "nfs_fixture.h"
#include "own_malloc.h"
#include "tap.h"

#define N_MAX	   5000
#define STAYS_MAX  (64 * 1024) /* caches fill a little */
#define ALICE	   1000
#define SETTLED_US 50000 /* longer than rights.c waits */

static unsigned long allocations, fail_at; /* fail_at 0: never */
static bool fail_all;

#if OWN_MALLOC
static bool
fails(void)
{
	allocations++;
	if (fail_at == 0 || allocations < fail_at)
		return false;
	if (allocations > fail_at && !fail_all)
		return false;
	errno = ENOMEM;
	return true;
}

#include "../alloc_hooks.h" /* here: it asks fails() */
#endif

static struct nfs_fixture *fixture;
static struct fh playempty; /* found before anything fails */

static struct fh
handle(const char *name)
{
	return strcmp(name, "playempty") == 0 ?
	    playempty :
	    nfs_fixture_handle(fixture, name);
}

static bool
start(void)
{
	fixture = nfs_fixture_new("");
	if (fixture != NULL)
		playempty = nfs_fixture_handle(fixture, "playempty");
	return fixture != NULL;
}

static void
put_handle(struct xdr_out *x, const struct fh *fh)
{
	xdr_put_opaque(x, fh->bytes, FH_SIZE);
}

/* Calls a version 3 procedure; its status, or -1 without a result. */
static long
run3(uint32_t proc, const struct xdr_out *x)
{
	struct xdr_in in =
	    nfs_fixture_call(fixture, 3, proc, ALICE, x->base, x->len);
	uint32_t status = xdr_get_u32(&in);

	return in.failed ? -1 : (long)status;
}

static void
put_name(struct xdr_out *x, const char *dir, const char *name)
{
	struct fh fh = handle(dir);

	put_handle(x, &fh);
	xdr_put_string(x, name);
}

static void
put_no_attributes(struct xdr_out *x)
{
	unsigned int i;

	for (i = 0; i < 6; i++)
		xdr_put_u32(x, 0);
}

static void
create(struct xdr_out *x, const char *name)
{
	put_name(x, "open", name);
	xdr_put_u32(x, 0); /* UNCHECKED */
	put_no_attributes(x);
	(void)run3(NFSPROC3_CREATE, x);
}

static void
read_some(struct xdr_out *x, const char *file)
{
	struct fh fh = handle(file);

	put_handle(x, &fh);
	xdr_put_u64(x, 0);
	xdr_put_u32(x, 4096);
	(void)run3(NFSPROC3_READ, x);
}

static void
list(struct xdr_out *x, const char *dir)
{
	struct fh fh = handle(dir);
	uint8_t verifier[8] = { 0 };

	put_handle(x, &fh);
	xdr_put_u64(x, 0);
	xdr_put_fixed(x, verifier, sizeof(verifier));
	xdr_put_u32(x, 4096);
	xdr_put_u32(x, 16384);
	(void)run3(NFSPROC3_READDIRPLUS, x);
}

static void
look_up(struct xdr_out *x, const char *name)
{
	put_name(x, "root", name);
	(void)run3(NFSPROC3_LOOKUP, x);
}

/* The name in UTF-16LE, as a player sends it. */
static void
look_up_16(struct xdr_out *x, const char *name)
{
	struct fh fh = handle("player");
	uint8_t wide[64] = { 0 };
	size_t i;

	for (i = 0; name[i] != '\0'; i++)
		wide[2 * i] = (uint8_t)name[i];
	put_handle(x, &fh);
	xdr_put_opaque(x, wide, 2 * i);
	(void)run3(NFSPROC3_LOOKUP, x);
}

static void
remove_name(struct xdr_out *x, const char *name)
{
	put_name(x, "open", name);
	(void)run3(NFSPROC3_REMOVE, x);
}

struct step {
	void (*run)(struct xdr_out *, const char *);
	const char *name;
};

static const struct step plain_steps[] = {
	{ look_up, "hello" },
	{ look_up, "sub" },
	{ look_up, "none" },
	{ create, "n1" },
	{ create, "n2" },
	{ read_some, "file" },
	{ read_some, "large" },
	{ list, "root" },
	{ list, "sub" },
	{ remove_name, "n1" },
	{ remove_name, "n2" },
	{ NULL, NULL },
};

static const struct step player_steps[] = {
	{ look_up_16, "empty" },
	{ look_up_16, "none" },
	{ list, "player" },
	{ list, "playempty" },
	{ NULL, NULL },
};

/* The status of a step does not matter: it may be refused. */
static void
session(const struct step *step)
{
	uint8_t args[512];
	struct xdr_out x;

	for (; step->run != NULL; step++) {
		xdr_out_init(&x, args, sizeof(args));
		step->run(&x, step->name);
	}
}

static bool
is_healthy(void)
{
	struct fh fh = handle("root");
	uint8_t args[64];
	struct xdr_out x;

	xdr_out_init(&x, args, sizeof(args));
	put_handle(&x, &fh);
	return run3(NFSPROC3_GETATTR, &x) == NFS_OK;
}

/* One fresh server, the Nth allocation of its session fails. */
static bool
survives(unsigned long n, bool all)
{
	bool healthy;

	if (!start())
		return false;
	allocations = 0;
	fail_all = all;
	fail_at = n;
	session(player_steps);
	fail_at = 0;
	healthy = is_healthy();
	session(player_steps);
	healthy = healthy && is_healthy();
	nfs_fixture_free(fixture);
	return healthy;
}

/*
 * Counts the allocations of a session. nfsd allocates the memory for listings
 * when a directory with a settled ctime is first listed. known: that has
 * happened before.
 */
static unsigned long
count_allocations(const struct step *steps, bool known)
{
	unsigned long n;

	(void)start();
	if (known) {
		usleep(SETTLED_US);
		session(steps);
	}
	allocations = 0;
	session(steps);
	n = allocations;
	nfs_fixture_free(fixture);
	return n;
}

static void
fail_each(unsigned long total, bool all)
{
	unsigned long n, bad = 0;
	struct mallinfo2 before = mallinfo2(), after;

	for (n = 1; n <= total && n < N_MAX; n++)
		if (!survives(n, all)) {
			diag("allocation %lu of %lu", n, total);
			bad++;
		}
	after = mallinfo2();
	ok(bad == 0, "each of %lu allocations fails%s: served afterwards",
	    total, all ? ", and all later ones" : "");
	ok(after.uordblks < before.uordblks + STAYS_MAX,
	    "no memory is leaked: %zu -> %zu bytes", before.uordblks,
	    after.uordblks);
}

int
main(void)
{
	unsigned long total;

	if (!OWN_MALLOC) {
		plan(SKIP_ALL, "the sanitizer has its own malloc");
		return 0;
	}
	plan(NO_PLAN);
	ok(count_allocations(plain_steps, true) == 0,
	    "nothing is allocated if the filesystem has handles");
	total = count_allocations(player_steps, false);
	ok(total > 0, "the session allocates on other filesystems");
	fail_each(total, false);
	fail_each(total, true);
	done_testing();
}

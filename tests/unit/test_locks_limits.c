/* SPDX-License-Identifier: ISC */
/*
 * The limits of the table that are of all clients, of a host or of a file.
 * test_locks_table.c has those of one client. Each is reached exactly, a line
 * for the log says so, and others go on where they can. Links: nfsd
 * Runs in: tests.
 */
#include <string.h>

#include "base/clock.h"
#include "base/util.h"
#include "nfsd/locks/state.h"
#include "tap.h"

static struct locks_table *t;
static unsigned int limits, grants;

static int
on_set(void *arg UNUSED, const struct locks_file *f UNUSED,
    enum kernel_lock kind UNUSED, uint64_t start UNUSED, uint64_t end UNUSED)
{
	return 0;
}

static bool
on_get(void *arg UNUSED, const struct locks_file *f UNUSED,
    bool exclusive UNUSED, struct kernel_found *found UNUSED)
{
	return false;
}

static void
on_limit(void *arg UNUSED, const struct addr *from UNUSED,
    const char *what UNUSED)
{
	limits++;
}

static void
on_grant(void *arg UNUSED, const void *message UNUSED, size_t len UNUSED)
{
	grants++;
}

static void
fresh(size_t files)
{
	static const struct table_hooks hooks = { .set = on_set,
		.get = on_get,
		.limit = on_limit,
		.grant = on_grant };

	table_free(t);
	t = table_new(&hooks, NULL, files);
	table_set_now(t, 1000);
	limits = grants = 0;
}

/* A client, and a file that it asks for. */
struct place {
	uint8_t host;
	uint8_t client; /* its name */
	uint16_t file;
	uint16_t handle; /* of the file */
};

static struct locks_ask
ask_of(const struct place *p)
{
	struct locks_ask a = { .client = { .from = { .family = AF_INET,
					       .bytes = { 10, 0, 0, p->host } },
				   .vers = 4,
				   .kind = RPC_TCP,
				   .name_len = 1 },
		.exclusive = true,
		.svid = 1 };

	memcpy(a.fh.bytes + 8, &p->file, sizeof(p->file));
	memcpy(a.fh.bytes + 10, &p->handle, sizeof(p->handle));
	return a;
}

static enum locks_stat
put(const struct place *p, const struct locks_ask *a,
    enum locks_stat (*run)(struct locks_table *, const struct table_ask *,
	struct table_opened *))
{
	struct table_ask q = { a, &p->client, (const uint8_t *)&a->svid };
	struct table_opened o = {
		.fd = 99, .dev = 1, .ino = p->file, .writable = true
	};

	return run(t, &q, &o);
}

static enum locks_stat
lock(const struct place *p, uint64_t at)
{
	struct locks_ask a = ask_of(p);

	a.offset = at;
	a.length = 1;
	return put(p, &a, table_lock);
}

/* Locks every second byte, in files of their own, until it is refused. */
static unsigned int
fill(struct place *p)
{
	unsigned int i;

	for (i = 0;; i++) {
		p->file =
		    (uint16_t)(p->host << 10 | p->client << 3 | (int)i / 8192);
		if (lock(p, 2 * i) != LOCKS_GRANTED)
			return i;
	}
}

static void
all(void)
{
	struct place p = { .host = 1 };
	unsigned int n, of_host[3] = { 0 };

	fresh(100000);
	for (p.host = 1; p.host <= 3; p.host++)
		for (p.client = 0; p.client < 8; p.client++) {
			n = fill(&p);
			of_host[p.host - 1] += n;
			if (p.client == 0 && p.host == 1)
				cmp_ok(n, "==", TABLE_CLIENT_LOCKS,
				    "locks of a client");
		}
	cmp_ok(of_host[0], "==", TABLE_HOST_ALL, "locks of a host");
	cmp_ok(of_host[1], "==", TABLE_HOST_ALL, "another has as many");
	n = of_host[0] + of_host[1] + of_host[2];
	cmp_ok(n, "==", TABLE_ALL, "locks in all");
	ok(limits > 0, "the log is told");
}

/* A file with all the ranges it may have: its owner can still change them. */
static void
ranges(void)
{
	struct place p = { .host = 1 };
	struct locks_ask a = ask_of(&p);
	unsigned int n = 0;

	fresh(100);
	while (lock(&p, 4 * n) == LOCKS_GRANTED)
		n++;
	cmp_ok(n, "==", TABLE_FILE_RANGES, "ranges of a file");
	cmp_ok(lock(&p, 4), "==", LOCKS_GRANTED, "one that is held, again");
	a.exclusive = false;
	a.offset = 4;
	a.length = 2;
	cmp_ok(put(&p, &a, table_lock), "==", LOCKS_GRANTED,
	    "a longer one of another kind in its place");
	cmp_ok(lock(&p, 4), "==", LOCKS_NOLOCKS, "a part of it would be two");
	a.exclusive = true;
	cmp_ok(put(&p, &a, table_lock), "==", LOCKS_GRANTED, "not all of it");
}

static void
waiters(void)
{
	struct place p = { .host = 1 };
	struct locks_ask a;
	unsigned int n = 0, i;

	fresh(100);
	(void)lock(&p, 0);
	for (p.host = 2; p.host < 2 + 12; p.host++) {
		a = ask_of(&p);
		a.block = true;
		for (i = 0; i < TABLE_CLIENT_WAITERS; i++) {
			a.svid = (int32_t)i;
			n += put(&p, &a, table_lock) == LOCKS_BLOCKED;
		}
	}
	cmp_ok(n, "==", TABLE_FILE_WAITERS, "waiters of a file");
	p.file = 2;
	ok(lock(&p, 0) == LOCKS_GRANTED, "another file can be locked");
}

#define CROWD_FILES   12
#define CROWD_HOSTS   5
#define CROWD_CLIENTS 100 /* each has all the waiters that it may have */

enum crowd { CROWD_WAIT, CROWD_CANCEL };

static unsigned int
crowd_calls(enum crowd what, uint64_t *longest)
{
	unsigned int i, n, granted = 0;
	struct place p;
	struct locks_ask a;
	uint64_t at;

	for (i = 0; i < CROWD_CLIENTS; i++) {
		p = (struct place){ .host = (uint8_t)(2 + i % CROWD_HOSTS),
			.client = (uint8_t)i,
			.file = (uint16_t)(i % CROWD_FILES) };
		a = ask_of(&p);
		a.block = true;
		for (n = 0; n < TABLE_CLIENT_WAITERS; n++) {
			struct table_ask q = { &a, &p.client, NULL };

			a.svid = (int32_t)n;
			at = clock_ns();
			granted += what == CROWD_CANCEL ?
			    table_cancel(t, &q) == LOCKS_GRANTED :
			    put(&p, &a, table_lock) == LOCKS_BLOCKED;
			at = clock_ns() - at;
			*longest = at > *longest ? at : *longest;
		}
	}
	return granted;
}

/* No call takes long, and none is forgotten. */
static void
crowd(void)
{
	const unsigned int all = CROWD_CLIENTS * TABLE_CLIENT_WAITERS;
	struct place p = { .host = 1 };
	struct locks_ask a;
	uint64_t at, longest = 0;
	unsigned int n = 0;

	fresh(100);
	for (; p.file < CROWD_FILES; p.file++)
		(void)lock(&p, 0);
	cmp_ok(crowd_calls(CROWD_WAIT, &longest), "==", all,
	    "locks wait in all");
	cmp_ok(t->items, "==", all + CROWD_FILES, "all are in the table");
	at = clock_ns();
	for (p.file = 0; p.file < CROWD_FILES; p.file++) {
		struct table_ask q = { &a, &p.client, NULL };

		a = ask_of(&p);
		n += table_unlock(t, &q) == LOCKS_GRANTED;
	}
	diag("longest wait %.1f us, an unlock %.1f us", (double)longest / 1000,
	    (double)(clock_ns() - at) / 1000 / CROWD_FILES);
	ok(n == CROWD_FILES && grants == n, "each unlock grants one");
	longest = 0;
	cmp_ok(crowd_calls(CROWD_CANCEL, &longest), "==", all, "all give up");
	diag("longest cancel %.1f us", (double)longest / 1000);
	ok(t->items == 0 && t->nfiles == 0, "nothing is left of them");
}

static void
shares(void)
{
	struct place p = { .host = 1 };
	struct locks_ask a = ask_of(&p);
	unsigned int n = 0;

	fresh(100);
	a.owner_len = sizeof(a.svid);
	a.share_access = 1;
	for (a.svid = 0; a.svid < 2 * TABLE_FILE_SHARES; a.svid++)
		n += put(&p, &a, table_share) == LOCKS_GRANTED;
	cmp_ok(n, "==", TABLE_FILE_SHARES, "shares of a file");
	p.host = 2;
	ok(lock(&p, 0) == LOCKS_GRANTED, "it can be locked");
}

static void
files(void)
{
	struct place p = { .host = 1 };
	unsigned int n = 0;

	fresh(100);
	for (p.handle = 0; p.handle < 2 * TABLE_FILE_HANDLES; p.handle++)
		n += lock(&p, p.handle) == LOCKS_GRANTED;
	cmp_ok(n, "==", TABLE_FILE_HANDLES, "handles of a file");
	fresh(100);
	p.handle = 0;
	for (n = 0, p.file = 1; p.file < 200; p.file++)
		n += lock(&p, 0) == LOCKS_GRANTED;
	cmp_ok(n, "==", 50, "a host gets half of the descriptors");
	p.host = 2;
	for (p.file = 1000; p.file < 1200; p.file++)
		n += lock(&p, 0) == LOCKS_GRANTED;
	cmp_ok(n, "==", 100, "another gets the rest");
}

int
main(void)
{
	plan(NO_PLAN);
	all();
	ranges();
	waiters();
	crowd();
	shares();
	files();
	table_free(t);
	done_testing();
}

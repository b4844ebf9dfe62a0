/* SPDX-License-Identifier: ISC */
/*
 * The steps of the door, each by what it refuses.
 * Links: nfsd
 * Runs in: tests.
 */
#include <sys/stat.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "door_call.h"
#include "door_fixture.h"
#include "tap.h"

static void
handles(void)
{
	struct door_call c;
	struct fh good;

	door_call_init(&c, "rw,no_root_squash");
	good = c.root;
	cmp_ok(door_call_try(&c, 0), "==", NFS_OK, "a sealed handle opens");
	c.root.bytes[FH_SIZE - 1] ^= 1;
	cmp_ok(door_call_try(&c, 0), "==", NFSERR_BADHANDLE, "a wrong tag");
	c.root = good;
	c.root.bytes[2] ^= 1;
	cmp_ok(door_call_try(&c, 0), "==", NFSERR_BADHANDLE, "no such export");
	c.root = good;
	cmp_ok(door_call_try(&c, 0), "==", NFS_OK, "it opens again");
	cmp_ok(atomic_load(&c.ctx.thread->open), "==", 0, "nothing stays open");
	door_call_clear(&c);
}

static void
clients(void)
{
	struct door_call c;

	door_call_init(&c, "ro,no_root_squash");
	cmp_ok(door_call_try(&c, DOOR_DIR), "==", NFS_OK, "a client may read");
	cmp_ok(door_call_try(&c, DOOR_MODIFY), "==", NFSERR_ROFS,
	    "but not change what is exported read-only");
	c.peer.from.bytes[0] = 10;
	cmp_ok(door_call_try(&c, 0), "==", NFSERR_ACCES, "another client");
	door_call_clear(&c);
	door_call_init(&c, "rw,no_root_squash");
	c.peer.from.port = 5000;
	cmp_ok(door_call_try(&c, 0), "==", NFSERR_ACCES,
	    "a port that any user may have");
	door_call_clear(&c);
}

static void
deferring(void)
{
	struct door_call c;
	struct served_export *e;

	door_call_init(&c, "rw,no_root_squash");
	(void)door_call_try(&c, 0); /* without kernel handles: to find it */
	c.call.may_block = false;
	cmp_ok(door_call_try(&c, 0), "==", NFS_OK, "served in the event loop");
	e = c.ctx.thread->export;
	atomic_store(&e->slow_until, 100);
	c.call.started_ns = 50;
	ok(door_call_try(&c, 0) == NFS_DEFERRED && c.call.deferred,
	    "on a slow export the call is deferred");
	c.call.deferred = false;
	c.call.started_ns = 200;
	cmp_ok(door_call_try(&c, 0), "==", NFS_OK, "and not for ever");
	ok(door_call_try(&c, DOOR_MODIFY) == NFS_DEFERRED && c.call.turn != 0,
	    "a change is deferred, in turn");
	ok(door_call_try(&c, DOOR_MODIFY | DOOR_SYNC) == NFS_DEFERRED &&
		c.call.turn == 0,
	    "one that waits for stable storage is not in turn");
	c.call.deferred = false;
	c.call.may_block = true;
	ok(!door_must_defer(&c.ctx) && !c.call.deferred,
	    "on a file thread no call is deferred");
	door_call_clear(&c);
}

static void
noticing(void)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	uint64_t now = 1000000000, long_ns = 3000000;
	struct served_export *e;
	struct door_thread *t;
	struct door_call c;
	int i;

	door_call_init(&c, "rw,no_root_squash");
	(void)door_call_try(&c, 0);
	t = c.ctx.thread;
	e = t->export;
	for (i = 0; i < 8; i++, now++) {
		door_watch(t, now);
		door_note_latency(t, now, long_ns);
	}
	ok(atomic_load(&e->slow_until) == 0,
	    "calls that took long but did not sleep prove nothing");
	door_watch(t, now);
	(void)nanosleep(&nap, NULL);
	door_note_latency(t, now, long_ns);
	ok(atomic_load(&e->slow_until) > now,
	    "a call that slept in the loop makes its export slow");
	now = atomic_load(&e->slow_until) + 1;
	for (i = 0; i < 2; i++) {
		door_watch(t, now);
		(void)nanosleep(&nap, NULL);
		door_note_latency(t, now, long_ns);
	}
	ok(atomic_load(&e->slow_until) > now + 3 * UINT64_C(1000000000),
	    "for longer if it is slow again");
	door_call_clear(&c);
}

/* A name that is not in memory waits for the disk, and then for the broker. */
static void
noticing_midway(void)
{
	const struct timespec nap = { .tv_nsec = 3000000 };
	struct door_call c;
	int i;

	door_call_init(&c, "rw,no_root_squash");
	(void)door_call_try(&c, 0);
	c.call.may_block = false;
	for (i = 0; i < 2; i++) {
		c.call.started_ns = clock_ns();
		door_watch(c.ctx.thread, c.call.started_ns);
		(void)nanosleep(&nap, NULL);
		(void)door_must_defer_question(&c.ctx);
	}
	ok(atomic_load(&c.ctx.thread->export->slow_until) > c.call.started_ns,
	    "a call that slept before it was deferred makes its export slow");
	door_call_clear(&c);
}

static void
types(void)
{
	struct door_call c;
	struct door_obj dir;
	struct door_found found;

	fixture_file("file", "text", 0644);
	door_call_init(&c, "rw,no_root_squash");
	cmp_ok(door_call_try(&c, DOOR_FILE | DOOR_READ), "==", NFSERR_ISDIR,
	    "a directory is no file");
	cmp_ok(door_call_try(&c, DOOR_LINK), "==", NFSERR_INVAL, "nor a link");
	(void)door_open(&c.ctx, &c.root, DOOR_DIR, &dir);
	ok(door_lookup(&c.ctx, &dir, "file", &found) == NFS_OK &&
		found.export == dir.export && found.st.st_size == 4,
	    "a name leads to handle, attributes and export");
	cmp_ok(door_lookup(&c.ctx, &dir, "none", &found), "==", NFSERR_NOENT,
	    "a name that does not exist");
	ok(door_parent(&c.ctx, &dir, &found) == NFS_OK &&
		memcmp(&found.fh, &c.root, sizeof(found.fh)) == 0,
	    "the root of an export is its own parent");
	(void)door_lookup(&c.ctx, &dir, "file", &found);
	door_close(&dir);
	c.root = found.fh;
	cmp_ok(door_call_try(&c, DOOR_FILE | DOOR_READ), "==", NFS_OK,
	    "a file opens for reading");
	cmp_ok(door_call_try(&c, DOOR_DIR), "==", NFSERR_NOTDIR,
	    "a file is no directory");
	door_call_clear(&c);
}

static void
removal(void)
{
	struct door_call c;
	struct door_found found;
	struct door_obj dir;
	char path[128];

	fixture_file("gone", "x", 0644);
	door_call_init(&c, "rw,no_root_squash");
	(void)door_open(&c.ctx, &c.root, DOOR_DIR, &dir);
	(void)door_lookup(&c.ctx, &dir, "gone", &found);
	door_close(&dir);
	c.root = found.fh;
	cmp_ok(door_call_try(&c, 0), "==", NFS_OK, "a file opens");
	snprintf(path, sizeof(path), "%s/gone", fixture_dir());
	unlink(path);
	cmp_ok(door_call_try(&c, 0), "==", NFSERR_STALE,
	    "a removed file is stale, although its descriptor is cached");
	cmp_ok(door_call_try(&c, 0), "==", NFSERR_STALE, "and remains so");
	door_call_clear(&c);
}

int
main(void)
{
	plan(NO_PLAN);
	handles();
	clients();
	deferring();
	noticing();
	noticing_midway();
	types();
	removal();
	done_testing();
}

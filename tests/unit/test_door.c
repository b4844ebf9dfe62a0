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
	cmp_ok(door_call_try(&c, 0), "==", NFSERR_STALE, "a wrong tag");
	c.root = good;
	c.root.bytes[2] ^= 1;
	cmp_ok(door_call_try(&c, 0), "==", NFSERR_STALE, "no such export");
	c.root = good;
	c.root.bytes[0] ^= 0x80;
	cmp_ok(door_call_try(&c, 0), "==", NFSERR_BADHANDLE,
	    "a version that Tern never made");
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

/* The export is listed, but its root is missing. */
static void
absent(void)
{
	struct door_call c;
	struct served_export *e;
	int root;

	door_call_init(&c, "rw,no_root_squash");
	(void)door_call_try(&c, 0);
	e = c.ctx.thread->export;
	root = e->root;
	e->root = -1;
	cmp_ok(door_call_try(&c, 0), "==", NFSERR_JUKEBOX,
	    "a client is told to wait");
	ok(c.call.refused && !c.call.silent, "in a reply that is not kept");
	c.root.bytes[FH_SIZE - 1] ^= 1;
	cmp_ok(door_call_try(&c, 0), "==", NFSERR_STALE,
	    "a wrong handle does not get as far");
	c.peer.from.bytes[0] = 10;
	cmp_ok(door_call_try(&c, 0), "==", NFSERR_ACCES,
	    "nor does another client");
	e->root = root;
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
	e->local_metadata = false;
	ok(door_call_try(&c, 0) == NFS_DEFERRED && c.call.deferred,
	    "where another process has the metadata the call is deferred");
	e->local_metadata = true;
	c.call.deferred = false;
	c.call.started_ns = 200;
	ok(door_call_try(&c, DOOR_MODIFY) == NFS_DEFERRED && c.call.turn != 0,
	    "a change is deferred, in turn");
	ok(door_call_try(&c, DOOR_MODIFY | DOOR_STABLE) == NFS_DEFERRED &&
		c.call.turn == 0,
	    "one that waits for stable storage is not in turn");
	atomic_store(&e->slow_until, 201);
	ok(door_call_try(&c, DOOR_MODIFY) == NFS_DEFERRED && c.call.turn == 0,
	    "nor is any on a slow export");
	atomic_store(&e->slow_until, 200);
	ok(door_call_try(&c, DOOR_MODIFY) == NFS_DEFERRED && c.call.turn != 0,
	    "but not for ever");
	c.call.deferred = false;
	c.call.may_block = true;
	ok(!door_must_defer(&c.ctx) && !c.call.deferred,
	    "on a file thread no call is deferred");
	door_call_clear(&c);
}

static void
noticing(void)
{
	const uint64_t second = 1000000000;
	struct served_export *e, other = { 0 };
	struct door_thread *t, another;
	struct door_call c;
	int i;

	door_call_init(&c, "rw,no_root_squash");
	(void)door_call_try(&c, 0);
	t = c.ctx.thread;
	e = t->export;
	for (i = 0; i < 8; i++)
		(void)door_note_wait(t, clock_ns());
	ok(atomic_load(&e->slow_until) == 0, "short waits make nothing slow");
	for (i = 0; i < 2; i++)
		(void)door_note_wait(t, clock_ns() - second);
	ok(atomic_load(&e->slow_until) == 0, "nor do few long ones");
	(void)door_note_wait(t, clock_ns() - second);
	t->export = &other;
	(void)door_note_wait(t, clock_ns() - second);
	ok(atomic_load(&other.slow_until) == 0,
	    "long ones on one export do not make another slow");
	another = (struct door_thread){ .export = e };
	(void)door_note_wait(&another, clock_ns() - second);
	ok(atomic_load(&e->slow_until) > clock_ns(),
	    "several long ones make the export slow, on any thread");
	atomic_store(&e->slow_until, 0);
	atomic_store(&e->slow_waits, 0);
	for (i = 0; i < 8; i++) {
		atomic_store(&e->waits_since, clock_ns() - 2 * second);
		(void)door_note_wait(t, clock_ns() - second);
		t->export = e;
	}
	ok(atomic_load(&e->slow_until) == 0,
	    "as many over a longer time do not");
	t->export = e;
	door_call_clear(&c);
}

/* What was not used lately may have to come from a disk. */
static void
cold(void)
{
	struct door_found found;
	struct door_obj dir;
	struct door_call c;

	door_call_init(&c, "rw,no_root_squash");
	(void)door_open(&c.ctx, &c.root, DOOR_DIR, &dir);
	c.call.may_block = false;
	c.call.started_ns = clock_ns();
	ok(door_lookup(&c.ctx, &dir, "none", &found) == NFS_DEFERRED &&
		c.call.deferred,
	    "the event loop does not look for a name that nobody has used");
	c.call.deferred = false;
	c.call.may_block = true;
	cmp_ok(door_lookup(&c.ctx, &dir, "none", &found), "==", NFSERR_NOENT,
	    "a file thread does");
	c.call.may_block = false;
	ok(door_lookup(&c.ctx, &dir, "none", &found) == NFSERR_NOENT &&
		!c.call.deferred,
	    "then the event loop answers");
	cmp_ok(door_access(&c.ctx, &dir, R_OK), "==", 0,
	    "it does not ask for rights either");
	ok(c.call.deferred, "but leaves that to a file thread");
	c.call.deferred = false;
	c.call.may_block = true;
	(void)door_access(&c.ctx, &dir, R_OK);
	c.call.may_block = false;
	ok(door_access(&c.ctx, &dir, R_OK) == R_OK && !c.call.deferred, "once");
	door_close(&dir);
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
	absent();
	deferring();
	noticing();
	cold();
	types();
	removal();
	done_testing();
}

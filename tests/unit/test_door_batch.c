/* SPDX-License-Identifier: ISC */
/*
 * Handles that are asked for at the end of a batch are those of the files that were
 * made, and a file whose handle the broker does not give is there all the same.
 * Runs in: tests.
 */
#include <sys/stat.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "door_call.h"
#include "door_fixture.h"
#include "nfsd/door/batch.h"
#include "tap.h"

#define FILES (DOOR_BATCH_MAX + 5)

static struct door_call c;
static struct call_ctx calls[FILES];
static struct rpc_call rpc[FILES];
static struct fh handles[FILES];
static struct stat made[FILES];

/* Makes a file in the call of this number, which may be late. */
static enum nfsstat
make(unsigned int i, struct fh *later)
{
	struct door_found found;
	struct door_obj dir;
	enum nfsstat status;
	char name[16];
	int fd;

	rpc[i] = c.call;
	rpc[i].in_batch = true;
	rpc[i].late = false;
	calls[i] = c.ctx;
	calls[i].call = &rpc[i];
	calls[i].late_error = -1;
	(void)snprintf(name, sizeof(name), "f%u", i);
	status = door_open(&calls[i], &c.root, DOOR_DIR | DOOR_MODIFY, &dir);
	if (status != NFS_OK)
		return status;
	fd = openat(dir.fd, name, O_RDWR | O_CREAT | O_EXCL, 0600);
	status = door_adopt(&calls[i], &dir, name, fd, later, &found);
	made[i] = found.st;
	if (later == NULL)
		handles[i] = found.fh;
	door_close(&dir);
	return status;
}

static bool
leads_to(const struct fh *fh, const struct stat *st)
{
	struct door_obj obj;
	bool same;

	if (door_open(&c.ctx, fh, 0, &obj) != NFS_OK)
		return false;
	same = obj.st.st_ino == st->st_ino && obj.st.st_dev == st->st_dev;
	door_close(&obj);
	return same;
}

static void
remove_all(void)
{
	char path[4096];
	unsigned int i;

	for (i = 0; i < FILES; i++) {
		(void)snprintf(path, sizeof(path), "%s/f%u", fixture_dir(), i);
		(void)unlink(path);
	}
}

static void
test_many(void)
{
	unsigned int i, bad = 0, early = 0, wrong = 0;

	for (i = 0; i < FILES; i++) {
		handles[i] = (struct fh){ { 0 } };
		bad += make(i, &handles[i]) != NFS_OK || !rpc[i].late;
	}
	for (i = 0; i < FILES; i++)
		early += handles[i].bytes[0] != 0;
	cmp_ok(bad, "==", 0, "the calls are late");
	cmp_ok(early, "==", DOOR_BATCH_MAX, "a full question is asked at once");
	door_end_batch(c.ctx.thread);
	for (i = 0; i < FILES; i++)
		wrong += door_came_of(&calls[i]) != NFS_OK ||
		    !leads_to(&handles[i], &made[i]);
	cmp_ok(wrong, "==", 0, "each gets the handle of its own file");
	remove_all();
}

static void
test_at_once(void)
{
	ok(make(0, NULL) == NFS_OK && !rpc[0].late &&
		leads_to(&handles[0], &made[0]),
	    "a handle that is needed now is asked for now");
	remove_all();
}

/* Another directory has the handle of the question: the broker refuses it. */
static void
test_refused(void)
{
	struct fh fh = { { 0 } };
	char path[4096];

	ok(make(0, &fh) == NFS_OK && rpc[0].late, "the call is late");
	c.ctx.thread->batch.dir.bytes[FH_SIZE - 1] ^= 1;
	door_end_batch(c.ctx.thread);
	ok(door_came_of(&calls[0]) != NFS_OK && fh.bytes[0] == 0,
	    "the broker refuses, and the call has no handle");
	(void)snprintf(path, sizeof(path), "%s/f0", fixture_dir());
	ok(access(path, F_OK) == 0, "its file is there");
	remove_all();
}

int
main(void)
{
	plan(NO_PLAN);
	door_call_init(&c, "rw,sync,no_root_squash");
	c.call.may_block = true;
	skip(!fh_is_kernel(&c.root), 7, "no handles of the kernel here");
	test_many();
	test_at_once();
	test_refused();
	end_skip;
	door_call_clear(&c);
	done_testing();
}

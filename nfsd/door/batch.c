/* SPDX-License-Identifier: ISC */
/*
 * See batch.h.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "nfsd/door/ask.h"
#include "nfsd/door/batch.h"
#include "nfsd/door/state.h"

_Static_assert(DOOR_BATCH_MAX <= BROKER_SEAL_MAX, "one question has room");

bool
door_may_ask_later(const struct call_ctx *ctx, const struct door_obj *dir)
{
	return ctx->call->in_batch && !dir->utf16 &&
	    dir->export->local_metadata &&
	    dir->export->fs.naming == FH_BY_HANDLE;
}

/* The files of one question lie in one export. */
static bool
fits(const struct door_batch *b, const struct door_thread *t, uint16_t export)
{
	return b->n == 0 ||
	    (b->n < DOOR_BATCH_MAX && b->export_id == export &&
		b->generation == t->judge.held.generation);
}

bool
door_ask_later(struct call_ctx *ctx, const struct door_obj *dir, int fd,
    const struct stat *st, struct fh *fh)
{
	struct door_thread *t = ctx->thread;
	struct door_batch *b = &t->batch;

	if (b->list == NULL)
		b->list = calloc(DOOR_BATCH_MAX, sizeof(*b->list));
	if (b->list == NULL)
		return false;
	if (!fits(b, t, dir->export->id))
		door_end_batch(t);
	if (b->n == 0) {
		b->export_id = dir->export->id;
		b->generation = t->judge.held.generation;
		b->dir = dir->entry->fh;
	}
	b->list[b->n++] =
	    (struct door_new){ .ctx = ctx, .fh = fh, .st = *st, .fd = fd };
	ctx->call->late = true;
	return true;
}

/* The answer for one file: its handle, or an error. */
static void
end_one(struct door_thread *t, const struct door_new *new,
    const struct broker_sealed_one *answer)
{
	struct cache *cache = t->door->cache;
	struct cache_entry *entry;

	new->ctx->late_error = answer->error;
	if (answer->error != 0) {
		close(new->fd);
		return;
	}
	*new->fh = answer->fh;
	entry = cache_add(cache, new->fh, t->batch.generation, &new->st,
	    new->fd, CACHE_SLOT_WRITE, CACHE_READS);
	if (entry != NULL)
		cache_release(cache, entry);
}

void
door_end_batch(struct door_thread *t)
{
	struct door_batch *b = &t->batch;
	struct broker_sealed answer;
	struct broker_seal q = {
		.export_id = b->export_id, .n = (uint32_t)b->n, .dir = b->dir
	};
	int fds[DOOR_BATCH_MAX];
	size_t i;

	if (b->n == 0)
		return;
	for (i = 0; i < b->n; i++)
		fds[i] = b->list[i].fd;
	if (door_ask_seal_all(t, &q, fds, &answer) == -1)
		for (i = 0; i < b->n; i++)
			answer.list[i].error = errno;
	for (i = 0; i < b->n; i++)
		end_one(t, &b->list[i], &answer.list[i]);
	b->n = 0;
}

enum nfsstat
door_came_of(struct call_ctx *ctx)
{
	return ctx->late_error == 0 ? NFS_OK :
				      door_status(ctx, ctx->late_error);
}

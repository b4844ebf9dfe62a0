/* SPDX-License-Identifier: ISC */
/*
 * The door. From a handle to an object the caller may use, in six steps, ordered
 * by cost: client, tag, identity, attributes, permission, descriptor.
 * Each step may refuse; most of them know their answer from the last call.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <errno.h>
#include <unistd.h>

#include "base/util.h"
#include "nfsd/door/ask.h"
#include "nfsd/door/state.h"

static const enum nfsstat verdicts[] = {
	[JUDGE_PASSES] = NFS_OK,
	[JUDGE_MALFORMED] = NFSERR_BADHANDLE,
	[JUDGE_STALE] = NFSERR_STALE,
	[JUDGE_REFUSED] = NFSERR_ACCES,
};

/* Step 1: the export is listed, and the client may use it. */
static enum nfsstat
check_client(struct call_ctx *ctx, const struct judge_case *c,
    const struct fh *fh, struct door_obj *obj, struct served_export **found)
{
	struct judged judged = { .export = NULL };
	enum judge_verdict verdict = judge_client_of(c, fh, &judged);

	obj->export = *found = judged.export;
	obj->options = judged.options;
	obj->utf16 = judged.utf16;
	if (judged.export != NULL)
		c->call->queue = ctx->export_id = judged.export->id;
	if (verdict == JUDGE_PASSES)
		ctx->audited |= judged.options->audit && ctx->audit != NULL;
	return verdicts[verdict];
}

/*
 * The export is listed, but its root is missing: perhaps its disk is not mounted.
 * The client shall wait for it.
 */
static enum nfsstat
absent(const struct judge_case *c, const struct door_obj *obj)
{
	judge_refuse(c, obj->export, obj->utf16, JUDGE_ABSENT);
	return NFSERR_JUKEBOX;
}

/*
 * Step 2: the tag is right. The tag of a handle in the cache was checked when
 * the handle came in. Is the export there? May the client change anything?
 */
static enum nfsstat
check_handle(struct call_ctx *ctx, const struct fh *fh, unsigned int want,
    struct door_obj *obj)
{
	const struct door_thread *t = ctx->thread;
	const struct judge_case c = door_case(ctx);

	/* The worker's own check shall reach the broker and the filesystem. */
	if (ctx->call->peer->kind != RPC_SELF)
		obj->entry =
		    cache_find(t->door->cache, fh, t->judge.held.generation);
	if (obj->entry == NULL && !judge_check_tag(&c, obj->export, fh))
		return NFSERR_STALE;
	if (obj->export->root == -1)
		return absent(&c, obj);
	if ((want & (DOOR_MODIFY | DOOR_WRITE)) != 0 && !obj->options->rw)
		return NFSERR_ROFS;
	return NFS_OK;
}

/* Will the call wait for stable storage? Names and attributes wait later (sync.h). */
static bool
waits_for_disk(unsigned int want, const struct door_obj *obj)
{
	return (want & DOOR_STABLE) != 0 && obj->options->sync != SYNC_NONE;
}

/*
 * Will the call ask a filesystem that waits for another machine or process? One
 * that is mounted inside is met by the calls that look at names.
 */
static bool
asks_engine(const struct served_export *e, unsigned int want)
{
	return !e->local_metadata ||
	    (e->slow_inside && (want & (DOOR_DIR | DOOR_LIST)) != 0);
}

/*
 * Before the first system call on the file: does the call have to leave the
 * event loop? To find a file without a kernel handle the broker may have to
 * walk the export.
 */
static bool
must_defer(struct call_ctx *ctx, const struct fh *fh, unsigned int want,
    const struct door_obj *obj)
{
	if (ctx->call->may_block)
		return false;
	if ((want & (DOOR_MODIFY | DOOR_WRITE)) != 0)
		return door_must_defer_change(ctx,
		    waits_for_disk(want, obj) ||
			asks_engine(obj->export, want));
	return (asks_engine(obj->export, want) ||
		   (obj->entry == NULL && !fh_is_kernel(fh))) &&
	    door_must_defer(ctx);
}

/*
 * A file that was just opened has no attributes. An engine has removed it, though
 * the kernel of this machine still opens its handle; or it was moved since.
 */
static enum nfsstat
gone(const struct fh *fh, int error)
{
	if (error != ENOENT && error != ESTALE)
		return nfs_status(error);
	return fh_is_kernel(fh) ? NFSERR_STALE : NFSERR_JUKEBOX;
}

/* A handle that is not in the cache: the broker opens it. Fills the attributes. */
static enum nfsstat
enter(struct call_ctx *ctx, const struct fh *fh, struct door_obj *obj)
{
	struct door_thread *t = ctx->thread;
	bool readable = false;
	int fd;

	fd = door_ask_open(ctx, fh, BROKER_PATH, &readable);
	if (fd == -1)
		return door_status(ctx, errno);
	if (door_fstat(fd, &obj->st) == -1) {
		close_keep_errno(fd);
		return gone(fh, errno);
	}
	obj->entry = cache_add(t->door->cache, fh, t->judge.held.generation,
	    &obj->st, fd, CACHE_SLOT_PATH,
	    obj->export->local_metadata ? 0 : CACHE_SLOW);
	if (obj->entry == NULL)
		return NFSERR_JUKEBOX;
	door_is_inside(ctx, obj->entry);
	return NFS_OK;
}

static enum nfsstat
check_type(mode_t type, unsigned int want)
{
	if ((want & (DOOR_DIR | DOOR_LIST)) != 0 && !S_ISDIR(type))
		return NFSERR_NOTDIR;
	if ((want & (DOOR_FILE | DOOR_READ | DOOR_WRITE)) != 0 &&
	    !S_ISREG(type))
		return S_ISDIR(type) ? NFSERR_ISDIR : NFSERR_INVAL;
	if ((want & DOOR_LINK) != 0 && !S_ISLNK(type))
		return NFSERR_INVAL;
	return NFS_OK;
}

/*
 * The attributes. A descriptor to write is as old as the rights it was opened
 * with. The mode is looked at in the next step. What else open(2) looks at is
 * looked at here, for each call, since every write changes the ctime.
 */
static enum nfsstat
look(struct cache *cache, unsigned int want, bool entered, struct door_obj *obj)
{
	bool fixed = false;
	int result;

	if ((want & DOOR_WRITE) == 0)
		result = entered ? 0 : door_fstat(obj->fd, &obj->st);
	else
		result = door_stat_to_write(obj->fd, &obj->st, &fixed);
	/* An engine has removed the file, or moved it: the broker will tell. */
	if (result == -1 && (errno == ENOENT || errno == ESTALE)) {
		cache_drop(cache, obj->entry);
		return NFSERR_JUKEBOX;
	}
	if (result == -1)
		return nfs_status(errno);
	return fixed ? NFSERR_PERM : NFS_OK;
}

/* Step 4: the entry, its type, its attributes. */
static enum nfsstat
look_at(struct call_ctx *ctx, const struct fh *fh, unsigned int want,
    struct door_obj *obj)
{
	struct cache *cache = ctx->thread->door->cache;
	bool entered = obj->entry == NULL;
	enum nfsstat status;

	if (entered && (status = enter(ctx, fh, obj)) != NFS_OK)
		return status;
	status = check_type(obj->entry->type, want);
	if (status != NFS_OK)
		return status;
	obj->fd = obj->entry->fd;
	status = look(cache, want, entered, obj);
	if (status != NFS_OK)
		return status;
	/* Before the first entry is read. */
	obj->settled =
	    (want & DOOR_LIST) != 0 && door_settled(&obj->st.st_ctim);
	if (obj->st.st_nlink == 0) { /* removed; only our descriptor is left */
		cache_drop(cache, obj->entry);
		return NFSERR_STALE;
	}
	return S_ISDIR(obj->entry->type) ? door_check_inside(ctx, obj) : NFS_OK;
}

/* Step 6: a descriptor for the data, if data is wanted. */
static enum nfsstat
open_data(struct call_ctx *ctx, unsigned int want, struct door_obj *obj)
{
	int fd;

	if ((want & (DOOR_READ | DOOR_WRITE)) == 0)
		return NFS_OK;
	fd = door_data_fd(ctx, obj,
	    (want & DOOR_WRITE) != 0 ? CACHE_SLOT_WRITE : CACHE_SLOT_READ);
	if (fd == -1)
		return door_status(ctx, errno);
	obj->fd = fd;
	return NFS_OK;
}

static enum nfsstat
take_steps(struct call_ctx *ctx, const struct fh *fh, unsigned int want,
    struct door_obj *obj)
{
	const struct judge_case c = door_case(ctx);
	struct served_export *e;
	enum nfsstat status;

	status = check_client(ctx, &c, fh, obj, &e); /* 1 */
	if (status == NFS_OK)
		status = check_handle(ctx, fh, want, obj); /* 2 */
	if (status != NFS_OK) {
		ctx->call->refused = !ctx->changed;
		return status;
	}
	/* Only now: a forged handle must not make another export slow. */
	ctx->thread->export = e;
	if (must_defer(ctx, fh, want, obj))
		return NFS_DEFERRED;
	status = door_act_as_caller(ctx, obj->options); /* 3 */
	if (status == NFS_OK)
		status = look_at(ctx, fh, want, obj); /* 4 */
	if (status != NFS_OK)
		return status;
	if (!door_may_use(ctx, obj, want)) /* 5 */
		return NFSERR_ACCES;
	return open_data(ctx, want, obj); /* 6 */
}

enum nfsstat
door_open(struct call_ctx *ctx, const struct fh *fh, unsigned int want,
    struct door_obj *obj)
{
	struct door_thread *t = ctx->thread;
	struct fh normal = *fh;
	unsigned int others = door_count(t);
	enum nfsstat status;

	/* Without st, which look_at() fills: zeroing it would cost much. */
	obj->fd = -1;
	obj->export = NULL;
	obj->options = NULL;
	obj->entry = NULL;
	obj->thread = t;
	obj->settled = obj->utf16 = false;
	fh_normalize(&normal);
	/*
	 * Counted first: door_release_idle() sees it, or this thread sees that
	 * its list is stale. So it never works with a list that was released.
	 */
	atomic_store(&t->open, others + 1);
	(void)door_hold(t, others > 0);
	status = take_steps(ctx, &normal, want, obj);
	if (status != NFS_OK)
		door_close(obj);
	return status;
}

void
door_close(struct door_obj *obj)
{
	struct door_thread *t = obj->thread;

	if (t == NULL)
		return;
	if (obj->entry != NULL)
		cache_release(t->door->cache, obj->entry);
	atomic_store_explicit(&t->open, door_count(t) - 1,
	    memory_order_release);
	obj->thread = NULL;
	obj->entry = NULL;
	obj->fd = -1;
}

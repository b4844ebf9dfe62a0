/* SPDX-License-Identifier: ISC */
/*
 * See sync.h. fsync(2) of a directory writes its entries, and of a file its
 * attributes. It needs a descriptor that is not O_PATH, and any will do, whatever
 * caller it was opened for. That of a directory is opened with the first change of
 * it, and the cache keeps it. Where the caller cannot open one, the broker syncs and
 * hands out nothing.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "nfsd/door/ask.h"
#include "nfsd/door/state.h"
#include "nfsd/door/sync.h"
#include "pool/pool.h"

bool
door_syncs(const struct door_obj *obj)
{
	return obj->options->sync == SYNC_ALL;
}

static int
sync_fd(const struct cache_entry *entry)
{
	int fd = cache_fd(entry, CACHE_SLOT_READ);

	return fd != -1 ? fd : cache_fd(entry, CACHE_SLOT_WRITE);
}

/* Did the broker not get as far as the disk? */
static bool
is_of_broker(int error)
{
	static const int errors[] = { EPIPE, EAGAIN, ESTALE, EROFS, EMFILE,
		ENFILE, BROKER_FORGED };
	size_t i;

	for (i = 0; i < nitems(errors); i++)
		if (errors[i] == error)
			return true;
	return false;
}

/*
 * Syncs the object, for all calls that wait for that. If the disk failed, earlier
 * unstable writes may be lost as well. Returns errno or 0.
 */
static int
sync_object(struct rpc_errand *errand, unsigned int thread)
{
	struct door_thread *t = door_thread(errand->arg, thread);
	const struct cache_entry *entry = errand->object;
	int fd = sync_fd(entry), error = 0;

	if (fd != -1 && fsync(fd) == -1)
		error = errno;
	/* Some filesystems can sync only files, or only themselves. */
	if (fd == -1 || error == EINVAL)
		error = door_ask_sync(t, &entry->fh) == -1 ? errno : 0;
	if (error != 0 && !is_of_broker(error)) {
		door_writeback_failed(t);
		errand->lasting = error;
	}
	return error;
}

/* Opens a directory as the caller, unless that was done. */
static void
open_dir(const struct call_ctx *ctx, const struct door_obj *dir)
{
	struct cache *cache = dir->thread->door->cache;
	int fd;

	if (cache_fd(dir->entry, CACHE_SLOT_READ) != -1)
		return;
	fd = door_openat(ctx, dir->fd, ".",
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	if (fd != -1)
		cache_add_fd(cache, dir->entry, fd, CACHE_SLOT_READ, false);
}

void
door_sync(struct call_ctx *ctx, const struct door_obj *obj)
{
	struct rpc_call *call = ctx->call;
	struct door *door = ctx->thread->door;

	if (!door_syncs(obj))
		return;
	if (call->nerrands == RPC_ERRANDS)
		fatalx("%s syncs too many objects", call->proc->name);
	if (S_ISDIR(obj->entry->type))
		open_dir(ctx, obj);
	cache_hold(door->cache, obj->entry);
	call->in_order |= !obj->export->names_atomic;
	call->errands[call->nerrands++] = (struct rpc_errand){
		.run = sync_object, .object = obj->entry, .arg = door
	};
}

enum nfsstat
door_settle(struct call_ctx *ctx)
{
	const struct rpc_call *call = ctx->call;
	enum nfsstat status = NFS_OK;
	unsigned int i;

	for (i = 0; i < call->nerrands; i++) {
		if (call->errands[i].result != 0)
			status = NFSERR_IO;
		cache_release(ctx->thread->door->cache,
		    call->errands[i].object);
	}
	return status;
}

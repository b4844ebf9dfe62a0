/* SPDX-License-Identifier: ISC */
/*
 * Descriptors and handles that only the broker can give. When descriptors run
 * out, files that are only cached give way. While the broker is restarting, a
 * file thread waits for it; the event loop defers the call to one.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "nfsd/door/ask.h"
#include "nfsd/door/quota.h"

#define BROKER_MS 3000 /* how long a restarting broker is waited for */

/* The client is told to try again; the administrator learns why. */
static void
log_no_files(void)
{
	if (log_permit("door descriptors", 0))
		log_warnx(
		    "no descriptor left for a file: its client is told to "
		    "try again; LimitNOFILE= or ulimit -n raises the "
		    "limit");
}

enum nfsstat
door_status(struct call_ctx *ctx, int error)
{
	switch (error) {
	case BROKER_FORGED:
		return NFSERR_STALE;
	case EINPROGRESS: /* not asked: a file thread will */
		return NFS_DEFERRED;
	case EPIPE: /* no broker: a file thread waits for it */
		if (door_must_defer(ctx))
			return NFS_DEFERRED;
		return NFSERR_JUKEBOX;
	case EAGAIN:
	case EMFILE:
	case ENFILE:
		return NFSERR_JUKEBOX;
	default:
		return nfs_status(error);
	}
}

int
door_openat(const struct call_ctx *ctx, int dirfd, const char *name, int flags,
    mode_t mode)
{
	int fd = openat(dirfd, name, flags, mode);

	if (fd == -1 && errno == EMFILE &&
	    cache_evict(ctx->thread->door->cache, DOOR_EVICT_AT_ONCE) > 0)
		fd = openat(dirfd, name, flags, mode);
	return fd;
}

/* The event loop does not wait for answers. */
static bool
is_left_to_thread(struct call_ctx *ctx)
{
	if (!door_must_defer_question(ctx))
		return false;
	errno = EINPROGRESS;
	return true;
}

/* After a question failed: is there a new broker to ask again? May wait for it. */
static bool
has_new_broker_soon(const struct door_thread *t)
{
	return errno == EPIPE && broker_client_wait(t->broker, BROKER_MS);
}

static bool
has_new_broker(const struct call_ctx *ctx)
{
	return ctx->call->may_block && has_new_broker_soon(ctx->thread);
}

/* The caller, for a question about this handle. */
static struct broker_open
as_caller(const struct door_thread *t, const struct fh *fh,
    enum broker_want want)
{
	struct broker_open q = { .fh = *fh, .want = want };

	broker_client_caller(&q, &t->cred);
	return q;
}

int
door_ask_open(struct call_ctx *ctx, const struct fh *fh, enum broker_want want,
    bool *readable)
{
	struct door_thread *t = ctx->thread;
	struct broker_open q = as_caller(t, fh, want);
	uint64_t asked = clock_ns();
	int fd;

	if (is_left_to_thread(ctx))
		return -1;
	fd = broker_client_open(t->broker, &q, readable);
	if (fd == -1 && errno == EMFILE &&
	    cache_evict(t->door->cache, DOOR_EVICT_AT_ONCE) > 0)
		fd = broker_client_open(t->broker, &q, readable);
	(void)door_note_wait(t, asked);
	if (fd == -1 && has_new_broker(ctx))
		fd = broker_client_open(t->broker, &q, readable);
	if (fd == -1 && errno == EMFILE) {
		log_no_files();
		errno = EMFILE;
	}
	return fd;
}

int
door_ask_seal(struct call_ctx *ctx, const struct broker_seal *q,
    const char *const *names, int *fds, struct broker_sealed *answer)
{
	struct door_thread *t = ctx->thread;
	uint64_t asked = clock_ns();
	int result;

	if (is_left_to_thread(ctx))
		return -1;
	result = broker_client_seal(t->broker, q, names, fds, answer);
	(void)door_note_wait(t, asked);
	if (result == -1 && has_new_broker(ctx))
		result = broker_client_seal(t->broker, q, names, fds, answer);
	return result;
}

int
door_ask_seal_all(struct door_thread *t, const struct broker_seal *q, int *fds,
    struct broker_sealed *answer)
{
	int result = broker_client_seal(t->broker, q, NULL, fds, answer);

	if (result == -1 && has_new_broker_soon(t))
		result = broker_client_seal(t->broker, q, NULL, fds, answer);
	return result;
}

int
door_ask_sync(const struct door_thread *t, const struct fh *fh)
{
	struct broker_sync q = { .fh = *fh };
	int result;

	result = broker_client_sync(t->broker, &q);
	if (result == -1 && has_new_broker_soon(t))
		result = broker_client_sync(t->broker, &q);
	return result;
}

int
door_ask_data(struct call_ctx *ctx, const struct door_obj *obj,
    enum cache_slot slot)
{
	enum broker_want want =
	    slot == CACHE_SLOT_WRITE ? BROKER_WRITE : BROKER_READ;
	struct cache *cache = ctx->thread->door->cache;
	bool readable = false;
	struct stat now;
	int fd;

	fd = door_ask_open(ctx, &obj->entry->fh, want, &readable);
	if (fd == -1)
		return -1;
	/*
	 * A handle that encodes a path may lead the broker to another file than
	 * the entry holds: then the entry is stale.
	 */
	if (obj->export->ino_ambiguous &&
	    (fstat(fd, &now) == -1 || now.st_ino != obj->st.st_ino ||
		now.st_dev != obj->st.st_dev)) {
		close(fd);
		cache_drop(cache, obj->entry);
		errno = ESTALE;
		return -1;
	}
	cache_add_fd(cache, obj->entry, fd, slot, readable);
	return cache_fd(obj->entry, slot);
}

enum nfsstat
door_chmod_dir(struct call_ctx *ctx, const struct door_obj *dir, mode_t mode)
{
	struct broker_client *broker = ctx->thread->broker;
	struct broker_chmod q = { .dir = as_caller(ctx->thread, &dir->entry->fh,
				      BROKER_PATH),
		.mode = mode & 07777 };

	if (broker_client_chmod(broker, &q) == 0 ||
	    (has_new_broker(ctx) && broker_client_chmod(broker, &q) == 0))
		return NFS_OK;
	return door_status(ctx, errno);
}

static struct broker_acl
acl_of(const struct call_ctx *ctx, const struct door_obj *obj, bool is_default)
{
	return (struct broker_acl){ .file = as_caller(ctx->thread,
					&obj->entry->fh, BROKER_PATH),
		.is_default = is_default };
}

enum nfsstat
door_get_acl(struct call_ctx *ctx, const struct door_obj *obj, bool is_default,
    struct nfs_acl *acl)
{
	struct broker_client *broker = ctx->thread->broker;
	struct broker_acl q = acl_of(ctx, obj, is_default);
	struct broker_got_acl a;
	uint32_t i;

	_Static_assert(BROKER_ACL_MAX == NFS_ACL_MAX, "an answer fits");
	if (is_left_to_thread(ctx) ||
	    (broker_client_get_acl(broker, &q, &a) == -1 &&
		(!has_new_broker(ctx) ||
		    broker_client_get_acl(broker, &q, &a) == -1)))
		return door_status(ctx, errno);
	acl->n = a.n;
	for (i = 0; i < a.n; i++)
		acl->list[i] = (struct nfs_ace){ .tag = a.list[i].tag,
			.perm = a.list[i].perm,
			.id = a.list[i].id };
	return NFS_OK;
}

enum nfsstat
door_set_acl(struct call_ctx *ctx, const struct door_obj *obj, bool is_default,
    const struct nfs_acl *acl)
{
	struct broker_client *broker = ctx->thread->broker;
	struct broker_acl q = acl_of(ctx, obj, is_default);
	struct broker_ace list[BROKER_ACL_MAX];

	for (q.n = 0; q.n < acl->n; q.n++)
		list[q.n] = (struct broker_ace){ .tag = acl->list[q.n].tag,
			.perm = acl->list[q.n].perm,
			.id = acl->list[q.n].id };
	if (broker_client_set_acl(broker, &q, list) == 0 ||
	    (has_new_broker(ctx) &&
		broker_client_set_acl(broker, &q, list) == 0))
		return NFS_OK;
	return door_status(ctx, errno);
}

enum nfsstat
door_get_quota(struct call_ctx *ctx, const struct door_obj *obj, bool of_group,
    uint32_t id, struct nfs_quota *quota)
{
	struct broker_client *broker = ctx->thread->broker;
	struct broker_quota q = { .file = as_caller(ctx->thread,
				      &obj->entry->fh, BROKER_PATH),
		.of_group = of_group,
		.id = id };
	struct broker_got_quota a;

	if (is_left_to_thread(ctx) ||
	    (broker_client_get_quota(broker, &q, &a) == -1 &&
		(!has_new_broker(ctx) ||
		    broker_client_get_quota(broker, &q, &a) == -1)))
		return door_status(ctx, errno);
	*quota = (struct nfs_quota){ .hard_blocks = a.hard_blocks,
		.soft_blocks = a.soft_blocks,
		.bytes = a.bytes,
		.hard_files = a.hard_files,
		.soft_files = a.soft_files,
		.files = a.files,
		.bytes_until = a.bytes_until,
		.files_until = a.files_until };
	return NFS_OK;
}

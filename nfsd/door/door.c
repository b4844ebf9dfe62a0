/* SPDX-License-Identifier: ISC */
/*
 * From a handle to an object the caller may use. The order of the checks is
 * the order in which they get dearer: export, tag (for a handle in the cache
 * it was checked before), client address and port, read-only, identity, then
 * the filesystem.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <sys/resource.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "nfsd/door/list.h"
#include "nfsd/door/state.h"
#include "nfsd/roles/acl.h"

#define DOOR_NO_FILES 0x66696c6573u /* key of a log line */

struct door *
door_new(const struct door_settings *settings)
{
	struct door *door = calloc(1, sizeof(*door));
	unsigned int i;

	if (door == NULL)
		fatal("door");
	pthread_mutex_init(&door->lock, NULL);
	door->mode = settings->mode;
	door->mknod = settings->mknod;
	door->key = settings->key;
	door->nthreads = settings->threads > DOOR_THREADS_MAX ?
	    DOOR_THREADS_MAX :
	    settings->threads;
	door->cache = cache_new(settings->files);
	door->notes = handle_cache_new(settings->notes);
	door->listings = listings_new();
	for (i = 0; i <= door->nthreads; i++) {
		door->threads[i].door = door;
		door->threads[i].index = i;
	}

	return door;
}

void
door_free(struct door *door)
{
	unsigned int i;

	if (door == NULL)
		return;
	for (i = 0; i <= door->nthreads; i++) {
		served_done(atomic_load(&door->threads[i].exports));
		broker_client_free(door->threads[i].broker);
	}
	cache_free(door->cache);
	handle_cache_free(door->notes);
	listings_free(door->listings);
	served_done(door->exports);
	pthread_mutex_destroy(&door->lock);
	free(door);
}

void
door_set_exports(struct door *door, struct served_exports *x)
{
	struct served_exports *old;

	pthread_mutex_lock(&door->lock);
	old = door->exports;
	door->exports = x;
	atomic_store(&door->generation, x->generation);
	pthread_mutex_unlock(&door->lock);
	served_done(old);
}

void
door_set_broker(struct door *door, unsigned int thread,
    struct broker_client *client)
{
	door->threads[thread].broker = client;
}

struct door_thread *
door_thread(struct door *door, unsigned int index)
{
	return &door->threads[index <= door->nthreads ? index : 0];
}

void
door_note_latency(struct door_thread *t, uint64_t now_ns, uint64_t ns)
{
	struct door *door = t->door;

	struct rusage usage;
	long reads;

	if (ns < DOOR_SLOW_NS || t->export == NULL ||
	    getrusage(RUSAGE_THREAD, &usage) == -1)
		return;
	/*
	 * On a busy machine we may just not have been running: only what read
	 * from a disk meanwhile counts, and not the first time.
	 */
	reads = usage.ru_inblock - door->reads;
	door->reads = usage.ru_inblock;
	if (reads == 0)
		return;
	if (now_ns - door->strikes_since > DOOR_STRIKE_NS) {
		door->strikes_since = now_ns;
		door->strikes = 0;
	}
	if (++door->strikes >= DOOR_SLOW_STRIKES)
		atomic_store(&t->export->slow_until, now_ns + DOOR_SLOW_FOR_NS);
}

static unsigned int
open_now(struct door_thread *t)
{
	return atomic_load_explicit(&t->open, memory_order_relaxed);
}

/* Only its thread counts, so that it need not be one step. */
static void
set_open(struct door_thread *t, unsigned int n)
{
	atomic_store_explicit(&t->open, n, memory_order_relaxed);
}

/* A thread that has had nothing to do lets go of the exports of yesterday. */
static void
let_go(struct door_thread *t, uint32_t generation, uint64_t now_ns)
{
	struct served_exports *old = atomic_load(&t->exports);
	uint64_t used_ns =
	    atomic_load_explicit(&t->used_ns, memory_order_relaxed);

	/* It may begin to work at this moment: with another list then. */
	if (open_now(t) != 0 || atomic_load(&t->generation) == generation ||
	    now_ns - used_ns <= DOOR_SLOW_FOR_NS ||
	    !atomic_compare_exchange_strong(&t->exports, &old, NULL))
		return;
	served_done(old);
	if (t->index == 0) /* ours; the others ask for theirs anew */
		t->export = NULL;
}

void
door_release_idle(struct door *door, uint64_t now_ns)
{
	uint32_t generation = atomic_load(&door->generation);
	unsigned int i;

	for (i = 0; i <= door->nthreads; i++)
		let_go(&door->threads[i], generation, now_ns);
}

enum nfsstat
door_status(struct call_ctx *ctx, int error)
{
	switch (error) {
	case BROKER_FORGED:
		return NFSERR_BADHANDLE;
	case EPIPE: /* no broker: waited for on a file thread */
		if (!ctx->changed && door_must_defer(ctx))
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

bool
door_must_defer(struct call_ctx *ctx)
{
	if (ctx->call->may_block)
		return false;
	ctx->call->deferred = true;
	return true;
}

/* The list of now; objects of one call all belong to the same one. */
static struct served_exports *
exports_of(struct door_thread *t)
{
	struct door *door = t->door;
	struct served_exports *x = atomic_load(&t->exports);

	if (x != NULL &&
	    (open_now(t) > 0 ||
		t->generation == atomic_load(&door->generation)))
		return x;
	pthread_mutex_lock(&door->lock);
	x = door->exports == NULL ? NULL : served_use(door->exports);
	pthread_mutex_unlock(&door->lock);
	served_done(atomic_exchange(&t->exports, x));
	t->generation = x == NULL ? 0 : x->generation;
	t->export = NULL;
	t->raw_options = NULL;
	memset(t->peers, 0, sizeof(t->peers));
	return x;
}

const struct export_client *
door_client(struct door_thread *t, const struct served_export *e, bool utf16,
    const struct rpc_peer *peer)
{
	struct door_peer *p;

	p = &t->peers[(addr_hash(&peer->from) + e->id) % DOOR_PEERS];
	if (p->export != e || p->utf16 != utf16 ||
	    !addr_same_host(&p->from, &peer->from)) {
		p->export = e;
		p->utf16 = utf16;
		p->from = peer->from;
		p->client = exports_client(e->conf, &peer->from,
		    utf16 ? NAMES_UTF16LE : NAMES_BYTES);
	}
	if (p->client == NULL || !exports_port_ok(p->client, &peer->from))
		return NULL;
	return p->client;
}

/* Squashes the caller and makes the thread act as him. */
static int
act_as_caller(struct call_ctx *ctx, const struct export_options *options)
{
	struct door_thread *t = ctx->thread;
	const struct rpc_cred *raw = &ctx->call->cred;

	if (!t->started) {
		cred_init(&t->acting, t->door->mode);
		t->started = true;
	}
	if (t->raw_options != options || raw->flavor != t->raw.flavor ||
	    raw->uid != t->raw.uid || raw->gid != t->raw.gid ||
	    raw->ngids != t->raw.ngids ||
	    memcmp(raw->gids, t->raw.gids, raw->ngids * sizeof(raw->gids[0])) !=
		0) {
		t->raw = *raw;
		t->raw_options = options;
		if (t->acting.switches)
			cred_squash(&t->cred, raw, options);
		else
			t->cred = t->acting.now;
		t->caller = cred_key(&t->cred);
	}
	ctx->options = options;
	ctx->uid = t->cred.uid;
	ctx->gid = t->cred.gid;
	return cred_switch(&t->acting, &t->cred);
}

/* Must a call on this export wait for a file thread? */
static bool
must_wait(struct call_ctx *ctx, const struct served_export *e)
{
	if (ctx->call->may_block || ctx->changed)
		return false;
	if (e->local_metadata &&
	    atomic_load_explicit(&e->slow_until, memory_order_relaxed) <=
		ctx->call->started_ns)
		return false;
	ctx->call->deferred = true;
	return true;
}

static int
ask_once(struct door_thread *t, const struct fh *fh, enum broker_want want,
    bool *readable)
{
	struct broker_open q = { .fh = *fh,
		.want = want,
		.uid = t->cred.uid,
		.gid = t->cred.gid,
		.ngids = t->cred.ngids };

	memcpy(q.gids, t->cred.gids, t->cred.ngids * sizeof(q.gids[0]));
	return broker_client_open(t->broker, &q, readable);
}

/* The client asks again; why it has to is for the administrator to know. */
static void
log_no_files(void)
{
	if (log_permit(DOOR_NO_FILES))
		log_warnx(
		    "no descriptor left for a file: its client is told to "
		    "try again; LimitNOFILE= or ulimit -n raises the "
		    "limit");
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

int
door_ask_open(struct call_ctx *ctx, const struct fh *fh, enum broker_want want,
    bool *readable)
{
	struct door_thread *t = ctx->thread;
	int fd;

	fd = ask_once(t, fh, want, readable);
	if (fd == -1 && errno == EMFILE &&
	    cache_evict(t->door->cache, DOOR_EVICT_AT_ONCE) > 0)
		fd = ask_once(t, fh, want, readable);
	if (fd == -1 && errno == EPIPE && ctx->call->may_block &&
	    broker_client_wait(t->broker, DOOR_BROKER_MS))
		fd = ask_once(t, fh, want, readable);
	if (fd == -1 && errno == EMFILE) {
		log_no_files();
		errno = EMFILE;
	}
	return fd;
}

int
door_ask_seal(struct call_ctx *ctx, const struct broker_seal *q,
    const char *const *names, const int *fds, struct broker_sealed *answer)
{
	struct door_thread *t = ctx->thread;
	int result;

	result = broker_client_seal(t->broker, q, names, fds, answer);
	if (result == -1 && errno == EPIPE && ctx->call->may_block &&
	    broker_client_wait(t->broker, DOOR_BROKER_MS))
		result = broker_client_seal(t->broker, q, names, fds, answer);
	return result;
}

/* What the operation needs a descriptor for. */
static enum broker_want
want_of(unsigned int want)
{
	if ((want & DOOR_WRITE) != 0)
		return BROKER_WRITE;
	return (want & DOOR_READ) != 0 ? BROKER_READ : BROKER_PATH;
}

static enum cache_slot
slot_of(enum broker_want want)
{
	static const enum cache_slot slots[BROKER_WANTS] = {
		[BROKER_PATH] = CACHE_SLOT_PATH,
		[BROKER_READ] = CACHE_SLOT_READ,
		[BROKER_WRITE] = CACHE_SLOT_WRITE,
	};

	return slots[want];
}

/* A handle that is not in the cache: the broker opens it. */
static enum nfsstat
enter(struct call_ctx *ctx, const struct fh *fh, struct door_obj *obj)
{
	struct door_thread *t = ctx->thread;
	bool readable = false;
	struct stat st;
	int fd;

	fd = door_ask_open(ctx, fh, BROKER_PATH, &readable);
	if (fd == -1)
		return door_status(ctx, errno);
	if (fstat(fd, &st) == -1) {
		close(fd);
		return nfs_status(errno);
	}
	obj->entry = cache_add(t->door->cache, fh, t->generation, &st, fd,
	    CACHE_SLOT_PATH, obj->export->local_metadata ? 0 : CACHE_SLOW);
	return obj->entry == NULL ? NFSERR_JUKEBOX : NFS_OK;
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

static bool
kernel_grants(int fd, int mode)
{
	return syscall(SYS_faccessat2, fd, "", mode,
		   AT_EMPTY_PATH | AT_EACCESS) == 0;
}

/*
 * Gives an entry a descriptor (taken over) for its data. By a handle that tells
 * a name the broker may have opened another file than we hold: then it is the
 * entry that is old.
 */
static bool
add_data(struct door_thread *t, struct cache_entry *entry,
    const struct stat *st, int fd, enum cache_slot slot, bool readable)
{
	struct stat now;

	if (t->export->ino_ambiguous &&
	    (fstat(fd, &now) == -1 || now.st_ino != st->st_ino ||
		now.st_dev != st->st_dev)) {
		close(fd);
		cache_drop(t->door->cache, entry);
		errno = ESTALE;
		return false;
	}
	cache_add_fd(t->door->cache, entry, fd, slot, readable);
	return true;
}

/*
 * May the caller execute it? No kernel tells the ACL of an O_PATH descriptor.
 * sure: the answer is not one for want of a better.
 */
static bool
executes(struct door_thread *t, struct cache_entry *entry, int fd,
    const struct stat *st, bool *sure)
{
	struct cache *cache = t->door->cache;
	int data = cache_fd(cache, entry, CACHE_SLOT_READ);
	bool readable = false;
	enum acl_answer may;

	/* Where the mode has no such bit an ACL has none in force either. */
	if ((st->st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) == 0)
		return false;
	if (data == -1 &&
	    (data = ask_once(t, &entry->fh, BROKER_READ, &readable)) != -1) {
		if (!add_data(t, entry, st, data, CACHE_SLOT_READ, false))
			return false;
		data = cache_fd(cache, entry, CACHE_SLOT_READ);
	} else if (data == -1 && errno == EACCES)
		return false; /* who may execute may read: it was looked at */
	may = acl_permits(&t->acting, data == -1 ? fd : data, st, X_OK);
	*sure = may != ACL_UNKNOWN;
	/* Who may execute may read: he must be allowed to read at least. */
	return may == ACL_YES ||
	    (may == ACL_UNKNOWN && kernel_grants(fd, R_OK));
}

/* Asks the kernel, where it can be asked. */
static bool
asks(struct door_thread *t, struct cache_entry *entry, int fd,
    const struct stat *st, int mode, bool *sure)
{
	if (mode == X_OK && S_ISREG(st->st_mode))
		return executes(t, entry, fd, st, sure);
	return kernel_grants(fd, mode);
}

bool
door_settled(const struct timespec *ctime)
{
	struct timespec now = clock_wall();

	return (int64_t)(now.tv_sec - ctime->tv_sec) * 1000 +
	    (now.tv_nsec - ctime->tv_nsec) / 1000000 >
	    (ctime->tv_nsec == 0 ? DOOR_COARSE_MS : DOOR_SETTLED_MS);
}

/* What the kernel grants the caller, remembered by ctime. */
static int
rights(struct door_thread *t, struct cache_entry *entry, int fd,
    const struct stat *st, int asked)
{
	static const int each[] = { R_OK, W_OK, X_OK };
	bool sure = true, settled;
	int granted = 0;
	size_t i;

	if (cache_granted(t->door->cache, entry, t->caller, &st->st_ctim, asked,
		&granted))
		return granted;
	settled = door_settled(&st->st_ctim); /* before the first question */
	for (i = 0; i < nitems(each); i++)
		if ((asked & each[i]) != 0 &&
		    asks(t, entry, fd, st, each[i], &sure))
			granted |= each[i];
	if (sure && settled)
		cache_grant(t->door->cache, entry, t->caller, &st->st_ctim,
		    asked, granted);
	return granted;
}

/*
 * May the caller use the data? The owner may, whatever the mode (he opened it
 * on his side before he changed the mode), and who may execute may read.
 */
static bool
may_use(struct door_thread *t, const struct door_obj *obj, unsigned int want)
{
	int need = (want & DOOR_WRITE) != 0 ? W_OK : R_OK;

	if ((want & (DOOR_READ | DOOR_WRITE | DOOR_LIST)) == 0)
		return true;
	if ((want & DOOR_LIST) == 0 && obj->st.st_uid == t->cred.uid)
		return true;
	if (rights(t, obj->entry, obj->fd, &obj->st, need) == need)
		return true;
	return (want & (DOOR_READ | DOOR_WRITE)) == DOOR_READ &&
	    rights(t, obj->entry, obj->fd, &obj->st, X_OK) == X_OK;
}

/* The descriptor for what is wanted: one that is there, or the broker's. */
static enum nfsstat
open_data(struct call_ctx *ctx, unsigned int want, struct door_obj *obj)
{
	struct cache *cache = ctx->thread->door->cache;
	enum broker_want ask = want_of(want);
	bool readable = false;
	int fd;

	if (ask == BROKER_PATH)
		return NFS_OK;
	fd = cache_fd(cache, obj->entry, slot_of(ask));
	if (fd == -1) {
		fd = door_ask_open(ctx, &obj->entry->fh, ask, &readable);
		if (fd == -1 ||
		    !add_data(ctx->thread, obj->entry, &obj->st, fd,
			slot_of(ask), readable))
			return door_status(ctx, errno);
		fd = cache_fd(cache, obj->entry, slot_of(ask));
	}
	obj->fd = fd;
	return NFS_OK;
}

/* The entry, its type, its attributes, the caller's right, the descriptor. */
static enum nfsstat
open_entry(struct call_ctx *ctx, const struct fh *fh, unsigned int want,
    struct door_obj *obj)
{
	struct door_thread *t = ctx->thread;
	struct cache *cache = t->door->cache;
	enum nfsstat status;

	if (obj->entry == NULL && (status = enter(ctx, fh, obj)) != NFS_OK)
		return status;
	status = check_type(obj->entry->type, want);
	if (status != NFS_OK)
		return status;
	obj->fd = cache_fd(cache, obj->entry, CACHE_SLOT_PATH);
	if (fstat(obj->fd, &obj->st) == -1)
		return nfs_status(errno);
	/* Before the first entry is read. */
	obj->settled =
	    (want & DOOR_LIST) != 0 && door_settled(&obj->st.st_ctim);
	if (obj->st.st_nlink == 0) { /* removed, only our descriptor is left */
		cache_drop(cache, obj->entry);
		return NFSERR_STALE;
	}
	if (!may_use(t, obj, want))
		return NFSERR_ACCES;
	return open_data(ctx, want, obj);
}

/* Everything that can be refused without looking at the file. */
static enum nfsstat
check_call(struct call_ctx *ctx, const struct served_exports *x,
    const struct fh *fh, unsigned int want, struct door_obj *obj)
{
	struct door_thread *t = ctx->thread;
	const struct export_client *client;
	struct fh_plain plain;
	struct served_export *e;

	e = x == NULL ? NULL : served_find(x, fh_export_id(fh));
	if (e == NULL)
		return NFSERR_BADHANDLE;
	ctx->call->queue = e->id;
	obj->entry = cache_find(t->door->cache, fh, t->generation);
	if (obj->entry == NULL &&
	    !fh_check_worker(fh, e->path, &t->door->key, &plain))
		return NFSERR_BADHANDLE;
	obj->utf16 = fh_is_utf16(fh);
	client = door_client(t, e, obj->utf16, ctx->call->peer);
	if (client == NULL)
		return NFSERR_ACCES;
	if ((want & (DOOR_MODIFY | DOOR_WRITE)) != 0 && !client->options.rw)
		return NFSERR_ROFS;
	/* Finding a file again may mean to walk the export. */
	if (must_wait(ctx, e) ||
	    (obj->entry == NULL && plain.kind != FH_KERNEL && !ctx->changed &&
		door_must_defer(ctx)))
		return NFS_DEFERRED;
	if (act_as_caller(ctx, &client->options) == -1)
		return NFSERR_SERVERFAULT;
	obj->export = t->export = e;
	obj->options = &client->options;
	return NFS_OK;
}

/* Now, as far as it matters here; a call may have waited for its thread. */
static uint64_t
call_ns(const struct rpc_call *call)
{
	return call->may_block ? clock_ns() : call->started_ns;
}

enum nfsstat
door_open(struct call_ctx *ctx, const struct fh *fh, unsigned int want,
    struct door_obj *obj)
{
	struct door_thread *t = ctx->thread;
	struct fh normal = *fh;
	struct served_exports *x;
	enum nfsstat status;

	memset(obj, 0, sizeof(*obj));
	obj->fd = -1;
	obj->thread = t;
	atomic_store_explicit(&t->used_ns, call_ns(ctx->call),
	    memory_order_relaxed);
	fh_normalize(&normal);
	x = exports_of(t);
	set_open(t, open_now(t) + 1);
	status = check_call(ctx, x, &normal, want, obj);
	if (status == NFS_OK)
		status = open_entry(ctx, &normal, want, obj);
	if (status != NFS_OK)
		door_close(obj);
	return status;
}

void
door_close(struct door_obj *obj)
{
	struct cache *cache;

	if (obj->thread == NULL)
		return;
	cache = obj->thread->door->cache;
	if (obj->own_fd)
		door_list_close(obj);
	if (obj->entry != NULL)
		cache_release(cache, obj->entry);
	set_open(obj->thread, open_now(obj->thread) - 1);
	obj->thread = NULL;
	obj->entry = NULL;
	obj->own_fd = false;
	obj->fd = -1;
}

int
door_access(struct call_ctx *ctx, const struct door_obj *obj, int mode)
{
	if (!obj->options->rw)
		mode &= ~W_OK;
	return mode == 0 ?
	    0 :
	    rights(ctx->thread, obj->entry, obj->fd, &obj->st, mode);
}

bool
door_is_root(const struct call_ctx *ctx)
{
	return ctx->uid == 0 && ctx->thread->acting.switches;
}

bool
door_may_mknod(const struct call_ctx *ctx)
{
	return door_is_root(ctx) && ctx->thread->door->mknod;
}

uint32_t
door_uid(const struct call_ctx *ctx)
{
	return ctx->uid;
}

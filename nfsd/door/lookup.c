/* SPDX-License-Identifier: ISC */
/*
 * From a name in a directory to a handle. The kernel decides whether the caller
 * may: it walks the name as the caller, or is asked whether the caller may
 * search. The handle comes from the cache if the file is known, else from the
 * broker. Nothing is followed, and another mount is entered only if it is an
 * export that this client may use.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "nfsd/door/ask.h"
#include "nfsd/door/list.h"
#include "nfsd/door/quota.h"
#include "nfsd/door/state.h"

#define STAT_FLAGS (AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT)
#define STAT_MASK  (STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID)
#define OPEN_FLAGS (O_PATH | O_NOFOLLOW | O_CLOEXEC)

/* What statx(2) tells beyond struct stat. */
struct more {
	struct timespec btime; /* creation */
	bool has_btime;
	uint64_t mount_id; /* 0: not known */
};

/* A directory as the broker is told of it. */
struct dir_ref {
	const struct served_export *export;
	const struct fh *fh;
	bool utf16;
};

static struct dir_ref
dir_ref(const struct door_obj *dir)
{
	struct dir_ref in = { .export = dir->export,
		.fh = &dir->entry->fh,
		.utf16 = dir->utf16 };

	return in;
}

static void
from_statx(const struct statx *sx, struct stat *st, struct more *more)
{
	door_from_statx(sx, st);
	more->has_btime = (sx->stx_mask & STATX_BTIME) != 0;
	more->btime.tv_sec = sx->stx_btime.tv_sec;
	more->btime.tv_nsec = (long)sx->stx_btime.tv_nsec;
	more->mount_id =
	    (sx->stx_mask & STATX_MNT_ID) != 0 ? sx->stx_mnt_id : 0;
}

/* An empty name means dirfd itself. */
static int
stat_name(int dirfd, const char *name, struct stat *st, struct more *more)
{
	struct statx sx;

	if (statx(dirfd, name, STAT_FLAGS | (*name == '\0' ? AT_EMPTY_PATH : 0),
		STAT_MASK, &sx) == -1)
		return -1;
	from_statx(&sx, st, more);
	return 0;
}

/*
 * The same for a name that may not be in memory. If the call must be deferred,
 * errno is EINPROGRESS: see door_status().
 */
static int
stat_in(struct call_ctx *ctx, const struct door_obj *dir, const char *name,
    struct stat *st, struct more *more)
{
	struct door_use use;
	int result;

	if (door_must_defer_cold(ctx, dir, name, &use)) {
		errno = EINPROGRESS;
		return -1;
	}
	result = stat_name(dir->fd, name, st, more);
	/* The kernel remembers what is not there, too. */
	if (result == 0 || errno == ENOENT)
		door_used(ctx, &use);
	return result;
}

/*
 * Does it lie on another mount than its export's, or is it the root of an
 * export inside? Where the exports are no mounts, only the inode tells.
 */
static bool
crosses(const struct door_found *f, const struct more *more)
{
	const struct served_export *e = f->export;

	if (e->ninner > 0 && S_ISDIR(f->st.st_mode) &&
	    served_find_inner(e, f->st.st_dev, f->st.st_ino) != NULL)
		return true;
	if (e->mount_id != 0 && more->mount_id != 0)
		return more->mount_id != e->mount_id;
	return f->st.st_dev != e->dev && e->fs.magic != 0;
}

/*
 * Do inode number and creation time identify the file? Only on the device of
 * the export's root, which is open: btrfs gives the device of a deleted snapshot
 * to the next one, with the same inode numbers and creation times.
 */
static bool
is_identified(const struct door_found *f, const struct more *more)
{
	return f->export->ino_btime_unique && more->has_btime &&
	    f->st.st_dev == f->export->dev;
}

/* Fills the handle of a file that is known, without a descriptor. */
static bool
is_known(struct call_ctx *ctx, bool utf16, const struct more *more,
    struct door_found *f)
{
	struct door_thread *t = ctx->thread;
	const struct stat *st = &f->st;
	uint16_t id = f->export->id;

	if (f->export->ino_ambiguous)
		return false;
	return cache_handle(t->door->cache, t->judge.held.generation, id, utf16,
		   st->st_dev, st->st_ino, &f->fh) ||
	    (!utf16 && is_identified(f, more) &&
		handle_cache_find(t->door->notes, t->judge.held.generation, id,
		    st->st_dev, st->st_ino, &more->btime, &f->fh));
}

/* The sealed handle of an export's root. */
static enum nfsstat
seal_root(struct call_ctx *ctx, const struct served_export *e, bool utf16,
    struct fh *fh)
{
	struct broker_seal q = { .utf16 = utf16, .export_id = e->id };
	struct broker_sealed answer;

	if (door_ask_seal(ctx, &q, NULL, NULL, &answer) == -1)
		return door_status(ctx, errno);
	*fh = answer.list[0].fh;
	return answer.list[0].error == 0 ? NFS_OK :
					   nfs_status(answer.list[0].error);
}

/* Is the path that of the export, or below it? */
static bool
covers(const struct served_export *e, struct slice path)
{
	size_t len = strlen(e->path);

	return path.len >= len && memcmp(path.data, e->path, len) == 0 &&
	    (path.len == len || path.data[len] == '/');
}

/* The innermost export that a path lies in, or NULL. */
static const struct served_export *
find_covering(const struct served_exports *x, struct slice path)
{
	const struct served_export *best = NULL;
	size_t i;

	for (i = 0; x != NULL && i < x->n; i++)
		if (covers(&x->list[i], path) &&
		    (best == NULL ||
			strlen(x->list[i].path) > strlen(best->path)))
			best = &x->list[i];
	return best;
}

static enum nfsstat
find_root(struct call_ctx *ctx, struct slice path, struct fh *root)
{
	const struct judge_case c = door_case(ctx);
	const struct export_client *client;
	const struct served_export *e;
	enum judge_refusal why;

	e = find_covering(atomic_load(&c.thread->held.list), path);
	if (e == NULL)
		return NFSERR_NOENT;
	client = judge_call(&c, e, false, &why);
	if (client == NULL || e->root == -1) {
		judge_refuse(&c, e, false, client == NULL ? why : JUDGE_ABSENT);
		return client == NULL ? NFSERR_ACCES : NFSERR_NOENT;
	}
	if (e->outer != NULL && !client->options.crossmnt)
		return NFSERR_ACCES;
	return seal_root(ctx, e, false, root);
}

enum nfsstat
door_root(struct call_ctx *ctx, struct slice path, struct fh *root)
{
	struct door_thread *t = ctx->thread;
	unsigned int others = door_count(t);
	enum nfsstat status;

	/* As in door_open(). */
	atomic_store(&t->open, others + 1);
	(void)door_hold(t, others > 0);
	status = find_root(ctx, path, root);
	atomic_store_explicit(&t->open, others, memory_order_release);
	return status;
}

/* Another mount: the root of an export that this client may use too. */
static enum nfsstat
enter_export(struct call_ctx *ctx, bool utf16, const struct more *more,
    struct door_found *f)
{
	struct door_thread *t = ctx->thread;
	const struct export_client *client;
	const struct served_export *e;

	e = served_find_root(atomic_load(&t->judge.held.list), more->mount_id,
	    f->st.st_dev, f->st.st_ino);
	client = e == NULL ?
	    NULL :
	    judge_client(&t->judge, e, utf16, ctx->call->peer, NULL);
	if (client == NULL || (e->outer != NULL && !client->options.crossmnt))
		return NFSERR_ACCES;
	f->export = e;
	if (is_known(ctx, utf16, more, f))
		return NFS_OK;
	return seal_root(ctx, e, utf16, &f->fh);
}

/* Seals descriptors of names in a directory; answers as the broker gave them. */
static int
seal(struct call_ctx *ctx, const struct dir_ref *in, const char *const *names,
    int *fds, size_t n, struct broker_sealed *answer)
{
	struct broker_seal q = { .export_id = in->export->id,
		.n = (uint32_t)n,
		.utf16 = in->utf16,
		.dir = *in->fh };

	return door_ask_seal(ctx, &q, names, fds, answer);
}

/* Enters a descriptor (taken over) of a found file into the cache. */
static void
enter_cache(struct call_ctx *ctx, const struct door_found *f, int fd,
    enum cache_slot slot)
{
	struct door_thread *t = ctx->thread;
	struct cache_entry *entry;

	entry = cache_add(t->door->cache, &f->fh, t->judge.held.generation,
	    &f->st, fd, slot,
	    (slot == CACHE_SLOT_WRITE ? CACHE_READS : 0) |
		(f->export->local_metadata ? 0 : CACHE_SLOW));
	if (entry != NULL)
		cache_release(t->door->cache, entry);
}

/* Has the descriptor (taken over) of a name sealed, and enters it. */
static enum nfsstat
adopt(struct call_ctx *ctx, const struct dir_ref *in, const char *name, int fd,
    enum cache_slot slot, struct door_found *f)
{
	struct broker_sealed answer;
	int error = 0;

	if (seal(ctx, in, &name, &fd, 1, &answer) == -1)
		error = errno;
	else if (answer.list[0].error != 0)
		error = answer.list[0].error;
	if (error != 0) {
		close(fd);
		return door_status(ctx, error);
	}
	f->fh = answer.list[0].fh;
	/*
	 * A handle that encodes a path: that of ".." is made from where the
	 * directory was, which may not be where this descriptor is.
	 */
	if (in->export->ino_ambiguous && strcmp(name, "..") == 0)
		close(fd);
	else
		enter_cache(ctx, f, fd, slot);
	return NFS_OK;
}

/* Opens a name that is not known and enters it. */
static enum nfsstat
discover(struct call_ctx *ctx, const struct door_obj *dir, const char *name,
    struct door_found *f)
{
	struct dir_ref in = dir_ref(dir);
	struct more more;
	int fd;

	if (door_must_defer_question(ctx))
		return NFS_DEFERRED;
	fd = door_openat(ctx, dir->fd, name, OPEN_FLAGS, 0);
	if (fd == -1)
		return door_status(ctx, errno);
	/* What was opened counts; the name may mean another file by now. */
	if (stat_name(fd, "", &f->st, &more) == -1) {
		close(fd);
		return nfs_status(errno);
	}
	if (crosses(f, &more)) {
		close(fd);
		return enter_export(ctx, dir->utf16, &more, f);
	}
	return adopt(ctx, &in, name, fd, CACHE_SLOT_PATH, f);
}

enum nfsstat
door_lookup(struct call_ctx *ctx, const struct door_obj *dir, const char *name,
    struct door_found *f)
{
	struct more more;

	f->export = dir->export;
	if (stat_in(ctx, dir, name, &f->st, &more) == -1)
		return door_status(ctx, errno);
	if (crosses(f, &more))
		return enter_export(ctx, dir->utf16, &more, f);
	if (is_known(ctx, dir->utf16, &more, f))
		return NFS_OK;
	return discover(ctx, dir, name, f);
}

bool
door_is_border(const struct door_obj *dir, const char *name)
{
	struct stat st;

	return dir->export->ninner > 0 &&
	    fstatat(dir->fd, name, &st, STAT_FLAGS) == 0 &&
	    served_find_inner(dir->export, st.st_dev, st.st_ino) != NULL;
}

/*
 * The directory open at fd (taken over), as the parent of another that lies
 * inside. If a local user moves that one out just now, the new parent's handle
 * is of no use: door_open() checks it.
 */
static enum nfsstat
adopt_parent(struct call_ctx *ctx, const struct dir_ref *in, int fd,
    struct door_found *f)
{
	struct more more;

	f->export = in->export;
	if (stat_name(fd, "", &f->st, &more) == -1 || crosses(f, &more)) {
		close(fd);
		return NFSERR_STALE;
	}
	if (!is_known(ctx, in->utf16, &more, f))
		return adopt(ctx, in, "..", fd, CACHE_SLOT_PATH, f);
	close(fd);
	return NFS_OK;
}

/*
 * ".." of a submount's root lies in the export around it, of which the broker
 * is told the root.
 */
static enum nfsstat
parent_outside(struct call_ctx *ctx, const struct door_obj *dir,
    struct door_found *f)
{
	struct fh top;
	struct dir_ref outer = {
		.export = dir->export->outer, .fh = &top, .utf16 = dir->utf16
	};
	enum nfsstat status;
	int fd;

	status = seal_root(ctx, outer.export, dir->utf16, &top);
	if (status != NFS_OK)
		return status;
	fd = door_openat(ctx, dir->fd, "..", OPEN_FLAGS | O_DIRECTORY, 0);
	if (fd == -1)
		return NFSERR_STALE;
	return adopt_parent(ctx, &outer, fd, f);
}

enum nfsstat
door_parent(struct call_ctx *ctx, const struct door_obj *dir,
    struct door_found *f)
{
	const struct served_export *e = dir->export;
	struct dir_ref in = dir_ref(dir);
	int fd;

	if (dir->st.st_ino == e->ino && dir->st.st_dev == e->dev) {
		if (e->outer != NULL)
			return parent_outside(ctx, dir, f);
		f->fh = dir->entry->fh;
		f->st = dir->st;
		f->export = e;
		return NFS_OK;
	}
	fd = door_openat(ctx, dir->fd, "..", OPEN_FLAGS | O_DIRECTORY, 0);
	if (fd == -1)
		return errno == ENOENT ? NFSERR_STALE : nfs_status(errno);
	return adopt_parent(ctx, &in, fd, f);
}

enum nfsstat
door_adopt(struct call_ctx *ctx, const struct door_obj *dir, const char *name,
    int fd, struct fh *later, struct door_found *f)
{
	struct dir_ref in = dir_ref(dir);

	f->export = dir->export;
	if (fstat(fd, &f->st) == -1) {
		close(fd);
		return nfs_status(errno);
	}
	if (later != NULL && door_may_ask_later(ctx, dir) &&
	    door_ask_later(ctx, dir, fd, &f->st, later))
		return NFS_OK;
	return adopt(ctx, &in, name, fd, CACHE_SLOT_WRITE, f);
}

/* The unknown names of a listing, collected for one question. */
struct batch {
	struct door_name *list[BROKER_SEAL_MAX];
	const char *names[BROKER_SEAL_MAX];
	struct more more[BROKER_SEAL_MAX];
	int fds[BROKER_SEAL_MAX];
	size_t n;
};

/* Adds a name that is not known to the batch. */
static void
collect_unknown(struct call_ctx *ctx, const struct door_obj *dir,
    struct door_name *name, struct batch *b)
{
	struct door_found *f = &name->found;
	struct more *more = &b->more[b->n];
	int fd;

	if (strlen(name->name) > BROKER_NAME_MAX) {
		name->status = NFSERR_NAMETOOLONG;
		return;
	}
	fd = door_openat(ctx, dir->fd, name->name, OPEN_FLAGS, 0);
	if (fd == -1) {
		name->status = door_status(ctx, errno);
		return;
	}
	if (stat_name(fd, "", &f->st, more) == -1)
		name->status = nfs_status(errno);
	else if (crosses(f, more))
		name->status = enter_export(ctx, dir->utf16, more, f);
	else {
		b->list[b->n] = name;
		b->names[b->n] = name->name;
		b->fds[b->n++] = fd;
		return;
	}
	close(fd);
}

/*
 * Remembers the handle for when the descriptor is closed. Only handles of the
 * kernel: others say where the file was last seen.
 */
static void
remember_handle(struct call_ctx *ctx, const struct door_found *f,
    const struct more *more, const struct timespec *asked)
{
	struct door_thread *t = ctx->thread;

	if (is_identified(f, more) && fh_is_kernel(&f->fh))
		handle_cache_add(t->door->notes, t->judge.held.generation,
		    f->st.st_dev, f->st.st_ino, &more->btime, asked, &f->fh);
}

/* Has the names of the batch sealed. */
static void
seal_unknown(struct call_ctx *ctx, const struct door_obj *dir, struct batch *b)
{
	struct timespec asked = clock_wall();
	struct dir_ref in = dir_ref(dir);
	struct broker_sealed answer;
	int all = 0, error;
	size_t i;
	bool keep;

	if (b->n == 0)
		return;
	/* A handle that may mean another file later must be in the cache. */
	keep = dir->export->ino_ambiguous ||
	    cache_has_room(ctx->thread->door->cache, b->n);
	if (seal(ctx, &in, b->names, b->fds, b->n, &answer) == -1)
		all = errno;
	for (i = 0; i < b->n; i++) {
		struct door_name *name = b->list[i];

		error = all != 0 ? all : answer.list[i].error;
		name->status = error == 0 ? NFS_OK : door_status(ctx, error);
		if (error == 0) {
			name->found.fh = answer.list[i].fh;
			remember_handle(ctx, &name->found, &b->more[i], &asked);
		}
		if (error == 0 && keep)
			enter_cache(ctx, &name->found, b->fds[i],
			    CACHE_SLOT_PATH);
		else
			close(b->fds[i]);
	}
	b->n = 0;
}

/*
 * May an inode number of a directory's entry stand for the file? Where inode
 * numbers are those of kernel handles, and for callers that may search.
 */
static bool
may_use_inodes(struct call_ctx *ctx, const struct door_obj *dir)
{
	return dir->export->local_metadata && !dir->export->ino_ambiguous &&
	    fh_is_kernel(&dir->entry->fh) &&
	    door_access(ctx, dir, X_OK) == X_OK;
}

/* Not of directories, since another mount may cover one. */
ino_t
door_inode_number(const struct dirent64 *d)
{
	return d->d_type == DT_REG || d->d_type == DT_LNK ? d->d_ino : 0;
}

/*
 * Fills in the names whose files are open: fstat(2) is cheaper than walking a
 * name. While the directory is unchanged its entries have their inode numbers,
 * and while a file is held no other can have its inode number.
 */
static void
stat_inodes(struct call_ctx *ctx, const struct door_obj *dir,
    struct door_name *names, size_t n)
{
	struct door_thread *t = ctx->thread;
	struct cache *cache = t->door->cache;
	struct cache_held held[DOOR_MANY_MAX];
	struct door_found *f;
	bool unchanged;
	size_t i;

	for (i = 0; i < n; i++)
		held[i].ino = names[i].ino;
	cache_hold_files(cache, t->judge.held.generation, dir->export->id,
	    dir->utf16, dir->st.st_dev, held, n);
	unchanged = door_list_unchanged(dir);
	for (i = 0; unchanged && i < n; i++) {
		f = &names[i].found;
		if (names[i].ino == 0 || held[i].entry == NULL ||
		    door_fstat(held[i].entry->fd, &f->st) == -1 ||
		    f->st.st_nlink == 0)
			continue;
		f->fh = held[i].entry->fh;
		names[i].status = NFS_OK;
	}
	cache_release_files(cache, held, n);
}

bool
door_lookup_many(struct call_ctx *ctx, const struct door_obj *dir,
    struct door_name *names, size_t n)
{
	struct door_found *f;
	struct batch b;
	struct more more;
	size_t i;

	b.n = 0;
	for (i = 0; i < n; i++) {
		names[i].status = NFS_DEFERRED;
		names[i].found.export = dir->export;
	}
	if (may_use_inodes(ctx, dir))
		stat_inodes(ctx, dir, names, n);
	for (i = 0; i < n; i++) {
		f = &names[i].found;
		if (names[i].status == NFS_OK)
			continue;
		if (dir->st.st_size > DOOR_LARGE_DIR && door_must_defer(ctx))
			return false; /* the first of them: b is empty */
		if (stat_in(ctx, dir, names[i].name, &f->st, &more) == -1)
			names[i].status = door_status(ctx, errno);
		else if (!crosses(f, &more) &&
		    is_known(ctx, dir->utf16, &more, f))
			names[i].status = NFS_OK;
		else if (door_must_defer_question(ctx))
			return false; /* likewise */
		else
			collect_unknown(ctx, dir, &names[i], &b);
		if (names[i].status == NFS_DEFERRED && ctx->call->deferred)
			return false; /* likewise */
		if (b.n == BROKER_SEAL_MAX)
			seal_unknown(ctx, dir, &b);
	}
	seal_unknown(ctx, dir, &b);
	return true;
}

enum nfsstat
door_link(struct call_ctx *ctx, const struct door_obj *file,
    const struct door_obj *dir, const char *name)
{
	struct door_thread *t = ctx->thread;
	struct broker_link q = { .file = { .fh = file->entry->fh },
		.dir = dir->entry->fh };

	if (file->export != dir->export)
		return NFSERR_XDEV;
	broker_client_caller(&q.file, &t->cred);
	if (broker_client_link(t->broker, &q, name) == 0)
		return NFS_OK;
	return door_status(ctx, errno);
}

void
door_moved(struct call_ctx *ctx, const struct door_obj *dir, const char *name)
{
	struct dir_ref in = dir_ref(dir);
	struct broker_sealed answer;
	int fd;

	if (fh_is_kernel(in.fh))
		return;
	fd = door_openat(ctx, dir->fd, name, OPEN_FLAGS, 0);
	if (fd == -1)
		return;
	(void)seal(ctx, &in, &name, &fd, 1, &answer);
	close(fd);
}

void
door_forget(struct call_ctx *ctx, const struct stat *gone)
{
	if (gone->st_mode != 0 &&
	    (gone->st_nlink <= 1 || S_ISDIR(gone->st_mode)))
		cache_forget(ctx->thread->door->cache, gone->st_dev,
		    gone->st_ino);
}

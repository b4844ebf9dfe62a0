/* SPDX-License-Identifier: ISC */
/*
 * From a name in a directory to a handle. The kernel decides who may: it walks
 * the name as the caller, or is asked whether he may search. The handle comes
 * from the cache when the file is known and from the broker when not. Nothing
 * is followed, and another mount is entered only where it is an export that
 * this client may use.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <sys/sysmacros.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "nfsd/door/ask.h"
#include "nfsd/door/list.h"
#include "nfsd/door/state.h"

#define LOOK_FLAGS (AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT)
#define LOOK_MASK  (STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID)
#define OPEN_FLAGS (O_PATH | O_NOFOLLOW | O_CLOEXEC)
#define CLIMB_MAX  4096 /* directories from one to its root */

/* What a name means: attributes, birth, mount. */
struct look {
	struct stat st;
	struct timespec born;
	bool has_born;
	uint64_t mount_id;
};

static void
from_statx(struct look *look, const struct statx *sx)
{
	struct stat *st = &look->st;

	memset(look, 0, sizeof(*look));
	st->st_dev = makedev(sx->stx_dev_major, sx->stx_dev_minor);
	st->st_rdev = makedev(sx->stx_rdev_major, sx->stx_rdev_minor);
	st->st_ino = sx->stx_ino;
	st->st_mode = sx->stx_mode;
	st->st_nlink = sx->stx_nlink;
	st->st_uid = sx->stx_uid;
	st->st_gid = sx->stx_gid;
	st->st_size = (off_t)sx->stx_size;
	st->st_blocks = (blkcnt_t)sx->stx_blocks;
	st->st_blksize = (blksize_t)sx->stx_blksize;
	st->st_atim.tv_sec = sx->stx_atime.tv_sec;
	st->st_atim.tv_nsec = sx->stx_atime.tv_nsec;
	st->st_mtim.tv_sec = sx->stx_mtime.tv_sec;
	st->st_mtim.tv_nsec = sx->stx_mtime.tv_nsec;
	st->st_ctim.tv_sec = sx->stx_ctime.tv_sec;
	st->st_ctim.tv_nsec = sx->stx_ctime.tv_nsec;
	look->has_born = (sx->stx_mask & STATX_BTIME) != 0;
	look->born.tv_sec = sx->stx_btime.tv_sec;
	look->born.tv_nsec = sx->stx_btime.tv_nsec;
	look->mount_id =
	    (sx->stx_mask & STATX_MNT_ID) != 0 ? sx->stx_mnt_id : 0;
}

static int
look_at(int dirfd, const char *name, struct look *look)
{
	struct statx sx;

	if (statx(dirfd, name, LOOK_FLAGS | (*name == '\0' ? AT_EMPTY_PATH : 0),
		LOOK_MASK, &sx) == -1)
		return -1;
	from_statx(look, &sx);
	return 0;
}

/* Does the name lead into another mount than the export's? */
static bool
crosses(const struct served_export *e, const struct look *look)
{
	if (e->mount_id != 0 && look->mount_id != 0)
		return look->mount_id != e->mount_id;
	return look->st.st_dev != e->dev && e->fs.magic != 0;
}

/*
 * Do number and birth tell the file? Only on the device of the export's root,
 * which we hold: btrfs gives the device of a snapshot that is gone to the next
 * one, with the same numbers and births.
 */
static bool
is_notable(const struct served_export *e, const struct look *look)
{
	return e->ino_btime_unique && look->has_born &&
	    look->st.st_dev == e->dev;
}

/* Without a descriptor, when the file is known. */
static bool
known(struct call_ctx *ctx, const struct served_export *e, bool utf16,
    const struct look *look, struct fh *fh)
{
	struct door_thread *t = ctx->thread;
	const struct stat *st = &look->st;

	if (e->ino_ambiguous)
		return false;
	return cache_handle(t->door->cache, t->held.generation, e->id, utf16,
		   st->st_dev, st->st_ino, fh) ||
	    (!utf16 && is_notable(e, look) &&
		handle_cache_find(t->door->notes, t->held.generation, e->id,
		    st->st_dev, st->st_ino, &look->born, fh));
}

/* The sealed handle of an export's root. */
static enum nfsstat
root_of(struct call_ctx *ctx, const struct served_export *e, bool utf16,
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

/*
 * Another export's root, when this client may use that export too. Its device
 * becomes DOOR_EXPORT_DEV: the attributes are those of that export.
 */
static enum nfsstat
enter_export(struct call_ctx *ctx, const struct door_obj *dir,
    struct look *look, struct fh *fh)
{
	struct door_thread *t = ctx->thread;
	const struct export_client *client;
	enum nfsstat status = NFS_OK;
	struct served_export *e;

	e = served_find_root(atomic_load(&t->held.list), look->mount_id,
	    look->st.st_dev, look->st.st_ino);
	client =
	    e == NULL ? NULL : door_client(t, e, dir->utf16, ctx->call->peer);
	if (client == NULL || (e->outer != NULL && !client->options.crossmnt))
		return NFSERR_ACCES;
	if (!known(ctx, e, dir->utf16, look, fh))
		status = root_of(ctx, e, dir->utf16, fh);
	look->st.st_dev = DOOR_EXPORT_DEV | e->id;
	return status;
}

/* Seals descriptors of names in dir; answers as the broker gave them. */
static int
seal(struct call_ctx *ctx, const struct door_obj *dir, const char *const *names,
    int *fds, size_t n, struct broker_sealed *answer)
{
	struct broker_seal q = { .export_id = dir->export->id,
		.n = (uint32_t)n,
		.utf16 = dir->utf16,
		.dir = dir->entry->fh };

	return door_ask_seal(ctx, &q, names, fds, answer);
}

/* A descriptor (taken over) becomes an entry; its handle comes back. */
static enum nfsstat
adopt(struct call_ctx *ctx, const struct door_obj *dir, const char *name,
    int fd, enum cache_slot slot, const struct stat *st, struct fh *fh)
{
	struct door_thread *t = ctx->thread;
	struct broker_sealed answer;
	struct cache_entry *entry;
	int error = 0;

	if (seal(ctx, dir, &name, &fd, 1, &answer) == -1)
		error = errno;
	else if (answer.list[0].error != 0)
		error = answer.list[0].error;
	if (error != 0) {
		close(fd);
		return door_status(ctx, error);
	}
	*fh = answer.list[0].fh;
	/* That of a name is told by where the directory was, not where it is. */
	if (dir->export->ino_ambiguous && strcmp(name, "..") == 0) {
		close(fd);
		return NFS_OK;
	}
	entry = cache_add(t->door->cache, fh, t->held.generation, st, fd, slot,
	    (slot == CACHE_SLOT_WRITE ? CACHE_READS : 0) |
		(dir->export->local_metadata ? 0 : CACHE_SLOW));
	if (entry != NULL)
		cache_release(t->door->cache, entry);
	return NFS_OK;
}

/* Opens a name that is not known and enters it. */
static enum nfsstat
discover(struct call_ctx *ctx, const struct door_obj *dir, const char *name,
    struct look *look, struct fh *fh)
{
	int fd;

	fd = door_openat(ctx, dir->fd, name, OPEN_FLAGS, 0);
	if (fd == -1)
		return door_status(ctx, errno);
	/* What was opened counts; the name may mean another file by now. */
	if (look_at(fd, "", look) == -1) {
		close(fd);
		return nfs_status(errno);
	}
	if (crosses(dir->export, look)) {
		close(fd);
		return enter_export(ctx, dir, look, fh);
	}
	return adopt(ctx, dir, name, fd, CACHE_SLOT_PATH, &look->st, fh);
}

enum nfsstat
door_lookup(struct call_ctx *ctx, const struct door_obj *dir, const char *name,
    struct fh *fh, struct stat *st)
{
	enum nfsstat status = NFS_OK;
	struct look look;

	if (look_at(dir->fd, name, &look) == -1)
		return nfs_status(errno);
	if (crosses(dir->export, &look))
		status = enter_export(ctx, dir, &look, fh);
	else if (!known(ctx, dir->export, dir->utf16, &look, fh))
		status = discover(ctx, dir, name, &look, fh);
	if (status == NFS_OK)
		*st = look.st;
	return status;
}

/*
 * Without a mount of its own an export does not stop at its root by itself: a
 * directory moved out of it must not lead further out.
 */
static bool
is_inside(const struct served_export *e, int fd)
{
	int up, at = dup(fd), depth;
	struct stat st;
	ino_t last = 0;
	bool inside = false;

	for (depth = 0; at != -1 && depth < CLIMB_MAX; depth++) {
		if (fstat(at, &st) == -1 || st.st_ino == last)
			break;
		inside = st.st_ino == e->ino && st.st_dev == e->dev;
		if (inside)
			break;
		last = st.st_ino;
		up = openat(at, "..", OPEN_FLAGS | O_DIRECTORY);
		close(at);
		at = up;
	}
	if (at != -1)
		close(at);
	return inside;
}

/* What the directory open at fd (taken over) is in an export. */
static enum nfsstat
place_in(struct call_ctx *ctx, const struct door_obj *dir, int fd,
    struct fh *fh, struct stat *st)
{
	struct look look;
	enum nfsstat status = NFS_OK;

	if (look_at(fd, "", &look) == -1 || crosses(dir->export, &look) ||
	    !is_inside(dir->export, fd)) {
		close(fd);
		return NFSERR_STALE;
	}
	if (known(ctx, dir->export, dir->utf16, &look, fh))
		close(fd);
	else
		status =
		    adopt(ctx, dir, "..", fd, CACHE_SLOT_PATH, &look.st, fh);
	*st = look.st;
	return status;
}

/* ".." of a submount's root lies in the export around it. */
static enum nfsstat
parent_outside(struct call_ctx *ctx, const struct door_obj *dir, struct fh *fh,
    struct stat *st)
{
	struct door_obj outer = *dir;
	struct cache_entry top = { .refs = 1 };
	enum nfsstat status;
	int fd;

	outer.export = dir->export->outer;
	outer.entry = &top; /* only its handle is looked at */
	status = root_of(ctx, outer.export, dir->utf16, &top.fh);
	if (status != NFS_OK)
		return status;
	fd = door_openat(ctx, dir->fd, "..", OPEN_FLAGS | O_DIRECTORY, 0);
	if (fd == -1)
		return NFSERR_STALE;
	status = place_in(ctx, &outer, fd, fh, st);
	if (status == NFS_OK)
		st->st_dev = DOOR_EXPORT_DEV | outer.export->id;
	return status;
}

enum nfsstat
door_parent(struct call_ctx *ctx, const struct door_obj *dir, struct fh *fh,
    struct stat *st)
{
	const struct served_export *e = dir->export;
	int fd;

	if (dir->st.st_ino == e->ino && dir->st.st_dev == e->dev) {
		if (e->outer != NULL)
			return parent_outside(ctx, dir, fh, st);
		*fh = dir->entry->fh;
		*st = dir->st;
		return NFS_OK;
	}
	fd = door_openat(ctx, dir->fd, "..", OPEN_FLAGS | O_DIRECTORY, 0);
	if (fd == -1)
		return errno == ENOENT ? NFSERR_STALE : nfs_status(errno);
	return place_in(ctx, dir, fd, fh, st);
}

enum nfsstat
door_adopt(struct call_ctx *ctx, const struct door_obj *dir, const char *name,
    int fd, bool data, struct fh *fh, struct stat *st)
{
	if (fstat(fd, st) == -1) {
		close(fd);
		return nfs_status(errno);
	}
	return adopt(ctx, dir, name, fd,
	    data ? CACHE_SLOT_WRITE : CACHE_SLOT_PATH, st, fh);
}

/* The names of a listing that nobody knew yet, gathered for one question. */
struct batch {
	struct door_name *list[BROKER_SEAL_MAX];
	const char *names[BROKER_SEAL_MAX];
	struct look looks[BROKER_SEAL_MAX];
	int fds[BROKER_SEAL_MAX];
	size_t n;
};

/* The descriptor (taken over) will answer for the file from now on. */
static void
keep_file(struct call_ctx *ctx, const struct door_obj *dir,
    const struct door_name *name, int fd)
{
	struct door_thread *t = ctx->thread;
	struct cache_entry *entry;

	entry = cache_add(t->door->cache, &name->fh, t->held.generation,
	    &name->st, fd, CACHE_SLOT_PATH,
	    dir->export->local_metadata ? 0 : CACHE_SLOW);
	if (entry != NULL)
		cache_release(t->door->cache, entry);
}

static void
settle(struct call_ctx *ctx, const struct door_obj *dir, struct batch *b)
{
	struct door_thread *t = ctx->thread;
	struct broker_sealed answer;
	struct timespec now;
	size_t i;
	int error = 0;
	bool keep;

	if (b->n == 0)
		return;
	/* Where a handle may mean another file by now the cache has to know. */
	keep =
	    dir->export->ino_ambiguous || cache_has_room(t->door->cache, b->n);
	now = clock_wall();
	if (seal(ctx, dir, b->names, b->fds, b->n, &answer) == -1)
		error = errno;
	for (i = 0; i < b->n; i++) {
		struct door_name *name = b->list[i];
		const struct look *look = &b->looks[i];

		name->status =
		    door_status(ctx, error != 0 ? error : answer.list[i].error);
		if (error != 0 || answer.list[i].error != 0 || !keep)
			close(b->fds[i]);
		if (error != 0 || answer.list[i].error != 0)
			continue;
		name->status = NFS_OK;
		name->st = look->st;
		name->fh = answer.list[i].fh;
		if (keep)
			keep_file(ctx, dir, name, b->fds[i]);
		/*
		 * Kept or not: it is known when it has been closed, too. Other
		 * handles than the kernel's tell where the file was last seen.
		 */
		if (is_notable(dir->export, look) && fh_is_kernel(&name->fh))
			handle_cache_add(t->door->notes, t->held.generation,
			    look->st.st_dev, look->st.st_ino, &look->born, &now,
			    &name->fh);
	}
	b->n = 0;
}

/* Puts a name that is not known into the batch. */
static void
gather(struct call_ctx *ctx, const struct door_obj *dir, struct door_name *name,
    struct batch *b)
{
	struct look *look = &b->looks[b->n];
	int fd = door_openat(ctx, dir->fd, name->name, OPEN_FLAGS, 0);

	if (fd == -1) {
		name->status = door_status(ctx, errno);
		return;
	}
	if (look_at(fd, "", look) == -1)
		name->status = nfs_status(errno);
	else if (crosses(dir->export, look)) {
		name->status = enter_export(ctx, dir, look, &name->fh);
		name->st = look->st;
	} else {
		b->list[b->n] = name;
		b->names[b->n] = name->name;
		b->fds[b->n++] = fd;
		return;
	}
	close(fd);
}

/*
 * May a number in a directory stand for the file? Where numbers are the
 * kernel's handles', and only to who may search the directory.
 */
static bool
by_number(struct call_ctx *ctx, const struct door_obj *dir)
{
	return dir->export->local_metadata && !dir->export->ino_ambiguous &&
	    fh_is_kernel(&dir->entry->fh) &&
	    door_access(ctx, dir, X_OK) == X_OK;
}

/* Something may be mounted on a directory, and on what is not told. */
ino_t
door_inode_number(const struct dirent64 *d)
{
	return d->d_type == DT_REG || d->d_type == DT_LNK ? d->d_ino : 0;
}

/*
 * Fills in the names whose files we hold open: asking a descriptor is cheaper
 * than walking a name. While the directory is unchanged its entries have their
 * numbers, and while we hold a file no other can have its number.
 */
static void
look_by_number(struct call_ctx *ctx, const struct door_obj *dir,
    struct door_name *names, size_t n)
{
	struct door_thread *t = ctx->thread;
	struct cache *cache = t->door->cache;
	struct cache_held held[DOOR_MANY_MAX];
	bool unchanged;
	size_t i;

	for (i = 0; i < n; i++)
		held[i].ino = names[i].ino;
	cache_hold_files(cache, t->held.generation, dir->export->id, dir->utf16,
	    dir->st.st_dev, held, n);
	unchanged = door_list_unchanged(dir);
	for (i = 0; unchanged && i < n; i++) {
		if (names[i].ino == 0 || held[i].entry == NULL ||
		    fstat(held[i].entry->fd, &names[i].st) == -1 ||
		    names[i].st.st_nlink == 0)
			continue;
		names[i].fh = held[i].entry->fh;
		names[i].status = NFS_OK;
	}
	cache_release_files(cache, held, n);
}

bool
door_lookup_many(struct call_ctx *ctx, const struct door_obj *dir,
    struct door_name *names, size_t n)
{
	struct batch b;
	struct look look;
	size_t i;

	b.n = 0;
	for (i = 0; i < n; i++)
		names[i].status = NFS_DEFERRED;
	if (by_number(ctx, dir))
		look_by_number(ctx, dir, names, n);
	for (i = 0; i < n; i++) {
		if (names[i].status == NFS_OK)
			continue;
		if (dir->st.st_size > DOOR_LARGE_DIR && door_must_defer(ctx))
			return false; /* the first of them: b is empty */
		if (look_at(dir->fd, names[i].name, &look) == -1)
			names[i].status = nfs_status(errno);
		else if (!crosses(dir->export, &look) &&
		    known(ctx, dir->export, dir->utf16, &look, &names[i].fh)) {
			names[i].status = NFS_OK;
			names[i].st = look.st;
		} else
			gather(ctx, dir, &names[i], &b);
		if (b.n == BROKER_SEAL_MAX)
			settle(ctx, dir, &b);
	}
	settle(ctx, dir, &b);
	return true;
}

enum nfsstat
door_link(struct call_ctx *ctx, const struct door_obj *file,
    const struct door_obj *dir, const char *name)
{
	struct door_thread *t = ctx->thread;
	struct broker_link q = { .file = { .fh = file->entry->fh,
				     .uid = t->cred.uid,
				     .gid = t->cred.gid,
				     .ngids = t->cred.ngids },
		.dir = dir->entry->fh };

	if (file->export != dir->export)
		return NFSERR_XDEV;
	memcpy(q.file.gids, t->cred.gids,
	    t->cred.ngids * sizeof(q.file.gids[0]));
	if (broker_client_link(t->broker, &q, name) == 0)
		return NFS_OK;
	return door_status(ctx, errno);
}

void
door_moved(struct call_ctx *ctx, const struct door_obj *dir, const char *name)
{
	struct broker_sealed answer;
	int fd;

	if (fh_is_kernel(&dir->entry->fh))
		return;
	fd = door_openat(ctx, dir->fd, name, OPEN_FLAGS, 0);
	if (fd == -1)
		return;
	(void)seal(ctx, dir, &name, &fd, 1, &answer);
	close(fd);
}

void
door_forget(struct call_ctx *ctx, const struct door_obj *dir,
    const struct stat *gone)
{
	(void)dir;
	if (gone->st_mode != 0 &&
	    (gone->st_nlink <= 1 || S_ISDIR(gone->st_mode)))
		cache_forget(ctx->thread->door->cache, gone->st_dev,
		    gone->st_ino);
}

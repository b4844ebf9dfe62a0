/* SPDX-License-Identifier: ISC */
/*
 * Walks an export and notes where each file is.
 * Runs in: nfsd broker.
 */
#include <sys/stat.h>
#include <sys/syscall.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "nfsd/broker/inode_parts.h"

/* Is it the root of an export inside this one? */
static bool
is_border(const struct inode_table *t, int fd)
{
	struct stat st;
	size_t i;

	if (t->nborders == 0)
		return false;
	if (fstat(fd, &st) == -1)
		return true;
	for (i = 0; i < t->nborders; i++)
		if (t->borders[i].ino == st.st_ino &&
		    t->borders[i].dev == st.st_dev)
			return true;
	return false;
}

int
inode_open_at(const struct inode_table *t, int dirfd, const char *name,
    uint64_t flags, uint64_t resolve)
{
	struct open_how how = { .flags = flags | O_NOFOLLOW | O_CLOEXEC };
	int fd;

	how.resolve = resolve | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
	    (t->crossmnt ? 0 : RESOLVE_NO_XDEV);
	fd = (int)syscall(SYS_openat2, dirfd, name, &how, sizeof(how));
	if (fd == -1 || !is_border(t, fd))
		return fd;
	close(fd);
	errno = EXDEV;
	return -1;
}

int
inode_open_beneath(const struct inode_table *t, int dirfd, const char *name,
    uint64_t flags)
{
	return inode_open_at(t, dirfd, name, flags, RESOLVE_BENEATH);
}

bool
inode_is_absence(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ELOOP ||
	    error == EXDEV || error == ESTALE;
}

/* The identity of name in a directory, by the rule of the filesystem. */
static int
identify(const struct inode_table *t, const struct fh_id *parent, int dirfd,
    const char *name, struct fh_id *id)
{
	if (t->fs.naming != FH_BY_NAME)
		return fh_fs_id(&t->fs, dirfd, name, id);
	fh_fs_name_id(parent, name, id);
	return 0;
}

/*
 * Directories still to be read. The walk goes by what it finds, not by the
 * table, which may forget while it runs: each directory carries its own path
 * as a chain of these, freed when the last below it is done.
 */
struct todo {
	struct todo *next;
	struct todo *above;
	size_t refs;
	struct fh_id id;
	dev_t dev; /* once it was entered */
	ino_t ino;
	char name[];
};

static struct todo *
todo_new(struct todo *above, const struct fh_id *id, const char *name)
{
	struct todo *d = malloc(sizeof(*d) + strlen(name) + 1);

	if (d == NULL)
		return NULL;
	d->next = NULL;
	d->above = above;
	d->refs = 1;
	d->id = *id;
	d->dev = 0;
	d->ino = 0;
	memcpy(d->name, name, strlen(name) + 1);
	if (above != NULL)
		above->refs++;
	return d;
}

static void
todo_put(struct todo *d)
{
	struct todo *above;

	while (d != NULL && --d->refs == 0) {
		above = d->above;
		free(d);
		d = above;
	}
}

/* Opens a directory of the walk from the root. */
static int
todo_open(const struct inode_table *t, const struct todo *d)
{
	const struct todo *path[INODE_DEPTH_MAX];
	size_t depth = 0;
	int fd, below;

	for (; d->above != NULL; d = d->above) {
		if (depth == INODE_DEPTH_MAX) {
			errno = ENAMETOOLONG;
			return -1;
		}
		path[depth++] = d;
	}
	fd = inode_open_beneath(t, t->root, ".", O_PATH | O_DIRECTORY);
	while (fd != -1 && depth > 0) {
		below = inode_open_beneath(t, fd, path[--depth]->name,
		    O_PATH | O_DIRECTORY);
		close(fd);
		fd = below;
	}
	return fd;
}

/*
 * A walk stands in one directory. It goes on to one below it, or climbs to one
 * above and to another below that. So each directory is opened about twice,
 * however deep it lies, and no more than two are open at a time.
 */
struct walk {
	struct inode_table *table;
	struct todo *stack;
	struct todo *at; /* where it stands; NULL: nowhere */
	int fd; /* of that; belongs to dir if there is one */
	DIR *dir;
	size_t seen;
	bool complete;
};

/* Leaves the directory; stands in another one, or nowhere (NULL, -1). */
static void
stand(struct walk *w, struct todo *at, int fd, DIR *dir)
{
	if (at != NULL)
		at->refs++;
	todo_put(w->at);
	if (w->dir != NULL)
		closedir(w->dir);
	else if (w->fd != -1)
		close(w->fd);
	w->at = at;
	w->fd = fd;
	w->dir = dir;
}

/*
 * Opens what the directory lies in, if that is still the one it was found in. A
 * directory that was moved leads elsewhere, perhaps out of the export.
 */
static int
open_above(const struct walk *w)
{
	const struct todo *above = w->at->above;
	struct stat st;
	int fd;

	fd = inode_open_at(w->table, w->fd, "..", O_PATH | O_DIRECTORY, 0);
	if (fd == -1 ||
	    (fstat(fd, &st) == 0 && st.st_dev == above->dev &&
		st.st_ino == above->ino))
		return fd;
	close(fd);
	return -1;
}

/* Goes to a directory that is above, or is, the one where the walk stands. */
static bool
climb(struct walk *w, struct todo *to)
{
	int fd;

	while (w->at != NULL && w->at != to) {
		fd = open_above(w);
		stand(w, fd == -1 ? NULL : w->at->above, fd, NULL);
	}
	if (w->at == NULL && (fd = todo_open(w->table, to)) != -1)
		stand(w, to, fd, NULL);
	return w->at != NULL;
}

/* Enters a directory, to read it. */
static bool
enter(struct walk *w, struct todo *d)
{
	bool top = d->above == NULL;
	DIR *dir = NULL;
	struct stat st;
	int fd;

	if (!top && !climb(w, d->above))
		return false;
	fd = inode_open_beneath(w->table, top ? w->table->root : w->fd,
	    top ? "." : d->name, O_RDONLY | O_DIRECTORY);
	if (fd == -1 || fstat(fd, &st) == -1 || (dir = fdopendir(fd)) == NULL) {
		close_keep_errno(fd);
		return false;
	}
	d->dev = st.st_dev;
	d->ino = st.st_ino;
	stand(w, d, fd, dir);
	return true;
}

/* Notes one entry and, for a directory, puts it on the stack. */
static void
visit(struct walk *w, struct todo *dir, int dirfd, const struct dirent *e)
{
	struct inode_table *t = w->table;
	struct todo *below;
	struct fh_id id;
	struct stat st;
	uint32_t at;
	bool is_dir = e->d_type == DT_DIR;

	if (identify(t, &dir->id, dirfd, e->d_name, &id) == -1) {
		if (!inode_is_absence(errno)) /* else removed meanwhile */
			w->complete = false;
		return;
	}
	if (e->d_type == DT_UNKNOWN)
		is_dir =
		    fstatat(dirfd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISDIR(st.st_mode);
	pthread_mutex_lock(&t->lock);
	at = inode_find_id(t, &dir->id);
	if (at != NONE && inode_note(t, at, e->d_name, &id) == NONE)
		w->complete = false;
	pthread_mutex_unlock(&t->lock);
	if (!is_dir)
		return;
	below = todo_new(dir, &id, e->d_name);
	if (below == NULL) {
		w->complete = false;
		return;
	}
	below->next = w->stack;
	w->stack = below;
}

static void
read_directory(struct walk *w, struct todo *dir)
{
	struct dirent *e;

	if (!enter(w, dir)) {
		w->complete = w->complete && inode_is_absence(errno);
		return;
	}
	while (errno = 0, (e = readdir(w->dir)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (++w->seen > INODE_WALK_MAX) {
			w->complete = false;
			break;
		}
		visit(w, dir, w->fd, e);
	}
	if (e == NULL && errno != 0) /* an error, not the end */
		w->complete = false;
}

/* Tells the calls that wait that more places are known. */
static void
tell(struct inode_table *t)
{
	pthread_mutex_lock(&t->lock);
	pthread_cond_broadcast(&t->walked);
	pthread_mutex_unlock(&t->lock);
}

/* Notes that a walk is over; with the lock held. */
static void
finish(struct inode_table *t, const struct walk *w, uint64_t took)
{
	t->walking = false;
	if (w->complete && t->n < t->max)
		t->complete = t->begun;
	t->quiet_until =
	    clock_ms() + INODE_QUIET_MS + took * INODE_QUIET_FACTOR;
	pthread_cond_broadcast(&t->walked);
}

void
inode_walk(struct inode_table *t)
{
	struct walk w = { .table = t, .fd = -1 };
	struct fh_id root = t->places[ROOT].id;
	uint64_t started = clock_ms();
	struct todo *dir;

	t->walking = true;
	t->begun++;
	pthread_mutex_unlock(&t->lock);
	w.stack = todo_new(NULL, &root, "");
	w.complete = w.stack != NULL;
	while ((dir = w.stack) != NULL) {
		w.stack = dir->next;
		if (w.seen <= INODE_WALK_MAX)
			read_directory(&w, dir);
		todo_put(dir);
		tell(t);
	}
	stand(&w, NULL, -1, NULL);
	if (w.seen > INODE_WALK_MAX && log_permit("walk cut", 0))
		log_warnx("an export without kernel handles has more than %d "
			  "files: not all are found again; no flag raises it, "
			  "export parts of it",
		    INODE_WALK_MAX);
	pthread_mutex_lock(&t->lock);
	finish(t, &w, clock_ms() - started);
}

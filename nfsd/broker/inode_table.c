/* SPDX-License-Identifier: ISC */
/*
 * The table: an array of places linked into hash chains by the 48-bit short
 * form of the identity, which both handle kinds lead to. A place knows its
 * directory by index; a directory is not forgotten while something below it is
 * remembered, so a path can always be put together.
 *
 * Chains and hand look like those of the worker's descriptor cache, and are not
 * shared with it. There an entry stays in place while it is held and is found by
 * two keys; here the array moves when it grows, and what may go depends on the
 * entries below. What is common is six lines.
 * Runs in: nfsd broker.
 */
#include <sys/stat.h>
#include <sys/syscall.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "nfsd/broker/inode_table.h"

#define NONE UINT32_MAX
#define ROOT 0u

struct place {
	struct fh_id id;
	uint32_t parent;
	uint32_t next; /* in the chain, or in the list of free places */
	uint32_t children;
	bool used; /* holds a place */
	bool recent; /* asked for since the clock's hand passed */
	char *name;
};

struct inode_table {
	pthread_mutex_t lock;
	pthread_cond_t walked;
	struct fh_fs fs;
	int root;
	bool crossmnt;
	struct inode_border *borders;
	size_t nborders;
	bool walking;
	uint64_t quiet_until; /* ms; no walk before */
	bool complete; /* the last walk saw everything */
	struct place *places;
	size_t n, max, room; /* in use, limit, allocated */
	uint32_t hand;
	uint32_t *chains;
	uint32_t mask;
};

static uint32_t *
chain(struct inode_table *t, uint64_t brief)
{
	return &t->chains[(brief ^ (brief >> 24)) & t->mask];
}

static uint32_t
find_id(struct inode_table *t, const struct fh_id *id)
{
	uint32_t i = *chain(t, fh_fs_short(id));

	while (i != NONE && memcmp(&t->places[i].id, id, sizeof(*id)) != 0)
		i = t->places[i].next;
	return i;
}

static void
unlink_place(struct inode_table *t, uint32_t i)
{
	struct place *p = &t->places[i];
	uint32_t *link = chain(t, fh_fs_short(&p->id));

	while (*link != i)
		link = &t->places[*link].next;
	*link = p->next;
	t->places[p->parent].children--;
	free(p->name);
	p->name = NULL;
	p->used = false;
	t->n--;
}

/* A place to fill: a fresh one, or the first the clock's hand finds idle. */
static uint32_t
free_place(struct inode_table *t)
{
	struct place *more;
	size_t i, room;

	if (t->n == t->room && t->room < t->max) {
		room = t->room * 2 < t->max ? t->room * 2 : t->max;
		more = recallocarray(t->places, t->room, room, sizeof(*more));
		if (more != NULL) {
			t->places = more;
			t->room = room;
		}
	}
	/* Three rounds: a parent is free once its children are gone. */
	for (i = 0; i < t->room * 3; i++) {
		uint32_t at = t->hand;
		struct place *p = &t->places[at];

		t->hand = (uint32_t)((t->hand + 1) % t->room);
		if (!p->used)
			return at;
		if (t->n < t->room || at == ROOT || p->children > 0)
			continue;
		if (p->recent) {
			p->recent = false;
			continue;
		}
		unlink_place(t, at);
		return at;
	}
	return NONE;
}

/*
 * Before place i is moved below parent. If i is known to be above parent, part
 * of what is known is out of date: directories were moved meanwhile. The place
 * just below i is then forgotten, so that paths never form a circle: it stands
 * below the root with an empty name, where no file is found.
 */
static void
cut_circle(struct inode_table *t, uint32_t i, uint32_t parent)
{
	struct place *p;

	if (t->places[i].children == 0)
		return;
	for (; parent != ROOT && parent != i; parent = p->parent) {
		p = &t->places[parent];
		if (p->parent != i)
			continue;
		t->places[i].children--;
		t->places[ROOT].children++;
		p->parent = ROOT;
		p->name[0] = '\0';
		return;
	}
}

/* With the lock held. Returns the index of the child or NONE. */
static uint32_t
note(struct inode_table *t, uint32_t parent, const char *name,
    const struct fh_id *id)
{
	uint32_t i = find_id(t, id), *link;
	struct place *p;
	char *copy;

	if (i == ROOT || i == parent) /* no directory lies in itself */
		return i;
	if (i != NONE && t->places[i].parent == parent &&
	    strcmp(t->places[i].name, name) == 0)
		return i;
	copy = strdup(name);
	if (copy == NULL)
		return NONE;
	if (i != NONE)
		cut_circle(t, i, parent);
	t->places[parent]
	    .children++; /* keeps free_place() from taking the parent */
	if (i == NONE) {
		i = free_place(t);
		if (i == NONE) {
			t->places[parent].children--;
			free(copy);
			return NONE;
		}
		p = &t->places[i];
		p->id = *id;
		p->used = true;
		p->children = 0;
		link = chain(t, fh_fs_short(id));
		p->next = *link;
		*link = i;
		t->n++;
	} else {
		p = &t->places[i];
		t->places[p->parent].children--;
		free(p->name);
	}
	p->parent = parent;
	p->name = copy;
	p->recent = true;
	return i;
}

struct inode_table *
inode_table_new(const struct fh_fs *fs, int root, size_t max, bool crossmnt)
{
	struct inode_table *t = calloc(1, sizeof(*t));
	size_t i, chains = 1;

	if (t == NULL)
		return NULL;
	t->fs = *fs;
	t->root = root;
	t->crossmnt = crossmnt;
	t->max = max < 2 ? 2 : max > INODE_TABLE_MAX ? INODE_TABLE_MAX : max;
	while (chains < t->max)
		chains *= 2;
	t->mask = (uint32_t)(chains - 1);
	t->room = t->max < 64 ? t->max : 64;
	t->places = calloc(t->room, sizeof(*t->places));
	t->chains = malloc(chains * sizeof(*t->chains));
	if (t->places == NULL || t->chains == NULL) {
		free(t->places);
		free(t->chains);
		free(t);
		return NULL;
	}
	for (i = 0; i < chains; i++)
		t->chains[i] = NONE;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->walked, NULL);
	if (fs->naming == FH_BY_NAME)
		fh_fs_name_id(NULL, "", &t->places[ROOT].id);
	else
		(void)fh_fs_id(fs, root, "", &t->places[ROOT].id);
	t->places[ROOT].used = true;
	t->places[ROOT].next = NONE;
	*chain(t, fh_fs_short(&t->places[ROOT].id)) = ROOT;
	t->n = 1;
	t->hand = 1;
	return t;
}

void
inode_table_free(struct inode_table *t)
{
	size_t i;

	if (t == NULL)
		return;
	for (i = 0; i < t->room; i++)
		free(t->places[i].name);
	pthread_cond_destroy(&t->walked);
	pthread_mutex_destroy(&t->lock);
	free(t->places);
	free(t->chains);
	free(t->borders);
	free(t);
}

bool
inode_table_set_borders(struct inode_table *t, const struct inode_border *list,
    size_t n)
{
	t->borders = calloc(n + 1, sizeof(*list));
	if (t->borders == NULL)
		return false;
	if (n > 0)
		memcpy(t->borders, list, n * sizeof(*list));
	t->nborders = n;
	return true;
}

size_t
inode_table_size(struct inode_table *t)
{
	size_t n;

	pthread_mutex_lock(&t->lock);
	n = t->n;
	pthread_mutex_unlock(&t->lock);
	return n;
}

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

static int
open_at(const struct inode_table *t, int dirfd, const char *name,
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

/*
 * Opens name in dirfd without leaving dirfd's tree, following anything or
 * entering another export.
 */
static int
open_beneath(const struct inode_table *t, int dirfd, const char *name,
    uint64_t flags)
{
	return open_at(t, dirfd, name, flags, RESOLVE_BENEATH);
}

/* Does this error mean that the file does not exist? */
static bool
is_absence(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ELOOP ||
	    error == EXDEV || error == ESTALE;
}

/*
 * Opens a place and its directory; without success found->fd is -1 and errno
 * set. The lock is held and given up while the filesystem works: the names are
 * copied first.
 */
static void
open_place(struct inode_table *t, uint32_t i, struct inode_found *found)
{
	char *names[INODE_DEPTH_MAX];
	size_t depth = 0;
	int error;

	found->dirfd = -1;
	found->name[0] = '\0';
	if (i != ROOT)
		strlcpy(found->name, t->places[i].name, sizeof(found->name));
	for (; i != ROOT && depth < INODE_DEPTH_MAX; i = t->places[i].parent)
		if ((names[depth++] = strdup(t->places[i].name)) == NULL)
			break;
	pthread_mutex_unlock(&t->lock);
	error = depth == INODE_DEPTH_MAX ? ENAMETOOLONG : ENOMEM;
	found->fd = i != ROOT ? -1 : open_beneath(t, t->root, ".", O_PATH);
	if (i == ROOT)
		error = errno;
	while (depth > 0) {
		depth--;
		if (found->fd != -1) {
			if (found->dirfd != -1)
				close(found->dirfd);
			found->dirfd = found->fd;
			found->fd =
			    open_beneath(t, found->dirfd, names[depth], O_PATH);
			error = errno;
		}
		free(names[depth]);
	}
	pthread_mutex_lock(&t->lock);
	errno = error;
}

static void
close_found(struct inode_found *found)
{
	if (found->fd != -1)
		close(found->fd);
	if (found->dirfd != -1)
		close(found->dirfd);
	found->fd = found->dirfd = -1;
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
	fd = open_beneath(t, t->root, ".", O_PATH | O_DIRECTORY);
	while (fd != -1 && depth > 0) {
		below = open_beneath(t, fd, path[--depth]->name,
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

	fd = open_at(w->table, w->fd, "..", O_PATH | O_DIRECTORY, 0);
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
	fd = open_beneath(w->table, top ? w->table->root : w->fd,
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
		if (!is_absence(errno)) /* else removed meanwhile */
			w->complete = false;
		return;
	}
	if (e->d_type == DT_UNKNOWN)
		is_dir =
		    fstatat(dirfd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISDIR(st.st_mode);
	pthread_mutex_lock(&t->lock);
	at = find_id(t, &dir->id);
	if (at != NONE && note(t, at, e->d_name, &id) == NONE)
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
		w->complete = w->complete && is_absence(errno);
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

/* Reads the whole export once; the lock is given up meanwhile. */
static void
walk(struct inode_table *t)
{
	struct walk w = { .table = t, .fd = -1 };
	struct fh_id root = t->places[ROOT].id;
	uint64_t started = clock_ms(), took;
	struct todo *dir;

	t->walking = true;
	pthread_mutex_unlock(&t->lock);
	w.stack = todo_new(NULL, &root, "");
	w.complete = w.stack != NULL;
	while ((dir = w.stack) != NULL) {
		w.stack = dir->next;
		if (w.seen <= INODE_WALK_MAX)
			read_directory(&w, dir);
		todo_put(dir);
	}
	stand(&w, NULL, -1, NULL);
	took = clock_ms() - started;
	if (w.seen > INODE_WALK_MAX && log_permit("walk cut", 0))
		log_warnx("an export without kernel handles has more than %d "
			  "files: not all are found again; no flag raises it, "
			  "export parts of it",
		    INODE_WALK_MAX);
	pthread_mutex_lock(&t->lock);
	t->walking = false;
	t->complete = w.complete && t->n < t->max;
	t->quiet_until =
	    clock_ms() + INODE_QUIET_MS + took * INODE_QUIET_FACTOR;
	pthread_cond_broadcast(&t->walked);
}

static uint32_t
find_plain(struct inode_table *t, const struct fh_plain *plain)
{
	uint32_t i = *chain(t, fh_fs_short_of(plain));

	while (i != NONE && !fh_fs_is(plain, &t->places[i].id))
		i = t->places[i].next;
	return i;
}

/* Opens a file at its last place and checks that it is the same file. */
static int
open_known(struct inode_table *t, const struct fh_plain *plain,
    struct inode_found *found, bool *known)
{
	uint32_t i = find_plain(t, plain);
	struct fh_id now;
	int error = ENOENT;

	found->fd = found->dirfd = -1;
	*known = i != NONE;
	errno = ENOENT;
	if (i == NONE)
		return -1;
	t->places[i].recent = true;
	found->id = t->places[i].id;
	open_place(t, i, found);
	if (found->fd == -1)
		error = errno;
	/* Of the root, and where the path is the identity, existence counts. */
	else if (i == ROOT || t->fs.naming == FH_BY_NAME)
		return 0;
	else if (fh_fs_id(&t->fs, found->fd, "", &now) == -1)
		error = errno;
	else if (memcmp(&now, &found->id, sizeof(now)) == 0)
		return 0;
	close_found(found);
	errno = error;
	return -1;
}

/* After a walk: what is not where it was seen does not exist any more. */
static void
forget(struct inode_table *t, const struct fh_plain *plain)
{
	uint32_t i = find_plain(t, plain);

	if (i != NONE && i != ROOT && t->places[i].children == 0)
		unlink_place(t, i);
}

int
inode_table_open(struct inode_table *t, const struct fh_plain *plain,
    struct inode_found *found)
{
	bool known;
	int result;

	pthread_mutex_lock(&t->lock);
	result = open_known(t, plain, found, &known);
	if (result == -1 && is_absence(errno) &&
	    (t->walking || clock_ms() >= t->quiet_until)) {
		if (!t->walking)
			walk(t);
		else
			while (t->walking)
				pthread_cond_wait(&t->walked, &t->lock);
		result = open_known(t, plain, found, &known);
		if (result == -1 && is_absence(errno)) {
			forget(t, plain);
			known = false;
			errno = ENOENT;
		}
	}
	/* The file may have moved: the next walk will find it. */
	if (result == -1 && is_absence(errno))
		errno = known || !t->complete ? EAGAIN : ESTALE;
	pthread_mutex_unlock(&t->lock);
	return result;
}

/* The identity of the directory a handle names, from the table or a walk. */
static int
directory_id(struct inode_table *t, const struct fh_plain *dir,
    struct fh_id *id)
{
	struct inode_found found;
	uint32_t i;

	pthread_mutex_lock(&t->lock);
	i = find_plain(t, dir);
	if (i != NONE)
		*id = t->places[i].id;
	pthread_mutex_unlock(&t->lock);
	if (i != NONE)
		return 0;
	if (inode_table_open(t, dir, &found) == -1)
		return -1;
	*id = found.id;
	close_found(&found);
	return 0;
}

/* The identity of what a directory lies in, by the table. */
static int
parent_id(struct inode_table *t, const struct fh_id *dir, struct fh_id *id)
{
	uint32_t i;

	pthread_mutex_lock(&t->lock);
	i = find_id(t, dir);
	if (i != NONE)
		*id = t->places[t->places[i].parent].id;
	pthread_mutex_unlock(&t->lock);
	errno = ESTALE;
	return i == NONE ? -1 : 0;
}

int
inode_table_identify(struct inode_table *t, const struct fh_plain *dir,
    const char *name, int fd, struct fh_id *id)
{
	bool up = strcmp(name, "..") == 0;
	struct fh_id parent;
	uint32_t i;

	if (t->fs.naming == FH_BY_NAME) {
		if (directory_id(t, dir, &parent) == -1)
			return -1;
		if (up)
			return parent_id(t, &parent, id);
		fh_fs_name_id(&parent, name, id);
	} else if (fh_fs_id(&t->fs, fd, "", id) == -1)
		return -1;
	pthread_mutex_lock(&t->lock);
	i = find_plain(t, dir);
	if (i != NONE && !up)
		(void)note(t, i, name, id);
	pthread_mutex_unlock(&t->lock);
	return 0;
}

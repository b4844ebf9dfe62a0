/* SPDX-License-Identifier: ISC */
/*
 * From a handle to a file: by the place where it was last seen, else by a walk.
 * Runs in: nfsd broker.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/util.h"
#include "nfsd/broker/inode_parts.h"

struct inode_table *
inode_table_new(const struct fh_fs *fs, int root, size_t max, bool crossmnt)
{
	struct inode_table *t = calloc(1, sizeof(*t));
	pthread_condattr_t clock;
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
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&t->walked, &clock);
	pthread_condattr_destroy(&clock);
	if (fs->naming == FH_BY_NAME)
		fh_fs_name_id(NULL, "", &t->places[ROOT].id);
	else
		(void)fh_fs_id(fs, root, "", &t->places[ROOT].id);
	t->places[ROOT].used = true;
	t->places[ROOT].next = NONE;
	*inode_chain(t, fh_fs_short(&t->places[ROOT].id)) = ROOT;
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
	found->fd =
	    i != ROOT ? -1 : inode_open_beneath(t, t->root, ".", O_PATH);
	if (i == ROOT)
		error = errno;
	while (depth > 0) {
		depth--;
		if (found->fd != -1) {
			if (found->dirfd != -1)
				close(found->dirfd);
			found->dirfd = found->fd;
			found->fd = inode_open_beneath(t, found->dirfd,
			    names[depth], O_PATH);
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

static uint32_t
find_plain(struct inode_table *t, const struct fh_plain *plain)
{
	uint32_t i = *inode_chain(t, fh_fs_short_of(plain));

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
		inode_forget(t, i);
}

/*
 * Returns how many walks had begun when the handle was asked for first, and not
 * found: this call, or one that was told to wait.
 */
static uint64_t
asked_since(struct inode_table *t, const struct fh_plain *plain)
{
	uint64_t brief = fh_fs_short_of(plain), now = clock_ms();
	struct inode_asked *a = &t->asked[brief % INODE_ASKED];

	if (a->brief != brief || now >= a->until)
		*a = (struct inode_asked){ brief, t->begun,
			now + INODE_ASKED_MS };
	return a->since;
}

/* The handle has had its answer. */
static void
forget_asked(struct inode_table *t, const struct fh_plain *plain)
{
	uint64_t brief = fh_fs_short_of(plain);
	struct inode_asked *a = &t->asked[brief % INODE_ASKED];

	if (a->brief == brief)
		a->brief = 0;
}

/* Waits for news of a walk until the time, in ms. */
static void
wait_until(struct inode_table *t, uint64_t ms)
{
	struct timespec at = { .tv_sec = (time_t)(ms / 1000),
		.tv_nsec = (long)(ms % 1000) * 1000000 };

	pthread_cond_timedwait(&t->walked, &t->lock, &at);
}

/*
 * Waits until a walk has ended that began after the handle was asked for, or the
 * file is seen, or the time is over. One of the calls that wait walks for all.
 */
static void
await_walk(struct inode_table *t, const struct fh_plain *plain, uint64_t since,
    bool known)
{
	uint64_t until = clock_ms() + INODE_WAIT_MS, now;

	while (t->complete <= since && (now = clock_ms()) < until) {
		if (t->walking)
			wait_until(t, until);
		else if (now >= t->quiet_until) {
			inode_walk(t);
			return;
		} else
			wait_until(t,
			    t->quiet_until < until ? t->quiet_until : until);
		if (!known && find_plain(t, plain) != NONE)
			return;
	}
}

int
inode_table_open(struct inode_table *t, const struct fh_plain *plain,
    struct inode_found *found)
{
	uint64_t since;
	bool known;
	int result;

	pthread_mutex_lock(&t->lock);
	result = open_known(t, plain, found, &known);
	if (result == -1 && inode_is_absence(errno)) {
		since = asked_since(t, plain);
		await_walk(t, plain, since, known);
		result = open_known(t, plain, found, &known);
		if (result == -1 && inode_is_absence(errno)) {
			errno = EAGAIN;
			if (t->complete > since) {
				forget(t, plain);
				errno = ESTALE;
			}
		}
	}
	if (result == 0 || errno == ESTALE)
		forget_asked(t, plain);
	pthread_mutex_unlock(&t->lock);
	return result;
}

void
inode_table_prepare(struct inode_table *t)
{
	pthread_mutex_lock(&t->lock);
	if (t->begun == 0)
		inode_walk(t);
	pthread_mutex_unlock(&t->lock);
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
	i = inode_find_id(t, dir);
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
		(void)inode_note(t, i, name, id);
	pthread_mutex_unlock(&t->lock);
	return 0;
}

/* SPDX-License-Identifier: ISC */
/*
 * The worker's table of exports and the way below them.
 * Runs in: mountd worker (event loop and file threads).
 */
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <unistd.h>

#include "mount_table.h"

struct mount_table *
mount_table_new(struct exports *ex)
{
	struct mount_table *t = calloc(1, sizeof(*t));
	size_t i;

	if (t == NULL)
		return NULL;
	t->roots = calloc(ex->n + 1, sizeof(*t->roots));
	if (t->roots == NULL) {
		free(t);
		return NULL;
	}
	for (i = 0; i < ex->n; i++)
		t->roots[i].fd = -1;
	t->exports = ex;
	atomic_init(&t->refs, 1);
	return t;
}

struct mount_table *
mount_table_use(struct mount_state *s)
{
	struct mount_table *t;

	(void)pthread_mutex_lock(&s->lock);
	t = s->table;
	atomic_fetch_add(&t->refs, 1);
	(void)pthread_mutex_unlock(&s->lock);
	return t;
}

void
mount_table_done(struct mount_table *t)
{
	size_t i;

	if (t == NULL || atomic_fetch_sub(&t->refs, 1) > 1)
		return;
	for (i = 0; i < t->exports->n; i++) {
		if (t->roots[i].fd != -1)
			(void)close(t->roots[i].fd);
	}
	exports_free(t->exports);
	free(t->roots);
	free(t);
}

void
mount_table_swap(struct mount_state *s, struct mount_table *t)
{
	struct mount_table *old;

	(void)pthread_mutex_lock(&s->lock);
	old = s->table;
	s->table = t;
	(void)pthread_mutex_unlock(&s->lock);
	mount_table_done(old);
}

int
mount_table_open(const struct mount_root *root, const char *below)
{
	const struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
		    RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
	};
	struct stat st;
	int fd;

	if (root->fd == -1) {
		errno = ENOENT;
		return -1;
	}
	fd = (int)syscall(SYS_openat2, root->fd, below, &how, sizeof(how));
	if (fd == -1)
		return -1;
	if (fstat(fd, &st) == 0 && (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)))
		return fd;
	(void)close(fd);
	errno = EACCES; /* a device, a pipe: nothing to mount */
	return -1;
}

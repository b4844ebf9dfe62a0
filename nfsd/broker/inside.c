/* SPDX-License-Identifier: ISC */
/*
 * Does the directory that a kernel handle opened lie in its export? The kernel
 * answers in one call, at any depth: ".." of a directory that was moved out of
 * its mount does not exist. An export inside another has a mount of its own. If
 * the same handle leads below that mount, the directory belongs to the inner
 * export. The kernel does not tell where a file lies: a file may have many
 * names. Its tag covers the exports inside (exports/id.h).
 * Runs in: nfsd broker; in process for tests and fuzzers.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "nfsd/broker/channel.h"

#define UP_FLAGS (AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC)

int
broker_open_kernel(const struct fh_plain *plain, int mount, int flags)
{
	struct {
		struct file_handle head;
		uint8_t room[FH_INNER_MAX];
	} h = { .head = {
		    .handle_bytes = plain->len, .handle_type = plain->type } };

	memcpy((uint8_t *)&h + offsetof(struct file_handle, f_handle),
	    plain->inner, plain->len);
	return open_by_handle_at(mount, &h.head, flags);
}

/* Does ".." exist? ENOENT: moved out of the mount. ENOTDIR: no directory. */
static int
look_up(int fd)
{
	struct statx sx;

	return statx(fd, "..", UP_FLAGS, STATX_MNT_ID, &sx);
}

/*
 * Opens the same handle on the mount of another export. -1: the file is not on
 * that filesystem.
 */
static int
open_there(const struct fh_plain *plain, int fd, int mount)
{
	struct stat here, there;
	int other =
	    broker_open_kernel(plain, mount, O_PATH | O_CLOEXEC | O_NOFOLLOW);

	if (other == -1)
		return -1;
	/* Another filesystem takes the handle for one of its own files. */
	if (fstat(fd, &here) == 0 && fstat(other, &there) == 0 &&
	    here.st_dev == there.st_dev && here.st_ino == there.st_ino)
		return other;
	close(other);
	return -1;
}

static bool
lies_below(const struct fh_plain *plain, int fd, int mount)
{
	int other = open_there(plain, fd, mount);
	bool below = other != -1 && look_up(other) == 0;

	if (other != -1)
		close(other);
	return below;
}

int
broker_check_inside(const struct broker_source *s)
{
	const struct served_export *e = s->export;
	size_t i;

	if (look_up(s->fd) == -1) {
		if (errno == ENOTDIR && !s->no_file)
			return 0;
		if (errno == ENOENT || errno == ENOTDIR)
			errno = ESTALE;
		return -1;
	}
	for (i = 0; i < e->nshared; i++) {
		if (lies_below(&s->plain, s->fd, e->inner[i]->root)) {
			errno = ESTALE;
			return -1;
		}
	}
	return 0;
}

/*
 * Can directories of e lie below the other's mount? If the filesystem's own root
 * is mounted inside the export, e itself would seem to lie below it.
 */
static bool
shares(const struct served_export *e, const struct fh_plain *root,
    const struct served_export *other)
{
	int fd = other->root == -1 || !other->own_mount ?
	    -1 :
	    open_there(root, e->root, other->root);
	bool apart = fd != -1 && look_up(fd) == -1;

	if (fd != -1)
		close(fd);
	return apart;
}

static void
sort_inner(struct served_export *e)
{
	struct served_export *swap;
	size_t i;

	if (e->ninner == 0 || e->root == -1 || e->fs.naming != FH_BY_HANDLE)
		return;
	for (i = 0; i < e->ninner; i++) {
		if (!shares(e, &e->plain[0], e->inner[i]))
			continue;
		swap = e->inner[e->nshared];
		e->inner[e->nshared++] = e->inner[i];
		e->inner[i] = swap;
	}
}

void
broker_sort_inner(struct served_exports *x)
{
	size_t i;

	for (i = 0; i < x->n; i++)
		sort_inner(&x->list[i]);
}

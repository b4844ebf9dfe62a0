/* SPDX-License-Identifier: ISC */
/*
 * See outside.h.
 * Runs in: fuzzers.
 */
#include <sys/stat.h>

#include <err.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "outside.h"

static const char secret[] = "outside the exports, for no client";
static struct {
	int fd;
	struct timespec changed;
} things[2] = { { .fd = -1 }, { .fd = -1 } }; /* the directory, the file */

static struct timespec
changed(int fd)
{
	struct stat st;

	if (fstat(fd, &st) == -1)
		err(1, "outside");
	return st.st_ctim; /* content, mode, owner, links, names */
}

void
outside_put(int dir)
{
	size_t i;

	for (i = 0; i < nitems(things); i++)
		if (things[i].fd != -1)
			close(things[i].fd);
	things[0].fd = openat(dir, "..", O_RDONLY | O_CLOEXEC);
	things[1].fd = openat(dir, "../outside",
	    O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
	if (write(things[1].fd, secret, sizeof(secret)) == -1)
		err(1, "outside");
	for (i = 0; i < nitems(things); i++)
		things[i].changed = changed(things[i].fd);
}

bool
outside_is_whole(void)
{
	struct timespec now;
	size_t i;

	for (i = 0; i < nitems(things); i++) {
		now = changed(things[i].fd);
		if (now.tv_sec != things[i].changed.tv_sec ||
		    now.tv_nsec != things[i].changed.tv_nsec)
			return false;
	}
	return true;
}

bool
outside_is_in(const void *bytes, size_t len)
{
	return memmem(bytes, len, secret, sizeof(secret) - 1) != NULL;
}

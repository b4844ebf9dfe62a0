/* SPDX-License-Identifier: ISC */
/*
 * An export's path, walked by root. Where a user may write on the way he could
 * put a symbolic link that leads root elsewhere, and so have clients served
 * what he chooses: only root's own links are followed.
 * Runs in: mountd parent, nfsd parent and their short-lived children.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "jail_mount.h"

#define LINKS_MAX 40 /* as the kernel */
#define STEP	  (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static void
close_keeping_errno(int fd)
{
	int saved = errno;

	(void)close(fd);
	errno = saved;
}

/* A plain user serves only what he may have himself. */
static bool
is_trusted(const struct stat *st)
{
	return st->st_uid == 0 || geteuid() != 0;
}

/* Where a link leads, if it may lead us. Its length, or -1. */
static ssize_t
read_link(int at, const char *name, char *out, size_t size)
{
	int fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = -1;
	struct stat st;

	if (fd == -1)
		return -1;
	if (fstat(fd, &st) == 0) {
		if (!S_ISLNK(st.st_mode))
			errno = ENOTDIR;
		else if (!is_trusted(&st))
			errno = ELOOP;
		else
			n = readlinkat(fd, "", out, size);
	}
	close_keeping_errno(fd);
	return n;
}

/* Takes the first name off rest; false: there is none. */
static bool
next_name(char *rest, char name[PATH_MAX])
{
	const char *at = rest + strspn(rest, "/");
	size_t len = strcspn(at, "/");

	memcpy(name, at, len);
	name[len] = '\0';
	memmove(rest, at + len, strlen(at + len) + 1);
	return len > 0;
}

/* Puts what the link says before rest; where the walk goes on, or -1. */
static int
follow(int at, const char *name, char rest[PATH_MAX])
{
	char target[PATH_MAX], old[PATH_MAX];
	ssize_t n = read_link(at, name, target, sizeof(target));

	if (n == -1)
		return -1;
	memcpy(old, rest, strlen(rest) + 1);
	if (snprintf(rest, PATH_MAX, "%.*s%s", (int)n, target, old) >=
	    PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return openat(at, target[0] == '/' ? "/" : ".", STEP);
}

int
jail_path_open(const char *path)
{
	char rest[PATH_MAX], name[PATH_MAX];
	int at, next, links = 0;

	if (strlen(path) >= sizeof(rest)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	at = open("/", STEP);
	memcpy(rest, path, strlen(path) + 1);
	while (at != -1 && next_name(rest, name)) {
		next = openat(at, name, STEP);
		if (next == -1 && errno == ENOTDIR && links++ < LINKS_MAX)
			next = follow(at, name, rest);
		close_keeping_errno(at);
		at = next;
	}
	return at;
}

/* SPDX-License-Identifier: ISC */
/*
 * An export's path, walked by root. Where a user may write on the way he could
 * put a symbolic link that leads root elsewhere, and so have clients served
 * what he chooses: besides root's own links only such are followed as lead to a
 * directory of who made them.
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

#include "base/util.h"
#include "confine/jail_mount.h"

#define LINKS_MAX 40 /* as the kernel */
#define STEP	  (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* A walk: where it is, what is left, and the user whose links it took. */
struct walk {
	int at;
	char rest[PATH_MAX];
	int links;
	uid_t guide; /* root: nobody else's yet */
};

/* A plain user serves only what he may have himself: anybody may lead him. */
static bool
may_lead(struct walk *w, uid_t owner)
{
	if (owner == 0 || geteuid() != 0)
		return true;
	if (w->guide != 0 && w->guide != owner)
		return false;
	w->guide = owner;
	return true;
}

/*
 * Who put the link there? Its owner; but root's links can be moved by who may
 * write to the directory.
 */
static uid_t
placed_by(int dir, const struct stat *link)
{
	struct stat st;

	if (link->st_uid != 0)
		return link->st_uid;
	if (fstat(dir, &st) == -1 ||
	    ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0 &&
		(st.st_mode & S_ISVTX) == 0))
		return (uid_t)-1; /* anybody, and nothing is his */
	return st.st_uid;
}

/* Where a link leads, if it may lead us. Its length, or -1. */
static ssize_t
read_link(struct walk *w, const char *name, char *out, size_t size)
{
	int fd = openat(w->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = -1;
	struct stat st;

	if (fd == -1)
		return -1;
	if (fstat(fd, &st) == 0) {
		if (!S_ISLNK(st.st_mode))
			errno = ENOTDIR;
		else if (!may_lead(w, placed_by(w->at, &st)))
			errno = ELOOP;
		else
			n = readlinkat(fd, "", out, size);
	}
	close_keep_errno(fd);
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
follow(struct walk *w, const char *name)
{
	char target[PATH_MAX], old[PATH_MAX];
	ssize_t n = read_link(w, name, target, sizeof(target));

	if (n == -1)
		return -1;
	memcpy(old, w->rest, strlen(w->rest) + 1);
	if (snprintf(w->rest, sizeof(w->rest), "%.*s%s", (int)n, target, old) >=
	    (int)sizeof(w->rest)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return openat(w->at, target[0] == '/' ? "/" : ".", STEP);
}

/* Has a user led us to what is not his? */
static bool
is_astray(const struct walk *w)
{
	struct stat st;

	return w->guide != 0 &&
	    (fstat(w->at, &st) == -1 || st.st_uid != w->guide);
}

int
jail_path_open(const char *path)
{
	struct walk w = { .guide = 0 };
	char name[PATH_MAX];
	int next;

	if (strlen(path) >= sizeof(w.rest)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(w.rest, path, strlen(path) + 1);
	w.at = open("/", STEP);
	while (w.at != -1 && next_name(w.rest, name)) {
		next = openat(w.at, name, STEP);
		if (next == -1 && errno == ENOTDIR && w.links++ < LINKS_MAX)
			next = follow(&w, name);
		close_keep_errno(w.at);
		w.at = next;
	}
	if (w.at != -1 && is_astray(&w)) {
		close(w.at);
		errno = ELOOP;
		return -1;
	}
	return w.at;
}

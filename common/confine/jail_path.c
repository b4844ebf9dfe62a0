/* SPDX-License-Identifier: ISC */
/*
 * Resolves an export's path as root, although users may be able to write on the
 * way. A user could place a symbolic link there and so have any directory of
 * the host exported. A symbolic link is therefore followed in two cases: only
 * root can have placed it, or the export's directory belongs to the user who
 * placed it.
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

#define LINKS_MAX 40 /* the kernel's limit */
#define STEP	  (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* A path resolution. */
struct walk {
	int at; /* the directory reached */
	char rest[PATH_MAX]; /* the names to come */
	int links;
	uid_t guide; /* the user who placed the links; 0: only root */
};

/*
 * May a link that owner placed be followed? Links of one user besides root are.
 * A server that runs as a plain user follows all: it opens nothing that the
 * user could not open.
 */
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
 * Returns the user who can have placed the link, (uid_t)-1 for any user. That
 * is its owner. A link of root can be moved by users with write permission in
 * the directory.
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
		return (uid_t)-1; /* no directory belongs to this id */
	return st.st_uid;
}

/* Reads a link that may be followed. Returns the target's length, or -1. */
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

/* Moves the first name of rest to name. Returns false if there is none. */
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

/* Puts the link's target before rest. Returns where it starts, or -1. */
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

/* Does the path lead through a user's link to another user's directory? */
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

void
jail_path_name(int fd, char real[PATH_MAX])
{
	char link[64];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, real, PATH_MAX - 1);
	real[n > 0 && real[0] == '/' ? n : 0] = '\0';
}

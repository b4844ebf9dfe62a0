/* SPDX-License-Identifier: ISC */
/*
 * A unix socket at a path that other users cannot replace: its directory
 * belongs to the daemon's user or to root, and other users cannot write to it.
 * Runs in: the first process of each daemon.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "process/listen.h"

/* Makes the directory if it is missing. Fatal if others can write to it. */
static void
check_directory(const char *path)
{
	char dir[sizeof(((struct sockaddr_un *)0)->sun_path)];
	const char *slash = strrchr(path, '/');
	struct stat st;

	if (slash == NULL || slash == path)
		fatal_config("%s: not an absolute path with a directory", path);
	(void)snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
	if (mkdir(dir, 0755) == -1 && errno != EEXIST)
		fatal("%s: cannot make the directory of the socket", dir);
	if (stat(dir, &st) == -1 || !S_ISDIR(st.st_mode))
		fatal_config("%s: not a directory", dir);
	if (st.st_uid != 0 && st.st_uid != geteuid())
		fatal_config(
		    "%s: belongs to uid %u, which could replace the socket "
		    "(chown %u %s)",
		    dir, (unsigned int)st.st_uid, (unsigned int)geteuid(), dir);
	if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0 &&
	    (st.st_mode & S_ISVTX) == 0)
		fatal_config(
		    "%s: others can write to it and replace the socket "
		    "(chmod go-w %s)",
		    dir, dir);
}

/* Does a server use the socket? */
static bool
is_alive(const struct sockaddr_un *sun)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	bool alive;

	if (fd == -1)
		fatal("unix socket");
	alive = connect(fd, (const struct sockaddr *)sun, sizeof(*sun)) == 0 ||
	    errno == EAGAIN;
	close(fd);
	return alive;
}

static void
clear_path(const struct sockaddr_un *sun)
{
	const char *path = sun->sun_path;
	struct stat st;

	if (lstat(path, &st) == -1) {
		if (errno == ENOENT)
			return;
		fatal("%s", path);
	}
	if (!S_ISSOCK(st.st_mode))
		fatal_config(
		    "%s: exists and is not a socket: remove it or name "
		    "another path",
		    path);
	if (st.st_uid != 0 && st.st_uid != geteuid())
		fatal_config("%s: belongs to uid %u: remove it", path,
		    (unsigned int)st.st_uid);
	if (is_alive(sun))
		fatalx("%s: another server uses this socket: stop it or name "
		       "another path",
		    path);
	if (unlink(path) == -1)
		fatal("%s: cannot remove the old socket", path);
}

int
listen_unix(const char *path, mode_t mode)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	mode_t mask;
	int fd;

	if (strlen(path) >= sizeof(sun.sun_path))
		fatal_config(
		    "%s: longer than %zu bytes, the limit of a unix socket",
		    path, sizeof(sun.sun_path) - 1);
	(void)snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", path);
	check_directory(path);
	clear_path(&sun);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd == -1)
		fatal("unix socket");
	mask = umask(0777); /* no client connects before the chmod() */
	if (bind(fd, (struct sockaddr *)&sun, sizeof(sun)) == -1)
		fatal("%s: bind", path);
	(void)umask(mask);
	if (chmod(path, mode) == -1)
		fatal("%s: chmod", path);
	if (listen(fd, LISTEN_BACKLOG) == -1)
		fatal("%s: listen", path);
	return fd;
}

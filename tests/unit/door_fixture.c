/* SPDX-License-Identifier: ISC */
/*
 * See door_fixture.h.
 * Runs in: tests.
 */
#include <sys/stat.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "door_fixture.h"

const uint8_t fixture_key[FH_KEY_SIZE] = "a key for the tests, 32 bytes...";

static char dir[64];

static int
remove_one(const char *path, const struct stat *st UNUSED, int type UNUSED,
    struct FTW *ftw UNUSED)
{
	return remove(path);
}

static void
remove_dir(void)
{
	(void)nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *
fixture_dir(void)
{
	if (dir[0] != '\0')
		return dir;
	snprintf(dir, sizeof(dir), "/tmp/tern-unit.XXXXXX");
	if (mkdtemp(dir) == NULL || chmod(dir, 0755) == -1)
		err(1, "fixture");
	atexit(remove_dir);
	return dir;
}

int
fixture_fd(int flags)
{
	int fd = open(fixture_dir(), flags | O_CLOEXEC | O_DIRECTORY);

	if (fd == -1)
		err(1, "fixture");
	return fd;
}

void
fixture_file(const char *path, const char *text, int mode)
{
	int root = fixture_fd(O_PATH), fd;

	fd = openat(root, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd == -1 || write(fd, text, strlen(text)) == -1 ||
	    fchmod(fd, (mode_t)mode) == -1)
		err(1, "fixture: %s", path);
	close(fd);
	close(root);
}

static void
report(void *arg UNUSED, enum exports_severity severity UNUSED,
    const char *file UNUSED, int line, int column, const char *message)
{
	warnx("fixture: exports:%d:%d: %s", line, column, message);
}

struct exports *
fixture_exports(const char *fmt, ...)
{
	const struct exports_hooks hooks = { .report = report };
	struct exports *ex;
	char text[4096];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	ex = exports_parse(text, (size_t)n, &hooks);
	if (ex == NULL)
		errx(1, "fixture: exports");
	return ex;
}

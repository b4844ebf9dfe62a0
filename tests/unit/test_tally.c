/* SPDX-License-Identifier: ISC */
/*
 * The counters that mountd keeps in a file.
 * Runs in: tests.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "tally/tally.h"
#include "tap.h"

int
main(void)
{
	char dir[] = "/tmp/tally.XXXXXX", path[64];
	struct tally *t, seen;
	struct stat st;
	int fd, other;

	plan(NO_PLAN);
	log_init("test");
	if (mkdtemp(dir) == NULL)
		fatal("%s", dir);
	(void)snprintf(path, sizeof(path), "%s/counters", dir);
	ok(!tally_read(path, &seen), "there is no file yet");
	fd = tally_make(path);
	ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600,
	    "the file is for its user");
	other = dup(fd); /* the parent keeps it */
	t = tally_map(fd);
	tally_count(&t->calls[2][1]);
	tally_count(&t->calls[2][1]);
	ok(tally_read(path, &seen) && seen.calls[2][1] == 2, "is read");
	fd = tally_make(path);
	ok(tally_read(path, &seen) && seen.calls[2][1] == 2,
	    "a second mountd does not count there");
	close(fd);
	close(other);
	(void)munmap(t, sizeof(*t)); /* the worker ends */
	ok(!tally_read(path, &seen), "nobody counts there any more");
	other = tally_make(path);
	ok(tally_read(path, &seen) && seen.calls[2][1] == 0,
	    "the next one begins at zero");
	ok(truncate(path, 8) == 0 && !tally_read(path, &seen), "a short file");
	close(other);
	unlink(path);
	ok(symlink("/dev/null", path) == 0 && !tally_read(path, &seen),
	    "no link is followed to read");
	other = tally_make(path);
	ok(lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && other != -1,
	    "nor to make it");
	unlink(path);
	(void)rmdir(dir);
	done_testing();
}

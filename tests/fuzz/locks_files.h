/* SPDX-License-Identifier: ISC */
/*
 * Real files in an export, their handles, and a broker in the same process.
 * Runs in: fuzz_locks.
 */
#ifndef LOCKS_FILES_H
#define LOCKS_FILES_H

#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nfsd/broker/broker.h"

#define HANDLES 3 /* two files and a directory */

static const struct fh_keys keys;
static struct fh handles[HANDLES];
static struct broker *broker;
static char dir[] = "/tmp/fuzz-locks.XXXXXX";
static int root;

static struct served_exports *
locks_files_exports(void)
{
	const struct exports_hooks hooks = { NULL, NULL, NULL };
	struct fh_root at;
	char text[64];

	(void)snprintf(text, sizeof(text), "%s *(rw,insecure)\n", dir);
	if (fh_fs_look(&at, dup(root), &(struct fh_ask){ .kernel = true }) ==
	    -1)
		err(1, "%s", dir);
	return served_new(exports_parse(text, strlen(text), &hooks), &at, NULL,
	    0);
}

static void
locks_files_remove(void)
{
	(void)unlinkat(root, "a", 0);
	(void)unlinkat(root, "b", 0);
	(void)rmdir(dir);
}

static void
locks_files_start(void)
{
	const char *names[] = { "a", "b" };
	struct broker_seal q = { .n = 0 };
	struct served_exports *x;
	struct broker_sealed a;
	struct broker_client *c;
	int fds[2];

	if (mkdtemp(dir) == NULL ||
	    (root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		err(1, "%s", dir);
	(void)atexit(locks_files_remove);
	fds[0] = openat(root, "a", O_CREAT | O_RDWR | O_CLOEXEC, 0666);
	fds[1] = openat(root, "b", O_CREAT | O_RDWR | O_CLOEXEC, 0666);
	broker = broker_new(&keys, MODE_SQUASH);
	x = locks_files_exports();
	q.export_id = x->list[0].id;
	broker_set_exports(broker, x);
	c = broker_client_new(-1, broker_channel_new(broker, NULL));
	(void)broker_client_seal(c, &q, NULL, NULL, &a);
	handles[2] = q.dir = a.list[0].fh;
	q.n = 2;
	(void)broker_client_seal(c, &q, names, fds, &a);
	handles[0] = a.list[0].fh;
	handles[1] = a.list[1].fh;
	broker_client_free(c);
	close(fds[0]);
	close(fds[1]);
}

#endif

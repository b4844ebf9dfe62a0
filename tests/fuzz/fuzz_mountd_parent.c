/* SPDX-License-Identifier: ISC */
/*
 * Questions of a compromised worker to mountd's parent. The first byte chooses
 * the descriptor; the rest is the question, in the size of its row. The parent
 * must seal only a file or directory on the export's own mount.
 * Links: mountd
 * Runs in: fuzzers, and the replay of their corpora.
 */
#include <err.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "mountd/parent/seal.h"

#define EXPORTS "/a *(fsid=7)\n/m *(fsid=9,names=utf16le,alias=/C/)\n"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static char inside[] = "/dev/shm/tern-seal.XXXXXX";
/* The first two are in the exports. */
static const char *const files[] = { "/dev/shm", inside, "/proc/self",
	"/dev/null" };
#define INSIDE 2
static int fds[nitems(files) + 1]; /* and none */
static struct fh_keys keys;
static struct exports *ex;
static struct seal_export seals[2];

static void
remove_file(void)
{
	(void)unlink(inside);
}

static void
set_up(void)
{
	static const uint8_t key[FH_KEY_SIZE] = "tern";
	static const struct exports_hooks quiet;
	struct mountd_handles m;
	struct fh_root root;
	size_t i;

	if (close(mkstemp(inside)) == -1)
		err(1, "%s", inside);
	(void)atexit(remove_file);
	fh_keys_derive(&keys, key);
	ex = exports_parse(EXPORTS, strlen(EXPORTS), &quiet);
	for (i = 0; i < nitems(files); i++)
		fds[i] = open(files[i], O_PATH | O_CLOEXEC);
	fds[i] = -1;
	if (fh_fs_look(&root, fds[0], &(struct fh_ask){ .kernel = true }) == -1)
		err(1, "%s", files[0]);
	for (i = 0; i < nitems(seals); i++)
		seal_root(&seals[i], &m, &ex->list[i], &root, &keys);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct mountd_seal ask = { 0 };
	struct mountd_sealed answer;
	struct fh_plain plain;
	const struct export *e;
	size_t file;

	if (ex == NULL)
		set_up();
	if (len == 0)
		return 0;
	file = data[0] % nitems(fds);
	memcpy(&ask, data + 1, len - 1 < sizeof(ask) ? len - 1 : sizeof(ask));
	e = exports_find_id(ex, ask.export_id);
	answer = seal_descriptor(e == NULL ? NULL : &seals[e - ex->list], &ask,
	    fds[file], &keys);
	if (!answer.good)
		return 0;
	if (e == NULL || file >= INSIDE ||
	    !fh_check_worker(&answer.fh, e->path, &keys.worker, &plain) ||
	    plain.export_id != e->id)
		abort();
	return 0;
}

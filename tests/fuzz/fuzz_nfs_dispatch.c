/* SPDX-License-Identifier: ISC */
/*
 * Whole calls against a whole server on a scratch directory: each piece of the
 * input is version, procedure and arguments, where "\xfe" and a letter stand
 * for a good handle. Nothing may be seen outside of the export, and every
 * reply is a whole one.
 * Links: nfsd
 * Runs in: fuzzer, test program.
 */
#include <sys/stat.h>

#include <stdlib.h>
#include <string.h>

#include "../wire/nfs_fixture.h"
#include "util.h"

#define CALLS_MAX 8
#define ROUNDS	  500 /* then the directory is made anew */
#define ARGS_MAX  4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const char *const names[] = { "root", "file", "sub", "empty", "link",
	"fifo", "big", "open", "other", "player", "gone", "forged" };
static struct fh handles[nitems(names)];
static struct nfs_fixture *fixture;
static struct timespec outside; /* when the directory above was changed */

static struct timespec
above(void)
{
	struct stat st;

	/* A call of root's, so that this process acts as root again. */
	(void)nfs_fixture_call(fixture, 2, NFSPROC2_GETATTR, 0,
	    handles[0].bytes, FH_SIZE);
	if (fstatat(nfs_fixture_dir(fixture), "..", &st, 0) == -1)
		return outside; /* a plain user shut himself out */
	return st.st_mtim;
}

static void
renew(void)
{
	static unsigned int rounds;
	size_t i;

	if (fixture != NULL && ++rounds % ROUNDS != 0)
		return;
	nfs_fixture_free(fixture);
	fixture = nfs_fixture_new("");
	for (i = 0; i < nitems(names); i++)
		handles[i] = nfs_fixture_handle(fixture, names[i]);
	outside = above();
}

/* Copies arguments, with handles where they are wanted. */
static size_t
expand(uint8_t args[ARGS_MAX], const uint8_t *data, size_t len)
{
	size_t n = 0, i;

	for (i = 0; i < len && n + FH_SIZE < ARGS_MAX; i++) {
		if (data[i] == 0xfe && i + 1 < len && data[i + 1] >= 'a' &&
		    data[i + 1] < 'a' + nitems(names)) {
			memcpy(args + n, handles[data[++i] - 'a'].bytes,
			    FH_SIZE);
			n += FH_SIZE;
		} else
			args[n++] = data[i];
	}
	return n;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t args[ARGS_MAX];
	struct timespec now;
	struct xdr_in in;
	size_t size, calls;

	renew();
	for (calls = 0; len > 3 && calls < CALLS_MAX; calls++) {
		size = data[2] < len - 3 ? data[2] : len - 3;
		in = nfs_fixture_call(fixture, 2 + (data[0] & 1), data[1] % 24,
		    data[0] & 2 ? 1000 : 0, args, expand(args, data + 3, size));
		if (in.left % 4 != 0)
			abort();
		data += 3 + size;
		len -= 3 + size;
	}
	now = above();
	if (now.tv_sec != outside.tv_sec || now.tv_nsec != outside.tv_nsec)
		abort();
	return 0;
}

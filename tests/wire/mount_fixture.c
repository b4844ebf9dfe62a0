/* SPDX-License-Identifier: ISC */
/*
 * See mount_fixture.h.
 * Runs in: fuzzers.
 */
#include <sys/stat.h>

#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "mount_fixture.h"
#include "mountd/parent/seal.h"
#include "mountd/worker/mount_ops.h"
#include "mountd/worker/mount_table.h"
#include "tally/tally.h"

#define EXPORTS                                                                \
	"/a *(rw,insecure)\n/b 10.0.0.0/8\n/m *(insecure,names=utf16le,"       \
	"alias=/C/)\n"
#define NEXPORTS 3

static char top[] = "/tmp/tern-mount.XXXXXX";
/* Directories first, as they are made; removed the other way round. */
static const char *const tree[] = { "a", "b", "m", "a/sub", "m/Contents",
	"a/sub/file", "outside" };
#define NDIRS 5
static struct fh_keys keys;
static struct seal_export seals[NEXPORTS];
static struct fh forbidden[NEXPORTS]; /* the file outside, for each export */
static struct mount_state state;

/* Answers the worker's question to its parent, in this process. */
static bool
seal(void *arg UNUSED, const struct export *e, enum export_names how, int fd,
    const char *below, struct fh *fh)
{
	struct mountd_seal ask = { .export_id = e->id,
		.utf16 = how == NAMES_UTF16LE };
	struct mountd_sealed answer;

	(void)strlcpy(ask.below, below, sizeof(ask.below));
	answer = seal_descriptor(&seals[e - state.active.list->conf->list],
	    &ask, fd, &keys);
	*fh = answer.fh;
	return answer.good;
}

static int
open_below(const char *name, int flags)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/%s", top, name);
	return open(path, flags | O_CLOEXEC, 0666);
}

static void
remove_tree(void)
{
	char path[64];
	size_t i;

	for (i = nitems(tree); i-- > 0;) {
		(void)snprintf(path, sizeof(path), "%s/%s", top, tree[i]);
		(void)(i < NDIRS ? rmdir(path) : unlink(path));
	}
	(void)rmdir(top);
}

static void
make_tree(void)
{
	char path[64];
	size_t i;

	if (mkdtemp(top) == NULL || chmod(top, 0755) == -1)
		err(1, "%s", top);
	(void)atexit(remove_tree);
	for (i = 0; i < nitems(tree); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", top, tree[i]);
		if (i < NDIRS ? mkdir(path, 0755) == -1 :
				close(open_below(tree[i], O_CREAT)) == -1)
			err(1, "%s", path);
	}
}

static struct served_exports *
make_table(struct exports *ex)
{
	int beside = open_below("outside", O_PATH), fd;
	struct fh_root roots[NEXPORTS];
	struct mountd_handles handles[NEXPORTS];
	struct fh_plain plain;
	size_t i;

	for (i = 0; i < NEXPORTS; i++) {
		const struct export *e = &ex->list[i];

		fd = open_below(e->path + 1, O_RDONLY);
		if (fh_fs_look(&roots[i], fd,
			&(struct fh_ask){ .kernel = true }) == -1)
			err(1, "root");
		seal_root(&seals[i], &handles[i], e, &roots[i], &keys);
		if (fh_fs_plain(&seals[i].fs, beside, e->id,
			!handles[i].sealed[NAMES_BYTES], 0, &plain) == -1)
			err(1, "no handle");
		fh_seal(&forbidden[i], &plain, e->path, &keys);
	}
	close(beside);
	return mount_table_new(ex, roots, handles);
}

struct rpc_server *
mount_fixture_new(void)
{
	static const struct rpc_prog *const progs[] = { &mount_prog };
	static const uint8_t key[FH_KEY_SIZE] = "tern";
	static const struct exports_hooks quiet;
	static struct tally tally;
	struct rpc_hooks hooks = mount_hooks(&state);

	make_tree();
	fh_keys_derive(&keys, key);
	active_init(&state.active);
	state.list = mount_list_new();
	state.seal = seal;
	state.tally = &tally;
	active_swap(&state.active,
	    make_table(exports_parse(EXPORTS, strlen(EXPORTS), &quiet)));
	return rpc_server_new(progs, nitems(progs), &hooks);
}

bool
mount_fixture_gave(const struct fh *fh)
{
	const struct exports *ex = state.active.list->conf;
	struct fh_plain plain;
	size_t i;

	for (i = 0; i < NEXPORTS; i++) {
		if (memcmp(fh, &forbidden[i], sizeof(*fh)) == 0)
			return false;
		if (fh_check_worker(fh, ex->list[i].path, &keys.worker,
			&plain) &&
		    plain.export_id == ex->list[i].id)
			return true;
	}
	return false;
}

/* SPDX-License-Identifier: ISC */
/*
 * Vectors of MOUNT. Links: mountd
 * The word after "setup" chooses one of the lists of exports below. The handle
 * of the n-th export (by path) is 32 bytes a0 + 2n, for players a1 + 2n. The
 * handle of any file below an export is 32 bytes 5e. Each export is a directory
 * with "sub", "file", "link" (to sub) and "pipe"; /srv/gone does not exist.
 * Runs in: tests.
 */
#include <sys/stat.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "mountd/mount.h"
#include "mountd/worker/mount_ops.h"
#include "mountd/worker/mount_table.h"
#include "tally/tally.h"
#include "replay.h"

#define EXPORTS_HERE 4 /* no setup has more */

static const struct {
	const char *setup;
	const char *exports;
	bool all; /* export_all and dump_all */
} surroundings[] = {
	{ "",
	    "/srv/a 127.0.0.1(rw,insecure)\n"
	    "/srv/b 192.0.2.7(rw)\n"
	    "/srv/gone 127.0.0.1(insecure)\n",
	    false },
	{ "none", "", false },
	{ "all",
	    "/srv/a 127.0.0.1(rw,insecure)\n"
	    "/srv/b 192.0.2.0/24 *(ro)\n",
	    true },
	{ "players",
	    "/drive 127.0.0.0/8(insecure,names=utf16le,alias=/C/EXPORT) "
	    "169.254.244.181(insecure,names=utf16le,alias=/C/EXPORT)\n"
	    "/media 127.0.0.0/8(insecure,names=utf16le,alias=/C/) "
	    "169.254.0.0/16(insecure,names=utf16le,alias=/C/)\n"
	    "/media 127.0.0.0/8(insecure)\n",
	    false },
	{ "slot", "/media 169.254.0.0/16(insecure,names=utf16le,alias=/C/)\n",
	    false },
};

static struct mount_state state;
static char scratch[] = "/tmp/tern-replay.XXXXXX";

/* A directory with one of each kind; made once. */
static int
open_root(void)
{
	static bool made;
	int dir, fd;

	if (!made && (mkdtemp(scratch) == NULL || chmod(scratch, 0755) == -1))
		fatal("%s", scratch);
	dir = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir == -1)
		fatal("%s", scratch);
	if (made)
		return dir;
	made = true;
	fd = openat(dir, "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	if (fd == -1 || close(fd) == -1 || mkdirat(dir, "sub", 0755) == -1 ||
	    symlinkat("sub", dir, "link") == -1 ||
	    mkfifoat(dir, "pipe", 0644) == -1)
		fatal("%s", scratch);
	return dir;
}

static void
remove_scratch(void)
{
	static const char *const names[] = { "file", "link", "pipe", "sub" };
	int dir = open_root();
	size_t i;

	for (i = 0; i < nitems(names); i++)
		(void)unlinkat(dir, names[i],
		    strcmp(names[i], "sub") == 0 ? AT_REMOVEDIR : 0);
	close(dir);
	(void)rmdir(scratch);
}

static bool
seal(void *arg UNUSED, const struct export *e UNUSED,
    enum export_names names UNUSED, int fd UNUSED, const char *below UNUSED,
    struct fh *fh)
{
	memset(fh->bytes, 0x5e, FH_SIZE);
	return true;
}

static struct served_exports *
make_table(struct exports *ex)
{
	struct mountd_handles handles[EXPORTS_HERE] = { 0 }, *h;
	struct fh_root roots[EXPORTS_HERE] = { 0 };
	size_t i;

	for (i = 0; i < ex->n; i++) {
		h = &handles[i];
		roots[i].fd = -1;
		if (strcmp(ex->list[i].path, "/srv/gone") == 0)
			continue;
		roots[i].fd = open_root();
		h->served = true;
		h->sealed[NAMES_BYTES] = h->sealed[NAMES_UTF16LE] = true;
		memset(h->fh[NAMES_BYTES].bytes, 0xa0 + 2 * (int)i, FH_SIZE);
		memset(h->fh[NAMES_UTF16LE].bytes, 0xa1 + 2 * (int)i, FH_SIZE);
	}
	return mount_table_new(ex, roots, handles);
}

static struct rpc_server *
begin(const char *setup)
{
	static const struct rpc_prog *const progs[] = { &mount_prog };
	static const struct exports_hooks quiet;
	static struct tally tally;
	struct rpc_hooks hooks = mount_hooks(&state);
	struct exports *ex = NULL;
	size_t i;

	state.tally = &tally;
	for (i = 0; i < nitems(surroundings); i++) {
		if (strcmp(surroundings[i].setup, setup) != 0)
			continue;
		ex = exports_parse(surroundings[i].exports,
		    strlen(surroundings[i].exports), &quiet);
		state.export_all = state.dump_all = surroundings[i].all;
	}
	if (ex == NULL)
		fatalx("setup \"%s\" is not known", setup);
	state.list = mount_list_new();
	state.seal = seal;
	active_swap(&state.active, make_table(ex));
	return rpc_server_new(progs, nitems(progs), &hooks);
}

static void
end(struct rpc_server *server)
{
	rpc_server_free(server);
	active_swap(&state.active, NULL);
	mount_list_free(state.list);
}

int
main(void)
{
	static const struct rpc_prog *const progs[] = { &mount_prog };
	static const struct replay_fixture mountd = { .progs = progs,
		.nprogs = nitems(progs),
		.begin = begin,
		.end = end };
	int status;

	log_init("replay_mountd");
	active_init(&state.active);
	status = replay_main(&mountd);
	remove_scratch();
	return status;
}

/* SPDX-License-Identifier: ISC */
/*
 * Vectors of NFS versions 2 and 3 against nfsd's tables, door and broker on a
 * scratch directory, which nfs_fixture.h describes. Cases may use these
 * handles: $root $other $player $playempty (of the players' the first 12 bytes)
 * $gone $forged $file, and the files of the directory by name.
 * Links: nfsd
 * Runs in: tests.
 */
#include <string.h>

#include "base/util.h"
#include "nfs_fixture.h"
#include "replay.h"

#define PLAYER_BYTES 12 /* of a handle that a player returns unchanged */

static struct nfs_fixture *fixture;

static const struct case_known known[] = {
	{ "root", FH_SIZE },
	{ "other", FH_SIZE },
	{ "player", PLAYER_BYTES },
	{ "playempty", PLAYER_BYTES },
	{ "gone", FH_SIZE },
	{ "forged", FH_SIZE },
	{ "file", FH_SIZE },
	{ "link", FH_SIZE },
	{ "sub", FH_SIZE },
	{ "empty", FH_SIZE },
	{ "fifo", FH_SIZE },
	{ "big", FH_SIZE },
	{ "large", FH_SIZE },
	{ "secret", FH_SIZE },
	{ "mine", FH_SIZE },
	{ "locked", FH_SIZE },
	{ "open", FH_SIZE },
	{ NULL, 0 },
};

static struct rpc_server *
begin(const char *setup)
{
	fixture = nfs_fixture_new(setup);
	return fixture == NULL ? NULL : nfs_fixture_server(fixture);
}

static void
end(struct rpc_server *server UNUSED)
{
	nfs_fixture_free(fixture);
}

static void
value(const char *name, uint8_t *bytes, size_t len)
{
	struct fh fh = nfs_fixture_handle(fixture, name);

	memcpy(bytes, fh.bytes, len);
}

static const struct rpc_prog *const progs[] = { &nfs_program, &nfsacl_program,
	&rquota_program };

static const struct replay_fixture nfsd = { .progs = progs,
	.nprogs = nitems(progs),
	.begin = begin,
	.end = end,
	.known = known,
	.value = value };

int
main(void)
{
	return replay_main(&nfsd);
}

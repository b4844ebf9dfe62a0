/* SPDX-License-Identifier: ISC */
/*
 * The exports as a role of nfsd holds them: the list as written, and for each
 * the descriptor of its root and what kind of filesystem lies there.
 * Runs in: nfsd worker, nfsd broker.
 */
#ifndef ROLES_SERVED_H
#define ROLES_SERVED_H

#include <sys/types.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exports/active.h"
#include "exports/exports.h"
#include "exports/submounts.h"
#include "handle/fhandle_fs.h"

struct inode_table;

struct served_export {
	const struct export *conf;
	struct served_export *outer; /* of a submount, else NULL */
	char *own_path; /* of a submount; path points to it */
	const char *path; /* what the tags of its handles cover */
	uint16_t id;
	int root; /* O_PATH; -1: not there */
	int mount; /* broker: the root to open handles by, which O_PATH cannot */
	uint64_t mount_id; /* 0: not known */
	dev_t dev; /* of the root */
	ino_t ino;
	uint64_t fsid; /* what clients see */
	struct fh_fs fs;
	/* Traits of its filesystem: handle/fstype.h. */
	bool local_metadata;
	bool ino_btime_unique;
	bool ino_ambiguous;
	bool crossmnt; /* some client may enter what is mounted inside */
	bool writable; /* some client may write */
	_Atomic uint64_t slow_until; /* clock_ns() */
	/* The broker's own, see broker/tables.c; NULL: none yet. */
	struct inode_table *_Atomic table;
};

/*
 * Takes over conf, and the descriptors in roots (one for each export, -1:
 * missing) and in subs. probe: find out how files are named (broker; a
 * worker may not open by handle and learns it from the handles). NULL: no
 * memory; then nothing was taken.
 */
struct served_exports *served_new(struct exports *conf, const int *roots,
    const struct submount *subs, size_t nsubs, bool probe);
/* Closes and frees what served_new() made, at the end of the last use. */
void served_clear(struct served_exports *);

/* NULL: no such export, or its root is not there. */
struct served_export *served_find(const struct served_exports *, uint16_t id);
/* The export whose root is (dev, ino) on this mount, or NULL. */
struct served_export *served_find_root(const struct served_exports *,
    uint64_t mount_id, dev_t, ino_t);
/* Can the export make a caller this user, or this group (after squashing)? */
bool served_allows_user(const struct served_export *, uint32_t uid);
bool served_allows_group(const struct served_export *, uint32_t gid);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * The exports as a role of nfsd holds them: the export list and, for each
 * export, the descriptor of its root and the facts of its filesystem.
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
	struct served_export *outer; /* submount: the export around it */
	struct served_export **inner; /* exports whose paths lie inside */
	size_t ninner;
	size_t nshared; /* broker: so many of them share its filesystem */
	char *own_path; /* submount: owns the memory of path */
	const char *path; /* the tags of its handles cover it */
	char *file_text; /* and those of its files this; NULL: path */
	uint16_t id;
	int root; /* not O_PATH, to open handles by; -1: absent */
	struct fh_plain plain[2]; /* handle of the root: bytes, UTF-16 */
	uint64_t mount_id; /* 0: not known */
	bool own_mount; /* the root is the root of a mount */
	dev_t dev; /* of the root */
	ino_t ino;
	uint64_t fsid; /* sent to clients */
	struct fh_fs fs;
	/* Traits of the filesystem: handle/fstype.h. */
	bool local_metadata;
	bool slow_inside; /* not so of a filesystem mounted inside */
	bool ino_btime_unique;
	bool ino_ambiguous;
	bool names_atomic;
	bool link_by_name;
	bool crossmnt; /* some client may enter submounts */
	bool writable; /* some client may write */
	bool unjudged_locks; /* some client has no_auth_nlm */
	_Atomic uint64_t slow_until; /* slow export until this clock_ns() */
	_Atomic uint64_t waits_since; /* slow waits are counted */
	_Atomic unsigned int slow_waits;
	/* Of the broker, see broker/tables.c; NULL: none yet. */
	struct inode_table *_Atomic table;
};

/*
 * Makes an export list. Takes over conf and the descriptors in roots (one per
 * export, -1: absent) and subs. Asks no filesystem: one that hangs stops nothing. Returns NULL if there is no memory; then the
 * arguments still belong to the caller.
 */
struct served_exports *served_new(struct exports *conf,
    const struct fh_root *roots, const struct submount *subs, size_t nsubs);
/* Closes and frees the members of a list. Called after its last use. */
void served_clear(struct served_exports *);

/* Returns NULL if there is no such export. It may be absent: root -1. */
struct served_export *served_listed(const struct served_exports *, uint16_t id);
/* NULL with errno, ESTALE: there is no such export, EAGAIN: it is absent. */
struct served_export *served_find(const struct served_exports *, uint16_t id);
/*
 * Is the worker's tag of a handle right? Fills plain, and the text that its tags
 * cover.
 */
bool served_check_tag(const struct served_export *, const struct fh *,
    const struct fh_subkey *, struct fh_plain *, const char **text);
/* Returns the inner export whose root is (dev, ino), or NULL. */
struct served_export *served_find_inner(const struct served_export *, dev_t,
    ino_t);
/* Returns the export whose root is (dev, ino) on this mount, or NULL. */
struct served_export *served_find_root(const struct served_exports *,
    uint64_t mount_id, dev_t, ino_t);
/*
 * Can a caller of the export be this user, or in this group, after squashing?
 */
bool served_allows_user(const struct served_export *, uint32_t uid);
bool served_allows_group(const struct served_export *, uint32_t gid);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * What is never exported, whatever the exports say: the root directory, files
 * that the kernel makes up, and the keys and state of Tern, also where a bind
 * mount shows them. A hard link to a key is not seen.
 * Runs in: mountd parent, nfsd parent, mountd -n, nfsd -n.
 */
#ifndef MOUNTS_FORBID_H
#define MOUNTS_FORBID_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "confine/mountinfo.h"

#define FORBID_MAX 32
#define FORBID_WHY (PATH_MAX + 128)

/* Directories and files that no client may reach, without links. */
struct forbid {
	char *paths[FORBID_MAX];
	size_t n;
};

/* Adds a path, which may be made later. NULL is ignored. */
void forbid_add(struct forbid *, const char *path);
/*
 * Adds a file in a directory that may be away, or on a filesystem that does not
 * answer: the path is taken as it is written.
 */
void forbid_add_away(struct forbid *, const char *dir, const char *name);
/* Adds the directories where keys and state are, or will be made. */
void forbid_usual(struct forbid *);
/*
 * Must this path not be exported? Then why says so, as the end of a sentence that
 * begins with the path. It asks no filesystem.
 */
bool forbid_path(const struct forbid *, const struct mountinfo *,
    const char *path, char why[FORBID_WHY]);
/* The same for a mount that lies inside an export. */
bool forbid_mount(const struct forbid *, const struct mountinfo *,
    const struct mountinfo_line *);

#endif

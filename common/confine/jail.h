/* SPDX-License-Identifier: ISC */
/*
 * The file tree the roles see: a small read-only tmpfs with every export
 * bind-mounted at its own path (nosuid, nodev, noexec, nosymfollow; ro when
 * no client may write), in a mount namespace of its own that holds nothing
 * else. A directory moved out of an export by a local user does not lead out of
 * it, as it would with a bare chroot. Made and changed by short-lived children,
 * so the parent itself stays where the configuration is.
 *
 * Without the right to mount: a plain user gets the same tree through a user
 * namespace (roles then use only the descriptors, their root stays); else a
 * bare chroot; else nothing. Roles need not care: they get jail_fd() among
 * their inherited descriptors and the exports' roots by message.
 * Runs in: mountd parent, nfsd parent; jail_enter in the roles and portmapd.
 */
#ifndef CONFINE_JAIL_H
#define CONFINE_JAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JAIL_EXPORTS_MAX 1280

struct jail;

struct jail_export {
	const char *path; /* absolute and clean, no "..", borrowed */
	bool read_only; /* no client may write */
	uint64_t mount; /* what it lies on; another than before: mounted anew */
};

enum jail_kind {
	JAIL_NONE, /* descriptors of the exports and nothing else */
	JAIL_CHROOT, /* bare chroot */
	JAIL_USER, /* mounts in a user namespace, root unchanged */
	JAIL_MOUNTS /* as it should be */
};

/*
 * list is sorted by path. Never NULL: what could not be had is said in the
 * log, once, and in jail_kind(). A path that does not exist is left out with
 * a warning and tried again by jail_update().
 */
struct jail *jail_new(const struct jail_export *list, size_t n, bool rootless);
/*
 * Makes the tree hold exactly this list. Exports in both lists keep their
 * mount. 0, or -1: a short-lived child failed; the tree is as it was before.
 */
int jail_update(struct jail *, const struct jail_export *list, size_t n);
/* Has the set of paths grown beyond what running roles can reach (chroot,
 * Landlock without a jail)? Then they must be started again. */
bool jail_needs_restart(const struct jail *);
/*
 * Descriptor of the export's root, borrowed from the jail until the
 * export is removed; -1: it is not there. For SCM_RIGHTS to the roles.
 */
int jail_root(const struct jail *, const char *path);
enum jail_kind jail_kind(const struct jail *);
/* For the roles' jail_enter(); borrowed, -1 for JAIL_NONE. */
int jail_fd(const struct jail *);
void jail_free(struct jail *);

/* What a process sees after entering. */
struct jail_view {
	enum jail_kind kind;
	int top; /* O_PATH of the new root, for Landlock; -1: not entered */
	const char *mounts; /* "private", "user", "shared" */
	char root[128]; /* "jail", "/srv", "empty", "none" */
};

/*
 * In a role, before it drops anything and before it has threads: root and
 * working directory become the jail. fd -1: nothing to enter. Fatal when
 * entering fails.
 */
void jail_enter(struct jail_view *, int fd);
/* With a single export the line at start names it; NULL: several. */
void jail_name_root(struct jail_view *, const char *only);
/* For a process that needs no file at all: an empty read-only root, or dir
 * when it is not NULL (fatal when that is not there). See kind. */
void jail_enter_empty(struct jail_view *, const char *dir);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * The jail: the only file tree that the roles see. It is a small read-only
 * tmpfs in a mount namespace of its own. Every export is bind-mounted there at
 * its own path (nosuid, nodev, noexec, nosymfollow; ro if no client may
 * write). If a local user moves a directory out of an export, the kernel sees
 * that it has left its mount. Short-lived children make and change the jail, so
 * the parent keeps its own view of the files.
 *
 * A plain user gets the same tree through a user namespace. The roles then use
 * only the descriptors and keep their root. If mounting is not permitted, root
 * uses a bare chroot. If that is not permitted either, there is no jail.
 * In each case a role inherits jail_fd() and gets the exports' roots by
 * message.
 * Runs in: mountd parent, nfsd parent; jail_enter in the roles and portmapd.
 */
#ifndef CONFINE_JAIL_H
#define CONFINE_JAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "handle/fstype.h"

#define JAIL_EXPORTS_MAX 1280

struct fh_root;
struct jail;

struct jail_export {
	const char *path; /* absolute and clean, no "..", borrowed */
	bool read_only; /* no client may write */
	uint64_t mount; /* its mount; if it changes, the export is remounted */
	const char *home; /* where that is mounted; borrowed; NULL: not known */
	bool mountpoint; /* only if a filesystem is mounted right there */
	enum fh_naming handles; /* how they must name files; FH_BY_ANY: any */
	bool unmounted; /* not to be in the jail until its home is back */
};

enum jail_kind {
	JAIL_NONE, /* only descriptors of the exports */
	JAIL_CHROOT, /* bare chroot */
	JAIL_USER, /* mounts in a user namespace, root unchanged */
	JAIL_MOUNTS /* mounts in a mount namespace, which is entered */
};

/*
 * Makes the jail of this list, which is sorted by path. Never returns NULL: if
 * mounting is not permitted, it logs one warning and jail_kind() tells. A path
 * that does not exist is left out with a warning; jail_update() tries it again.
 * So is one that does not answer; jail_late() tells when it does.
 */
struct jail *jail_new(const struct jail_export *list, size_t n, bool rootless);
enum jail_look {
	JAIL_ALL, /* look at every path */
	JAIL_CHANGED /* only if its mount is another one, or it answers late */
};

/*
 * Makes the jail hold exactly this list. Exports in both lists keep their mount,
 * unless another directory is at their path now. Returns 0, or -1 if a child
 * failed; the jail is then unchanged.
 */
int jail_update(struct jail *, const struct jail_export *list, size_t n,
    enum jail_look);
/* Did the last update change the root of any export? */
bool jail_changed(const struct jail *);
/*
 * Did an update since the last call add paths that running roles cannot reach,
 * because of a chroot or of Landlock without a jail? Then they must be restarted.
 */
bool jail_needs_restart(struct jail *);
/*
 * Readable when a path has answered that did not in time: call jail_late(), then
 * jail_update(). -1: every path has answered.
 */
int jail_late_fd(const struct jail *);
void jail_late(struct jail *);
/*
 * Returns the descriptor of the export's root, to be sent to the roles, or -1
 * if the export is absent. The jail owns it and closes it with the export.
 */
int jail_root(const struct jail *, const char *path);
/* Is the export absent only until its filesystem is back? Then clients wait. */
bool jail_waits(const struct jail *, const char *path);
/*
 * Is the filesystem of any export sick, or did the last change fail? Then look
 * again in a while.
 */
bool jail_is_sick(const struct jail *);
/* What is known of that root, or NULL. */
const struct fh_root *jail_facts(const struct jail *, const char *path);
/* The path without symbolic links; path itself if it was never looked at. */
const char *jail_real(const struct jail *, const char *path);
/* Where the export's filesystem was mounted when it was last served, or NULL. */
const char *jail_home(const struct jail *, const char *path);
/* The mount of an export, now that jail_real() is known. */
void jail_set_mount(struct jail *, const char *path, uint64_t mount,
    const char *home);
enum jail_kind jail_kind(const struct jail *);
/* Is every export a mount of its own? */
bool jail_has_mounts(const struct jail *);
/* The descriptor for jail_enter(); the jail owns it. -1: nothing to enter. */
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
 * Makes the jail the root and working directory of a role. To be called before
 * the role drops privileges and before it starts threads. fd -1: nothing to
 * enter. Fatal if entering fails.
 */
void jail_enter(struct jail_view *, int fd);
/* Names the only export in the log line at start; NULL: there are several. */
void jail_name_root(struct jail_view *, const char *only);
/*
 * For a process that needs no exports: its root becomes an empty read-only
 * directory, or dir if that is not NULL. Fatal if dir does not exist.
 */
void jail_enter_empty(struct jail_view *, const char *dir);

#endif

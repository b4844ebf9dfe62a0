/* SPDX-License-Identifier: ISC */
/*
 * Between the files of the jail: the children that look at paths and that make
 * and change the jail, and what they report. A child that looks may hang in a
 * filesystem, and each of its threads for itself.
 * Runs in: mountd parent, nfsd parent and their short-lived children.
 */
#ifndef CONFINE_JAIL_BUILD_H
#define CONFINE_JAIL_BUILD_H

#include <limits.h>

#include "base/util.h"
#include "confine/jail.h"
#include "handle/fhandle_fs.h"

#define JAIL_WAIT_MS 2000 /* for all answers of a child */

enum jail_say {
	JAIL_SAY_SPACES, /* descriptors: mount namespace, user namespace */
	JAIL_SAY_FOUND, /* struct jail_found; descriptors: root and its mount */
	JAIL_SAY_ABSENT, /* which, error: this path cannot be served */
	JAIL_SAY_FAILED, /* error: nothing can be done */
	JAIL_SAY_DONE
};

/* What every message begins with. */
struct jail_word {
	uint32_t which; /* index in the list */
	int32_t error;
};

/* The directory at a path. */
struct jail_found {
	struct jail_word word;
	struct fh_root root;
	char
	    real[PATH_MAX]; /* its path without symbolic links; "": not known */
};

/* What a child has to do. */
struct jail_plan {
	int channel;
	bool user; /* use a user namespace */
	int mount_space, user_space; /* -1: there is none */
	const struct jail_export *list; /* sorted by path */
	size_t n;
	const bool *wanted; /* look: one for each of list */
	int *trees; /* change: to be attached, one for each of list; -1: none */
	const char *const *remove; /* change: paths to be detached */
	size_t nremove;
};

/* These run in the child, report, and end it. */
/* Makes an empty jail. */
void jail_build_new(const struct jail_plan *) NO_RETURN;
/* Attaches and detaches exports. */
void jail_build_change(const struct jail_plan *) NO_RETURN;
/* Looks at every wanted path, each on a thread of its own. */
void jail_look(const struct jail_plan *) NO_RETURN;

/* One message of a child. */
void jail_say(const struct jail_plan *, enum jail_say, struct jail_word *,
    size_t len, const int *fds, size_t nfds);
/* Reports errno and ends. */
void jail_fail(const struct jail_plan *) NO_RETURN;

#endif

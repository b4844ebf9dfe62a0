/* SPDX-License-Identifier: ISC */
/*
 * Between jail.c, which keeps the state, and jail_build.c, the short-lived
 * child that makes or changes the jail. The child reports over an ipc socket:
 * the namespaces once, then one message per step, then JAIL_SAY_DONE.
 * Runs in: mountd parent, nfsd parent and their short-lived children.
 */
#ifndef CONFINE_JAIL_BUILD_H
#define CONFINE_JAIL_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util.h"
#include "confine/jail.h"

enum jail_say {
	JAIL_SAY_SPACES, /* descriptors: mount namespace, user namespace */
	JAIL_SAY_TRYING, /* which: about to open this path */
	JAIL_SAY_ROOT, /* which, descriptor: the export's root in the jail */
	JAIL_SAY_ABSENT, /* which, error: this path cannot be mounted */
	JAIL_SAY_REPLACED, /* which: another directory is there, or none */
	JAIL_SAY_FAILED, /* error: nothing can be mounted */
	JAIL_SAY_DONE
};

/* The payload of every message. */
struct jail_word {
	uint32_t which; /* index in jail_plan.add */
	int32_t error;
};

struct jail_plan {
	int channel;
	/*
	 * Not NULL: nothing is mounted. The child only looks whether each path
	 * still leads to its root; -1: this one does not matter.
	 */
	const int *roots;
	bool user; /* use a user namespace */
	int mount_space; /* -1: make a new one */
	int user_space;
	const struct jail_export *add; /* sorted by path */
	const bool *skip; /* per add: leave it out */
	size_t nadd;
	const char *const *remove;
	size_t nremove;
};

/* Runs in the child: carries out the plan, reports and exits. */
void jail_build(const struct jail_plan *) NO_RETURN;

#endif

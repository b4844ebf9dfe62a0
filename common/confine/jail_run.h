/* SPDX-License-Identifier: ISC */
/*
 * Between the files of the jail: how the parent starts a child and hears it. The
 * parent waits for JAIL_WAIT_MS at most, whatever a filesystem does.
 * Runs in: mountd parent, nfsd parent.
 */
#ifndef CONFINE_JAIL_RUN_H
#define CONFINE_JAIL_RUN_H

#include <sys/types.h>

#include "confine/jail_build.h"

/* What a child has found at one path. */
struct jail_answer {
	bool answered;
	int error; /* 0: it is there */
	struct fh_root root; /* owns the descriptor */
	int tree; /* the mount to attach; -1: none */
	char *real;
};

/* What a child has said. */
struct jail_heard {
	int spaces[2];
	struct jail_answer *answers; /* one for each of the list; may be NULL */
	size_t n;
	int error; /* errno of JAIL_SAY_FAILED */
	bool done;
};

#define JAIL_UNREAPED_MAX 64

/* The children of a jail that have not ended. */
struct jail_children {
	pid_t late; /* still looks at paths */
	int channel; /* of that one; -1: there is none */
	/* Killed, but they hang in a dead filesystem; 0: none. */
	pid_t unreaped[JAIL_UNREAPED_MAX];
};

/*
 * Runs the function in a child. Returns true if it has finished. One that has
 * not becomes the late one, if that may be; else it is killed.
 */
bool jail_run(void (*child)(const struct jail_plan *), struct jail_plan *,
    struct jail_heard *, struct jail_children *, bool may_be_late);
/* Ends the late one. */
void jail_run_end(struct jail_children *);
/* Forgets what was found at a path. */
void jail_answer_clear(struct jail_answer *);

#endif

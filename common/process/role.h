/* SPDX-License-Identifier: ISC */
/*
 * Roles: re-executed copies of the same binary, each with its own address
 * layout, a title ("nfsd: worker") and one ipc socket to the parent. The
 * parent starts, watches and restarts them; a role that breaks the message
 * rules is killed and started again, loudly.
 * Runs in: role_dispatch and role_* of struct role in the role; the rest in
 * the parent of mountd and nfsd.
 */
#ifndef PROCESS_ROLE_H
#define PROCESS_ROLE_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>

#include "base/ipc.h"

#define ROLE_FDS_MAX	   200 /* inherited descriptors */
#define ROLE_CHANNEL	   3 /* its number in the role */
#define ROLE_FDS_FIRST	   4
#define ROLE_BACKOFF_FIRST 100 /* ms before the first restart */
#define ROLE_BACKOFF_MAX   5000
#define ROLE_GOOD_SECONDS  20 /* lived this long: backoff starts anew */

struct event_base;
struct daemon;
struct role_child;

/* What a role finds when it starts. */
struct role {
	const char *name; /* "worker" */
	unsigned int index; /* which of several */
	int channel; /* ipc socket to the parent, blocking */
	int fds[ROLE_FDS_MAX]; /* in the order the parent gave them; -1: none */
	size_t nfds;
};

struct role_row {
	const char *name;
	int (*run)(struct role *); /* returns the exit status */
};

/*
 * First thing in main() after log_init(): when this process is a role, runs
 * its row and does not return. Also prepares process titles.
 * In a role SIGTERM, SIGINT, SIGHUP and SIGUSR1 are ignored (the terminal
 * sends them to all): the parent says by message when to stop, and a closed
 * channel means exit.
 */
void role_dispatch(int argc, char *argv[], const struct role_row *, size_t n);

/* One role as its parent sees it; borrowed while the child exists. */
struct role_spec {
	const char *name;
	unsigned int index;
	/* Fills fds for the next start (may hold -1), returns how many; the
	 * descriptors stay the parent's. NULL: none. */
	size_t (*inherit)(void *arg, unsigned int index, int fds[ROLE_FDS_MAX]);
	/* Started: send it what it must know. */
	void (*started)(void *arg, struct role_child *);
	/* Ended, for whatever reason; it is about to be started again. NULL:
	 * nothing to do. */
	void (*ended)(void *arg, struct role_child *);
	const struct ipc_table *messages; /* what it may say */
	void *arg; /* for the above; message handlers get the child */
};

/*
 * Starts the role and keeps it running; this process is titled "parent". A role
 * that ends before role_is_ready() was said for the first time is fatal: the
 * daemon did not start. The role logs where the daemon logs.
 */
struct role_child *role_start(struct event_base *, const struct daemon *,
    const struct role_spec *);
/* What the role will run as: needed to kill it. For the started callback. */
void role_becomes(struct role_child *, uid_t);
/* The role said it serves. Who says it twice in a life is killed. */
void role_is_ready(struct role_child *);
bool role_has_been_ready(const struct role_child *);
/* A list was sent that the role acknowledges when it serves it. */
void role_owes(struct role_child *);
/* The role acknowledged one. A role that owes none is killed. */
void role_acknowledged(struct role_child *);
/* Is it ready, not being killed, and does it serve what it was last sent? */
bool role_is_current(const struct role_child *);
/* False: it is not running now, or its queue is full for a second (then it is
 * killed). Never blocks longer. */
bool role_send(struct role_child *, uint32_t type, const void *data, size_t len,
    const int *fds, size_t nfds);
/* The ipc socket, -1 while it is not running. */
int role_channel(const struct role_child *);
pid_t role_pid(const struct role_child *);
const char *role_name(const struct role_child *);
void *role_arg(const struct role_child *);
unsigned int role_index(const struct role_child *);
/* Kills it (SIGKILL) because of why; it is started again as after a crash. */
void role_restart(struct role_child *, const char *why);
/* Not started again from now on; a role that is told to stop ends by itself. */
void role_expect_end(struct role_child *);
/* Is the process gone and not coming back? */
bool role_has_ended(const struct role_child *);
/* Kills what still runs and frees. */
void role_free(struct role_child *);

#endif

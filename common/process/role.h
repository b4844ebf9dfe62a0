/* SPDX-License-Identifier: ISC */
/*
 * Roles: re-executed copies of the same binary, each with its own address
 * layout, a title ("nfsd: worker") and one ipc socket to the parent. The parent
 * starts, watches and restarts them. If a role breaks the message rules, the
 * parent logs it and kills and restarts the role.
 * Runs in: role_dispatch and role_* of struct role in the role; the rest in
 * the parent of mountd and nfsd.
 */
#ifndef PROCESS_ROLE_H
#define PROCESS_ROLE_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ipc.h"

#define ROLE_FDS_MAX	   264 /* inherited descriptors */
#define ROLE_CHANNEL	   3 /* its number in the role */
#define ROLE_FDS_FIRST	   4
#define ROLE_BACKOFF_FIRST 100 /* ms before the first restart */
#define ROLE_BACKOFF_MAX   5000
#define ROLE_GOOD_SECONDS  20 /* a role that ran this long resets the backoff */

struct event_base;
struct daemon;
struct role_child;

/* What a role gets from its parent when it starts. */
struct role {
	const char *name; /* "worker" */
	unsigned int index; /* among roles of this name */
	int channel; /* ipc socket to the parent, blocking */
	int fds[ROLE_FDS_MAX]; /* in the parent's order; -1: none */
	size_t nfds;
};

struct role_row {
	const char *name;
	int (*run)(struct role *); /* returns the exit status */
};

/*
 * To be called in main() right after log_init(). If this process is a role,
 * runs its row and does not return. Also prepares process titles.
 * A role ignores SIGTERM, SIGINT, SIGHUP and SIGUSR1, which the terminal sends
 * to all processes. The parent sends a message to stop it. If the channel
 * closes, the role exits.
 */
void role_dispatch(int argc, char *argv[], const struct role_row *, size_t n);

/* How a parent runs a role. It must outlive the child. */
struct role_spec {
	const char *name;
	unsigned int index;
	/* Stores the descriptors for the next start (-1: none) and returns how
	 * many. The parent keeps them open. NULL: none. */
	size_t (*inherit)(void *arg, unsigned int index, int fds[ROLE_FDS_MAX]);
	/* The role has started: sends what it needs. */
	void (*started)(void *arg, struct role_child *);
	/* The role has ended and will be restarted. NULL: nothing to do. */
	void (*ended)(void *arg, struct role_child *);
	const struct ipc_table *messages; /* those that it may send */
	bool optional; /* the daemon starts without it */
	void *arg; /* for the above; message handlers get the child */
};

/*
 * Starts the role and keeps it running; this process is titled "parent". A role
 * that ends before role_is_ready() was said for the first time is fatal: the
 * daemon did not start. The role logs where the daemon logs.
 */
struct role_child *role_start(struct event_base *, const struct daemon *,
    const struct role_spec *);
/* Sets the user that the role drops to, for killing it. Called by started. */
void role_becomes(struct role_child *, uid_t);
/* To be called when the role sends READY. A second READY kills the role. */
void role_is_ready(struct role_child *);
bool role_has_been_ready(const struct role_child *);
/* To be called when a list was sent; the role must acknowledge it. */
void role_owes(struct role_child *);
/* To be called when the role acknowledges a list. Kills it if none was sent. */
void role_acknowledged(struct role_child *);
/* Does it run, and does it serve the list it was sent last? */
bool role_is_current(const struct role_child *);
/* How long a role has owed an answer to role_ping(). */
struct role_silence {
	uint64_t ms; /* 0: it owes none */
	/* Used meanwhile by the thread that answered last. Others may work. */
	uint64_t cpu_ms;
	bool stopped; /* by a signal */
};

/* The answer. The event loop of a role may run on another thread than before. */
struct role_pong {
	int32_t thread; /* gettid(2) */
};

/* Role: answers a question, from the thread that read it. */
void role_pong(int channel, uint32_t type);

/*
 * Sends the role this question, unless it owes an answer already or does not
 * serve yet.
 */
void role_ping(struct role_child *, uint32_t type);
/* The row of the answer in the parent's table; arg is the child. An answer
 * without question kills the role. */
void role_answered(void *arg, struct ipc_message *);
/* A role that does not serve yet owes a sign of life since its start. */
struct role_silence role_silence(struct role_child *);
/*
 * Sends a message. Returns false if the role is not running. If its socket is
 * full for a second, kills it and returns false. Never blocks longer.
 */
bool role_send(struct role_child *, uint32_t type, const void *data, size_t len,
    const int *fds, size_t nfds);
/*
 * Makes n channels, IPC_FDS_MAX at most, and sends each of two roles its ends in a
 * message with this data. Does nothing unless both run.
 */
void role_connect(struct role_child *const to[2], uint32_t type, size_t n,
    const void *data, size_t len);
/* Has it a process? NULL has none. One that was killed has, until it ends. */
bool role_runs(const struct role_child *);
/* Returns the ipc socket; -1: the role is not running. */
int role_channel(const struct role_child *);
pid_t role_pid(const struct role_child *);
const char *role_name(const struct role_child *);
void *role_arg(const struct role_child *);
unsigned int role_index(const struct role_child *);
/* How often it was started. */
unsigned int role_starts(const struct role_child *);
/* Warns why and kills the role; it is restarted as after a crash. */
void role_restart(struct role_child *, const char *why);
/* The same for a role that did nothing wrong, such as at a reload. */
void role_replace(struct role_child *, const char *why);
/* From now on the role is not restarted. To be called before it must stop. */
void role_expect_end(struct role_child *);
/* Has it ended, and will not be restarted? */
bool role_has_ended(const struct role_child *);
/* Kills the role if it runs, and frees. */
void role_free(struct role_child *);

#endif

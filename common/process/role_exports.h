/* SPDX-License-Identifier: ISC */
/*
 * How a role gets its setup and its exports. The parent sends the packed
 * exports file, the descriptor of each root and of each submount, and then the
 * order to serve them. The role collects these messages and serves only the
 * complete list. Its acknowledgement means that every later call is judged by
 * that list.
 * Runs in: mountd parent, nfsd parent (role_exports_send); their roles (the
 * rest).
 */
#ifndef PROCESS_ROLE_EXPORTS_H
#define PROCESS_ROLE_EXPORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ipc.h"
#include "confine/jail.h"
#include "exports/exports.h"
#include "exports/load.h"
#include "exports/submounts.h"
#include "process/role.h"

#define ROLE_ROOTS_MAX 64 /* descriptors in one message */

/* The first messages of each daemon; its own begin with ROLE_MESSAGES. */
enum role_message {
	ROLE_SETUP, /* the daemon's own struct */
	ROLE_PART, /* bytes of the packed file, for a role that reads none */
	ROLE_EXPORTS, /* the packed file, or all its parts; begins a list */
	ROLE_ROOTS, /* struct role_roots and its descriptors */
	ROLE_SUBMOUNT, /* struct submount and its descriptor */
	ROLE_SERVE, /* the list is complete: serve it */
	ROLE_SERVES, /* to the parent: it is served */
	ROLE_PING, /* are you alive? */
	ROLE_PONG, /* to the parent: yes */
	ROLE_MESSAGES
};

struct role_roots {
	uint32_t n;
	uint32_t index[ROLE_ROOTS_MAX]; /* of the export in the list */
	struct fh_root root[ROLE_ROOTS_MAX]; /* without descriptors */
};

/* A list of exports as the parent sent it. */
struct role_list {
	struct exports *conf; /* NULL: none is being received */
	struct fh_root roots[EXPORTS_MAX]; /* one for each of conf->list */
	struct submount subs[SUBMOUNTS_MAX];
	size_t nsubs;
	uint8_t *parts; /* of the packed file, as far as they came */
	size_t parts_len;
};

/* What a role receives; the argument of all its message handlers. */
struct role_exports {
	int channel; /* to the parent */
	void *setup; /* the daemon's struct, which ROLE_SETUP fills in */
	bool has_setup;
	/* Gets each complete list and owns conf and all descriptors. */
	void (*serve)(void *arg, const struct role_list *);
	void *arg; /* the role's own state */
	struct role_list next;
};

/*
 * Parent: sends the exports and the order to serve them. subs NULL: the role
 * needs no submounts. The role must acknowledge (role_owes()). A role that is
 * not running gets nothing.
 */
void role_exports_send(struct role_child *, const struct exports_file *,
    const struct jail *, const struct submounts *subs);

/* The same for a role that may not read files: it gets the bytes. */
void role_exports_send_parts(struct role_child *, const struct exports_file *,
    const struct jail *, const struct submounts *subs);

/*
 * Role: receives and runs one message of the parent, if there is one. If the
 * parent has closed the channel, the process exits. The parent is trusted, so a
 * malformed message is a bug and fatal.
 */
void role_exports_receive(struct role_exports *, const struct ipc_table *);

/* Returns the role's own state, for the handlers of its own messages. */
void *role_exports_arg(void *in);

/* The handlers of ROLE_EXPORTS_ROWS. */
void role_exports_setup(void *in, struct ipc_message *);
void role_exports_part(void *in, struct ipc_message *);
void role_exports_begin(void *in, struct ipc_message *);
void role_exports_roots(void *in, struct ipc_message *);
void role_exports_submount(void *in, struct ipc_message *);
void role_exports_serve(void *in, struct ipc_message *);
void role_exports_ping(void *in, struct ipc_message *);

/* The rows of these messages in a role's table. */
/* clang-format off */
#define ROLE_EXPORTS_ROWS(setup_type) \
	[ROLE_SETUP]    = { "setup",    sizeof(setup_type), sizeof(setup_type), 0, 0, role_exports_setup }, \
	[ROLE_PART]     = { "part",     1, IPC_MESSAGE_MAX, 0, 0, role_exports_part }, \
	[ROLE_EXPORTS]  = { "exports",  0, 0, 0, 1, role_exports_begin }, \
	[ROLE_ROOTS]    = { "roots",    sizeof(struct role_roots), sizeof(struct role_roots), 1, ROLE_ROOTS_MAX, role_exports_roots }, \
	[ROLE_SUBMOUNT] = { "submount", sizeof(struct submount), sizeof(struct submount), 1, 1, role_exports_submount }, \
	[ROLE_SERVE]    = { "serve",    0, 0, 0, 0, role_exports_serve }, \
	[ROLE_PING]     = { "ping",     0, 0, 0, 0, role_exports_ping }
/* clang-format on */

#endif

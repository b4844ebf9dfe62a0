/* SPDX-License-Identifier: ISC */
/*
 * How broker and worker take in what the parent sends: setup and exports. The
 * exports are built aside and handed over complete.
 * Runs in: nfsd broker, nfsd worker.
 */
#ifndef ROLES_INTAKE_H
#define ROLES_INTAKE_H

#include "exports/exports.h"
#include "nfsd/nfsd.h"
#include "nfsd/roles/served.h"

struct intake {
	struct nfsd_setup setup;
	bool has_setup;
	bool probe; /* served_new() */
	/* A complete list; the receiver owns one use. */
	void (*serve)(struct served_exports *);
	struct exports *next; /* being built */
	int roots[EXPORTS_MAX];
	struct submount subs[SUBMOUNTS_MAX];
	size_t nsubs;
};

/*
 * Handlers for the rows of a role, whose argument is its struct intake; fatal
 * when the parent makes no sense.
 */
void intake_setup(void *intake, struct ipc_message *);
void intake_exports(void *intake, struct ipc_message *);
void intake_root(void *intake, struct ipc_message *);
void intake_submount(void *intake, struct ipc_message *);
void intake_serve(void *intake, struct ipc_message *);

/* Those rows: what both roles are told in the same words. */
/* clang-format off */
#define INTAKE_ROWS \
	[NFSD_SETUP]    = { "setup",    sizeof(struct nfsd_setup), sizeof(struct nfsd_setup), 0, 0, intake_setup }, \
	[NFSD_EXPORTS]  = { "exports",  0, 0, 1, 1, intake_exports }, \
	[NFSD_ROOT]     = { "root",     sizeof(struct nfsd_roots), sizeof(struct nfsd_roots), 1, NFSD_ROOTS, intake_root }, \
	[NFSD_SUBMOUNT] = { "submount", sizeof(struct submount), sizeof(struct submount), 1, 1, intake_submount }, \
	[NFSD_SERVE]    = { "serve",    0, 0, 0, 0, intake_serve }
/* clang-format on */

/*
 * Serves one message of the parent; returns also when there is none yet. The
 * process ends when the parent is gone.
 */
void intake_listen(struct intake *, int channel, const struct ipc_table *);

#endif

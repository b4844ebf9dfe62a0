/* SPDX-License-Identifier: ISC */
/*
 * How broker and worker take in what the parent sends: setup and exports. The
 * exports are built aside and handed over complete.
 * Runs in: nfsd broker, nfsd worker.
 */
#ifndef INTAKE_H
#define INTAKE_H

#include "exports.h"
#include "fs_export.h"
#include "nfsd.h"

struct intake {
	struct nfsd_setup setup;
	bool has_setup;
	bool probe; /* fs_exports_new() */
	/* A complete list; the receiver owns one use. */
	void (*serve)(void *arg, struct fs_exports *);
	void *arg;
	struct exports *next; /* being built */
	int roots[EXPORTS_MAX];
	struct fs_submount subs[FS_SUBMOUNTS_MAX];
	size_t nsubs;
};

/* Handlers for the rows of a role; fatal when the parent makes no sense. */
void intake_setup(struct intake *, const struct ipc_message *);
void intake_exports(struct intake *, const struct ipc_message *);
void intake_root(struct intake *, struct ipc_message *);
void intake_submount(struct intake *, struct ipc_message *);
void intake_serve(struct intake *);

#endif

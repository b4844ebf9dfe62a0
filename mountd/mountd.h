/* SPDX-License-Identifier: ISC */
/*
 * mountd's two processes and what they say to each other. The worker reads the
 * network and has nothing: no key, no capability, no file outside the exports.
 * The parent has the key and reads nothing but its configuration and these
 * messages.
 * Runs in: mountd parent, mountd worker.
 */
#ifndef MOUNTD_H
#define MOUNTD_H

#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

#include "exports/exports.h"
#include "handle/fhandle.h"
#include "process/daemon.h"
#include "process/role.h"
#include "process/role_exports.h"
#include "rpc/transport.h"

/* One numbering for both directions. */
enum mountd_message {
	/* After those of enum role_message. */
	MOUNTD_HANDLES =
	    ROLE_MESSAGES, /* parent: of one root of the next list */
	MOUNTD_STATS, /* parent: write statistics to the log */
	MOUNTD_STOP, /* parent: finish and end */
	MOUNTD_READY, /* worker: serving */
	MOUNTD_SEAL, /* worker, own channel: a handle for this, please */
	MOUNTD_SEALED, /* parent: the answer */
	MOUNTD_MESSAGES
};

/* Descriptors the worker inherits, before its listening sockets. */
enum { MOUNTD_FD_JAIL, MOUNTD_FD_SEAL, MOUNTD_FD_SOCKETS };

struct mountd_setup {
	uid_t uid;
	gid_t gid;
	bool strict;
	bool export_all;
	bool dump_all;
	struct rpc_limits limits;
};

/* Sent before the list of exports, for each root that can be served. */
struct mountd_handles {
	uint32_t index; /* of the export in the list */
	bool served; /* false: the root is not there, or has no handles */
	bool slow; /* its filesystem may wait for others */
	bool sealed[2]; /* by enum export_names */
	struct fh fh[2];
};

/* What the worker sends has no bool: one that is neither 0 nor 1 is none. */
struct mountd_seal {
	uint16_t export_id;
	uint8_t utf16;
	char below[EXPORTS_PATH_MAX + 1]; /* how it was found */
};

struct mountd_sealed {
	bool good;
	struct fh fh;
};

/* What the command line says. */
struct mountd {
	struct daemon d;
	const char *explain; /* -x */
	struct mountd_setup setup;
};

/* The role "worker". */
int mountd_worker(struct role *);
/* Serves until told to stop; returns the exit status. */
int mountd_parent(struct mountd *);
/* -n: checks the configuration, -x: and explains. Returns the status. */
int mountd_check(const struct mountd *);

#endif

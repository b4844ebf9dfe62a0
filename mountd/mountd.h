/* SPDX-License-Identifier: ISC */
/*
 * mountd's two processes and their messages. The worker reads the network. It
 * has no key, no capability and no file outside the exports. The parent has the
 * key and reads only its configuration and these messages.
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
#include "transport/transport.h"

/* One numbering for both directions. */
enum mountd_message {
	/* After those of enum role_message. */
	MOUNTD_HANDLES =
	    ROLE_MESSAGES, /* parent: of one root of the next list */
	MOUNTD_STATS, /* parent: log statistics */
	MOUNTD_STOP, /* parent: finish the calls and exit */
	MOUNTD_READY, /* worker: serving */
	MOUNTD_SEAL, /* worker, second channel: seal a handle */
	MOUNTD_SEALED, /* parent: the answer to MOUNTD_SEAL */
	MOUNTD_MESSAGES
};

/* Descriptors that the worker inherits; its listening sockets follow. */
enum {
	MOUNTD_FD_JAIL,
	MOUNTD_FD_SEAL,
	MOUNTD_FD_TALLY, /* its counters: tally/tally.h */
	MOUNTD_FD_SOCKETS
};

struct mountd_setup {
	uid_t uid;
	gid_t gid;
	bool strict;
	bool export_all;
	bool dump_all;
	struct rpc_limits limits;
};

/* Sent before the list of exports, for each of them. */
struct mountd_handles {
	uint32_t index; /* of the export in the list */
	bool served; /* false: the root is absent */
	bool waits; /* absent until its filesystem is back */
	bool slow; /* its filesystem may wait for another machine or process */
	bool sealed[2]; /* by enum export_names */
	struct fh fh[2];
};

/* The worker sends no bool: a value other than 0 and 1 is undefined in C. */
struct mountd_seal {
	uint16_t export_id;
	uint8_t utf16;
	char below[EXPORTS_PATH_MAX + 1]; /* its path below the export */
};

struct mountd_sealed {
	bool good;
	struct fh fh;
};

/* The command line. */
struct mountd {
	struct daemon d;
	const char *explain; /* -x */
	const char *cert; /* -o cert: of the client that -x explains */
	struct mountd_setup setup;
};

/* Fills in what mountd brings to the exports. */
struct config;
void mountd_configure(struct config *, const struct mountd *);
/* The role "worker". */
int mountd_worker(struct role *);
/* Serves until it is told to stop. Returns the exit status. */
int mountd_parent(struct mountd *);
/*
 * Checks the configuration (-n), explains it (-x), prints it (-v). Returns the
 * exit status.
 */
int mountd_check(struct mountd *);

#endif

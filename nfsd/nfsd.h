/* SPDX-License-Identifier: ISC */
/*
 * What the processes of nfsd say to each other. Everything the broker and the
 * workers know comes from the parent: first the setup, then the exports (the
 * packed file and a descriptor for each root), then their channels.
 * Runs in: nfsd parent, nfsd broker, nfsd worker.
 */
#ifndef NFSD_H
#define NFSD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ipc.h"
#include "handle/fhandle.h"
#include "nfsd/mode.h"
#include "process/daemon.h"
#include "process/role.h"
#include "process/role_exports.h"
#include "rpc/transport.h"

#define NFSD_WORKERS_MAX 64
#define NFSD_THREADS_MAX 63 /* with the event loop: 64 channels a worker */
#define NFSD_STOP_MS	 5000 /* for what is in flight when we stop */

_Static_assert(NFSD_THREADS_MAX < IPC_FDS_MAX, "one message carries them");

/* Inherited descriptors of a role. */
enum nfsd_fd {
	NFSD_FD_JAIL,
	NFSD_FD_VERIFIER, /* worker: memory all workers share */
	NFSD_FD_STATS, /* worker: its counters */
	NFSD_FD_SOCKETS /* worker: from here on */
};

enum nfsd_message {
	/* After those of enum role_message. */
	NFSD_CHANNELS = ROLE_MESSAGES, /* to the broker, one for each thread */
	NFSD_STOP,
	NFSD_READY, /* from here on: to the parent */
	NFSD_BAD_WORKER, /* struct nfsd_bad */
	NFSD_MESSAGES
};

struct nfsd_setup {
	enum nfsd_mode mode;
	uid_t uid; /* what to run as */
	gid_t gid;
	bool strict;
	bool rootless;
	bool mknod; /* unsquashed root may make device nodes */
	unsigned int workers;
	unsigned int threads;
	unsigned int files; /* descriptors a worker may keep open; 0: default */
	struct rpc_limits limits;
	struct fh_keys keys; /* a worker's has no broker key */
};

struct nfsd_channels {
	uint32_t worker;
};

struct nfsd_bad {
	uint32_t worker;
};

/* The command line of the first process. */
struct nfsd {
	struct daemon d;
	struct nfsd_setup setup;
	const char *stats_socket; /* -o stats=path */
	bool print_stats; /* -S */
};

int nfsd_parent(struct nfsd *);
int nfsd_worker(struct role *);
int nfsd_broker(struct role *);
/* -n: what is wrong with the configuration, and the mode it leads to. */
int nfsd_check(struct nfsd *);

#endif

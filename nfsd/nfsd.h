/* SPDX-License-Identifier: ISC */
/*
 * The messages between the processes of nfsd. The broker and the workers know
 * only what the parent sends: first the setup, then the exports (the packed
 * file and one descriptor per root), then the channels.
 * Runs in: nfsd parent, nfsd broker, nfsd worker.
 */
#ifndef NFSD_H
#define NFSD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ipc.h"
#include "base/meter.h"
#include "handle/fhandle.h"
#include "nfsd/mode.h"
#include "process/daemon.h"
#include "process/role.h"
#include "process/role_exports.h"
#include "rpc/transport.h"

#define NFSD_WORKERS_MAX 64
#define NFSD_THREADS_MAX 63 /* plus the event loop: 64 channels per worker */
#define NFSD_DOMAIN	 128 /* with the final 0 */
#define NFSD_STOP_MS	 5000 /* for calls in flight when nfsd stops */

_Static_assert(NFSD_THREADS_MAX < IPC_FDS_MAX,
    "one message carries all channels");

/* Inherited descriptors of a role. */
enum nfsd_fd {
	NFSD_FD_JAIL,
	NFSD_FD_SHARED, /* worker: struct nfsd_shared */
	NFSD_FD_STATS, /* worker: its counters */
	NFSD_FD_SOCKETS /* worker: from here on */
};

/* Memory that all workers share. */
struct nfsd_shared {
	_Atomic uint64_t verifier; /* of writes; see nfsd/door/state.h */
	struct proofs proofs; /* a client may reach several workers */
};

enum nfsd_message {
	/* After those of enum role_message. */
	NFSD_CHANNELS = ROLE_MESSAGES, /* one channel per thread */
	NFSD_STOP,
	NFSD_TLS_CHANNEL, /* between a worker and its tls role */
	NFSD_TLS_FILES, /* struct nfsd_tls_files and their descriptors */
	NFSD_READY, /* from here on to the parent */
	NFSD_BAD_WORKER, /* struct nfsd_bad */
	NFSD_BAD_TLS, /* a worker: its tls role breaks the rules */
	NFSD_TLS_LOADED, /* struct nfsd_tls_loaded */
	NFSD_MESSAGES
};

/* What TLS may cost; for each worker. */
struct nfsd_tls_limits {
	unsigned int handshakes; /* at once */
	unsigned int per_host; /* at once, of one client */
	unsigned int per_second; /* of one client */
	unsigned int seconds; /* for one */
	bool kernel; /* the kernel has the keys; else the tls role relays */
};

struct nfsd_setup {
	enum nfsd_mode mode;
	uid_t uid; /* user to run as: the daemon's own in every mode */
	gid_t gid;
	uid_t anonuid; /* squash mode: whom all callers act as */
	gid_t anongid;
	bool strict;
	bool rootless;
	bool mounts; /* every export is a mount of its own */
	bool mknod; /* unsquashed root may make device nodes */
	bool setid; /* an export permits set-id bits of files */
	unsigned int workers;
	unsigned int threads;
	unsigned int files; /* descriptors a worker may keep open; 0: default */
	struct rpc_limits limits;
	struct nfsd_tls_limits tls;
	char tls_domain[NFSD_DOMAIN]; /* of users in certificates; or empty */
	struct fh_keys keys; /* no broker key in a worker's */
};

struct nfsd_channels {
	uint32_t worker;
};

struct nfsd_bad {
	uint32_t worker;
};

/* What makes and reads the records of TLS: -o tls=. */
enum nfsd_tls_form {
	NFSD_TLS_ANY,
	NFSD_TLS_KERNEL,
	NFSD_TLS_RELAY,
	NFSD_TLS_OFF
};

/* ROLE_SETUP of a tls role. It gets no other key than that of TLS. */
struct nfsd_tls_setup {
	uid_t uid;
	gid_t gid;
	bool strict;
	bool rootless;
	bool kernel; /* else it relays */
};

/* Certificate and key, then those of the others that are there. */
struct nfsd_tls_files {
	bool has_files; /* else one cannot be opened, and none is passed */
	bool has_ca, has_crl;
};

#define NFSD_TLS_ENDS 3 /* certificate, client CA, CRL */

struct nfsd_tls_loaded {
	char why[160]; /* empty: they are in use; else what is wrong */
	int64_t ends[NFSD_TLS_ENDS]; /* seconds since 1970; 0: none */
};

/* The command line of the first process. */
struct nfsd {
	struct daemon d;
	struct nfsd_setup setup;
	const char *stats_socket; /* -o stats=path */
	bool print_stats; /* -S */
	enum nfsd_tls_form tls;
	const char *tls_cert, *tls_key, *tls_ca, *tls_crl; /* NULL: none */
	const char *tls_domain;
};

/* parent/parent.c, worker/worker.c, broker/role.c and tls/process.c. */
int nfsd_parent(struct nfsd *);
int nfsd_worker(struct role *);
int nfsd_broker(struct role *);
int nfsd_tls(struct role *);
/* -n: reports mistakes in the configuration and the mode it needs. */
int nfsd_check(struct nfsd *);

#endif

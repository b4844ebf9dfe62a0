/* SPDX-License-Identifier: ISC */
/*
 * The messages between the processes of nfsd. The broker and the workers know
 * only what the parent sends: first the setup, then the exports (the packed
 * file and one descriptor per root), then the channels.
 * Runs in: every process of nfsd.
 */
#ifndef NFSD_H
#define NFSD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ipc.h"
#include "base/meter.h"
#include "exports/exports.h"
#include "handle/fhandle.h"
#include "nfsd/locks/proto.h"
#include "nfsd/mode.h"
#include "nfsd/nfsd_tls.h"
#include "nfsd/roles/proven.h"
#include "process/daemon.h"
#include "process/role.h"
#include "process/role_exports.h"
#include "transport/transport.h"

#define NFSD_WORKERS_MAX   64
#define NFSD_THREADS_MAX   63 /* plus the event loop: 64 channels per worker */
#define NFSD_DOMAIN	   128 /* with the final 0 */
#define NFSD_METRICS_MAX   8 /* addresses of -o metrics */
#define NFSD_METRICS_FILES 256 /* descriptors of the metrics role */
#define NFSD_REPLIES	   8192 /* entries of the reply cache of a worker */
#define NFSD_STOP_MS	   5000 /* for calls in flight when nfsd stops */

_Static_assert(NFSD_THREADS_MAX < IPC_FDS_MAX,
    "one message carries all channels");

/* Inherited descriptors of a role. */
enum nfsd_fd {
	NFSD_FD_JAIL,
	NFSD_FD_GROUPS, /* struct groups_table, read only; -1: none */
	NFSD_FD_SHARED, /* worker: struct nfsd_shared */
	NFSD_FD_STATS, /* worker: its counters */
	NFSD_FD_AUDIT, /* worker: takes struct audit_record */
	NFSD_FD_REPLIES, /* worker: its cached replies, for its successor */
	NFSD_FD_SIBLINGS, /* worker: the same of the others, read only */
	NFSD_FD_SOCKETS = NFSD_FD_SIBLINGS + NFSD_WORKERS_MAX /* from here on */
};

/* The same of the two roles that serve locks. */
enum nfsd_lock_fd {
	NFSD_LOCK_FD_STATS, /* its own struct locks_stats */
	NFSD_LOCK_FD_SHARED, /* struct nfsd_shared, read only */
	NFSD_LOCK_FD_GROUPS, /* struct groups_table, read only; -1: none */
	NFSD_LOCK_FD_SOCKETS /* nlm: from here on */
};

/* The same of the metrics role. */
enum nfsd_metrics_fd {
	NFSD_METRICS_FD_TEXT, /* STATS_TEXT_MAX bytes, read only */
	NFSD_METRICS_FD_SOCKETS /* from here on */
};

/* Memory that all workers share. */
struct nfsd_shared {
	_Atomic uint64_t verifier; /* of writes; see nfsd/door/state.h */
	struct proofs proofs; /* a client may reach several workers */
	_Atomic uint64_t watch_until; /* clock_ns(): calls are kept: usage.h */
	struct proven proven; /* by TLS; for calls in the clear */
};

enum nfsd_message {
	/* After those of enum role_message. */
	NFSD_CHANNELS = ROLE_MESSAGES, /* one channel per thread */
	NFSD_STOP,
	NFSD_END, /* struct nfsd_end: end the connections of a client */
	NFSD_CHECK, /* struct nfsd_check and its roots: is the worker healthy? */
	NFSD_ADDRESS_LEFT, /* struct addr: the machine has it no longer */
	NFSD_TLS_CHANNEL, /* between a worker and its tls role */
	NFSD_OFFER, /* would a worker take connections of another? */
	NFSD_GIVE, /* a worker is to give connections to it */
	NFSD_TAKE, /* struct addr of its peer: a connection for a worker */
	NFSD_METRICS, /* uint32_t: length of the text that was wanted */
	NFSD_TLS_FILES, /* struct nfsd_tls_files and their descriptors */
	NFSD_READY, /* from here on to the parent */
	NFSD_BAD_WORKER, /* struct nfsd_bad */
	NFSD_ENDED, /* struct nfsd_ended */
	NFSD_CHECKED, /* struct nfsd_checked */
	NFSD_GROUPS, /* uint32_t: a user whose groups are wanted */
	NFSD_WANT, /* does a worker take what it was offered? */
	NFSD_GIVEN, /* a connection that a worker gives away */
	NFSD_BAD_TLS, /* a worker: its tls role breaks the rules */
	NFSD_METRICS_WANTED, /* the metrics role: a new text */
	NFSD_TLS_LOADED, /* struct nfsd_tls_loaded */
	/* Locks: see nfsd/parent/parent_locks.h. */
	NFSD_LOCKS_CHANNELS, /* LOCKS_THREADS channels, last that of events */
	NFSD_LOCKS_START, /* struct locks_start */
	NFSD_LOCKS_LISTED, /* struct locks_listed, name */
	NFSD_LOCKS_SAVED, /* struct nfsd_locks_saved */
	NFSD_LOCKS_LIST, /* send every lock */
	NFSD_LOCKS_DROP, /* struct addr: free what it holds */
	NFSD_LOCKS_LEAVE, /* struct locks_left */
	NFSD_LOCKS_CLIENT, /* to the parent: nfsd_locks_client, name */
	NFSD_LOCKS_GONE, /* struct locks_listed, name */
	NFSD_LOCKS_ROW, /* struct locks_row, name; empty: it was the last */
	NFSD_LOCKS_DROPPED, /* uint32_t: how many locks and waiters */
	NFSD_LOCKS_LEFT, /* struct locks_left */
	NFSD_MESSAGES
};

struct nfsd_setup {
	enum nfsd_mode mode;
	uid_t uid; /* user to run as: the daemon's own in every mode */
	gid_t gid;
	uid_t anonuid; /* squash mode: whom all callers act as */
	gid_t anongid;
	bool strict;
	bool rootless;
	bool mknod; /* unsquashed root may make device nodes */
	bool setid; /* an export permits set-id bits of files */
	unsigned int workers;
	unsigned int threads;
	unsigned int files; /* that a worker may keep open */
	struct rpc_limits limits;
	struct nfsd_tls_limits tls;
	char tls_domain[NFSD_DOMAIN]; /* of users in certificates; or empty */
	struct fh_keys keys; /* no broker key in a worker's */
};

/* ROLE_SETUP of the metrics role. */
struct nfsd_metrics_setup {
	uid_t uid;
	gid_t gid;
	bool strict;
	bool rootless;
};

/* Which role has the other end of channels to the broker. */
enum nfsd_asker {
	NFSD_ASKER_WORKER,
	NFSD_ASKER_LOCKS, /* LOCKS_SERVERS channels; it may ask for locks only */
	NFSD_ASKERS
};

struct nfsd_channels {
	uint32_t asker; /* enum nfsd_asker */
	uint32_t worker; /* its number; 0 for the locks role */
};

/* The broker: this role broke the rules. */
struct nfsd_bad {
	uint32_t asker;
	uint32_t worker;
};

struct nfsd_end {
	uint64_t number; /* of the request */
	struct addr from; /* the client, without port */
};

struct nfsd_ended {
	uint64_t number;
	uint32_t ended; /* connections */
};

/* A request of nfsd -H to a worker; so many roots of exports follow. */
struct nfsd_check {
	uint64_t number; /* of the request */
	uint64_t until_ns; /* so long failing calls are repeated */
	uint32_t nroots;
};

struct nfsd_check_root {
	uint16_t export_id;
	struct fh fh;
};

_Static_assert(sizeof(struct nfsd_check) +
	    EXPORTS_MAX * sizeof(struct nfsd_check_root) <
	IPC_MESSAGE_MAX,
    "one message carries the roots of all exports");

/* What came of one export; number 0 of an export: the NULL call. */
struct nfsd_checked {
	uint64_t number;
	uint32_t export_id;
	uint32_t status; /* enum nfsstat */
};

/* ROLE_SETUP of the roles nlm and locks. */
struct nfsd_lock_setup {
	enum nfsd_mode mode;
	uid_t uid;
	gid_t gid;
	bool strict;
	bool rootless;
	bool nolocks; /* nlm: there is no locks role; every answer is "none" */
	unsigned int nlock_sockets; /* nlm: the first ones are those of NLM;
				       NSM has the others, if there are any */
	struct rpc_limits limits; /* nlm */
	struct fh_subkey key; /* locks: that of a worker */
	char tls_domain[NFSD_DOMAIN]; /* locks: as in struct nfsd_setup */
};

/* A client gets its first lock: is it on the disk? */
struct nfsd_locks_client {
	uint32_t number; /* of the question, for the answer */
	struct locks_listed listed;
};

struct nfsd_locks_saved {
	uint32_t number;
	uint32_t stat; /* enum locks_stat: GRANTED, or why it gets no lock */
};

/* The command line of the first process. */
struct nfsd {
	struct daemon d;
	struct nfsd_setup setup;
	const char *control_socket; /* -o control=path */
	const char *admin_group; /* NULL: root only */
	const char *audit; /* -o audit: log, journal or a file; NULL: chosen */
	bool print_stats; /* -S */
	bool json, files; /* with -S */
	const char *end; /* --end: a client */
	bool manage_gids; /* -o manage-gids */
	struct daemon_listen metrics[NFSD_METRICS_MAX]; /* -o metrics */
	size_t nmetrics;
	enum nfsd_tls_form tls;
	const char *tls_cert, *tls_key, *tls_ca, *tls_crl; /* NULL: none */
	const char *tls_domain;
	bool health; /* -H */
	unsigned int timeout; /* -o timeout=seconds, with -H; 0: default */
	bool list_locks; /* -L */
	bool nolocks; /* -o nolocks */
	unsigned int grace; /* -o grace=seconds */
	uint16_t lock_port, status_port; /* 0: chosen; the same for both */
	const char *state_dir; /* -o state=path */
	const char *floating[LOCKS_FLOATING_MAX]; /* -o floating=path */
	struct addr floating_at[LOCKS_FLOATING_MAX];
	size_t nfloating;
};

/* parent/parent.c, worker/worker.c, broker/role.c, metrics/process.c,
 * tls/process.c, nlm/process.c and locks/process.c. */
int nfsd_parent(struct nfsd *);
int nfsd_worker(struct role *);
int nfsd_broker(struct role *);
int nfsd_metrics(struct role *);
int nfsd_tls(struct role *);
int nfsd_nlm(struct role *);
int nfsd_locks(struct role *);

/* The tables of the nlm role, for the parent to register. */
extern const struct rpc_prog nlm_program, nsm_program;

/* -n: reports mistakes in the configuration and the mode it needs. */
int nfsd_check(struct nfsd *);

#endif

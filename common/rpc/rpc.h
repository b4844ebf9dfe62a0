/* SPDX-License-Identifier: ISC */
/*
 * ONC RPC version 2 for a server (RFC 5531): call, row, program. A procedure is
 * one row: name, decoder, operation, encoder, flags. Each daemon defines the
 * three call_* structs in its own header. Common code only passes pointers to
 * them, so there is no void * and no cast.
 * Runs in: every process that serves RPC.
 */
#ifndef RPC_H
#define RPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "rpc/identity.h"
#include "rpc/xdr.h"

#define RPC_VERSION	  2
#define RPC_AUTH_BODY_MAX 400
#define RPC_GROUPS_MAX	  16
#define RPC_MACHINE_MAX	  255
#define RPC_HEADER_MIN	  40 /* call header with two empty auths */
#define RPC_SHOWN	  640 /* bytes of hooks.show */
#define RPC_REPLY_HEADER  24 /* accepted reply, empty verifier */

enum rpc_msg_type { RPC_CALL = 0, RPC_REPLY = 1 };
enum rpc_reply_stat { RPC_MSG_ACCEPTED = 0, RPC_MSG_DENIED = 1 };

enum rpc_accept_stat {
	RPC_SUCCESS = 0,
	RPC_PROG_UNAVAIL = 1,
	RPC_PROG_MISMATCH = 2,
	RPC_PROC_UNAVAIL = 3,
	RPC_GARBAGE_ARGS = 4,
	RPC_SYSTEM_ERR = 5
};

enum rpc_reject_stat { RPC_MISMATCH = 0, RPC_AUTH_ERROR = 1 };

enum rpc_auth_stat {
	AUTH_OK = 0,
	AUTH_BADCRED = 1,
	AUTH_REJECTEDCRED = 2,
	AUTH_BADVERF = 3,
	AUTH_REJECTEDVERF = 4,
	AUTH_TOOWEAK = 5
};

enum rpc_auth_flavor { AUTH_NONE = 0, AUTH_SYS = 1, AUTH_TLS = 7 };

enum rpc_transport_kind {
	RPC_UDP,
	RPC_TCP,
	RPC_UNIX,
	RPC_SELF /* no peer: the process asks itself (nfsd/worker/worker_check.h) */
};

struct rpc_cred {
	uint32_t flavor; /* AUTH_NONE or AUTH_SYS */
	uint32_t uid; /* not used for AUTH_NONE */
	uint32_t gid;
	uint32_t ngids;
	uint32_t gids[RPC_GROUPS_MAX];
};

/* The bytes of a credential that mean something: the groups that there are. */
#define RPC_CRED_USED(cred)                                                    \
	(offsetof(struct rpc_cred, gids) + (cred)->ngids * sizeof(uint32_t))

/* The sender of a call, as the transport knows it. */
struct rpc_peer {
	struct addr from;
	struct addr to; /* local address and port of the call */
	uint64_t id; /* number of the connection; 0 for datagrams */
	uint64_t since_ns; /* clock_ns(): of the connection here; or 0 */
	bool moved; /* another process had this connection before */
	uint32_t max_reply; /* largest reply */
	uint32_t uid; /* RPC_UNIX: SO_PEERCRED of the peer */
	struct peer_identity *identity; /* what TLS proved; NULL: plain */
	enum rpc_transport_kind kind;
};

struct call_ctx;
struct call_args;
struct call_res;
struct rpc_errand;
struct rpc_job;

struct rpc_proc {
	const char *name; /* as in the RFC, for logs and tests; NULL: no row */
	void (*get)(struct xdr_in *, struct call_args *);
	void (*run)(struct call_ctx *, const struct call_args *,
	    struct call_res *);
	void (*put)(struct xdr_out *, const struct call_res *);
	unsigned int flags;
};

#define RPC_ERRANDS    2 /* of one call at most */
#define RPC_TURN_SHORT 1u /* may run on the thread of the event loop */
#define RPC_CACHED     0x1u /* not idempotent: uses the reply cache */
#define RPC_ANY_PORT   0x2u /* an unprivileged program of the client calls */

struct rpc_vers {
	uint32_t vers;
	uint32_t nprocs;
	const struct rpc_proc *procs;
};

struct rpc_prog {
	const char *name;
	uint32_t prog;
	uint32_t nvers; /* ascending; low and high of PROG_MISMATCH */
	const struct rpc_vers *vers;
};

/* One call while it is served. Valid until its reply is sent or queued. */
struct rpc_call {
	const struct rpc_peer *peer;
	const struct rpc_prog *prog;
	const struct rpc_vers *vers;
	const struct rpc_proc *proc;
	struct rpc_cred cred;
	uint32_t xid;
	uint32_t procnum;
	/*
	 * May this run wait for a disk? False in the event loop. An operation
	 * that must wait sets `deferred` before it changes anything, and
	 * returns. It then runs again on a file thread, with may_block set.
	 */
	bool may_block;
	bool deferred;
	/*
	 * Set as well by an operation that waits for another process, not for a
	 * disk: hooks.parked gets the call. It stays set when the call runs again.
	 * Such an operation leaves no errands.
	 */
	bool parked;
	uint32_t reply_size; /* if deferred: bytes of data that it may answer */
	unsigned int turn; /* if deferred: RPC_TURN_SHORT, or see pool/pool.h */
	unsigned int queue; /* the same */
	/*
	 * What an operation leaves to be done before the reply is made (pool/pool.h).
	 * There is room for RPC_ERRANDS.
	 */
	struct rpc_errand *errands;
	unsigned int nerrands;
	bool in_order; /* one errand after the other */
	/*
	 * Is the call one of a batch, that ends with hooks.batch? Then an operation may
	 * leave something for that, and says so: the reply is made afterwards.
	 */
	bool in_batch;
	bool late;
	/*
	 * An operation that refuses the call sets the status here. RPC_SUCCESS,
	 * the initial value, means that there is a result.
	 */
	enum rpc_accept_stat refuse;
	/* The same if the caller's proof is too weak. Initially AUTH_OK. */
	enum rpc_auth_stat deny;
	/*
	 * Set by an operation that refused the call before it did anything: the
	 * reply is not kept. And if the sender has used up its refusals: the
	 * reply is not sent, and a stream is closed.
	 */
	bool refused;
	bool silent;
	/* Set by an operation: no reply is sent, so that the client asks again. */
	bool dropped;
	unsigned int thread; /* 0: the one that began the event loop */
	/*
	 * The reply buffer after the reply header. An operation puts bulk data
	 * where the encoder needs it; see xdr_put_opaque().
	 */
	uint8_t *room;
	size_t room_len;
	uint64_t started_ns; /* clock_ns() */
	uint64_t ended_ns; /* the same; valid in hooks.end */
	const struct call_args *args; /* valid once it has begun */
	enum rpc_accept_stat outcome; /* valid in hooks.end */
};

/* The functions that a daemon adds to the pipeline. */
struct rpc_hooks {
	size_t ctx_size; /* sizes of the call_* structs */
	size_t args_size;
	size_t res_size;
	size_t args_raw; /* bytes at the end of call_args that are not zeroed */
	/*
	 * Fills the zeroed context. Returns AUTH_OK or the reason of a denial.
	 * Runs on the thread of the attempt (call->thread), so twice for a
	 * deferred call. And once more, with the context as it is, on the thread
	 * that ends a call which was late or left errands. May be NULL.
	 */
	enum rpc_auth_stat (*begin)(void *arg, struct call_ctx *,
	    struct rpc_call *);
	/*
	 * Called when the call waits for a file thread, in the event loop. Its
	 * second attempt may have begun there. May be NULL.
	 */
	void (*deferred)(void *arg, const struct call_ctx *,
	    const struct rpc_call *);
	/*
	 * Keeps a call that was parked, in the event loop, and gives it to
	 * rpc_server_resume() later. Returns false if there is no room. NULL if
	 * no operation parks calls.
	 */
	bool (*parked)(void *arg, const struct call_ctx *,
	    const struct rpc_call *, struct rpc_job *);
	/*
	 * The batch of a late call has run, on this thread: does what its late calls
	 * have left. NULL: no operation is late.
	 */
	void (*batch)(void *arg, unsigned int thread);
	/*
	 * The errands of the call have ended, and its batch if it is late: adds what
	 * came of them to the result, and lets their objects go. NULL: no operation
	 * leaves any.
	 */
	void (*settle)(struct call_ctx *, struct call_res *);
	/*
	 * Called after run, or after settle where that is called, unless the call
	 * was deferred or denied. May change the result. May be NULL.
	 */
	void (*ran)(struct call_ctx *, struct call_res *);
	/*
	 * Called after that, on the same thread. True: the call is dropped, as if
	 * run had said so. May be NULL.
	 */
	bool (*drops)(const struct call_ctx *, const struct call_res *);
	/*
	 * Called after put, or after a failed get (then the result is zero).
	 * Once per call that began, always in the event loop, so statistics
	 * need no lock. May be NULL.
	 */
	void (*end)(void *arg, struct call_ctx *, const struct rpc_call *,
	    const struct call_res *);
	/*
	 * Writes what else -vv says of a finished call, such as its status; bytes
	 * of the peer are escaped. May be NULL.
	 */
	void (*show)(const struct rpc_call *, const struct call_res *,
	    char out[RPC_SHOWN]);
	void *arg;
};

#endif

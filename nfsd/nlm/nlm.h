/* SPDX-License-Identifier: ISC */
/*
 * NLM, the lock protocol, versions 1, 3 (32-bit ranges) and 4 (64-bit), and NSM
 * version 1, by which hosts learn of restarts: numbers, arguments, results, and
 * the three stages of each procedure. Versions differ in codecs only. Statuses
 * are those of NLM 4, enum locks_stat.
 * X/Open XNFS, Protocols for Interworking, chapters 9 to 11; RFC 1813, 6.
 * Runs in: nfsd nlm, tests.
 */
#ifndef NLM_H
#define NLM_H

#include <stdbool.h>

#include "nfsd/locks/proto.h"
#include "nfsd/nlm/order.h"
#include "nfsd/nlm/question.h"
#include "nfsd/nlm/states.h"
#include "rpc/rpc.h"
#include "rpc/xdr.h"

#define NLM_PROGRAM    100021
#define NSM_PROGRAM    100024
#define NSM_VERSION    1
#define NLM_RECORD_MAX 8192 /* longest call */
#define NLM_REPLY_MAX  4096
#define NLM_FREE_QUEUE 0x10000u /* of file threads; beyond every export id */

enum nlm_procnum {
	NLMPROC_NULL = 0,
	NLMPROC_TEST = 1,
	NLMPROC_LOCK = 2,
	NLMPROC_CANCEL = 3,
	NLMPROC_UNLOCK = 4,
	NLMPROC_GRANTED = 5,
	NLMPROC_TEST_MSG = 6,
	NLMPROC_LOCK_MSG = 7,
	NLMPROC_CANCEL_MSG = 8,
	NLMPROC_UNLOCK_MSG = 9,
	NLMPROC_GRANTED_MSG = 10,
	NLMPROC_TEST_RES = 11,
	NLMPROC_LOCK_RES = 12,
	NLMPROC_CANCEL_RES = 13,
	NLMPROC_UNLOCK_RES = 14,
	NLMPROC_GRANTED_RES = 15,
	/* 16: Linux's statd to its own lockd; never from the network */
	NLMPROC_SHARE = 20,
	NLMPROC_UNSHARE = 21,
	NLMPROC_NM_LOCK = 22,
	NLMPROC_FREE_ALL = 23
};

#define NLM1_PROCS (NLMPROC_GRANTED_RES + 1)
#define NLM3_PROCS (NLMPROC_FREE_ALL + 1)
#define NLM4_PROCS (NLMPROC_FREE_ALL + 1)
/* From a call with an empty reply to the call that answers it: 7 to 12. */
#define NLM_MSG_TO_RES	(NLMPROC_TEST_RES - NLMPROC_TEST_MSG)
#define NLM_MSG_TO_CALL (NLMPROC_TEST_MSG - NLMPROC_TEST)

enum nsm_procnum {
	NSMPROC_NULL = 0,
	NSMPROC_STAT = 1,
	NSMPROC_MON = 2,
	NSMPROC_UNMON = 3,
	NSMPROC_UNMON_ALL = 4,
	NSMPROC_SIMU_CRASH = 5,
	NSMPROC_NOTIFY = 6
};

#define NSM1_PROCS (NSMPROC_NOTIFY + 1)

#define NLM_MSG 0x100u /* flag of a row: its result is sent as a call */
/* Slices point into the call. */
struct call_args {
	struct slice cookie;
	struct slice name; /* caller_name, or mon_name of NSM */
	struct slice fh, oh;
	int32_t svid;
	uint64_t offset, length;
	bool exclusive, block, reclaim;
	uint32_t mode, access; /* SHARE */
	int32_t state; /* NSM state of the caller */
	uint32_t stat; /* of a _RES */
};

struct call_res {
	struct slice cookie; /* the caller's */
	struct locks_answer answer;
	uint8_t oh[LOCKS_TEXT_MAX]; /* of the lock in the way */
	int32_t state; /* NSM: of this server */
};

struct call_ctx {
	struct rpc_call *call;
	struct nlm *nlm;
	const struct call_args *args;
	uint64_t owner; /* of a lock, and its file: see order.h; 0: none */
	struct nlm_question question; /* of a call that is parked */
	bool must_prove; /* a restart by UDP: is it true? */
};

/* What the operations use; one per process. */
struct nlm {
	bool nolocks; /* every lock is refused */
	struct nlm_states states;
	struct order order; /* of calls on file threads */
	struct locks_answer answer; /* to the parked call that runs again */
	const uint8_t *answer_owner;
	/* No: there is no room, and no call of the owner to be overtaken. */
	bool (*may_park)(void *arg, uint64_t owner, unsigned int queue);
	/* Asks with the others of this turn. False: there is no room. */
	bool (*park)(void *arg, const struct call_ctx *, struct rpc_job *);
	/* The questions of a turn are asked, of so many calls in all. */
	void (*asked)(void *arg, unsigned int calls);
	/* File thread: asks and waits for the answer. False: there is none. */
	bool (*ask)(void *arg, unsigned int thread, const struct nlm_question *,
	    struct locks_answer *, uint8_t *owner);
	/* An answer to a call-back, or a forged one. */
	void (*answered)(void *arg, struct slice cookie, uint32_t stat);
	/* The result of a _MSG call, to be sent to its caller. */
	void (*respond)(void *arg, const struct call_ctx *,
	    const struct call_res *);
	/* A caller that may be forged says that its machine has restarted. */
	void (*prove)(void *arg, const struct call_ctx *);
	void *arg;
};

extern const struct rpc_prog nlm_program, nsm_program;

/* nlm_ops.c; the codecs are in nlm_xdr.h. */
void nlm_test(struct call_ctx *, const struct call_args *, struct call_res *);
void nlm_lock(struct call_ctx *, const struct call_args *, struct call_res *);
void nlm_cancel(struct call_ctx *, const struct call_args *, struct call_res *);
void nlm_unlock(struct call_ctx *, const struct call_args *, struct call_res *);
void nlm_granted(struct call_ctx *, const struct call_args *,
    struct call_res *);
void nlm_granted_res(struct call_ctx *, const struct call_args *,
    struct call_res *);
void nlm_share(struct call_ctx *, const struct call_args *, struct call_res *);
void nlm_unshare(struct call_ctx *, const struct call_args *,
    struct call_res *);
void nlm_nm_lock(struct call_ctx *, const struct call_args *,
    struct call_res *);
void nlm_free(struct call_ctx *, const struct call_args *, struct call_res *);
void nsm_stat(struct call_ctx *, const struct call_args *, struct call_res *);
void nsm_mon(struct call_ctx *, const struct call_args *, struct call_res *);
void nsm_refuse(struct call_ctx *, const struct call_args *, struct call_res *);
struct rpc_hooks nlm_hooks(struct nlm *);

#endif

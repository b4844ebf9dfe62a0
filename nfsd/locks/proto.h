/* SPDX-License-Identifier: ISC */
/*
 * What the processes that serve locks say to each other.
 *
 * The nlm role reads the network and has neither a file nor a lock. Each of its
 * threads has a channel of its own to the locks role. It sends a message of
 * questions and gets one of as many answers, in the same order, before it asks
 * again. A file thread asks one question at a time. Those of one turn of the event
 * loop travel together. A second channel, of the two event loops, carries events:
 * waiting locks that were granted, and what clients said to that. Both sides
 * check every length. Sizes are fixed but for the bytes behind a question.
 *
 * The parent keeps on disk which clients hold locks, and the state number of
 * this server (NSM: odd while it is up). It tells both roles at their start.
 * Runs in: nfsd nlm (asks), nfsd locks (answers), nfsd parent (keeps the list).
 */
#ifndef LOCKS_PROTO_H
#define LOCKS_PROTO_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/ipc.h"
#include "handle/fhandle.h"
#include "rpc/rpc.h"

#define LOCKS_THREADS 16 /* channels between the nlm and the locks role */
/*
 * Threads of the locks role, each with a channel to the broker. If nlm is
 * restarted while filesystems hang, its new channels find free ones.
 */
#define LOCKS_SERVERS	   (2 * LOCKS_THREADS)
#define LOCKS_TOGETHER	   32 /* questions in one message */
#define LOCKS_TEXT_MAX	   1024 /* bytes of a caller's name, and of an owner */
#define LOCKS_COOKIE	   8 /* unpredictable bytes in our call-backs */
#define LOCKS_GRACE_MAX	   3600 /* seconds */
#define LOCKS_FLOATING_MAX 16 /* addresses that move between machines */

/* As NLM 4 has them; the codecs of versions 1 and 3 translate. */
enum locks_stat {
	LOCKS_GRANTED = 0,
	LOCKS_DENIED = 1,
	LOCKS_NOLOCKS = 2,
	LOCKS_BLOCKED = 3,
	LOCKS_GRACE = 4,
	LOCKS_DEADLOCK = 5,
	LOCKS_ROFS = 6,
	LOCKS_STALE = 7,
	LOCKS_FBIG = 8,
	LOCKS_FAILED = 9,
	LOCKS_LATER /* never on the wire: see locks_ask.brief */
};

enum locks_question {
	LOCKS_TEST,
	LOCKS_LOCK,
	LOCKS_CANCEL,
	LOCKS_UNLOCK,
	LOCKS_SHARE,
	LOCKS_UNSHARE,
	LOCKS_FREE, /* the client has restarted, or says FREE_ALL */
	LOCKS_QUESTIONS
};

/* On a channel of questions. */
enum locks_message {
	LOCKS_ASK, /* one struct locks_ask, or some that are brief */
	LOCKS_ANSWER /* a struct locks_answer for each of them */
};

/*
 * A client of NLM: address without port, name, version and transport, and the
 * address that it calls this server by. Linux counts svids from 0 for each of the
 * last three. The name is a claim of the client: bytes, never looked up. It stands
 * behind the message.
 */
struct locks_client {
	struct addr from; /* with its port, for the port rule */
	struct addr to; /* the address the client calls this server by */
	uint32_t vers;
	uint32_t kind; /* enum rpc_transport_kind */
	uint32_t name_len;
};

/*
 * One question. Behind it the name of the client, then the owner (oh). Offset
 * and length are those of the wire; length 0 is to the end. LOCKS_FREE uses
 * client, state and proven alone.
 */
struct locks_ask {
	uint32_t type; /* enum locks_question */
	struct locks_client client;
	struct rpc_cred cred;
	struct fh fh;
	uint32_t owner_len;
	int32_t svid;
	uint64_t offset, length;
	/*
	 * NSM state of the client in LOCK and FREE. LOCKS_FREE frees what was
	 * locked under another state; 0 (FREE_ALL): everything.
	 */
	int32_t state;
	uint32_t share_mode, share_access;
	bool exclusive, block, reclaim;
	bool monitored; /* false: NM_LOCK; the client hears of no restart */
	bool proven; /* LOCKS_FREE: the address has proved to be the sender */
	/*
	 * The event loop of nlm asks. The answer must wait for nothing; if it
	 * would, it is LOCKS_LATER, and a file thread asks again. Only brief
	 * questions travel together.
	 */
	bool brief;
	uint32_t cpu; /* of a brief one: where the event loop runs */
};

/*
 * Behind it the owner of the lock in the way, if stat is LOCKS_DENIED and the
 * question was LOCKS_TEST. LOCKS_FREE that is not proven frees nothing: it is
 * answered LOCKS_BLOCKED if there is something to free, else LOCKS_GRANTED.
 */
struct locks_answer {
	uint32_t stat; /* enum locks_stat */
	bool admitted; /* an export admits the client: it may be called back */
	bool exclusive; /* of the lock in the way, as the next three */
	int32_t svid;
	uint64_t offset, length;
	uint32_t owner_len;
};

/* On the channel of events. */
enum locks_event {
	LOCKS_GRANT, /* locks to nlm: call the client back; struct locks_grant */
	LOCKS_REPLY, /* nlm to locks: it has answered; struct locks_reply */
	LOCKS_HEARD, /* nlm to locks: a listed client has answered SM_NOTIFY;
			struct locks_listed */
	LOCKS_EVENTS
};

/*
 * A waiting lock is granted. Behind it name and owner, as in a question. Sent
 * again after 1, 2, 4 and 8 seconds until the client answers.
 */
struct locks_grant {
	uint8_t cookie[LOCKS_COOKIE];
	uint32_t
	    tries; /* 0: the first; odd ones use GRANTED, not GRANTED_MSG */
	struct locks_client client;
	struct fh fh;
	uint32_t owner_len;
	int32_t svid;
	uint64_t offset, length; /* as the client asked */
	bool exclusive;
};

struct locks_reply {
	uint8_t cookie[LOCKS_COOKIE];
	uint32_t stat; /* enum locks_stat; only LOCKS_GRANTED keeps the lock */
};

/*
 * A client that holds locks, as the parent keeps it on disk. Behind it the
 * name. The locks role waits for the parent's answer before the first GRANTED
 * to a client; client.from has no port.
 */
struct locks_listed {
	struct locks_client client;
	int32_t state; /* the last that the client told in LOCK; 0: none */
	int32_t server; /* of this server, for the client to be told; else 0 */
	bool floating; /* this server is known by that address alone */
};

/*
 * From the parent to the locks role and the nlm role, before the clients of the
 * list, if any: n messages of struct locks_listed follow. That of a floating
 * address comes while others are served, and takes nothing back that another
 * start has said.
 */
struct locks_start {
	struct addr at; /* floating; family 0: all addresses that are not */
	int32_t state; /* of this server, by that address; odd */
	uint32_t grace; /* seconds; 0: no client held a lock */
	uint32_t n;
};

/*
 * A floating address left this machine: what its clients hold is freed, without a
 * word that they are gone, since they reclaim elsewhere. The parent asks again
 * until nothing remains.
 */
struct locks_left {
	struct addr at;
	uint32_t remain; /* in the answer */
};

/* One lock, waiting lock or share, for nfsd -L. Behind it the name. */
enum locks_row_kind { LOCKS_ROW_LOCK, LOCKS_ROW_WAITS, LOCKS_ROW_SHARE };

struct locks_row {
	struct locks_client client;
	uint32_t what; /* enum locks_row_kind */
	uint32_t export_id;
	uint64_t inode;
	int32_t svid;
	uint64_t offset, length; /* as in a question; not of a share */
	uint32_t share_mode, share_access;
	bool exclusive;
	uint32_t seconds; /* how long it is held or waited for */
};

/*
 * Counters of a role, in memory that the parent reads. Each role has its own.
 * The locks role counts under its mutex, the nlm role in its event loop.
 */
enum locks_count {
	LOCKS_COUNT_LOCKS, /* held now; locks role, as the next four */
	LOCKS_COUNT_WAITERS,
	LOCKS_COUNT_SHARES,
	LOCKS_COUNT_CLIENTS,
	LOCKS_COUNT_GRACE, /* seconds that grace lasts */
	LOCKS_COUNT_RECLAIMED, /* in all; as all that follow */
	LOCKS_COUNT_GRANTS, /* waiting locks that were granted */
	LOCKS_COUNT_UNANSWERED, /* of these, freed as no answer came */
	LOCKS_COUNT_DEADLOCKS,
	LOCKS_COUNT_LIMITS, /* refused by a limit */
	LOCKS_COUNT_CALLBACKS, /* datagrams sent; nlm role, as the next ones */
	LOCKS_COUNT_SILENT, /* clients that could not be called back */
	LOCKS_COUNT_FORGED, /* answers and notifies that were not asked for */
	LOCKS_COUNTS
};

struct locks_stats {
	_Atomic uint64_t counts[LOCKS_COUNTS];
	/* Locks role: answers by question and enum locks_stat. */
	_Atomic uint64_t answers[LOCKS_QUESTIONS][LOCKS_FAILED + 1];
};

#define LOCKS_ASK_MAX	  (sizeof(struct locks_ask) + 2 * LOCKS_TEXT_MAX)
#define LOCKS_ANSWER_MAX  (sizeof(struct locks_answer) + LOCKS_TEXT_MAX)
#define LOCKS_ASKS_MAX	  IPC_MESSAGE_MAX /* bytes of questions in a message */
#define LOCKS_ANSWERS_MAX (LOCKS_TOGETHER * LOCKS_ANSWER_MAX)
#define LOCKS_GRANT_MAX	  (sizeof(struct locks_grant) + 2 * LOCKS_TEXT_MAX)
#define LOCKS_LISTED_MAX  (sizeof(struct locks_listed) + LOCKS_TEXT_MAX)
#define LOCKS_ROW_MAX	  (sizeof(struct locks_row) + LOCKS_TEXT_MAX)

#endif

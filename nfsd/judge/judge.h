/* SPDX-License-Identifier: ISC */
/*
 * The first steps of the door, which need no file: may this client use the
 * export of a handle, is the handle one of ours, and whom does its caller act
 * as? The worker's door goes on from here to the file. The locks role asks the
 * same and goes on to the table of locks.
 * Runs in: nfsd worker (event loop and file threads), nfsd locks.
 */
#ifndef JUDGE_H
#define JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "exports/client.h"
#include "exports/users.h"
#include "handle/fhandle.h"
#include "nfsd/judge/groups.h"
#include "nfsd/roles/cred.h"
#include "nfsd/roles/served.h"
#include "rpc/rpc.h"

#define JUDGE_PEERS 1024 /* access decisions a thread remembers */

struct guesses;

/* One access decision: this peer in this export and dialect. */
struct judge_peer {
	const struct served_export *export; /* NULL: none */
	bool utf16;
	struct addr from;
	uint64_t identity; /* peer_key() */
	const struct export_client *client; /* NULL: not allowed */
};

struct judge {
	struct active active; /* the exports */
	struct fh_subkey key; /* the worker's */
	struct guesses *guesses;
	char *domain; /* of users in certificates; NULL: none */
	struct judge_groups groups;
};

/* What one thread remembers. */
struct judge_thread {
	struct judge *judge;
	struct active_hold held; /* the exports in use by this thread */
	struct served_export *listed; /* of the last handle, or NULL */
	struct judge_peer *last; /* of peers, or NULL */
	struct judge_peer peers[JUDGE_PEERS];
};

/* A call that is judged. */
struct judge_case {
	struct judge_thread *thread;
	struct rpc_call *call;
	bool *refused; /* a refusal of this call was logged already */
};

enum judge_refusal {
	JUDGE_UNKNOWN, /* no entry is for this client */
	JUDGE_PORT, /* the port is not below 1024 */
	JUDGE_WEAK, /* TLS or a certificate is demanded */
	JUDGE_USER, /* the certificate has no user of this machine */
	JUDGE_ABSENT /* the export is listed, but not there at the moment */
};

enum judge_verdict {
	JUDGE_PASSES,
	JUDGE_MALFORMED, /* Tern never made such a handle */
	JUDGE_STALE, /* no such export, or a wrong tag */
	JUDGE_REFUSED /* the client may not use the export; see the log */
};

/* What the third step finds. */
enum judge_identity {
	JUDGE_ACTS,
	JUDGE_NOBODY, /* the certificate has no user of this machine */
	JUDGE_GROUPS /* the groups of the user are not known yet */
};

/* What the first step finds. */
struct judged {
	struct served_export *export;
	const struct export_options *options; /* of this client */
	bool utf16; /* names below are in the player dialect */
};

/* judge.c. domain: NULL or "": none. */
void judge_init(struct judge *, const struct fh_subkey *, const char *domain);
void judge_clear(struct judge *);
/* Swaps the exports in; takes over one use. */
void judge_set_exports(struct judge *, struct served_exports *);
/*
 * The exports of this call: the active ones, or if pinned those that the thread
 * holds. Returns true if they are others than before.
 */
bool judge_hold(struct judge_thread *, bool pinned);
/* Ends the use of the exports. The thread remembers nothing then. */
void judge_release(struct judge_thread *);
/*
 * Step 1: the export is listed, and the client may use it by this connection. A
 * client that may not learns nothing about handles, but for those that Tern can
 * never have made.
 */
enum judge_verdict judge_client_of(const struct judge_case *, const struct fh *,
    struct judged *);
/* Step 3: squashes the caller: the user of the call, or of its certificate. */
enum judge_identity judge_squash(const struct judge_case *,
    const struct export_options *, struct cred *);

/*
 * client.c. The client's row if it may use the export by this connection, else
 * NULL. Then *why, unless it is NULL, says what is wrong.
 */
const struct export_client *judge_client(struct judge_thread *,
    const struct served_export *, bool utf16, const struct rpc_peer *,
    enum judge_refusal *why);
/* The same for a call. The row of its procedure may permit any port. */
const struct export_client *judge_call(const struct judge_case *,
    const struct served_export *, bool utf16, enum judge_refusal *why);
/* The user in the certificate of the caller, or NULL. */
const struct export_user *judge_user(const struct judge_case *);

/*
 * guess.c. Step 2: is the tag of a handle right? Counts the wrong ones of each
 * client and slows it down.
 */
bool judge_check_tag(const struct judge_case *, const struct served_export *,
    const struct fh *);

/*
 * refusal.c. Logs why the client may not use the export, once a minute for each
 * client, export and reason, and denies the call if a stronger connection might
 * help.
 */
void judge_refuse(const struct judge_case *, const struct served_export *,
    bool utf16, enum judge_refusal);
/* The same for a handle whose export is no longer listed. */
void judge_refuse_unlisted(const struct judge_case *, uint16_t id);

#endif

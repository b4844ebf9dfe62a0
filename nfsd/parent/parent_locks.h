/* SPDX-License-Identifier: ISC */
/*
 * The parent's side of locks: starts the roles nlm and locks, connects them,
 * keeps on disk which clients hold locks, and lists and frees locks for an
 * administrator.
 *
 * To the locks role: the setup, the exports, NFSD_LOCKS_CHANNELS (its ends of
 * the channels to nlm), NFSD_CHANNELS (to the broker), NFSD_LOCKS_START and as
 * many NFSD_LOCKS_LISTED as that says. To the nlm role: the setup,
 * NFSD_LOCKS_CHANNELS, NFSD_LOCKS_START and its NFSD_LOCKS_LISTED. Both
 * answer the setup with NFSD_READY. New channels, a new start and new exports
 * may come at any time, and replace the old ones: when another role has been
 * restarted, or the exports were read again. A channel that closes is of a role
 * that has ended.
 *
 * The locks role sends NFSD_LOCKS_CLIENT before the first lock of a client, also
 * before the first that it reclaims. It gives the lock when NFSD_LOCKS_SAVED says
 * that the client is on disk. NFSD_LOCKS_GONE takes it off the list: some seconds
 * after its last lock, and at the end of grace if it has reclaimed none.
 *
 * A floating address that comes has a list of its own, and NFSD_LOCKS_START and its
 * NFSD_LOCKS_LISTED are sent for it alone. When it leaves, NFSD_LOCKS_LEAVE is sent
 * until NFSD_LOCKS_LEFT says that nothing remains. Then the list is closed.
 * Runs in: nfsd parent.
 */
#ifndef PARENT_LOCKS_H
#define PARENT_LOCKS_H

#include "nfsd/nfsd.h"
#include "nfsd/parent/lock_list.h"
#include "nfsd/disk/lock_book.h"
#include "process/listen.h"

struct control;
struct parent_groups;
struct event;
struct event_base;
struct registration;
struct reload;

#define PARENT_LOCKS_ASKED 256 /* clients that wait for one sync */

enum parent_locks_role { PARENT_NLM, PARENT_LOCKS, PARENT_LOCK_ROLES };

struct figures;

struct forbid;

struct parent_locks {
	const struct nfsd *n;
	/* To be set before parent_locks_prepare(). */
	struct role_child *(*broker)(void *arg); /* NULL: not started */
	void (*send_exports)(void *arg, struct role_child *);
	const char *(*path)(void *arg, uint16_t export_id); /* NULL: none */
	void (*changed)(void *arg); /* a role serves, or a list */
	void *arg;
	int shared; /* struct nfsd_shared */
	struct parent_groups *groups; /* NULL: not managed */
	struct fh_subkey key; /* that of a worker, for the locks role */

	struct listen_set sockets, status; /* of NLM; of NSM if it has others */
	struct registration *registration; /* NULL: none */
	struct role_spec specs[PARENT_LOCK_ROLES];
	struct role_child *roles[PARENT_LOCK_ROLES]; /* locks: NULL: none */
	int stats_fds[PARENT_LOCK_ROLES];
	const struct locks_stats *stats[PARENT_LOCK_ROLES];
	struct lock_list list;
	struct lock_books books;
	struct event *on_asked, *on_turn;
	struct {
		uint32_t number;
		size_t book; /* index of its list */
	} asked[PARENT_LOCKS_ASKED]; /* not answered yet */
	size_t nasked;
};

/* Binds the sockets and reads the list. Fatal if a port is taken. */
/* No export may show the lists: a client could add others that reclaim locks. */
void parent_locks_forbid(const struct nfsd *, struct forbid *);
void parent_locks_prepare(struct parent_locks *, struct nfsd *);
void parent_locks_start(struct parent_locks *, struct event_base *,
    struct reload *, struct control *);
/* Connects the locks role and the broker, if both run. */
void parent_locks_connect(struct parent_locks *);
/* The machine has this address, or no longer: then its connections end. */
void parent_locks_address(struct parent_locks *, const struct addr *,
    bool here);
/* Sends the exports again. */
void parent_locks_exports(struct parent_locks *);
/* The broker says that the locks role breaks its rules. */
void parent_locks_accuse(struct parent_locks *);
/* Registers both programs, when all roles serve. */
void parent_locks_register(struct parent_locks *);
/* Writes the counters of both roles as stats_text() does. */
void parent_locks_text(const struct parent_locks *, struct figures *);
/* Unregisters and calls done. The roles are not started again. */
void parent_locks_stop(struct parent_locks *, void (*done)(void *), void *arg);
void parent_locks_free(struct parent_locks *);

#endif

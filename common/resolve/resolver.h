/* SPDX-License-Identifier: ISC */
/*
 * The parent's side of the resolver: its start, its life and its messages. Two
 * modules ask it: names.c for hosts and netgroups, groups.c for the groups of
 * users. Each keeps its own questions and answers. Both share the places for
 * questions that wait.
 *
 * The resolver is started by the first wake-up, so a daemon that has nothing to
 * ask has none.
 * Runs in: mountd parent, nfsd parent.
 */
#ifndef RESOLVER_H
#define RESOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "resolve/resolve.h"

#define RESOLVER_HANG_MS (2 * 60 * 1000) /* without any answer: it hangs */

struct event_base;
struct daemon;
struct watch;
struct resolver;

/* A module that asks. */
struct resolver_asker {
	/* Questions may be asked: it is ready, has answered, or 2 s are over. */
	void (*turn)(void *arg);
	/* The resolver ended: what was asked stays without answer. */
	void (*lost)(void *arg);
	/*
	 * An answer, of the size that its message has. Returns false if no
	 * question has such an answer; the resolver is then restarted.
	 */
	bool (*hear)(void *arg, enum resolve_message, const void *answer);
	void *arg;
};

/* users: it will be asked for groups of users. */
struct resolver *resolver_new(bool users);
/* Kills the role. Accepts NULL. */
void resolver_free(struct resolver *);
/* To be called once for each kind of answer that the asker hears. */
void resolver_add(struct resolver *, enum resolve_message,
    const struct resolver_asker *);
/* The event loop is there. */
void resolver_start(struct resolver *, struct event_base *,
    const struct daemon *, struct watch *);
/* Starts the role unless it runs. Its askers get a turn when it is ready. */
void resolver_wake(struct resolver *);
/*
 * Asks. Returns the number that the answer will have; 0: the resolver is not
 * ready, or has enough questions.
 */
uint32_t resolver_ask(struct resolver *, enum resolve_kind, const char *name);

#endif

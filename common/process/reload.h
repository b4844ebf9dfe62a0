/* SPDX-License-Identifier: ISC */
/*
 * Do all roles serve the exports they were last sent? A role acknowledges each
 * list when every call that begins from then on is judged by it. The service
 * manager hears READY=1 after a reload when all roles have done so.
 *
 * A role that hangs does not delay READY=1 for ever: after RELOAD_SECONDS the
 * parent says it anyway and logs which role is late. The role is not killed,
 * because a filesystem that hangs it would hang its successor as well.
 * Runs in: mountd parent, nfsd parent.
 */
#ifndef PROCESS_RELOAD_H
#define PROCESS_RELOAD_H

#include <stdbool.h>
#include <stddef.h>

#define RELOAD_ROLES_MAX 80
#define RELOAD_SECONDS	 10

struct event;
struct event_base;
struct daemon;
struct role_child;

struct reload {
	const struct daemon *d;
	struct role_child *roles[RELOAD_ROLES_MAX];
	size_t n;
	struct event *timer; /* pending while READY=1 is owed */
	bool late; /* READY=1 was said although a role was not current */
};

/* The daemon is borrowed for good. */
void reload_init(struct reload *, struct event_base *, const struct daemon *);
void reload_free(struct reload *);
/* One more role to wait for; borrowed. */
void reload_add(struct reload *, struct role_child *);
/*
 * The reload that SIGHUP asked for has been sent to the roles, or failed. Says
 * READY=1 at once if no role owes anything. Reloads that overlap share one.
 */
void reload_wait(struct reload *);
/* A role said something: is every role current now? If so, READY=1 is said if
 * it is owed. */
bool reload_check(struct reload *);

#endif

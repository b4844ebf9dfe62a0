/* SPDX-License-Identifier: ISC */
/*
 * Waits after a reload until all roles serve the list they were sent last. A
 * role acknowledges a list when every later call is judged by it. When all
 * roles have done so, the parent sends READY=1 to the service manager.
 *
 * A role that hangs does not delay READY=1 for ever. After RELOAD_SECONDS the
 * parent sends it anyway and logs which role is late. It does not kill the
 * role: a filesystem that hangs it would hang its successor too.
 * Runs in: mountd parent, nfsd parent.
 */
#ifndef PROCESS_RELOAD_H
#define PROCESS_RELOAD_H

#include <stdbool.h>
#include <stddef.h>

#define RELOAD_ROLES_MAX 160
#define RELOAD_SECONDS	 10

struct event;
struct event_base;
struct daemon;
struct role_child;

struct reload {
	const struct daemon *d;
	struct role_child *roles[RELOAD_ROLES_MAX];
	size_t n;
	struct event *timer; /* pending until READY=1 is sent */
	bool late; /* READY=1 was sent although a role was not current */
};

/* The daemon is borrowed for good. */
void reload_init(struct reload *, struct event_base *, const struct daemon *);
void reload_free(struct reload *);
/* Adds a role to wait for; it must outlive struct reload. */
void reload_add(struct reload *, struct role_child *);
/*
 * To be called after a list was sent to the roles, or the reload failed. Sends
 * READY=1 at once if every role is current. Overlapping reloads share one.
 */
void reload_wait(struct reload *);
/* Is every role current? Then sends READY=1 if a reload waits for it. */
bool reload_check(struct reload *);

#endif

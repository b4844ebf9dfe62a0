/* SPDX-License-Identifier: ISC */
/*
 * Asks every role for a sign of life and tells the service manager's watchdog
 * the result. The question touches no export: a role answers it in the loop
 * that reads its messages.
 *
 * A role that owes an answer is one of three. If it is stopped (SIGSTOP), or is
 * busy (the thread that answered last used the CPU for as long as the roles have
 * between two questions), it is killed and restarted. If it waits, a filesystem
 * hangs it, which would hang its successor too: it is left alone, with one log
 * line, whatever its other threads do. The watchdog is not fed while a role of
 * the first two kinds remains.
 * Runs in: mountd parent, nfsd parent.
 */
#ifndef PROCESS_WATCH_H
#define PROCESS_WATCH_H

#include <stddef.h>

#define WATCH_MS     5000 /* between questions, without a watchdog */
#define WATCH_MS_MIN 100
#define WATCH_SHARE  8 /* questions in one interval of the watchdog */
#define WATCH_SPINS  6 /* questions that a busy role may leave open */

#define WATCH_OTHERS_MAX 4

struct event;
struct event_base;
struct daemon;
struct reload;
struct role_child;

struct watch {
	struct daemon *d;
	const struct reload *all;
	struct role_child *others[WATCH_OTHERS_MAX];
	size_t nothers;
	unsigned int every_ms;
	struct event *timer;
};

/*
 * Watches all roles that a reload waits for; each must answer ROLE_PING. Both
 * structs are borrowed for good. To be called after daemon_detach().
 */
void watch_init(struct watch *, struct event_base *, struct daemon *,
    const struct reload *);
void watch_free(struct watch *);
/* Watches a role for which no reload waits. */
void watch_add(struct watch *, struct role_child *);

#endif

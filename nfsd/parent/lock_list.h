/* SPDX-License-Identifier: ISC */
/*
 * The requests "locks" and "drop ADDRESS" of the control socket. The locks role
 * has the answers. It sends a row for each lock and one empty row at the end, and
 * for a drop how many locks and waiting locks it freed.
 * Runs in: nfsd parent.
 */
#ifndef PARENT_LOCK_LIST_H
#define PARENT_LOCK_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "base/ipc.h"

#define LOCK_LIST_WAITING 16 /* requests that the role has not answered */

struct control;
struct role_child;

enum lock_list_kind { LOCK_LIST_ROWS, LOCK_LIST_DROPS, LOCK_LIST_KINDS };

struct lock_list {
	struct control *control;
	/* The role; NULL: there is none, or it does not run. */
	struct role_child *(*role)(void *arg);
	/* The path of an export or of a mount inside one; NULL: none. */
	const char *(*path)(void *arg, uint16_t export_id);
	void *arg;
	/* Numbers of the requests, in the order of the questions. */
	uint64_t waiting[LOCK_LIST_KINDS][LOCK_LIST_WAITING];
	size_t n[LOCK_LIST_KINDS];
	size_t rows; /* printed so far for the first */
};

/* The members before waiting are set. */
void lock_list_start(struct lock_list *, struct control *);
/*
 * A message of the role, NFSD_LOCKS_ROW or NFSD_LOCKS_DROPPED. Returns NULL, or
 * how it breaks the rules.
 */
const char *lock_list_row(struct lock_list *, const struct ipc_message *);
const char *lock_list_dropped(struct lock_list *, const struct ipc_message *);
/* The role has ended: all that wait hear so. */
void lock_list_fail(struct lock_list *);

#endif

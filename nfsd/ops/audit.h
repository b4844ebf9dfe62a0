/* SPDX-License-Identifier: ISC */
/*
 * The audit of exports with the option "audit": a record for each call that
 * changes names or attributes, or was refused to. It has the client, the user
 * before and after squashing, the path, and the result. The parent writes it down
 * (nfsd/parent/parent_audit.h). Records are bounded in number; those that are
 * left out are counted.
 * Runs in: nfsd worker (event loop and file threads).
 */
#ifndef OPS_AUDIT_H
#define OPS_AUDIT_H

#include <pthread.h>
#include <stdint.h>

#include "base/meter.h"
#include "handle/fhandle.h"

struct call_ctx;
struct call_res;

#define AUDIT_PER_SECOND 2000 /* records of one worker; the parent has less */
#define AUDIT_BURST	 4000
#define AUDIT_NAMES	 4096 /* files whose names are remembered */
#define AUDIT_NAME	 96 /* bytes of a name and its end */

/* Where a file was last looked up. */
struct audit_name {
	struct fh file, dir;
	char name[AUDIT_NAME];
};

/* Zeroed at first. Its pages are used once an export is audited. */
struct audit {
	pthread_mutex_t lock; /* of all below, and of the current directory */
	struct bucket bucket;
	uint64_t lost; /* changes that the parent was not told */
	uint64_t told; /* of these, so many are in the log: event loop */
	int channel; /* to the parent */
	struct audit_name names[AUDIT_NAMES];
};

/* The channel takes one record a message. */
void audit_init(struct audit *, int channel);
/* The one place where every change is known to be done or refused. */
void audit_call(struct call_ctx *, const struct call_res *);
/* Called once a second: logs how many lines were left out since. */
void audit_tell_lost(struct audit *);
uint64_t audit_lost(struct audit *);

#endif

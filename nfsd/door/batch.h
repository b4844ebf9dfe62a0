/* SPDX-License-Identifier: ISC */
/*
 * Handles of new files, asked for at the end of a batch (pool/pool.h): one question
 * for all files that the calls of the batch made in an export. A question alone
 * costs more than a file does. Until then the thread keeps the descriptors.
 *
 * Only where a handle is what the kernel says: the broker then needs no name, which
 * may have changed, and waits for no disk.
 * Runs in: nfsd worker (event loop and file threads).
 */
#ifndef DOOR_BATCH_H
#define DOOR_BATCH_H

#include "nfsd/door/door.h"

#define DOOR_BATCH_MAX 32 /* files in one question */

/* A file whose handle is asked for. */
struct door_new {
	struct call_ctx *ctx; /* of the call that made it */
	struct fh *fh; /* where its handle goes */
	struct stat st;
	int fd;
};

struct door_batch {
	size_t n;
	uint16_t export_id;
	uint32_t generation; /* of the exports */
	struct fh dir; /* one of the directories */
	struct door_new *list; /* made when first needed */
};

/* May the handle of what the call makes in this directory be asked for later? */
bool door_may_ask_later(const struct call_ctx *, const struct door_obj *dir);
/*
 * Takes over the descriptor of a new file, which can read and write. The call is
 * late from now on. fh stays valid until its end. False: no memory, nothing is taken.
 */
bool door_ask_later(struct call_ctx *, const struct door_obj *dir, int fd,
    const struct stat *, struct fh *);
/* Asks for all of them. The cache keeps the descriptors. */
void door_end_batch(struct door_thread *);
/* Of a late call, after that: NFS_OK, or why it has no handle. */
enum nfsstat door_came_of(struct call_ctx *);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * A file of the descriptor cache.
 * Runs in: nfsd worker.
 */
#ifndef DOOR_ENTRY_H
#define DOOR_ENTRY_H

#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "handle/fhandle.h"

#define CACHE_GRANTS 2 /* callers whose rights an entry remembers */

/*
 * What a descriptor is good for. A directory has several to list it by, each
 * standing where a listing stopped: going on there is cheap, seeking is not.
 */
enum cache_slot {
	CACHE_SLOT_PATH,
	CACHE_SLOT_READ,
	CACHE_SLOT_WRITE,
	CACHE_SLOTS = 5
};
#define CACHE_SLOT_LIST CACHE_SLOT_READ /* this and all behind it */
#define CACHE_STREAMS	(CACHE_SLOTS - CACHE_SLOT_LIST)
#define DOOR_ANYWHERE	UINT64_MAX /* a position nobody comes back to */

/* Rights the kernel granted or refused a caller while ctime was this. */
struct grant {
	uint64_t caller; /* cred_key(); 0: none */
	struct timespec ctime;
	uint8_t asked; /* R_OK, W_OK, X_OK */
	uint8_t granted;
};

/*
 * fh, dev, ino and type never change while the entry is held. What every hit
 * looks at lies together: with many files most of the cost of a hit is to fetch
 * it from memory, and processors fetch lines in pairs.
 */
struct cache_entry {
	_Alignas(128) struct fh fh; /* sealed, normalized */
	dev_t dev;
	ino_t ino;
	uint16_t type; /* S_IFMT */
	/* The rest belongs to cache.c. */
	uint8_t lent; /* of the descriptors to list by */
	bool dropped;
	uint32_t next_fh, next_file;
	uint32_t generation; /* of the exports its tag was checked under */
	uint32_t refs;
	uint32_t born; /* sweep number of the last use */
	int fds[CACHE_SLOTS];
	bool used, recent;
	bool slow;
	bool write_reads; /* the write descriptor can be read */
	struct grant grants[CACHE_GRANTS];
	struct timespec listed; /* ctime of the directory they list */
	uint64_t at[CACHE_STREAMS]; /* where they stand */
};

#endif

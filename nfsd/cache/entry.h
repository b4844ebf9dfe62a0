/* SPDX-License-Identifier: ISC */
/*
 * A file of the descriptor cache.
 * Runs in: nfsd worker.
 */
#ifndef CACHE_ENTRY_H
#define CACHE_ENTRY_H

#include <sys/types.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "handle/fhandle.h"
#include "nfsd/cache/cache_dir.h"

#define CACHE_GRANTS 2 /* callers whose rights an entry remembers */

/* What a descriptor is good for. */
enum cache_slot { CACHE_SLOT_PATH, CACHE_SLOT_READ, CACHE_SLOT_WRITE };
#define CACHE_SLOTS 3

/* See cache.h. */
enum cache_state { CACHE_FREE, CACHE_LIVE, CACHE_DROPPED };

/* Rights the kernel granted or refused a caller while ctime was this. */
struct grant {
	uint64_t caller; /* cred_key(); 0: none */
	struct timespec ctime;
	uint8_t asked; /* R_OK, W_OK, X_OK */
	uint8_t granted;
};

/*
 * What every hit looks at lies together: with many files most of the cost of a
 * hit is to fetch the entry from memory, and processors fetch lines in pairs.
 */
struct cache_entry {
	/* These do not change while the entry is held. */
	_Alignas(128) struct fh fh; /* sealed, normalized */
	int fd; /* for what O_PATH is enough for; also one of fds */
	uint16_t type; /* S_IFMT */
	/*
	 * The cache's own. All but refs and state change under its lock alone;
	 * for these two see cache_release().
	 */
	bool recent; /* used since the hand passed */
	_Atomic uint8_t state; /* enum cache_state */
	_Atomic uint32_t refs; /* grows only under the lock */
	uint32_t next_fh;
	uint32_t generation; /* of the exports its tag was checked under */
	uint32_t used_at; /* number of the sweep before the last use */
	uint32_t index; /* of this entry */
	/* What a hit does not look at, in the second line. */
	uint32_t next_file;
	dev_t dev; /* do not change while the entry is held */
	ino_t ino;
	/* -1: none. One that is set stays while the entry is held. */
	_Atomic int fds[CACHE_SLOTS];
	bool slow; /* its filesystem may hang, even at close(2) */
	bool write_reads; /* the write descriptor can be read */
	/* door/inside.c: when a directory last lay in its export; 0: unknown. */
	_Atomic uint32_t inside_at;
	/* rights.c, under the cache's lock. */
	struct grant grants[CACHE_GRANTS];
	/* Of directories. */
	struct cache_dir dir;
};

_Static_assert(sizeof(struct cache_entry) == 256, "two pairs of lines");

#endif

/* SPDX-License-Identifier: ISC */
/*
 * The descriptor cache. An entry is a file and its open descriptors. It is
 *
 *   free     not in use;
 *   live     found by handle and by inode, held by any number of calls;
 *   dropped  no longer found; free, and its descriptors closed, when the last
 *            call releases it.
 *
 * cache_add() makes a free entry live. A live one is dropped if its file was
 * removed, after CACHE_IDLE_S unused, under other exports, and at the limit if
 * it is not held and was not used since the hand last passed.
 *
 * Invariant: while an entry is live or held, its descriptor keeps the inode
 * from being reused, so (device, inode) identifies the file.
 *
 * One lock for the event loop and the file threads, never held over a system
 * call on a file. Giving an entry back and asking for its descriptors take none. A
 * hit allocates nothing.
 * Runs in: nfsd worker.
 */
#ifndef CACHE_H
#define CACHE_H

#include <sys/stat.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "nfsd/cache/entry.h"

#define CACHE_FILES_MAX 65536 /* descriptors at the most */
#define CACHE_FILES_MIN 16
#define CACHE_IDLE_S	60 /* unused for so long: closed */

struct cache;

/* Flags of cache_add(). */
#define CACHE_READS 0x1u /* the write descriptor can be read */
#define CACHE_SLOW  0x2u /* its filesystem may hang, even at close(2) */

struct cache_stats {
	uint64_t hits, misses, evictions;
	size_t entries, descriptors;
};

/* Never NULL. files: descriptors it may hold. */
struct cache *cache_new(size_t files);
void cache_free(struct cache *);
/*
 * Limits the descriptors, at most to the number of cache_new(). Closes some of
 * those beyond the limit; the next call closes more.
 */
void cache_set_limit(struct cache *, size_t files);

/*
 * The entry of a handle, held until cache_release(), or NULL. One whose tag
 * was checked under another list of exports counts as unknown and is dropped.
 */
struct cache_entry *cache_find(struct cache *, const struct fh *,
    uint32_t generation);
/*
 * Enters a file, taking over fd for slot. Returns the entry, held; when the
 * handle is known already that entry gets the descriptor, if it has none.
 * NULL: everything is in use (fd was closed).
 */
struct cache_entry *cache_add(struct cache *, const struct fh *,
    uint32_t generation, const struct stat *, int fd, enum cache_slot,
    unsigned int flags);
/* Gives an entry one more descriptor; closes fd when it has one. */
void cache_add_fd(struct cache *, struct cache_entry *, int fd, enum cache_slot,
    bool write_reads);
/*
 * A descriptor for reading or writing, or -1; stays open while the entry is
 * held. For everything else there is entry->fd.
 */
int cache_fd(const struct cache_entry *, enum cache_slot);
/*
 * Lends a stream of a directory that has this ctime, and says where it stands
 * (cache_dir.h). -1: a new one has to be opened. Either way cache_return() ends
 * the loan.
 */
int cache_lend(struct cache *, struct cache_entry *,
    const struct timespec *ctime, uint64_t want, uint64_t *at);
/* Gives back the stream, or a new one (-1: none), which stands at. */
void cache_return(struct cache *, struct cache_entry *, int fd,
    const struct timespec *ctime, uint64_t at);
/* Holds an entry that is held once more. */
void cache_hold(struct cache *, struct cache_entry *);
void cache_release(struct cache *, struct cache_entry *);
/* The entry is found no more; its descriptors close with the last release. */
void cache_drop(struct cache *, struct cache_entry *);

/* The sealed handle of a file of an export, in the dialect asked for. */
bool cache_handle(struct cache *, uint32_t generation, uint16_t export_id,
    bool utf16, dev_t, ino_t, struct fh *);
/* A file by inode number: its entry, held, or NULL. */
struct cache_held {
	ino_t ino; /* the question */
	struct cache_entry *entry;
};
void cache_hold_files(struct cache *, uint32_t generation, uint16_t export_id,
    bool utf16, dev_t, struct cache_held *, size_t n);
void cache_release_files(struct cache *, const struct cache_held *, size_t n);
/* Can n more descriptors be kept without closing others? */
bool cache_has_room(struct cache *, size_t n);
/*
 * Drops the entries of a file, in whatever export and dialect. May wait: frees
 * the blocks of a removed file.
 */
void cache_forget(struct cache *, dev_t, ino_t);

/* Holds the lock, for the fields of an entry that have another owner. */
void cache_lock(struct cache *);
void cache_unlock(struct cache *);

/*
 * Closes up to n files that no call holds, with all their descriptors (EMFILE).
 * Returns how many. The janitor closes those of a slow filesystem later.
 */
size_t cache_evict(struct cache *, size_t n);
/*
 * From now on the exports have this generation. The janitor closes the entries of
 * others at once: an export that went away keeps no file open.
 */
void cache_set_generation(struct cache *, uint32_t generation);
/*
 * To be called once a second. Looks at a part of the entries and closes removed
 * and idle files, so that the space of removed files is freed. It can block with
 * a local filesystem, so the event loop must not call it.
 */
void cache_sweep(struct cache *);
/*
 * Starts the janitor: a thread that closes descriptors whose close(2) may block,
 * and calls chore, which sweeps, about once a second. Another thread does so for
 * files on slow filesystems, and may hang with them. Without a janitor such
 * descriptors are closed where they are given up.
 */
void cache_start_janitor(struct cache *, void (*chore)(void *), void *arg);
void cache_stats(struct cache *, struct cache_stats *);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * Open descriptors by handle, and handles by file. While an entry holds a
 * descriptor its inode cannot be reused, so finding it by (device, inode) is
 * exact. Shared by the event loop and the file threads under one lock that is
 * never held over a system call on a file. At the limit what was not used since
 * the clock's hand last passed is closed; a hit allocates nothing.
 * Runs in: nfsd worker.
 */
#ifndef DOOR_CACHE_H
#define DOOR_CACHE_H

#include <sys/stat.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "nfsd/door/entry.h"

#define FS_CACHE_FILES_MAX 65536 /* descriptors at the most */
#define FS_CACHE_FILES_MIN 16
#define FS_CACHE_IDLE_S	   60 /* unused for so long: closed */

struct fs_cache;

/* Of what is entered. */
#define FS_CACHE_READS 0x1u /* the write descriptor can be read */
#define FS_CACHE_SLOW  0x2u /* its filesystem may hang, even at close(2) */

struct fs_cache_stats {
	uint64_t hits, misses, evictions;
	size_t entries, descriptors;
};

/* Never NULL. files: descriptors it may hold. */
struct fs_cache *fs_cache_new(size_t files);
void fs_cache_free(struct fs_cache *);
/*
 * It may hold so many descriptors for now, never more than at first. Closes some
 * of the rest; the others when it is called again.
 */
void fs_cache_share(struct fs_cache *, size_t files);

/*
 * The entry of a handle, held until fs_cache_release(), or NULL. One whose tag
 * was checked under another list of exports counts as unknown and is dropped.
 */
struct fs_entry *fs_cache_find(struct fs_cache *, const struct fh *,
    uint32_t generation);
/*
 * Enters a file, taking over fd for slot. Returns the entry, held; when the
 * handle is known already that entry gets the descriptor, if it has none.
 * NULL: everything is in use (fd was closed).
 */
struct fs_entry *fs_cache_add(struct fs_cache *, const struct fh *,
    uint32_t generation, const struct stat *, int fd, enum fs_slot,
    unsigned int flags);
/* Gives an entry one more descriptor; closes fd when it has one. */
void fs_cache_add_fd(struct fs_cache *, struct fs_entry *, int fd, enum fs_slot,
    bool write_reads);
/* A descriptor good for slot, or -1; stays open while the entry is held. */
int fs_cache_fd(struct fs_cache *, const struct fs_entry *, enum fs_slot);
/*
 * A descriptor to list by for one user alone, and where it stands: at want, or
 * where nobody goes on, or anywhere when there can be no more of them. Those
 * from before the directory changed are closed: filesystems remember in them
 * what they have read ahead. -1: one has to be opened. Either way
 * fs_cache_return() ends it.
 */
int fs_cache_lend(struct fs_cache *, struct fs_entry *,
    const struct timespec *ctime, uint64_t want, uint64_t *at);
/* Gives it (or a new one; -1: none) back, standing at. */
void fs_cache_return(struct fs_cache *, struct fs_entry *, int fd,
    const struct timespec *ctime, uint64_t at);
void fs_cache_release(struct fs_cache *, struct fs_entry *);
/* The entry is found no more; its descriptors close with the last release. */
void fs_cache_drop(struct fs_cache *, struct fs_entry *);

/* The sealed handle of a file of an export, in the dialect asked for. */
bool fs_cache_handle(struct fs_cache *, uint32_t generation, uint16_t export_id,
    bool utf16, dev_t, ino_t, struct fh *);
/* A file by number: its entry, held, with a descriptor; or NULL. */
struct fs_held {
	ino_t ino; /* the question */
	struct fs_entry *entry;
	int fd; /* good for FS_SLOT_PATH */
};
void fs_cache_hold_files(struct fs_cache *, uint32_t generation,
    uint16_t export_id, bool utf16, dev_t, struct fs_held *, size_t n);
void fs_cache_release_files(struct fs_cache *, const struct fs_held *,
    size_t n);
/* Can n more descriptors be kept without closing others? */
bool fs_cache_has_room(struct fs_cache *, size_t n);
/* Drops the entries of a file, in whatever export and dialect. */
void fs_cache_forget(struct fs_cache *, dev_t, ino_t);

/*
 * A name that nobody knew was looked up in a directory: are its other names
 * worth looking at before they are asked for, and from where on? Only when it
 * happens often, by one thread at a time (begin: by this one), and once.
 */
bool fs_cache_ahead(struct fs_cache *, struct fs_entry *, bool begin,
    uint64_t *from);
/* What began is over; FS_ANYWHERE: the end was reached. */
void fs_cache_ahead_done(struct fs_cache *, struct fs_entry *, uint64_t at);

/* Remembered rights: false when they are not known for this ctime. */
bool fs_cache_granted(struct fs_cache *, const struct fs_entry *,
    uint64_t caller, const struct timespec *ctime, int asked, int *granted);
void fs_cache_grant(struct fs_cache *, struct fs_entry *, uint64_t caller,
    const struct timespec *ctime, int asked, int granted);

/*
 * Closes up to n files nobody holds, with all their descriptors (EMFILE).
 * Returns how many; those of a slow filesystem the janitor closes, later.
 */
size_t fs_cache_evict(struct fs_cache *, size_t n);
/*
 * Once a second: looks at a part of the entries, closes what was removed or lay
 * idle, so that the space of removed files is freed. May hang with a
 * filesystem: not for the event loop.
 */
void fs_cache_sweep(struct fs_cache *);
/*
 * Starts a thread that closes what may hang and does the chore, which sweeps,
 * about once a second; before, and without it, such descriptors are closed where
 * they are given up.
 */
void fs_cache_start_janitor(struct fs_cache *, void (*chore)(void *),
    void *arg);
void fs_cache_stats(struct fs_cache *, struct fs_cache_stats *);

#endif

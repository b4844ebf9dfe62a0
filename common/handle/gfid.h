/* SPDX-License-Identifier: ISC */
/*
 * The gfid: 16 bytes by which GlusterFS names a file on all machines. It is read
 * as an extended attribute. A client that is mounted with aux-gfid-mount opens it
 * by a name that no directory lists, ".gfid/UUID".
 * Runs in: mountd parent, nfsd broker, children of both parents.
 */
#ifndef HANDLE_GFID_H
#define HANDLE_GFID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GFID_SIZE 16
#define GFID_TEXT 37 /* with the zero at the end */
#define GFID_DIR  ".gfid"
#define GFID_ATTR "glusterfs.gfid.string"

struct gfid {
	uint8_t bytes[GFID_SIZE];
};

/* Reads the 36 characters of a UUID. False: it is none. */
bool gfid_parse(const char *text, size_t len, struct gfid *);
void gfid_print(const struct gfid *, char out[GFID_TEXT]);
/* Of the directory at the top of every volume. */
bool gfid_is_root(const struct gfid *);
/* The inode number that GlusterFS makes of it. */
uint64_t gfid_ino(const struct gfid *);
/* Of an open file; O_PATH is not enough. Returns 0, or -1 with errno. */
int gfid_read(int fd, struct gfid *);
/*
 * Of a directory or, if there is a /proc, a regular file; O_PATH is enough.
 * Returns 0, or -1 with errno.
 */
int gfid_read_path(int fd, struct gfid *);
/*
 * Can files be opened by gfid? The directory must be the top of a volume that
 * is mounted with aux-gfid-mount. Returns 1, 0, or -1 with errno.
 */
int gfid_serves(int root);

#endif

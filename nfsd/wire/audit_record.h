/* SPDX-License-Identifier: ISC */
/*
 * One change for the audit, as a worker sends it to the parent: a fixed head and
 * two paths. The parent checks every length and treats the rest as bytes of a
 * stranger.
 * Runs in: nfsd worker (makes), nfsd parent (reads).
 */
#ifndef WIRE_AUDIT_RECORD_H
#define WIRE_AUDIT_RECORD_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/text.h"

#define AUDIT_PROC     16 /* name of a procedure, with its end */
#define AUDIT_PATH_MAX (PATH_MAX + 512) /* a directory and a name in it */

/* Which members have a value. */
enum audit_has {
	AUDIT_UID = 1,
	AUDIT_AS = 2,
	AUDIT_MODE = 4,
	AUDIT_OWNER = 8,
	AUDIT_GROUP = 16,
	AUDIT_SIZE = 32,
	AUDIT_TIMES = 64,
	AUDIT_TO = 128,
};

struct audit_head {
	struct addr client;
	char proc[AUDIT_PROC];
	uint32_t status; /* enum nfsstat */
	uint32_t has; /* enum audit_has */
	uint32_t uid; /* as the client sent it */
	uint32_t as; /* whom the call acted as */
	uint32_t mode, owner, group; /* as SETATTR set them */
	uint32_t export_len; /* of the path: the export's; 0: not known */
	uint32_t path_len, to_len; /* bytes behind the head */
	uint64_t size;
};

#define AUDIT_RECORD_MAX (sizeof(struct audit_head) + 2 * AUDIT_PATH_MAX)

struct audit_record {
	struct audit_head head;
	const char *path, *to; /* head.path_len, head.to_len bytes, no 0 */
};

/*
 * Reads a record of len bytes, whose paths stay in them. Returns false if it is
 * not one.
 */
bool audit_record_read(const void *bytes, size_t len, struct audit_record *);

/* Two paths with every byte escaped, and the rest. */
#define AUDIT_LINE_MAX (2 * AUDIT_PATH_MAX * TEXT_ESCAPED + 512)
/*
 * Writes "REMOVE OK client=... path=\"...\"" and returns its length. Of each path
 * at most shown bytes are written, with "..." at its end if that is not all.
 */
size_t audit_record_line(const struct audit_record *, size_t shown,
    char out[AUDIT_LINE_MAX]);

#endif

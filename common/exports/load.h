/* SPDX-License-Identifier: ISC */
/*
 * From the exports file to a list, in the parent and in its roles. The parent
 * reads the file; addresses of host names come from the resolver. It packs the text and a table of the
 * names into a memory file that cannot change. A role builds the same list from
 * it, checks every length, and needs neither the file nor a lookup.
 * Runs in: mountd parent, nfsd parent (load); their roles (unpack).
 */
#ifndef EXPORTS_LOAD_H
#define EXPORTS_LOAD_H

#include <stdbool.h>

#include "exports/exports.h"

/* Different names in a file, with the hosts of netgroups; their addresses. */
#define EXPORTS_NAMES_MAX   1024
#define EXPORTS_NAMES_ADDRS 8192

/*
 * Where addresses of host names and netgroups ("@name") come from; stores at
 * most max of them.
 */
struct exports_names {
	size_t (*find)(void *arg, const char *name, struct addr *, size_t max);
	void *arg;
	bool now; /* an answer is final: none comes later */
};

struct exports_file {
	struct exports *list;
	int packed; /* memory file for the roles; it cannot change */
	bool missing; /* there is no such file: no exports */
};

/*
 * Reads, resolves and parses the file. Names NULL: no name has an
 * address. Returns false after reporting every
 * error; the struct is then unchanged. Line 0 means the file as a whole. A file
 * that other users can write is refused.
 */
bool exports_load(struct exports_file *, const char *file,
    const struct exports_names *, const struct exports_hooks *report_only);
/*
 * Builds the list from the same text again, with the addresses that are known
 * now. Returns false if that fails; the struct is then unchanged.
 */
bool exports_rebuild(struct exports_file *, const struct exports_names *);
/* Frees the list and closes packed. Accepts a zeroed struct. */
void exports_file_clear(struct exports_file *);
/*
 * Builds the list in a role. Returns NULL if fd is not what exports_load()
 * packed. fd stays open.
 */
struct exports *exports_unpack(int fd);
/* The same from its bytes, for a role that may not read files. */
struct exports *exports_unpack_bytes(const uint8_t *, size_t len);
/* Returns the bytes of packed, to be freed, or NULL. */
uint8_t *exports_packed_bytes(int fd, size_t *len);

/*
 * Calls tell with "added", "removed" or "changed" for each export that differs.
 * Either list may be NULL.
 */
void exports_diff(const struct exports *before, const struct exports *after,
    void (*tell)(void *arg, const char *what, const struct export *),
    void *arg);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * From the exports file to a list, and from there to the other roles. The
 * parent reads the file and looks host names up, once; what it found travels
 * as one sealed descriptor (the text, and a table of the names in it), and a
 * role builds the same list from it without file, lookup or trust in layout.
 * Runs in: mountd parent, nfsd parent (load); their roles (unpack).
 */
#ifndef EXPORTS_LOAD_H
#define EXPORTS_LOAD_H

#include <stdbool.h>

#include "exports/exports.h"

#define EXPORTS_NAMES_MAX 1024 /* different host names in a file */

struct exports_file {
	struct exports *list;
	int packed; /* for SCM_RIGHTS; read-only for ever */
	bool missing; /* there is no such file: no exports */
};

/*
 * Reads, resolves and parses. False: nothing is changed and every reason was
 * reported; line 0 means the file as a whole. A file that others can write is
 * refused.
 */
bool exports_load(struct exports_file *, const char *file,
    const struct exports_hooks *report_only);
/* Accepts a zeroed one. */
void exports_file_clear(struct exports_file *);
/* In a role; fd stays the caller's. NULL: not what exports_load() packed. */
struct exports *exports_unpack(int fd);

/*
 * What a reload changed: tell is called with "added", "removed" or "changed"
 * for each export that differs. Either list may be NULL.
 */
void exports_diff(const struct exports *before, const struct exports *after,
    void (*tell)(void *arg, const char *what, const struct export *),
    void *arg);

#endif

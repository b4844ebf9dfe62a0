/* SPDX-License-Identifier: ISC */
/*
 * The exports file as the parents of mountd and nfsd use it: load and say what
 * is wrong, say what a reload changed, tell the jail what to hold. Both do it
 * in the same words, because it is the same file.
 * Runs in: mountd parent, nfsd parent.
 */
#ifndef CONFIG_H
#define CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "exports_load.h"
#include "jail.h"

/*
 * Loads the file; each problem is one line "/etc/exports:12:34: unknown option
 * ...", to the log, or (check) to standard error without anything around it.
 * False: *out is unchanged. A missing or empty file means no exports, and is
 * said.
 */
bool config_load(struct exports_file *out, const char *file, bool check);
/* Logs "exports: added /srv/x" for each difference, or that there is none. */
void config_log_diff(const struct exports *before, const struct exports *after);
/*
 * What the jail is to hold; the paths are borrowed from the list. Leaves out,
 * with a warning, a "mountpoint" export while nothing is mounted on it.
 */
size_t config_jail(const struct exports *, struct jail_export[EXPORTS_MAX]);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * The exports file and the key as the parents of mountd and nfsd use them: load
 * and say what is wrong, say what a reload changed, tell the jail what to hold.
 * Both do it in the same words, because they are the same files.
 * Runs in: mountd parent, nfsd parent.
 */
#ifndef EXPORTS_CONFIG_H
#define EXPORTS_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "confine/jail.h"
#include "exports/load.h"
#include "exports/submounts.h"
#include "handle/fhandle.h"

/*
 * Loads the file; each problem is one line "/etc/exports:12:34: unknown option
 * ...", to the log, or (check) to standard error without anything around it.
 * False: *out is unchanged. A missing or empty file means no exports, and is
 * said. Of a path that does not exist check warns; otherwise the jail does.
 */
bool config_load(struct exports_file *out, const char *file, bool check);
/*
 * A jail that holds the exports and what is mounted inside them, which is filled
 * in. Leaves out, with a warning, a "mountpoint" export while nothing is
 * mounted on it.
 */
struct jail *config_jail(const struct exports *, struct submounts *,
    bool rootless);
/*
 * Loads the file again, has the jail hold it and puts it in place of *current;
 * logs "exports: added /srv/x" for each difference. False: logged, and *current
 * stays as it was.
 */
bool config_reload(struct exports_file *current, const char *file,
    struct jail *, struct submounts *);
/* The keys of the handle key file, which is made if missing; fatal if bad. */
void config_load_key(struct fh_keys *, const char *file);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * Loads the exports file and the handle key, reports what is wrong and what a
 * reload changed, and makes the jail's list. Shared by mountd and nfsd, so that
 * both report problems in these files identically.
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
 * Loads the file into *out. Returns false if it has errors; *out is then
 * unchanged. Each problem is one line "/etc/exports:12:34: unknown option ...",
 * in the log or, with check, on standard error. A missing or empty file means
 * no exports and gives a warning. check also warns of paths that do not exist;
 * otherwise the jail does.
 *
 * offers is what the daemon can have of a connection: PEER_TLS if it has a
 * certificate, PEER_MTLS if it also can verify those of clients. An entry that
 * demands more is an error: its clients would all be refused.
 */
bool config_load(struct exports_file *out, const char *file,
    enum peer_security offers, const struct exports_names *, bool check);
/*
 * Returns a jail that holds the exports and the filesystems mounted inside
 * them, and fills in the latter. An export with "mountpoint" is left out with a
 * warning if nothing is mounted on it.
 */
struct jail *config_jail(const struct exports *, struct submounts *,
    bool rootless);
/*
 * Loads the file again, updates the jail and replaces *current. Logs "exports:
 * added /srv/x" for each difference. Returns false, with a log line, if that
 * fails; *current is then unchanged.
 */
bool config_reload(struct exports_file *current, const char *file,
    enum peer_security offers, const struct exports_names *, struct jail *,
    struct submounts *);
/* Derives the keys from the handle key file, which it makes if missing. */
void config_load_key(struct fh_keys *, const char *file);

#endif

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
#include "mounts/forbid.h"

/* What the daemon brings to the exports. */
struct config {
	const char *file; /* the exports */
	/*
	 * What the daemon can have of a connection: PEER_TLS if it has a
	 * certificate, PEER_MTLS if it also can verify those of clients.
	 */
	enum peer_security offers;
	struct forbid forbid; /* what is never exported */
};

/*
 * Loads the file into *out. Returns false if it has errors; *out is then
 * unchanged. Each problem is one line "/etc/exports:12:34: unknown option ...",
 * in the log or, with check, on standard error. A missing or empty file means
 * no exports and gives a warning. check also warns of paths that do not exist;
 * otherwise the jail does.
 *
 * An entry that demands more than the daemon offers is an error: its clients
 * would all be refused. So is an export that is forbidden.
 */
bool config_load(struct exports_file *out, const struct config *,
    const struct exports_names *, bool check);
/*
 * Returns a jail that holds the exports and the filesystems mounted inside
 * them, and fills in the latter. An export with "mountpoint" is left out if
 * nothing is mounted on it.
 */
struct jail *config_jail(const struct exports *, const struct config *,
    struct submounts *, bool rootless);
/*
 * Loads the file again, updates the jail and replaces *current. Logs "exports:
 * added /srv/x" for each difference. Returns false, with a log line, if that
 * fails; *current is then unchanged.
 */
bool config_reload(struct exports_file *current, const struct config *,
    const struct exports_names *, struct jail *, struct submounts *);
/*
 * Follows what was mounted and unmounted since: an export that was unmounted
 * leaves the jail, one that is back returns. Returns true if the roles must be
 * told. Logs one line for each change.
 */
bool config_remount(const struct exports *, const struct config *,
    struct jail *, struct submounts *);
/*
 * Opens the root of an export as the jail holds it. Returns an O_PATH
 * descriptor; -1: it is not served, with the reason.
 */
int config_open(const struct export *, const struct config *, const char **why);
/* Derives the keys from the handle key file, which it makes if missing. */
void config_load_key(struct fh_keys *, const char *file);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * The access decision and its reason. One function decides for MNT, PATHCONF
 * and "mountd -n -x", so the explanation always agrees with the service. Pure.
 * Runs in: mountd worker; mountd -n -x.
 */
#ifndef MOUNT_ACCESS_H
#define MOUNT_ACCESS_H

#include "exports/client.h"
#include "mountd/mount.h"

struct mount_verdict {
	enum mountstat status; /* MNT_OK or MNTERR_ACCES */
	struct exports_place at;
	char why[512]; /* "line 3 allows 192.168.1.0/24" */
	uint64_t key; /* identifies the reason, for any port */
};

/*
 * Decides whether this host may mount this path, which is clean. The status of
 * a refusal does not reveal whether such an export exists.
 *
 * mountd sees no certificate (NULL), since clients send MNT in the clear. The
 * root of an export that has entries for certificates is therefore given to
 * every host, and nfsd decides for each call. "mountd -n -x" may know the
 * certificate, and is then told what nfsd decides.
 */
void mount_access(struct mount_verdict *, const struct exports *,
    const char *path, enum export_names, const struct addr *host,
    const struct peer_identity *);

#endif

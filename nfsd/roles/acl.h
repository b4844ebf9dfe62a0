/* SPDX-License-Identifier: ISC */
/*
 * Permission by owner, groups, mode and access ACL. Where possible, the kernel
 * is asked instead (faccessat2(2)). It cannot be asked about execution: the
 * jail mounts exports noexec, so the kernel always refuses, while clients run
 * programs from them.
 * Runs in: nfsd worker (event loop and file threads), nfsd broker.
 */
#ifndef ROLES_ACL_H
#define ROLES_ACL_H

#include <sys/stat.h>

#include "nfsd/roles/cred.h"

enum acl_answer {
	ACL_NO,
	ACL_YES,
	ACL_UNKNOWN /* the mode grants it, but the ACL could not be read */
};

/*
 * Has the user that the thread acts as any of these rights (R_OK, X_OK)? fd
 * must not be O_PATH, since the kernel reads no ACL through such a descriptor.
 */
enum acl_answer acl_permits(const struct cred_acting *, int fd,
    const struct stat *, unsigned int any);

#endif

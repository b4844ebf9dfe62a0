/* SPDX-License-Identifier: ISC */
/*
 * Rights by owner, groups, mode and access ACL. The kernel's word counts more
 * and is asked where it can be (faccessat2(2)); but not about executing, since
 * exports are mounted noexec here, where it refuses everybody, while clients
 * run programs from them.
 * Runs in: nfsd worker (event loop and file threads), nfsd broker.
 */
#ifndef ROLES_ACL_H
#define ROLES_ACL_H

#include <sys/stat.h>

#include "nfsd/roles/cred.h"

enum acl_answer {
	ACL_NO,
	ACL_YES,
	ACL_UNKNOWN /* by the mode, but an ACL may say less */
};

/*
 * Has who we act as any of these rights (R_OK, X_OK)? By a descriptor that was
 * really opened: of an O_PATH one no ACL can be read.
 */
enum acl_answer acl_permits(const struct cred_acting *, int fd,
    const struct stat *, unsigned int any);

#endif

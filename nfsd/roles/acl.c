/* SPDX-License-Identifier: ISC */
/*
 * Checks owner, groups, mode and access ACL by the algorithm of acl(5). Used
 * for questions that the kernel cannot answer, or only by an expensive switch
 * of identity or capability.
 * Runs in: nfsd worker (event loop and file threads), nfsd broker.
 */
#include <sys/xattr.h>

#include <endian.h>
#include <errno.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <unistd.h>

#include "nfsd/roles/acl.h"

#define ACL_NAME "system.posix_acl_access"
#define ACL_MAX	 8196 /* bytes: 1,024 entries; a longer ACL grants nothing */

static bool
in_group(const struct cred *cred, uint32_t gid)
{
	uint32_t i;

	if (cred->gid == gid)
		return true;
	for (i = 0; i < cred->ngids; i++)
		if (cred->gids[i] == gid)
			return true;
	return false;
}

/* The rights that the mask leaves to named users and to groups. */
static unsigned int
mask_of(const struct posix_acl_xattr_entry *e, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (le16toh(e[i].e_tag) == ACL_MASK)
			return le16toh(e[i].e_perm);
	return ~0u;
}

/*
 * The first entry that is the caller's as a user decides; else the groups of
 * the caller together; else the entry for others.
 */
static bool
entries_permit(const struct cred *cred, const struct stat *st,
    const struct posix_acl_xattr_entry *e, size_t n, unsigned int any)
{
	bool member = false, granted = false, other = false;
	unsigned int perm, masked = any & mask_of(e, n);
	uint32_t gid;
	size_t i;

	for (i = 0; i < n; i++) {
		perm = le16toh(e[i].e_perm);
		gid = le32toh(e[i].e_id);
		switch (le16toh(e[i].e_tag)) {
		case ACL_USER_OBJ:
			if (st->st_uid == cred->uid)
				return (perm & any) != 0;
			break;
		case ACL_USER:
			if (le32toh(e[i].e_id) == cred->uid)
				return (perm & masked) != 0;
			break;
		case ACL_GROUP_OBJ:
			gid = st->st_gid;
			/* FALLTHROUGH */
		case ACL_GROUP:
			if (in_group(cred, gid)) {
				member = true;
				granted = granted || (perm & masked) != 0;
			}
			break;
		case ACL_OTHER:
			other = (perm & any) != 0;
			break;
		}
	}
	return member ? granted : other;
}

static bool
list_permits(const struct cred *cred, const struct stat *st, const void *acl,
    size_t len, unsigned int any)
{
	const struct posix_acl_xattr_header *head = acl;
	const struct posix_acl_xattr_entry *e;

	if (len < sizeof(*head) || len > ACL_MAX ||
	    le32toh(head->a_version) != POSIX_ACL_XATTR_VERSION)
		return false;
	e = (const void *)((const uint8_t *)acl + sizeof(*head));
	return entries_permit(cred, st, e, (len - sizeof(*head)) / sizeof(*e),
	    any);
}

/* The check by mode, for a file without an ACL. */
static bool
mode_permits(const struct cred *cred, const struct stat *st, unsigned int any)
{
	if (st->st_uid == cred->uid)
		return (st->st_mode >> 6 & any) != 0;
	if (in_group(cred, st->st_gid))
		return (st->st_mode >> 3 & any) != 0;
	return (st->st_mode & any) != 0;
}

enum acl_answer
acl_permits(const struct cred_acting *acting, int fd, const struct stat *st,
    unsigned int any)
{
	const struct cred *cred = &acting->now;
	_Alignas(8) uint8_t acl[ACL_MAX];
	ssize_t n;

	if (cred->uid == 0 && acting->switches)
		return ACL_YES;
	n = fgetxattr(fd, ACL_NAME, acl, sizeof(acl));
	if (n > 0)
		return list_permits(cred, st, acl, (size_t)n, any) ? ACL_YES :
								     ACL_NO;
	if (!mode_permits(cred, st, any))
		return ACL_NO;
	return n == 0 || errno == ENODATA || errno == EOPNOTSUPP ? ACL_YES :
								   ACL_UNKNOWN;
}

/* SPDX-License-Identifier: ISC */
/*
 * May the caller execute a file? The kernel cannot be asked: exports are
 * mounted noexec here, and there it refuses everybody, while clients run
 * programs from them. So this one question is answered from owner, groups, mode
 * and access ACL, by the algorithm of acl(5).
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <sys/syscall.h>
#include <sys/xattr.h>

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <string.h>
#include <unistd.h>

#include "fs_door.h"

#define ACL_NAME "system.posix_acl_access"
#define ACL_MAX	 4096 /* bytes; a longer one grants nothing here */

static bool
in_group(const struct fs_cred *cred, uint32_t gid)
{
	uint32_t i;

	if (cred->gid == gid)
		return true;
	for (i = 0; i < cred->ngids; i++)
		if (cred->gids[i] == gid)
			return true;
	return false;
}

static bool
acl_executes(const struct fs_cred *cred, const struct stat *st, const void *acl,
    size_t len)
{
	const struct posix_acl_xattr_header *head = acl;
	const struct posix_acl_xattr_entry *e;
	bool member = false, granted = false, mask = true, other = false;
	uint32_t id;
	size_t i, n;

	if (len < sizeof(*head) || len > ACL_MAX ||
	    le32toh(head->a_version) != POSIX_ACL_XATTR_VERSION)
		return false;
	e = (const void *)((const uint8_t *)acl + sizeof(*head));
	n = (len - sizeof(*head)) / sizeof(*e);
	for (i = 0; i < n; i++)
		if (le16toh(e[i].e_tag) == ACL_MASK)
			mask = (le16toh(e[i].e_perm) & ACL_EXECUTE) != 0;
	for (i = 0; i < n; i++) {
		bool x = (le16toh(e[i].e_perm) & ACL_EXECUTE) != 0;

		id = le32toh(e[i].e_id);
		switch (le16toh(e[i].e_tag)) {
		case ACL_USER_OBJ:
			if (st->st_uid == cred->uid)
				return x;
			break;
		case ACL_USER:
			if (id == cred->uid)
				return x && mask;
			break;
		case ACL_GROUP_OBJ:
			id = st->st_gid;
			/* FALLTHROUGH */
		case ACL_GROUP:
			if (in_group(cred, id)) {
				member = true;
				granted = granted || (x && mask);
			}
			break;
		case ACL_OTHER:
			other = x;
			break;
		}
	}
	return member ? granted : other;
}

/* The mode alone, as it is without an ACL. */
static bool
mode_executes(const struct fs_cred *cred, const struct stat *st)
{
	if (st->st_uid == cred->uid)
		return (st->st_mode & S_IXUSR) != 0;
	if (in_group(cred, st->st_gid))
		return (st->st_mode & S_IXGRP) != 0;
	return (st->st_mode & S_IXOTH) != 0;
}

bool
fs_executes(const struct fs_thread *t, int fd, const struct stat *st)
{
	_Alignas(8) uint8_t acl[ACL_MAX];
	ssize_t n;

	if (t->cred.uid == 0 && t->acting.switches)
		return true;
	n = fgetxattr(fd, ACL_NAME, acl, sizeof(acl));
	if (n > 0)
		return acl_executes(&t->cred, st, acl, (size_t)n);
	if (!mode_executes(&t->cred, st))
		return false;
	if (n == 0 || errno == ENODATA || errno == EOPNOTSUPP)
		return true;
	/* An ACL that cannot be read may say less than the mode, and who may
	 * execute may read: so he must be allowed to read as well. */
	return syscall(SYS_faccessat2, fd, "", R_OK,
		   AT_EMPTY_PATH | AT_EACCESS) == 0;
}

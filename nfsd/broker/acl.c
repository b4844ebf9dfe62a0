/* SPDX-License-Identifier: ISC */
/*
 * ACLs of files and directories, read and set by descriptor. A worker's
 * descriptors are mostly O_PATH, through which the kernel reads no ACL.
 * Runs in: nfsd broker; in process for tests and fuzzers.
 */
#include <sys/stat.h>
#include <sys/xattr.h>

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/posix_acl_xattr.h>
#include <linux/xattr.h>

#include "base/util.h"
#include "nfsd/broker/channel.h"

/* The value of the attribute: what the kernel keeps of an ACL. */
struct acl_value {
	struct posix_acl_xattr_header head;
	struct posix_acl_xattr_entry list[BROKER_ACL_MAX];
};

static const char *
name_of(const struct broker_acl *q)
{
	return q->is_default ? XATTR_NAME_POSIX_ACL_DEFAULT :
			       XATTR_NAME_POSIX_ACL_ACCESS;
}

/*
 * Opens what has an ACL. Files of other types have none that matters: nothing
 * is served through them.
 */
static int
open_acl(const struct broker_source *s)
{
	struct stat st;

	if (fstat(s->fd, &st) == -1)
		return -1;
	if (S_ISDIR(st.st_mode))
		return broker_reopen(s, O_RDONLY | O_DIRECTORY);
	if (S_ISREG(st.st_mode))
		return broker_reopen(s, O_RDONLY | O_NONBLOCK);
	errno = EOPNOTSUPP;
	return -1;
}

/* Copies the entries of a value of len bytes. */
static int
unpack(const struct acl_value *v, size_t len, struct broker_got_acl *a)
{
	uint32_t i;

	if (len < sizeof(v->head) ||
	    le32toh(v->head.a_version) != POSIX_ACL_XATTR_VERSION) {
		errno = EIO;
		return -1;
	}
	a->n = (uint32_t)((len - sizeof(v->head)) / sizeof(v->list[0]));
	for (i = 0; i < a->n; i++) {
		a->list[i].tag = le16toh(v->list[i].e_tag);
		a->list[i].perm = le16toh(v->list[i].e_perm);
		a->list[i].id = le32toh(v->list[i].e_id);
	}
	return 0;
}

int
broker_get_acl(struct broker_channel *c, const struct broker_acl *q,
    struct broker_got_acl *a)
{
	struct broker_source s;
	struct acl_value v;
	ssize_t len = -1;
	int fd = -1;

	if (broker_enter(c, &q->file, false, &s) == 0)
		fd = open_acl(&s);
	if (fd != -1)
		len = fgetxattr(fd, name_of(q), &v, sizeof(v));
	close_keep_errno(fd);
	broker_leave(&s);
	if (len > 0)
		return unpack(&v, (size_t)len, a);
	/* No ACL, or a filesystem without them: the mode says it all. */
	return len == 0 || errno == ENODATA || errno == EOPNOTSUPP ? 0 : -1;
}

/* Returns the bytes of the value. */
static size_t
pack(const struct broker_ace *list, uint32_t n, struct acl_value *v)
{
	uint32_t i;

	v->head.a_version = htole32(POSIX_ACL_XATTR_VERSION);
	for (i = 0; i < n; i++) {
		v->list[i].e_tag = htole16(list[i].tag);
		v->list[i].e_perm = htole16(list[i].perm);
		v->list[i].e_id = htole32(list[i].id);
	}
	return sizeof(v->head) + n * sizeof(v->list[0]);
}

/* No entry: removes the ACL. There may be none. */
static int
set_acl(int fd, const struct broker_acl *q, const struct broker_ace *list)
{
	struct acl_value v;

	if (q->n > 0)
		return fsetxattr(fd, name_of(q), &v, pack(list, q->n, &v), 0);
	if (fremovexattr(fd, name_of(q)) == -1 && errno != ENODATA)
		return -1;
	return 0;
}

/* The kernel decides under the caller's identity. */
int
broker_set_acl(struct broker_channel *c, const struct broker_acl *q,
    const struct broker_ace *list)
{
	struct broker_source s;
	int fd = -1, result = -1;

	if (broker_enter(c, &q->file, true, &s) == 0)
		fd = open_acl(&s);
	if (fd != -1) {
		broker_lend_root(c, true);
		result = set_acl(fd, q, list);
		broker_lend_root(c, false);
	}
	close_keep_errno(fd);
	broker_leave(&s);
	return result;
}

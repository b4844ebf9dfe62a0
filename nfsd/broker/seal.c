/* SPDX-License-Identifier: ISC */
/*
 * From a descriptor to a sealed handle. A name of the worker's is used only if it
 * is one clean component, and no path.
 * Runs in: nfsd broker; in process for tests and fuzzers.
 */
#include <sys/stat.h>

#include <errno.h>
#include <string.h>

#include "nfsd/broker/channel.h"

bool
broker_is_name(const char *name)
{
	return *name != '\0' && strlen(name) <= INODE_NAME_MAX &&
	    strchr(name, '/') == NULL && strcmp(name, ".") != 0;
}

/* Names the file directly; name may be NULL. A file's tag covers the exports inside. */
static int
name_directly(const struct broker_source *dir, int fd, const char *name,
    struct fh_plain *plain, const char **text)
{
	const struct served_export *e = dir->export;
	struct gfid above, gfid;
	struct stat st;

	if (fh_fs_gfid(&dir->plain, &above)) {
		if (broker_gfid_of(e, &above, fd, name, &gfid) == -1)
			return -1;
		fh_fs_from_gfid(&gfid, e->id, plain);
	} else if (fh_fs_plain(&e->fs, fd, e->id, false, e->mount_id, plain) ==
	    -1)
		return -1;
	if (e->file_text == NULL)
		return 0;
	if (fstat(fd, &st) == -1)
		return -1;
	if (!S_ISDIR(st.st_mode))
		*text = e->file_text;
	return 0;
}

/* Names it by inode number or by name, and notes where it is. */
static int
name_by_table(const struct broker_source *dir, int fd, const char *name,
    bool utf16, struct fh_plain *plain)
{
	struct served_export *e = dir->export;
	struct inode_table *table;
	struct fh_id id;

	if (!e->crossmnt && fh_fs_mount(fd) != e->mount_id) {
		errno = EXDEV;
		return -1;
	}
	table = broker_table(e);
	if (table == NULL ||
	    inode_table_identify(table, &dir->plain, name, fd, &id) == -1)
		return -1;
	fh_fs_from_id(&id, e->id, utf16, plain);
	return 0;
}

/*
 * Seals one descriptor; name as it is called in dir. Where files go by gfid, what
 * is below a directory with an older handle goes by inode number as it does.
 */
static int
seal_one(struct broker *b, const struct broker_source *dir,
    const struct broker_seal *q, int fd, const char *name, struct fh *fh)
{
	struct served_export *e = dir->export;
	bool direct = e->fs.naming == FH_BY_HANDLE ||
	    (e->fs.naming == FH_BY_GFID && dir->plain.kind == FH_KERNEL);
	const char *text = e->path;
	struct fh_plain plain;

	/* The worker may have the exports from before a reload. */
	if (name == NULL && (e->fs.naming != FH_BY_HANDLE || q->utf16 != 0)) {
		errno = EAGAIN;
		return -1;
	}
	if (direct && q->utf16 == 0) {
		if (name_directly(dir, fd, name, &plain, &text) == -1)
			return -1;
	} else if (name_by_table(dir, fd, name, q->utf16 != 0, &plain) == -1)
		return -1;
	fh_seal(fh, &plain, text, &b->keys);
	return 0;
}

/* The next of the names behind a question, or NULL. */
static const char *
next_name(const char **at, size_t *left)
{
	const char *name = *at;
	size_t len = strnlen(name, *left);

	if (len == *left || !broker_is_name(name))
		return NULL;
	*at += len + 1;
	*left -= len + 1;
	return name;
}

void
broker_seal_root(struct broker_channel *c, const struct broker_seal *q,
    struct broker_sealed_one *a)
{
	struct served_export *e =
	    served_find(c->exports, (uint16_t)q->export_id);
	struct fh_plain plain;

	memset(a, 0, sizeof(*a));
	if (e == NULL)
		a->error = errno;
	else {
		plain = e->plain[q->utf16 != 0];
		plain.export_id = e->id;
		fh_seal(&a->fh, &plain, e->path, &c->broker->keys);
	}
}

bool
broker_seal_files(struct broker_channel *c, const struct broker_seal *q,
    const char *names, const int *fds, struct broker_sealed *a)
{
	struct broker_source dir = { .fd = -1 };
	size_t i, left = q->names_len;
	bool named = q->names_len > 0;
	const char *name = NULL;
	int error = 0;

	if (broker_check_handle(c, &q->dir, &dir) == -1)
		error = errno;
	else if (dir.export->id != q->export_id)
		return false;
	memset(a->list, 0, q->n * sizeof(a->list[0]));
	for (i = 0; i < q->n; i++) {
		if (named && (name = next_name(&names, &left)) == NULL)
			return false;
		a->list[i].error = error;
		if (error == 0 &&
		    seal_one(c->broker, &dir, q, fds[i], name,
			&a->list[i].fh) == -1)
			a->list[i].error = errno;
	}
	return left == 0;
}

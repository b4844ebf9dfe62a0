/* SPDX-License-Identifier: ISC */
/*
 * Seals handles of descriptors.
 * Runs in: mountd parent.
 */
#include <sys/stat.h>

#include <errno.h>
#include <string.h>

#include "base/name.h"
#include "base/util.h"
#include "exports/id.h"
#include "mountd/parent/seal.h"

void
seal_root(struct seal_export *s, struct mountd_handles *m,
    const struct export *e, const struct fh_root *root,
    const struct fh_keys *keys)
{
	static const enum export_names dialects[] = { NAMES_BYTES,
		NAMES_UTF16LE };
	struct fh_plain plain;
	size_t i;

	memset(s, 0, sizeof(*s));
	memset(m, 0, sizeof(*m));
	if (root == NULL)
		return; /* the jail has logged why */
	s->fs = root->fs;
	s->conf = e;
	s->path = e->path;
	s->id = e->id;
	s->mount_id = root->mount_id;
	m->served = true;
	m->slow =
	    (fstype_find(s->fs.magic)->traits & FSTYPE_LOCAL_METADATA) == 0 ||
	    exports_crossmnt(e);
	for (i = 0; i < nitems(dialects); i++) {
		if (!exports_speaks(e, dialects[i]))
			continue;
		plain =
		    fh_fs_plain_root(root, e->id, dialects[i] == NAMES_UTF16LE);
		fh_seal(&m->fh[dialects[i]], &plain, e->path, keys);
		m->sealed[dialects[i]] = true;
	}
}

void
seal_submount(struct seal_export *s, const struct submount *sub,
    const struct export *e)
{
	memset(s, 0, sizeof(*s));
	s->fs = sub->root.fs;
	s->conf = e;
	s->path = sub->path;
	s->id = sub->id;
	/* only the path "/" ends with a slash */
	s->above = strlen(sub->path) - strlen(e->path) - (e->path[1] != '\0');
	s->mount_id = sub->root.mount_id;
}

/*
 * For FH_BY_NAME: makes the handle from the worker's path. Returns false if the
 * path is bad.
 */
static bool
name_plain(const struct seal_export *s, const struct mountd_seal *ask,
    struct fh_plain *plain)
{
	char name[NAME_UTF8_MAX + 1];
	const char *at = ask->below;
	struct fh_id id, parent;
	size_t len;

	if (strlen(at) < s->above)
		return false;
	at += s->above;
	at += *at == '/';
	fh_fs_name_id(NULL, "", &id);
	while (*at != '\0') {
		len = strcspn(at, "/");
		if (name_check(at, len) != NAME_OK)
			return false;
		memcpy(name, at, len);
		name[len] = '\0';
		parent = id;
		fh_fs_name_id(&parent, name, &id);
		at += len;
		at += *at == '/';
	}
	fh_fs_from_id(&id, s->id, ask->utf16, plain);
	return true;
}

struct mountd_sealed
seal_descriptor(const struct seal_export *s, const struct mountd_seal *ask,
    int fd, const struct fh_keys *keys)
{
	struct mountd_sealed answer = { .good = false };
	char text[EXPORTS_FILE_TEXT] = "";
	struct fh_plain plain;
	struct stat st;

	if (s == NULL || s->conf == NULL ||
	    !exports_speaks(s->conf,
		ask->utf16 ? NAMES_UTF16LE : NAMES_BYTES) ||
	    memchr(ask->below, '\0', sizeof(ask->below)) == NULL ||
	    fstat(fd, &st) == -1 ||
	    (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)) ||
	    fh_fs_mount(fd) != s->mount_id)
		return answer;
	if (s->fs.naming == FH_BY_NAME)
		answer.good = name_plain(s, ask, &plain);
	else
		answer.good = fh_fs_plain(&s->fs, fd, s->id, ask->utf16,
				  s->mount_id, &plain) == 0;
	if (answer.good && plain.kind == FH_KERNEL && !S_ISDIR(st.st_mode) &&
	    s->all != NULL)
		(void)exports_file_text(s->all, s->path, text);
	if (answer.good)
		fh_seal(&answer.fh, &plain, *text != '\0' ? text : s->path,
		    keys);
	return answer;
}

/* SPDX-License-Identifier: ISC */
/*
 * See submounts.h.
 * Runs in: mountd parent, nfsd parent.
 */
#include <string.h>

#include "base/log.h"
#include "exports/id.h"
#include "exports/submounts.h"

static bool
is_taken(const struct submounts *s, const struct exports *ex, uint16_t id)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		if (s->list[i].id == id)
			return true;
	return exports_find_id(ex, id) != NULL;
}

static struct submount *
submounts_find(struct submounts *s, const char *path)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		if (strcmp(s->list[i].path, path) == 0)
			return &s->list[i];
	return NULL;
}

static void
submounts_add(struct submounts *s, const struct exports *ex,
    const struct export *e, const char *path)
{
	struct submount *sub = &s->list[s->n];
	uint16_t id = exports_id_inside(path);

	if (s->n == SUBMOUNTS_MAX) {
		if (!s->full && log_permit("mounts inside", 0))
			log_warnx("exports: %s and later mounts are not "
				  "entered: %d mounts inside are the limit, no "
				  "flag raises it (export them by themselves)",
			    path, SUBMOUNTS_MAX);
		s->full = true;
	} else if (is_taken(s, ex, id))
		log_warnx("exports: %s is not entered: its export id %u is "
			  "taken (export it by itself, with fsid=)",
		    path, id);
	else if (strlcpy(sub->path, path, sizeof(sub->path)) <
	    sizeof(sub->path)) {
		sub->index = (uint32_t)(e - ex->list);
		sub->id = id;
		sub->root.fd = -1;
		s->n++;
	}
}

/* Records a mount if it lies in an export that may be entered. */
static void
submounts_take(struct submounts *s, const struct exports *ex,
    const struct mountinfo_line *m)
{
	const struct export *e = exports_find_above(ex, m->path);
	struct submount *sub;

	if (e == NULL || strcmp(e->path, m->path) == 0 || !exports_crossmnt(e))
		return; /* outside all exports, itself one, or not entered */
	submounts_add(s, ex, e, m->path);
	sub = submounts_find(s, m->path);
	if (sub != NULL)
		sub->mount = m->sum;
}

void
submounts_list(struct submounts *s, const struct exports *ex,
    const struct mountinfo *info, const struct forbid *forbid)
{
	const struct mountinfo_line *m;
	size_t i;

	memset(s, 0, sizeof(*s));
	for (i = 0; i < info->n; i++) {
		m = &info->list[i];
		/* One that another mount covers is not to be seen. */
		if (mountinfo_find(info, m->path) == m &&
		    !forbid_mount(forbid, info, m))
			submounts_take(s, ex, m);
	}
}

/* Tells of the mounts that are in one list and not in the other. */
static void
tell(struct submounts *from, struct submounts *other, const char *what)
{
	size_t i;

	for (i = 0; i < from->n; i++)
		if (submounts_find(other, from->list[i].path) == NULL)
			log_info("exports: %s %s", from->list[i].path, what);
}

void
submounts_open(struct submounts *s, const struct jail *jail,
    struct submounts *before)
{
	const struct fh_root *root;
	size_t i, n = 0;

	for (i = 0; i < s->n; i++) {
		root = jail_facts(jail, s->list[i].path);
		if (root == NULL)
			continue; /* the jail has logged why */
		s->list[n] = s->list[i];
		s->list[n++].root = *root;
	}
	s->n = n;
	tell(s, before, "is entered (crossmnt)");
	tell(before, s, "is unmounted: no longer entered");
}

const char *
submounts_path(const struct submounts *s, const struct exports *ex, uint16_t id)
{
	const struct export *e = exports_find_id(ex, id);
	size_t i;

	if (e != NULL)
		return e->path;
	for (i = 0; i < s->n; i++)
		if (s->list[i].id == id)
			return s->list[i].path;
	return NULL;
}

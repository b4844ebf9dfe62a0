/* SPDX-License-Identifier: ISC */
/*
 * One pass over the kernel's list. Of several mounts at one place the last is
 * the one that is seen.
 * Runs in: mountd parent, nfsd parent.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "exports/id.h"
#include "exports/submounts.h"

#define MOUNT_LINE_MAX 8192

/* Is path the directory above, or below it? */
static bool
is_at_or_below(const char *path, const char *above)
{
	size_t len = strcmp(above, "/") == 0 ? 0 : strlen(above);

	return strncmp(path, above, len) == 0 &&
	    (path[len] == '/' || path[len] == '\0');
}

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
find(struct submounts *s, const char *path)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		if (strcmp(s->list[i].path, path) == 0)
			return &s->list[i];
	return NULL;
}

static void
add(struct submounts *s, const struct exports *ex, const struct export *e,
    const char *path)
{
	struct submount *sub = &s->list[s->n];
	uint16_t id = exports_id_inside(path);

	if (s->n == SUBMOUNTS_MAX) {
		if (!s->full)
			log_warnx("exports: %s and what follows is not "
				  "entered: %d mounts inside are the limit, "
				  "no flag raises it",
			    path, SUBMOUNTS_MAX);
		s->full = true;
	} else if (is_taken(s, ex, id))
		log_warnx("exports: %s is not entered: it has the number %u of "
			  "another (export it by itself, with fsid=)",
		    path, id);
	else if (strlcpy(sub->path, path, sizeof(sub->path)) <
	    sizeof(sub->path)) {
		sub->index = (uint32_t)(e - ex->list);
		sub->id = id;
		sub->root = -1;
		s->n++;
	}
}

/* One mount: which exports lie on it, and does it lie in one? */
static void
take(struct submounts *s, const struct exports *ex, const char *path,
    uint64_t mount)
{
	const struct export *e = exports_find_above(ex, path);
	struct submount *sub;
	size_t i;

	/* The list is in order: what lies deeper, or above, comes later. */
	for (i = 0; i < ex->n; i++)
		if (is_at_or_below(ex->list[i].path, path))
			s->under[i] = mount;
	if (e == NULL || strcmp(e->path, path) == 0 || !exports_crossmnt(e))
		return; /* outside, an export of its own, or not entered */
	if (find(s, path) == NULL)
		add(s, ex, e, path);
	sub = find(s, path);
	if (sub != NULL)
		sub->mount = mount;
}

void
submounts_list(struct submounts *s, const struct exports *ex)
{
	static const struct hash_key key = { "tern submount" };
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[MOUNT_LINE_MAX], path[MOUNT_LINE_MAX];

	memset(s, 0, sizeof(*s));
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "%*s %*s %*s %*s %8191s", path) != 1)
			continue;
		text_unescape(path);
		take(s, ex, path, hash_bytes(&key, line, strlen(line)));
	}
	if (f != NULL)
		fclose(f);
}

void
submounts_open(struct submounts *s, const struct jail *jail)
{
	size_t i, n = 0;

	for (i = 0; i < s->n; i++) {
		s->list[i].root = jail_root(jail, s->list[i].path);
		if (s->list[i].root == -1)
			continue; /* the jail has said so */
		log_info("exports: %s is entered (crossmnt)", s->list[i].path);
		if (i != n)
			s->list[n] = s->list[i];
		n++;
	}
	s->n = n;
}

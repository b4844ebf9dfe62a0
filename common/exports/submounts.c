/* SPDX-License-Identifier: ISC */
/*
 * Reads /proc/self/mountinfo once. If several mounts have one path, the last
 * one covers the others.
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
		if (!s->full)
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
		sub->root = -1;
		s->n++;
	}
}

/* Records one mount: which exports lie on it, and in which export it lies. */
static void
submounts_take(struct submounts *s, const struct exports *ex, const char *path,
    uint64_t mount)
{
	const struct export *e = exports_find_above(ex, path);
	struct submount *sub;
	size_t i;

	/* In the kernel's order a deeper or covering mount comes later. */
	for (i = 0; i < ex->n; i++)
		if (is_at_or_below(ex->list[i].path, path))
			s->under[i] = mount;
	if (e == NULL || strcmp(e->path, path) == 0 || !exports_crossmnt(e))
		return; /* outside all exports, itself one, or not entered */
	if (submounts_find(s, path) == NULL)
		submounts_add(s, ex, e, path);
	sub = submounts_find(s, path);
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
		submounts_take(s, ex, path,
		    hash_bytes(&key, line, strlen(line)));
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
			continue; /* the jail has logged why */
		log_info("exports: %s is entered (crossmnt)", s->list[i].path);
		if (i != n)
			s->list[n] = s->list[i];
		n++;
	}
	s->n = n;
}

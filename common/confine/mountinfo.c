/* SPDX-License-Identifier: ISC */
/*
 * Reads /proc/self/mountinfo (proc(5)).
 * Runs in: mountd parent, nfsd parent, their short-lived children, mountd -n,
 * nfsd -n.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "base/util.h"
#include "confine/mountinfo.h"

/* Is path the directory above, or below it? */
static bool
is_at_or_below(const char *path, const char *above)
{
	size_t len = strcmp(above, "/") == 0 ? 0 : strlen(above);

	return strncmp(path, above, len) == 0 &&
	    (path[len] == '/' || path[len] == '\0');
}

static char *
next_path(char **rest)
{
	char *word = strsep(rest, " "), *path;

	path = word == NULL ? NULL : strdup(word);
	if (path != NULL)
		text_unescape(path);
	return path;
}

/*
 * Fills in one line: "36 35 98:0 /root /path options ... - type source options".
 * Returns false if it is not one.
 */
static bool
read_line(struct mountinfo_line *m, char *line)
{
	static const struct hash_key key = { "tern submount" };
	const char *dash = strstr(line, " - ");
	char *rest = line;
	int used = 0;

	memset(m, 0, sizeof(*m));
	m->sum = hash_bytes(&key, line, strlen(line));
	if (dash == NULL || sscanf(dash, " - %31s", m->type) != 1 ||
	    sscanf(line, "%d %d %23s %n", &m->id, &m->parent, m->device,
		&used) != 3)
		return false;
	rest += used;
	m->root = next_path(&rest);
	m->path = next_path(&rest);
	if (m->root != NULL && m->path != NULL)
		return true;
	free(m->root);
	free(m->path);
	return false;
}

void
mountinfo_read(struct mountinfo *info)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	struct mountinfo_line *more;
	char *line = NULL;
	size_t room = 0, size = 0;

	memset(info, 0, sizeof(*info));
	while (f != NULL && getline(&line, &size, f) > 0) {
		if (info->n == room) {
			room = room * 2 + 64;
			more = reallocarray(info->list, room, sizeof(*more));
			if (more == NULL)
				break;
			info->list = more;
		}
		info->n += read_line(&info->list[info->n], line);
	}
	free(line);
	if (f != NULL)
		fclose(f);
}

void
mountinfo_clear(struct mountinfo *info)
{
	size_t i;

	for (i = 0; i < info->n; i++) {
		free(info->list[i].root);
		free(info->list[i].path);
	}
	free(info->list);
	memset(info, 0, sizeof(*info));
}

static bool
has_id(const struct mountinfo *info, int id)
{
	size_t i;

	for (i = 0; i < info->n; i++)
		if (info->list[i].id == id)
			return true;
	return false;
}

/*
 * The first mount that a walk along path meets on the mount at; at NULL: on
 * those that this process does not see.
 */
static const struct mountinfo_line *
next_mount(const struct mountinfo *info, const struct mountinfo_line *at,
    const char *path)
{
	const struct mountinfo_line *m, *best = NULL;
	size_t i;

	for (i = 0; i < info->n; i++) {
		m = &info->list[i];
		if (!is_at_or_below(path, m->path) ||
		    (best != NULL && strlen(best->path) <= strlen(m->path)))
			continue;
		if (at != NULL ? m->parent == at->id && m != at :
				 !has_id(info, m->parent) || m->parent == m->id)
			best = m;
	}
	return best;
}

const struct mountinfo_line *
mountinfo_find(const struct mountinfo *info, const char *path)
{
	const struct mountinfo_line *at = NULL, *next;
	size_t steps = info->n;

	while (steps-- > 0 && (next = next_mount(info, at, path)) != NULL)
		at = next;
	return at;
}

const char *
mountinfo_type(const struct mountinfo *info, uint64_t id)
{
	size_t i;

	for (i = 0; i < info->n; i++)
		if ((uint64_t)(unsigned int)info->list[i].id == id)
			return info->list[i].type;
	return NULL;
}

bool
mountinfo_is_pseudo(const struct mountinfo_line *m)
{
	static const char *const types[] = { "autofs", "binder", "binfmt_misc",
		"bpf", "cgroup", "cgroup2", "configfs", "cpuset", "debugfs",
		"devpts", "devtmpfs", "efivarfs", "functionfs", "fusectl",
		"hugetlbfs", "mqueue", "nfsd", "nsfs", "proc", "pstore",
		"resctrl", "rpc_pipefs", "securityfs", "selinuxfs", "smackfs",
		"sysfs", "tracefs" };
	size_t i;

	for (i = 0; i < nitems(types); i++)
		if (strcmp(m->type, types[i]) == 0)
			return true;
	return false;
}

/* SPDX-License-Identifier: ISC */
/*
 * See forbid.h. Two paths are compared by where they lie in their filesystem, so
 * that a bind mount makes no difference.
 * Runs in: mountd parent, nfsd parent, mountd -n, nfsd -n.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "mounts/forbid.h"

/* The path that a file will have which does not exist yet. */
static char *
future_path(const char *path)
{
	const char *name = strrchr(path, '/');
	char dir[PATH_MAX], *above, *future = NULL;

	if (name == NULL || (size_t)(name - path) >= sizeof(dir))
		return NULL;
	(void)snprintf(dir, sizeof(dir), "%.*s", (int)(name - path), path);
	above = realpath(name == path ? "/" : dir, NULL);
	if (above != NULL &&
	    asprintf(&future, "%s%s", strcmp(above, "/") == 0 ? "" : above,
		name) == -1)
		future = NULL;
	free(above);
	return future;
}

void
forbid_add(struct forbid *f, const char *path)
{
	char *real = path == NULL ? NULL : realpath(path, NULL);

	if (real == NULL && path != NULL)
		real = future_path(path);
	if (real == NULL || f->n == nitems(f->paths))
		free(real);
	else
		f->paths[f->n++] = real;
}

void
forbid_add_away(struct forbid *f, const char *dir, const char *name)
{
	char *path;

	if (f->n < nitems(f->paths) &&
	    asprintf(&path, "%s/%s", dir, name) != -1)
		f->paths[f->n++] = path;
}

void
forbid_usual(struct forbid *f)
{
	static const char *const usual[] = { "/var/lib/tern", "/etc/tern" };
	size_t i;

	for (i = 0; i < nitems(usual); i++)
		forbid_add(f, usual[i]);
}

/* A path inside its filesystem. */
struct inner {
	const char *device;
	char path[2 * PATH_MAX];
};

static bool
find_inner(struct inner *in, const struct mountinfo *info, const char *path)
{
	const struct mountinfo_line *m = mountinfo_find(info, path);
	const char *root, *rest;

	if (m == NULL)
		return false;
	root = strcmp(m->root, "/") == 0 ? "" : m->root;
	rest = strcmp(m->path, "/") == 0 ? path : path + strlen(m->path);
	in->device = m->device;
	(void)snprintf(in->path, sizeof(in->path), "%s%s", root,
	    strcmp(rest, "/") == 0 ? "" : rest);
	return true;
}

/* Is path at or below above? Both without a slash at the end. */
static bool
is_within(const char *path, const char *above)
{
	size_t len = strlen(above);

	return strncmp(path, above, len) == 0 &&
	    (path[len] == '/' || path[len] == '\0');
}

/* Returns the first secret that the directory holds or lies in, or NULL. */
static const char *
find_secret(const struct forbid *f, const struct mountinfo *info,
    const char *path)
{
	struct inner here, secret;
	size_t i;

	if (!find_inner(&here, info, path))
		return NULL;
	for (i = 0; i < f->n; i++)
		if (find_inner(&secret, info, f->paths[i]) &&
		    strcmp(here.device, secret.device) == 0 &&
		    (is_within(secret.path, here.path) ||
			is_within(here.path, secret.path)))
			return f->paths[i];
	return NULL;
}

bool
forbid_path(const struct forbid *f, const struct mountinfo *info,
    const char *path, char why[FORBID_WHY])
{
	const struct mountinfo_line *m = mountinfo_find(info, path);
	const char *secret;

	if (strcmp(path, "/") == 0)
		(void)snprintf(why, FORBID_WHY,
		    "is never exported: export the directories in it that "
		    "clients need");
	else if (m != NULL && mountinfo_is_pseudo(m))
		(void)snprintf(why, FORBID_WHY,
		    "lies on %s, whose files the kernel makes up: it is never "
		    "exported",
		    m->type);
	else if ((secret = find_secret(f, info, path)) != NULL)
		(void)snprintf(why, FORBID_WHY,
		    "would show Tern's keys or state in %s: export other "
		    "directories, or move those",
		    secret);
	else
		return false;
	return true;
}

bool
forbid_mount(const struct forbid *f, const struct mountinfo *info,
    const struct mountinfo_line *m)
{
	return mountinfo_is_pseudo(m) || find_secret(f, info, m->path) != NULL;
}

/* SPDX-License-Identifier: ISC */
/*
 * Exports file and handle key between disk, log and jail.
 * Runs in: mountd parent, nfsd parent.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "log.h"
#include "util.h"

_Static_assert(EXPORTS_MAX <= JAIL_EXPORTS_MAX, "the jail holds them all");

struct reporter {
	const char *file;
	bool check;
};

static void
report(void *arg, enum exports_severity severity, int line, int column,
    const char *message)
{
	const struct reporter *r = arg;
	const char *mark = severity == EXPORTS_WARNING ? "warning: " : "";
	char where[32] = "";

	if (line > 0)
		(void)snprintf(where, sizeof(where), ":%d:%d", line, column);
	if (r->check)
		(void)fprintf(stderr, "%s%s: %s%s\n", r->file, where, mark,
		    message);
	else
		log_warnx("%s%s: %s%s", r->file, where, mark, message);
}

/* A misspelt path is no error, since disks come and go; but it is said. */
static void
report_absent(struct reporter *r, const struct exports *ex)
{
	char message[EXPORTS_PATH_MAX + 64];
	struct stat st;
	size_t i;

	for (i = 0; i < ex->n; i++) {
		if (stat(ex->list[i].path, &st) == 0 ||
		    (errno != ENOENT && errno != ENOTDIR))
			continue;
		(void)snprintf(message, sizeof(message),
		    "\"%s\" does not exist: not served until it does and "
		    "exports are reloaded",
		    ex->list[i].path);
		report(r, EXPORTS_WARNING, ex->list[i].line, 1, message);
	}
}

bool
config_load(struct exports_file *out, const char *file, bool check)
{
	struct reporter r = { file, check };
	const struct exports_hooks hooks = { report, NULL, &r };
	struct exports_file f;

	if (!exports_load(&f, file, &hooks))
		return false;
	if (f.list->n == 0)
		report(&r, EXPORTS_WARNING, 0, 0,
		    f.missing ? "no such file: nothing is exported" :
				"nothing is exported");
	if (check)
		report_absent(&r, f.list);
	*out = f;
	return true;
}

static void
log_change(void *arg, const char *what, const struct export *e)
{
	size_t *changes = arg;

	log_info("exports: %s %s", what, e->path);
	(*changes)++;
}

static void
log_diff(const struct exports *before, const struct exports *after)
{
	size_t changes = 0;

	exports_diff(before, after, log_change, &changes);
	if (changes == 0)
		log_info("exports: nothing changed");
}

/* Is a filesystem mounted there? A path that is not there is not asked for. */
static bool
is_mounted(const char *path)
{
	struct statx sx;

	if (statx(AT_FDCWD, path, AT_NO_AUTOMOUNT, STATX_TYPE, &sx) == -1)
		return true;
	return (sx.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

size_t
config_jail(const struct exports *ex, struct jail_export out[EXPORTS_MAX])
{
	const struct export_options *o;
	struct jail_export j;
	size_t i, k, n = 0;
	bool mountpoint;

	for (i = 0; i < ex->n; i++) {
		j = (struct jail_export){ .path = ex->list[i].path,
			.read_only = true };
		mountpoint = false;
		for (k = 0; k < ex->list[i].nclients; k++) {
			o = &ex->list[i].clients[k].options;
			j.read_only = j.read_only && !o->rw;
			j.submounts = j.submounts || o->crossmnt;
			mountpoint = mountpoint || o->mountpoint;
		}
		if (mountpoint && !is_mounted(j.path))
			log_warnx("%s: nothing is mounted there; not served "
				  "until something is and exports are reloaded",
			    j.path);
		else
			out[n++] = j;
	}
	return n;
}

bool
config_reload(struct exports_file *current, const char *file, struct jail *jail)
{
	struct jail_export list[EXPORTS_MAX];
	struct exports_file next = { .packed = -1 };

	if (!config_load(&next, file, false) ||
	    jail_update(jail, list, config_jail(next.list, list)) == -1) {
		log_warnx("exports: not reloaded, the old ones stay in force");
		exports_file_clear(&next);
		return false;
	}
	log_diff(current->list, next.list);
	exports_file_clear(current);
	*current = next;
	return true;
}

void
config_load_key(struct fh_keys *keys, const char *file)
{
	uint8_t key[FH_KEY_SIZE];
	char why[512];
	int result = fh_key_load(file, key, why, sizeof(why));

	if (result == -1)
		fatalx("%s", why);
	if (result == 1)
		log_info("%s: made a new handle key, under which no older "
			 "handle is valid",
		    file);
	fh_keys_derive(keys, key);
	explicit_bzero(key, sizeof(key));
}

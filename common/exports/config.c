/* SPDX-License-Identifier: ISC */
/*
 * Loads the exports file and the handle key, and reports what is wrong.
 * Runs in: mountd parent, nfsd parent.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "exports/client.h"
#include "exports/config.h"
#include "exports/submounts.h"

_Static_assert(EXPORTS_MAX + SUBMOUNTS_MAX <= JAIL_EXPORTS_MAX,
    "the jail holds them all");

struct reporter {
	const char *file;
	bool check;
};

static void
config_report(void *arg, enum exports_severity severity, int line, int column,
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

/*
 * Warns of paths that do not exist. This is no error, since a disk may be
 * mounted later.
 */
static void
config_absent(struct reporter *r, const struct exports *ex)
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
		config_report(r, EXPORTS_WARNING, ex->list[i].line, 1, message);
	}
}

/* Reports an entry that demands more than the daemon offers. */
static bool
config_offers(struct reporter *r, const struct exports *ex,
    enum peer_security offers)
{
	enum peer_security most;
	const struct export_client *c = exports_demand(ex, &most);
	char message[256];

	if (most <= offers)
		return true;
	(void)snprintf(message, sizeof(message),
	    "\"%.100s\" demands xprtsec=%s, but nfsd has no %s", c->text,
	    exports_xprtsec(most),
	    offers == PEER_PLAIN ?
		"certificate of its own (-o tls-cert and -o tls-key)" :
		"certificates to verify clients by (-o tls-ca)");
	config_report(r, EXPORTS_ERROR, c->line, c->column, message);
	return false;
}

bool
config_load(struct exports_file *out, const char *file,
    enum peer_security offers, const struct exports_names *names, bool check)
{
	struct reporter r = { file, check };
	const struct exports_hooks hooks = { config_report, NULL, &r };
	struct exports_file f;

	if (!exports_load(&f, file, names, &hooks))
		return false;
	if (!config_offers(&r, f.list, offers)) {
		exports_file_clear(&f);
		return false;
	}
	if (f.list->n == 0)
		config_report(&r, EXPORTS_WARNING, 0, 0,
		    f.missing ? "no such file: nothing is exported" :
				"nothing is exported");
	if (check)
		config_absent(&r, f.list);
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

/* Is a filesystem mounted there? True if there is no such path. */
static bool
is_mounted(const char *path)
{
	struct statx sx;

	if (statx(AT_FDCWD, path, AT_NO_AUTOMOUNT, STATX_TYPE, &sx) == -1)
		return true;
	return (sx.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

/*
 * Is the export to be in the jail? Not if it says mountpoint and nothing is
 * mounted on it. Clears out->read_only if any client may write.
 */
static bool
is_wanted(const struct export *e, struct jail_export *out)
{
	const struct export_options *o;
	bool mountpoint = false;
	size_t i;

	for (i = 0; i < e->nclients; i++) {
		o = &e->clients[i].options;
		out->read_only = out->read_only && !o->rw;
		mountpoint = mountpoint || o->mountpoint;
	}
	if (!mountpoint || is_mounted(e->path))
		return true;
	log_warnx("%s: nothing is mounted there: not served (mount it, then "
		  "reload)",
	    e->path);
	return false;
}

static int
compare_paths(const void *a, const void *b)
{
	const struct jail_export *x = a, *y = b;

	return strcmp(x->path, y->path);
}

/*
 * Stores the list for the jail, sorted by path. Returns its length. The paths
 * belong to ex and subs.
 */
static size_t
jail_list(const struct exports *ex, const struct submounts *subs,
    struct jail_export out[JAIL_EXPORTS_MAX])
{
	bool there[EXPORTS_MAX], read_only[EXPORTS_MAX];
	const struct submount *sub;
	size_t i, n = 0;

	for (i = 0; i < ex->n; i++) {
		out[n] = (struct jail_export){ .path = ex->list[i].path,
			.read_only = true,
			.mount = subs->under[i] };
		there[i] = is_wanted(&ex->list[i], &out[n]);
		read_only[i] = out[n].read_only;
		n += there[i];
	}
	for (i = 0; i < subs->n; i++) {
		sub = &subs->list[i];
		if (there[sub->index])
			out[n++] = (struct jail_export){ .path = sub->path,
				.read_only = read_only[sub->index],
				.mount = sub->mount };
	}
	qsort(out, n, sizeof(out[0]), compare_paths);
	return n;
}

struct jail *
config_jail(const struct exports *ex, struct submounts *subs, bool rootless)
{
	struct jail_export list[JAIL_EXPORTS_MAX];
	struct jail *jail;

	submounts_list(subs, ex);
	jail = jail_new(list, jail_list(ex, subs, list), rootless);
	submounts_open(subs, jail);
	return jail;
}

bool
config_reload(struct exports_file *current, const char *file,
    enum peer_security offers, const struct exports_names *names,
    struct jail *jail, struct submounts *subs)
{
	static struct submounts found; /* replaces *subs on success */
	struct jail_export list[JAIL_EXPORTS_MAX];
	struct exports_file next = { .packed = -1 };
	bool good = config_load(&next, file, offers, names, false);

	if (good) {
		submounts_list(&found, next.list);
		good = jail_update(jail, list,
			   jail_list(next.list, &found, list)) == 0;
	}
	if (!good) {
		log_warnx("exports: not reloaded, the old ones stay active");
		exports_file_clear(&next);
		return false;
	}
	log_diff(current->list, next.list);
	exports_file_clear(current);
	*current = next;
	submounts_open(&found, jail);
	*subs = found;
	return true;
}

void
config_load_key(struct fh_keys *keys, const char *file)
{
	uint8_t key[FH_KEY_SIZE];
	char why[512];
	int result = fh_key_load(file, key, why, sizeof(why));

	if (result == -1)
		fatal_config("%s", why);
	if (result == 1)
		log_info("%s: made a new handle key: older handles are stale "
			 "(clients mount again)",
		    file);
	fh_keys_derive(keys, key);
	explicit_bzero(key, sizeof(key));
}

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
#include "confine/jail_mount.h"
#include "exports/client.h"
#include "exports/config.h"
#include "exports/id.h"
#include "exports/submounts.h"
#include "mounts/hidden.h"

_Static_assert(EXPORTS_MAX + SUBMOUNTS_MAX <= JAIL_EXPORTS_MAX,
    "the jail holds them all");

struct reporter {
	const char *file;
	bool check;
};

static void
config_report(void *arg, enum exports_severity severity, const char *file,
    int line, int column, const char *message)
{
	const struct reporter *r = arg;
	const char *mark = severity == EXPORTS_WARNING ? "warning: " : "";
	char where[32] = "";

	if (file == NULL)
		file = r->file;
	if (line > 0)
		(void)snprintf(where, sizeof(where), ":%d:%d", line, column);
	if (r->check)
		(void)fprintf(stderr, "%s%s: %s%s\n", file, where, mark,
		    message);
	else
		log_warnx("%s%s: %s%s", file, where, mark, message);
}

static const char *
name_of(const struct exports_source *source)
{
	return source != NULL ? source->name : NULL;
}

/*
 * Warns of paths that do not exist. This is no error, since a disk may be
 * mounted later.
 */
static void
config_absent(struct reporter *r, const struct exports *ex)
{
	char message[EXPORTS_PATH_MAX + 128];
	struct stat st;
	const char *path;
	size_t i;

	for (i = 0; i < ex->n; i++) {
		path = ex->list[i].path;
		if (hidden_from_units(path))
			(void)snprintf(message, sizeof(message),
			    "\"%s\" is not served: %s", path, HIDDEN_WHY);
		else if (stat(path, &st) == -1 &&
		    (errno == ENOENT || errno == ENOTDIR))
			(void)snprintf(message, sizeof(message),
			    "\"%s\" does not exist: not served until it does "
			    "and exports are reloaded",
			    path);
		else
			continue;
		config_report(r, EXPORTS_WARNING, name_of(ex->list[i].source),
		    ex->list[i].line, 1, message);
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
	config_report(r, EXPORTS_ERROR, name_of(c->source), c->line, c->column,
	    message);
	return false;
}

/* Reports the exports that must never be served. */
static bool
config_permits(struct reporter *r, const struct exports *ex,
    const struct forbid *forbid)
{
	char why[FORBID_WHY], message[EXPORTS_PATH_MAX + FORBID_WHY];
	struct mountinfo info;
	bool good = true;
	size_t i;

	mountinfo_read(&info);
	for (i = 0; i < ex->n; i++) {
		if (!forbid_path(forbid, &info, ex->list[i].path, why))
			continue;
		(void)snprintf(message, sizeof(message), "\"%s\" %s",
		    ex->list[i].path, why);
		config_report(r, EXPORTS_ERROR, name_of(ex->list[i].source),
		    ex->list[i].line, 1, message);
		good = false;
	}
	mountinfo_clear(&info);
	return good;
}

bool
config_load(struct exports_file *out, const struct config *conf,
    const struct exports_names *names, bool check)
{
	struct reporter r = { conf->file, check };
	const struct exports_hooks hooks = { config_report, NULL, &r };
	struct exports_file f;

	if (!exports_load(&f, conf->file, names, &hooks))
		return false;
	if (!config_offers(&r, f.list, conf->offers) ||
	    !config_permits(&r, f.list, &conf->forbid)) {
		exports_file_clear(&f);
		return false;
	}
	if (f.list->n == 0)
		config_report(&r, EXPORTS_WARNING, NULL, 0, 0,
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

/* Stores which exports are in the jail. */
static void
note_served(const struct exports *ex, const struct jail *jail,
    bool served[EXPORTS_MAX])
{
	size_t i;

	for (i = 0; i < ex->n; i++)
		served[i] = jail_root(jail, ex->list[i].path) != -1;
}

/* Logs what a reload has changed; was: which exports were served before. */
static void
log_diff(const struct exports *before, const struct exports *after,
    const bool was[EXPORTS_MAX], const struct jail *jail)
{
	size_t changes = 0, i;
	bool is;

	exports_diff(before, after, log_change, &changes);
	for (i = 0; i < before->n; i++) {
		is = jail_root(jail, before->list[i].path) != -1;
		if (is == was[i] ||
		    exports_find_path(after, before->list[i].path) == NULL)
			continue;
		log_info("exports: %s %s",
		    is ? "served now:" : "no longer served:",
		    before->list[i].path);
		changes++;
	}
	if (changes == 0 && !jail_changed(jail))
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

static bool
wants_mount(const struct export *e)
{
	size_t i;

	for (i = 0; i < e->nclients; i++)
		if (e->clients[i].options.mountpoint)
			return true;
	return false;
}

/* A symbolic link may lead to what is never exported. */
static bool
is_forbidden(const struct config *conf, int fd)
{
	char real[PATH_MAX], why[FORBID_WHY];
	struct mountinfo info;
	bool forbidden;

	jail_path_name(fd, real);
	mountinfo_read(&info);
	forbidden = forbid_path(&conf->forbid, &info, real, why);
	mountinfo_clear(&info);
	return forbidden;
}

int
config_open(const struct export *e, const struct config *conf, const char **why)
{
	int fd;

	if (wants_mount(e) && !is_mounted(e->path)) {
		*why = "nothing is mounted there";
		return -1;
	}
	fd = jail_path_open(e->path);
	if (fd == -1)
		*why = errno == ELOOP ?
		    "a user's symbolic link in it leads to another user's "
		    "directory" :
		    errno == EACCES && geteuid() != 0 ?
		    "not known, since this user cannot reach it (run as root)" :
		    strerror(errno);
	if (fd != -1 && is_forbidden(conf, fd)) {
		*why = "a symbolic link in it leads to what is never exported";
		close(fd);
		fd = -1;
	}
	return fd;
}

/*
 * Fills in what the jail must know of an export. After an umount it is not to be
 * in the jail: clients wait, and never see the directory beneath.
 */
static void
jail_item(struct jail_export *out, const struct export *e,
    const struct config *conf, const struct mountinfo *info,
    const struct jail *jail)
{
	char why[FORBID_WHY];
	const char *real = jail == NULL ? e->path : jail_real(jail, e->path);
	const char *home = jail == NULL ? NULL : jail_home(jail, e->path);
	const struct mountinfo_line *m = mountinfo_find(info, real);
	const struct export_options *o;
	size_t i;

	*out = (struct jail_export){
		.path = e->path, .read_only = true, .handles = e->handles
	};
	/* A bind mount, or a symbolic link, may lead there by now. */
	out->unmounted = forbid_path(&conf->forbid, info, real, why);
	if (m != NULL) {
		out->mount = m->sum;
		out->home = m->path;
		out->unmounted = out->unmounted ||
		    (home != NULL && exports_is_below(home, m->path));
	}
	for (i = 0; i < e->nclients; i++) {
		o = &e->clients[i].options;
		out->read_only = out->read_only && !o->rw;
		out->mountpoint = out->mountpoint || o->mountpoint;
	}
}

static int
compare_paths(const void *a, const void *b)
{
	const struct jail_export *x = a, *y = b;

	return strcmp(x->path, y->path);
}

/* The mounts of this moment, and what they mean for the exports. */
struct view {
	struct mountinfo info;
	struct submounts subs;
	struct jail_export list[JAIL_EXPORTS_MAX]; /* sorted by path */
	size_t n;
};

/* Fills in the view. Its paths belong to ex, and to the view itself. */
static void
view_take(struct view *v, const struct exports *ex, const struct config *conf,
    const struct jail *jail)
{
	bool gone[EXPORTS_MAX];
	const struct submount *sub;
	size_t i;

	mountinfo_read(&v->info);
	submounts_list(&v->subs, ex, &v->info, &conf->forbid);
	v->n = 0;
	for (i = 0; i < ex->n; i++) {
		jail_item(&v->list[v->n], &ex->list[i], conf, &v->info, jail);
		gone[i] = v->list[v->n++].unmounted;
	}
	for (i = 0; i < v->subs.n; i++) {
		sub = &v->subs.list[i];
		if (!gone[sub->index])
			v->list[v->n++] =
			    (struct jail_export){ .path = sub->path,
				    .read_only = v->list[sub->index].read_only,
				    .mount = sub->mount };
	}
	qsort(v->list, v->n, sizeof(v->list[0]), compare_paths);
}

/*
 * Ends the view: tells the jail the mounts of paths that it has looked at for
 * the first time, and replaces *subs.
 */
static void
view_end(struct view *v, const struct exports *ex, struct jail *jail,
    struct submounts *subs)
{
	const struct mountinfo_line *m;
	size_t i;

	for (i = 0; i < ex->n; i++) {
		m = mountinfo_find(&v->info, jail_real(jail, ex->list[i].path));
		if (m != NULL && jail_root(jail, ex->list[i].path) != -1)
			jail_set_mount(jail, ex->list[i].path, m->sum, m->path);
	}
	submounts_open(&v->subs, jail, subs);
	*subs = v->subs;
	mountinfo_clear(&v->info);
}

/* One line for each export that a mount or an umount has changed. */
static void
log_mounts(const struct exports *ex, const struct config *conf,
    const struct view *v, const struct jail *jail,
    const bool was_there[EXPORTS_MAX])
{
	char why[FORBID_WHY];
	const struct jail_export *x;
	const struct export *e;
	bool there;
	size_t i;

	for (i = 0; i < v->n; i++) {
		x = &v->list[i];
		e = exports_find_path(ex, x->path);
		if (e == NULL)
			continue;
		there = jail_root(jail, x->path) != -1;
		if (was_there[e - ex->list] && !there &&
		    forbid_path(&conf->forbid, &v->info,
			jail_real(jail, x->path), why))
			log_warnx("export %s: not served: %s %s", x->path,
			    jail_real(jail, x->path), why);
		else if (was_there[e - ex->list] && !there && x->unmounted)
			log_info("export %s: unmounted; clients wait until it "
				 "is mounted again",
			    x->path);
		else if (!was_there[e - ex->list] && there)
			log_info("export %s: mounted; it is served", x->path);
	}
}

bool
config_remount(const struct exports *ex, const struct config *conf,
    struct jail *jail, struct submounts *subs)
{
	bool was_there[EXPORTS_MAX];
	static struct view v;

	note_served(ex, jail, was_there);
	view_take(&v, ex, conf, jail);
	if (jail_update(jail, v.list, v.n, JAIL_CHANGED) == -1) {
		mountinfo_clear(&v.info);
		return false;
	}
	log_mounts(ex, conf, &v, jail, was_there);
	view_end(&v, ex, jail, subs);
	return jail_changed(jail);
}

struct jail *
config_jail(const struct exports *ex, const struct config *conf,
    struct submounts *subs, bool rootless)
{
	static struct view v;
	struct jail *jail;

	memset(subs, 0, sizeof(*subs));
	view_take(&v, ex, conf, NULL);
	jail = jail_new(v.list, v.n, rootless);
	view_end(&v, ex, jail, subs);
	/* Now it is known where symbolic links lead. */
	(void)config_remount(ex, conf, jail, subs);
	return jail;
}

bool
config_reload(struct exports_file *current, const struct config *conf,
    const struct exports_names *names, struct jail *jail,
    struct submounts *subs)
{
	static struct view v;
	struct exports_file next = { .packed = -1 };
	bool was[EXPORTS_MAX];
	bool good = config_load(&next, conf, names, false);

	if (good) {
		note_served(current->list, jail, was);
		view_take(&v, next.list, conf, jail);
		good = jail_update(jail, v.list, v.n, JAIL_ALL) == 0;
		if (!good)
			mountinfo_clear(&v.info);
	}
	if (!good) {
		log_warnx("exports: not reloaded, the old ones stay active");
		exports_file_clear(&next);
		return false;
	}
	log_diff(current->list, next.list, was, jail);
	exports_file_clear(current);
	*current = next;
	view_end(&v, next.list, jail, subs);
	(void)config_remount(next.list, conf, jail, subs);
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
		log_info("%s: made a new handle key (clients that have mounted "
			 "under another one mount again)",
		    file);
	fh_keys_derive(keys, key);
	explicit_bzero(key, sizeof(key));
}

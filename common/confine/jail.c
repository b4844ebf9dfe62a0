/* SPDX-License-Identifier: ISC */
/*
 * The state of the jail: which exports are mounted, and the root of each. One
 * short-lived child looks at the paths (jail_look.c), another mounts and unmounts
 * (jail_build.c), so the parent never changes its own namespaces and never waits
 * for a filesystem. An export that does not answer is left out until it does.
 * Runs in: mountd parent, nfsd parent.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "confine/jail.h"
#include "confine/jail_mount.h"
#include "confine/jail_run.h"

/* One export. */
struct jail_entry {
	char *path;
	bool read_only;
	uint64_t mount;
	enum fh_naming handles;
	char *home; /* of the mount it was last served from; NULL: none */
	char *real; /* NULL: never looked at */
	struct fh_root root; /* fd -1: it is not in the jail */
	bool late; /* it has not answered */
	bool unmounted;
	int error; /* why its path cannot be served; 0: it can */
};

struct jail {
	enum jail_kind kind;
	int mount_space;
	int user_space;
	int directory; /* JAIL_CHROOT */
	struct jail_entry *list; /* sorted by path */
	size_t n;
	bool changed;
	bool needs_restart;
	bool failed; /* the last change: it must be tried again */
	struct jail_children children;
};

static void
close_fd(int *fd)
{
	if (*fd != -1)
		close(*fd);
	*fd = -1;
}

static void *
must(void *memory)
{
	if (memory == NULL)
		fatal("jail: out of memory");
	return memory;
}

static char *
copy_text(const char *text)
{
	return text == NULL ? NULL : must(strdup(text));
}

/* Does the error say that the path is wrong? Else its filesystem is sick. */
static bool
is_wrong(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ELOOP ||
	    error == EACCES || error == ENAMETOOLONG;
}

/* What a filesystem lacks whose files cannot be named as handles= says. */
static const char *const lacks[FH_NAMINGS] = {
	[FH_BY_HANDLE] =
	    "its filesystem has no kernel handles that last, or this "
	    "process may not open them",
	[FH_BY_GFID] =
	    "it is not the top of a GlusterFS volume that is mounted "
	    "with aux-gfid-mount",
	[FH_BY_INODE] = "its inode numbers do not last"
};

static void
log_absent(const struct jail_export *x, int error)
{
	const char *path = x->path;

	if (error == EOPNOTSUPP && lacks[x->handles] != NULL)
		log_warnx("export %s: not served: handles=%s, but %s; clients "
			  "wait until it is mounted anew",
		    path, fh_naming_names[x->handles], lacks[x->handles]);
	else if (error == ELOOP)
		log_warnx("export %s: not served: a user's symbolic link in it "
			  "leads to another user's directory (export that "
			  "directory)",
		    path);
	else if (error == ENODEV)
		log_info("export %s: nothing is mounted there; clients wait "
			 "until something is",
		    path);
	else if (is_wrong(error))
		log_warnx("export %s: not served: %s (correct this and reload)",
		    path, strerror(error));
	else
		log_warnx("export %s: not served: %s; clients wait until its "
			  "filesystem is back",
		    path, strerror(error));
}

/* Opens the deepest directory that holds every export. */
static int
open_common(const struct jail_export *list, size_t n)
{
	char path[PATH_MAX];
	size_t i, len;

	(void)snprintf(path, sizeof(path), "%s", n > 0 ? list[0].path : "/");
	for (i = 1; i < n; i++) {
		len = strlen(path);
		while (len > 1 &&
		    (strncmp(path, list[i].path, len) != 0 ||
			(list[i].path[len] != '/' &&
			    list[i].path[len] != '\0')))
			do
				len--;
			while (len > 1 && path[len] != '/');
		path[len > 1 ? len : 1] = '\0';
	}
	return jail_path_open(path);
}

static void
free_entries(struct jail_entry *e, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		close_fd(&e[i].root.fd);
		free(e[i].path);
		free(e[i].home);
		free(e[i].real);
	}
	free(e);
}

/*
 * For a jail of descriptors only: if one directory other than / holds all
 * exports, the roles also get a chroot to it.
 */
static void
fall_back(struct jail *jail, const struct jail_export *list, size_t n)
{
	struct stat here, top;

	jail->kind = JAIL_NONE;
	close_fd(&jail->directory);
	jail->directory = open_common(list, n);
	if (jail->directory != -1 && fstat(jail->directory, &here) == 0 &&
	    stat("/", &top) == 0 &&
	    (here.st_dev != top.st_dev || here.st_ino != top.st_ino))
		jail->kind = JAIL_CHROOT;
	else
		close_fd(&jail->directory);
}

static struct jail_entry *
jail_find(const struct jail *jail, const char *path)
{
	size_t i;

	for (i = 0; i < jail->n; i++)
		if (strcmp(jail->list[i].path, path) == 0)
			return &jail->list[i];
	return NULL;
}

static bool
is_above(const char *above, const char *path)
{
	size_t len = strlen(above);

	if (len == 1) /* "/" */
		return path[1] != '\0';
	return strncmp(above, path, len) == 0 && path[len] == '/';
}

static bool
is_there(const struct jail_entry *e)
{
	return e != NULL && e->root.fd != -1;
}

/* Is the export mounted as the list demands, as far as mounts tell? */
static bool
same(const struct jail_entry *e, const struct jail_export *x)
{
	return e != NULL && e->read_only == x->read_only &&
	    e->mount == x->mount && e->handles == x->handles;
}

/* The difference between the jail and a new list. */
struct jail_change {
	const struct jail_export *list; /* sorted by path */
	size_t n;
	struct jail_answer *answers; /* one for each */
	bool *wanted; /* look at it */
	bool *keep; /* it stays as it is */
	int *trees; /* to be attached; -1: none; owned by answers */
	const char **moving; /* paths that come, go or are mounted again */
	size_t nmoving;
	const char **remove; /* those of them that are mounted now */
	size_t nremove;
};

static void
change_begin(struct jail_change *c, const struct jail_export *list, size_t n,
    size_t most)
{
	size_t i;

	*c = (struct jail_change){ .list = list, .n = n };
	c->answers = must(calloc(n + 1, sizeof(*c->answers)));
	c->wanted = must(calloc(n + 1, sizeof(*c->wanted)));
	c->keep = must(calloc(n + 1, sizeof(*c->keep)));
	c->trees = must(calloc(n + 1, sizeof(*c->trees)));
	c->moving = must(calloc(most + n + 1, sizeof(*c->moving)));
	c->remove = must(calloc(most + n + 1, sizeof(*c->remove)));
	for (i = 0; i < n; i++)
		c->trees[i] = c->answers[i].root.fd = c->answers[i].tree = -1;
}

static void
change_end(struct jail_change *c)
{
	size_t i;

	for (i = 0; i < c->n; i++)
		jail_answer_clear(&c->answers[i]);
	free(c->answers);
	free(c->wanted);
	free(c->keep);
	free(c->trees);
	free(c->moving);
	free(c->remove);
}

/*
 * Is a directory above path mounted or unmounted? Then path must be mounted
 * again.
 */
static bool
is_shaken(const struct jail_change *c, const char *path)
{
	size_t i;

	for (i = 0; i < c->nmoving; i++)
		if (is_above(c->moving[i], path))
			return true;
	return false;
}

static void
move(struct jail_change *c, const struct jail_entry *old, const char *path)
{
	c->moving[c->nmoving++] = path;
	if (is_there(old))
		c->remove[c->nremove++] = old->path;
}

/* The paths that are in the jail and not in the new list. */
static void
find_removed(const struct jail *jail, struct jail_change *c)
{
	size_t i, j;

	c->nmoving = c->nremove = 0;
	for (i = j = 0; i < jail->n; i++) {
		while (j < c->n &&
		    strcmp(c->list[j].path, jail->list[i].path) < 0)
			j++;
		if ((j == c->n ||
			strcmp(c->list[j].path, jail->list[i].path) != 0) &&
		    is_there(&jail->list[i]))
			move(c, &jail->list[i], jail->list[i].path);
	}
}

/*
 * An empty mount point is not sick, nor is a filesystem that cannot do what
 * handles= says: the kernel tells when something else is mounted.
 */
static bool
is_sick(const struct jail_entry *e)
{
	return e->error != 0 && e->error != ENODEV && e->error != EOPNOTSUPP &&
	    !is_wrong(e->error);
}

/* Is it not known yet what is at the path? */
static bool
is_open(const struct jail_entry *e)
{
	return e->late || is_sick(e);
}

/*
 * Which paths must be looked at? The list is sorted, so an export comes before
 * the exports nested in it.
 */
static void
find_wanted(const struct jail *jail, struct jail_change *c, enum jail_look look)
{
	const struct jail_export *x;
	struct jail_entry *old;
	size_t i;

	find_removed(jail, c);
	for (i = 0; i < c->n; i++) {
		x = &c->list[i];
		old = jail_find(jail, x->path);
		c->wanted[i] = !x->unmounted &&
		    (look == JAIL_ALL || !same(old, x) || is_open(old) ||
			is_shaken(c, x->path));
		if (c->wanted[i] ? !same(old, x) || is_open(old) :
				   x->unmounted && is_there(old))
			move(c, old, x->path);
	}
}

/* Does an export whose path has answered stay as it is? */
static bool
is_unchanged(const struct jail_entry *old, const struct jail_export *x,
    const struct jail_answer *a)
{
	return is_there(old) && same(old, x) && a->error == 0 &&
	    a->root.dev == old->root.dev && a->root.ino == old->root.ino;
}

static void
decide(const struct jail *jail, struct jail_change *c, size_t i)
{
	const struct jail_export *x = &c->list[i];
	const struct jail_entry *old = jail_find(jail, x->path);
	const struct jail_answer *a = &c->answers[i];

	if (!c->wanted[i])
		c->keep[i] = !x->unmounted;
	else if (is_shaken(c, x->path))
		c->keep[i] = false;
	else
		c->keep[i] =
		    a->answered ? is_unchanged(old, x, a) : same(old, x);
	if (c->keep[i])
		return;
	if (is_there(old) || (a->answered && a->error == 0))
		move(c, old, x->path);
	if (a->answered && a->error == 0)
		c->trees[i] = a->tree;
}

static void
log_answers(const struct jail *jail, const struct jail_change *c,
    enum jail_look look)
{
	const struct jail_entry *old;
	size_t i;

	for (i = 0; i < c->n; i++) {
		old = jail_find(jail, c->list[i].path);
		if (!c->wanted[i])
			continue;
		if (c->answers[i].error != 0 &&
		    (look == JAIL_ALL || is_there(old) ||
			(old != NULL && old->late)))
			log_absent(&c->list[i], c->answers[i].error);
		else if (!c->answers[i].answered && (old == NULL || !old->late))
			log_warnx("export %s: its filesystem does not answer; "
				  "clients wait until it does",
			    c->list[i].path);
		else if (look == JAIL_ALL && is_there(old) &&
		    same(old, &c->list[i]) &&
		    !is_unchanged(old, &c->list[i], &c->answers[i]) &&
		    c->answers[i].answered)
			log_info("export %s: another directory is there now",
			    c->list[i].path);
	}
}

/* The entry of an export after a change. */
static void
fill_entry(struct jail_entry *e, const struct jail_change *c, size_t i,
    struct jail_entry *old)
{
	const struct jail_export *x = &c->list[i];
	struct jail_answer *a = &c->answers[i];

	*e = (struct jail_entry){ .path = must(strdup(x->path)),
		.read_only = x->read_only,
		.mount = x->mount,
		.handles = x->handles,
		.root = { .fd = -1 },
		.unmounted = x->unmounted,
		.error = a->error,
		.late = c->wanted[i] && !a->answered };
	if (!c->wanted[i] && old != NULL && !x->unmounted) {
		e->late = old->late;
		e->error = old->error;
	}
	if (c->keep[i] && old != NULL) {
		e->root = old->root;
		old->root.fd = -1;
	} else if (!c->keep[i] && a->error == 0) {
		e->root = a->root;
		a->root.fd = -1;
	}
	if (a->real != NULL && a->real[0] != '\0')
		e->real = must(strdup(a->real));
	else if (old != NULL)
		e->real = copy_text(old->real);
	if (e->root.fd != -1 && x->home != NULL)
		e->home = copy_text(x->home);
	else if (old != NULL)
		e->home = copy_text(old->home);
}

/* Replaces the jail's list. An export that stays keeps its root. */
static void
swap(struct jail *jail, const struct jail_change *c)
{
	struct jail_entry *fresh = must(calloc(c->n + 1, sizeof(*fresh)));
	size_t i;

	for (i = 0; i < c->n; i++)
		fill_entry(&fresh[i], c, i, jail_find(jail, c->list[i].path));
	free_entries(jail->list, jail->n);
	jail->list = fresh;
	jail->n = c->n;
}

/* Mounts and unmounts. Returns 0, or -1 with errno. */
static int
carry_out(struct jail *jail, struct jail_change *c)
{
	struct jail_heard heard = { .answers = c->answers, .n = c->n };
	struct jail_plan plan = { .user = jail->kind == JAIL_USER,
		.mount_space = jail->mount_space,
		.user_space = jail->user_space,
		.list = c->list,
		.n = c->n,
		.trees = c->trees,
		.remove = c->remove,
		.nremove = c->nremove };
	size_t i;

	if (jail->mount_space == -1 || c->nmoving == 0)
		return 0;
	if (!jail_run(jail_build_change, &plan, &heard, &jail->children,
		false)) {
		errno = heard.error;
		return -1;
	}
	for (i = 0; i < c->n; i++) {
		if (c->trees[i] == -1 || c->answers[i].error == 0)
			continue;
		log_absent(&c->list[i], c->answers[i].error);
		close_fd(&c->answers[i].root.fd);
	}
	return 0;
}

/* Looks at the wanted paths. Returns 0, or -1 with errno. */
static int
look_at_paths(struct jail *jail, struct jail_change *c)
{
	struct jail_heard heard = { .answers = c->answers, .n = c->n };
	struct jail_plan plan = { .user = jail->kind == JAIL_USER,
		.mount_space = jail->mount_space,
		.user_space = jail->user_space,
		.list = c->list,
		.n = c->n,
		.wanted = c->wanted };
	size_t i;

	for (i = 0; i < c->n && !c->wanted[i]; i++)
		;
	if (i == c->n)
		return 0;
	jail_run_end(&jail->children);
	if (jail_run(jail_look, &plan, &heard, &jail->children, true) ||
	    heard.error == ETIMEDOUT)
		return 0;
	errno = heard.error;
	return -1;
}

int
jail_update(struct jail *jail, const struct jail_export *list, size_t n,
    enum jail_look look)
{
	struct jail_change c;
	int failed;
	size_t i;

	change_begin(&c, list, n, jail->n);
	find_wanted(jail, &c, look);
	failed = look_at_paths(jail, &c);
	if (failed == 0) {
		log_answers(jail, &c, look);
		find_removed(jail, &c);
		for (i = 0; i < n; i++)
			decide(jail, &c, i);
		failed = carry_out(jail, &c);
	}
	jail->failed = failed != 0;
	if (failed == 0) {
		jail->changed = c.nmoving > 0;
		swap(jail, &c);
		jail->needs_restart = jail->needs_restart ||
		    (jail->changed && jail->kind != JAIL_MOUNTS);
		if (jail->kind == JAIL_CHROOT && jail->changed)
			fall_back(jail, list, n);
	} else
		log_warn("jail: cannot change the exports' mounts: the old "
			 "exports stay");
	change_end(&c);
	return failed;
}

struct jail *
jail_new(const struct jail_export *list, size_t n, bool rootless)
{
	struct jail *jail = must(calloc(1, sizeof(*jail)));
	struct jail_plan plan = { .user = rootless };
	struct jail_heard heard = { .answers = NULL };

	jail->mount_space = jail->user_space = jail->directory = -1;
	jail->children.channel = -1;
	if (jail_run(jail_build_new, &plan, &heard, &jail->children, false)) {
		jail->kind = rootless ? JAIL_USER : JAIL_MOUNTS;
		jail->mount_space = heard.spaces[0];
		jail->user_space = heard.spaces[1];
	} else {
		close_fd(&heard.spaces[0]);
		close_fd(&heard.spaces[1]);
		errno = heard.error;
		log_warn("jail: no private mounts: files are found by walking "
			 "the exports, which is slow for large ones (permit "
			 "mounts or user namespaces)");
		if (!rootless)
			fall_back(jail, list, n);
	}
	if (jail_update(jail, list, n, JAIL_ALL) == -1)
		fatalx("jail: cannot look at the exports");
	jail->needs_restart = false;
	return jail;
}

bool
jail_waits(const struct jail *jail, const char *path)
{
	const struct jail_entry *e = jail_find(jail, path);

	return e != NULL && !is_there(e) &&
	    (e->unmounted || e->late || (e->error != 0 && !is_wrong(e->error)));
}

bool
jail_is_sick(const struct jail *jail)
{
	size_t i;

	for (i = 0; i < jail->n; i++)
		if (is_sick(&jail->list[i]))
			return true;
	return jail->failed;
}

bool
jail_changed(const struct jail *jail)
{
	return jail->changed;
}

bool
jail_needs_restart(struct jail *jail)
{
	bool needs = jail->needs_restart;

	jail->needs_restart = false;
	return needs;
}

int
jail_late_fd(const struct jail *jail)
{
	return jail->children.channel;
}

void
jail_late(struct jail *jail)
{
	jail_run_end(&jail->children);
}

int
jail_root(const struct jail *jail, const char *path)
{
	const struct jail_entry *e = jail_find(jail, path);

	return e != NULL ? e->root.fd : -1;
}

const struct fh_root *
jail_facts(const struct jail *jail, const char *path)
{
	const struct jail_entry *e = jail_find(jail, path);

	return is_there(e) ? &e->root : NULL;
}

const char *
jail_real(const struct jail *jail, const char *path)
{
	const struct jail_entry *e = jail_find(jail, path);

	return e == NULL || e->real == NULL ? path : e->real;
}

const char *
jail_home(const struct jail *jail, const char *path)
{
	const struct jail_entry *e = jail_find(jail, path);

	return e == NULL ? NULL : e->home;
}

void
jail_set_mount(struct jail *jail, const char *path, uint64_t mount,
    const char *home)
{
	struct jail_entry *e = jail_find(jail, path);

	if (e == NULL)
		return;
	e->mount = mount;
	if (!is_there(e) || home == NULL)
		return;
	free(e->home);
	e->home = copy_text(home);
}

enum jail_kind
jail_kind(const struct jail *jail)
{
	return jail->kind;
}

bool
jail_has_mounts(const struct jail *jail)
{
	return jail->kind == JAIL_USER || jail->kind == JAIL_MOUNTS;
}

int
jail_fd(const struct jail *jail)
{
	return jail->kind == JAIL_CHROOT ? jail->directory : jail->mount_space;
}

void
jail_free(struct jail *jail)
{
	if (jail == NULL)
		return;
	jail_run_end(&jail->children);
	free_entries(jail->list, jail->n);
	close_fd(&jail->mount_space);
	close_fd(&jail->user_space);
	close_fd(&jail->directory);
	free(jail);
}

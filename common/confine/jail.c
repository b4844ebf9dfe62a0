/* SPDX-License-Identifier: ISC */
/*
 * The state of the jail: which exports are mounted, and a descriptor of each
 * root. A short-lived child (jail_build.c) mounts and unmounts, so the parent
 * never changes its own namespaces. The child has JAIL_WAIT_MS for each path.
 * An export on a dead file server is then left out.
 * Runs in: mountd parent, nfsd parent.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ipc.h"
#include "base/log.h"
#include "confine/jail.h"
#include "confine/jail_build.h"
#include "confine/jail_mount.h"

#define JAIL_WAIT_MS 10000 /* for one path */

/* One export. root -1: it is not in the jail. */
struct jail_entry {
	char *path;
	bool read_only;
	uint64_t mount;
	int root;
};

struct jail {
	enum jail_kind kind;
	int mount_space;
	int user_space;
	int directory; /* JAIL_CHROOT */
	struct jail_entry *list; /* sorted by path */
	size_t n;
	bool needs_restart;
};

/* What one run of the child reported. */
struct jail_result {
	int spaces[2];
	int *roots; /* per plan->add */
	bool *replaced; /* the same; not NULL while the child only looks */
	int error; /* errno of JAIL_SAY_FAILED */
	bool done;
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

static void
log_absent(const char *path, int error)
{
	if (error == ELOOP)
		log_warnx("export %s: not served: a user's symbolic link in it "
			  "leads to another user's directory (export that "
			  "directory)",
		    path);
	else
		log_warnx("export %s: not served: %s (correct this and reload)",
		    path, strerror(error));
}

/* Stores one message of the child in r. Returns false if it was the last. */
static bool
take_word(const struct jail_plan *plan, struct jail_result *r, uint32_t type,
    const struct jail_word *word, int fds[2], size_t nfds)
{
	size_t i = word->which < plan->nadd ? word->which : 0;

	if (type == JAIL_SAY_SPACES && nfds == 2) {
		r->spaces[0] = fds[0];
		r->spaces[1] = fds[1];
	} else if (type == JAIL_SAY_ROOT && nfds == 1) {
		close_fd(&r->roots[i]);
		r->roots[i] = fds[0];
	} else if (type == JAIL_SAY_ABSENT)
		log_absent(plan->add[i].path, word->error);
	else if (type == JAIL_SAY_REPLACED && r->replaced != NULL)
		r->replaced[i] = true;
	else if (type == JAIL_SAY_FAILED)
		r->error = word->error;
	else if (type == JAIL_SAY_DONE)
		r->done = true;
	return type != JAIL_SAY_FAILED && type != JAIL_SAY_DONE;
}

/*
 * Reads the child's messages until the last one. Returns the index of a path
 * that did not answer in time, or -1. If the child dies, r->done stays false.
 */
static ssize_t
hear(const struct jail_plan *plan, int fd, struct jail_result *r)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct jail_word word = { 0, 0 };
	uint32_t type;
	ssize_t trying = -1;
	size_t nfds;
	int fds[2];

	for (;;) {
		if (poll(&p, 1, JAIL_WAIT_MS) == 0)
			return trying;
		nfds = 2;
		if (ipc_receive(fd, &type, &word, sizeof(word), fds, &nfds) !=
		    (ssize_t)sizeof(word))
			return -1;
		if (type == JAIL_SAY_TRYING)
			trying = (ssize_t)word.which;
		else if (!take_word(plan, r, type, &word, fds, nfds))
			return -1;
	}
}

static void
clear_result(struct jail_result *r, size_t n)
{
	size_t i;

	close_fd(&r->spaces[0]);
	close_fd(&r->spaces[1]);
	for (i = 0; i < n; i++)
		close_fd(&r->roots[i]);
	r->error = 0;
	r->done = false;
}

/*
 * The child could not be started. At start this is fatal: going on would mean
 * less protection. On a reload the exports stay as they are.
 */
static ssize_t
jail_give_up(const struct jail_plan *plan, struct jail_result *r)
{
	if (plan->mount_space == -1 && plan->roots == NULL)
		fatal("jail: cannot start the process that builds it");
	r->error = errno;
	return -1;
}

/* Runs the child once. Returns as hear() does. */
static ssize_t
run_once(struct jail_plan *plan, struct jail_result *r)
{
	int pair[2];
	ssize_t stuck;
	pid_t pid;

	clear_result(r, plan->nadd);
	if (ipc_pair(pair) == -1)
		return jail_give_up(plan, r);
	pid = fork();
	if (pid == -1) {
		stuck = jail_give_up(plan, r);
		close(pair[0]);
		close(pair[1]);
		return stuck;
	}
	if (pid == 0) {
		plan->channel = pair[1];
		jail_build(plan);
	}
	close(pair[1]);
	stuck = hear(plan, pair[0], r);
	close(pair[0]);
	(void)kill(pid, SIGKILL);
	/* a child that hangs in a dead filesystem cannot be reaped yet */
	(void)waitpid(pid, NULL, stuck == -1 ? 0 : WNOHANG);
	return stuck;
}

/*
 * Runs the child until every path has answered or is left out. Returns 0, or
 * -1 with errno.
 */
static int
run(struct jail_plan *plan, struct jail_result *r)
{
	bool *skip = must(calloc(plan->nadd + 1, sizeof(*skip)));
	ssize_t stuck;
	size_t i;
	int error;

	r->spaces[0] = r->spaces[1] = -1;
	r->roots = must(calloc(plan->nadd + 1, sizeof(*r->roots)));
	for (i = 0; i < plan->nadd; i++)
		r->roots[i] = -1;
	plan->skip = skip;
	while ((stuck = run_once(plan, r)) != -1) {
		log_warnx("export %s: %s: no answer for %d s (is its file "
			  "server down? reload when it is back)",
		    plan->add[stuck].path,
		    plan->roots == NULL ? "not served" : "stays as it is",
		    JAIL_WAIT_MS / 1000);
		skip[stuck] = true;
	}
	free(skip);
	if (r->done)
		return 0;
	error = r->error != 0 ? r->error : EIO;
	clear_result(r, plan->nadd);
	free(r->roots);
	errno = error;
	return -1;
}

/* Opens the exports' roots where they are, for a jail without mounts. */
static void
open_plain(const struct jail_export *list, size_t n, int *roots)
{
	size_t i;
	int fd;

	for (i = 0; i < n; i++) {
		roots[i] = jail_path_open(list[i].path);
		if (roots[i] == -1) {
			log_absent(list[i].path, errno);
			continue;
		}
		fd = openat(roots[i], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd != -1) { /* see jail_mount_open() */
			close(roots[i]);
			roots[i] = fd;
		}
	}
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

static struct jail_entry *
new_entries(const struct jail_export *list, size_t n)
{
	struct jail_entry *e = must(calloc(n + 1, sizeof(*e)));
	size_t i;

	for (i = 0; i < n; i++) {
		e[i].path = must(strdup(list[i].path));
		e[i].read_only = list[i].read_only;
		e[i].mount = list[i].mount;
		e[i].root = -1;
	}
	return e;
}

static void
free_entries(struct jail_entry *e, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		close_fd(&e[i].root);
		free(e[i].path);
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

struct jail *
jail_new(const struct jail_export *list, size_t n, bool rootless)
{
	struct jail *jail = must(calloc(1, sizeof(*jail)));
	struct jail_plan plan = { .user = rootless,
		.mount_space = -1,
		.user_space = -1,
		.add = list,
		.nadd = n };
	struct jail_result r;
	size_t i;

	jail->mount_space = jail->user_space = jail->directory = -1;
	jail->list = new_entries(list, n);
	jail->n = n;
	if (run(&plan, &r) == 0) {
		jail->kind = rootless ? JAIL_USER : JAIL_MOUNTS;
		jail->mount_space = r.spaces[0];
		jail->user_space = r.spaces[1];
		for (i = 0; i < n; i++)
			jail->list[i].root = r.roots[i];
		free(r.roots);
		return jail;
	}
	log_warn("jail: no private mounts: files are found by walking the "
		 "exports, which is slow for large ones (permit mounts or user "
		 "namespaces)");
	r.roots = must(calloc(n + 1, sizeof(*r.roots)));
	open_plain(list, n, r.roots);
	for (i = 0; i < n; i++)
		jail->list[i].root = r.roots[i];
	free(r.roots);
	if (!rootless)
		fall_back(jail, list, n);
	return jail;
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
same(const struct jail_entry *e, const struct jail_export *x)
{
	return e != NULL && e->root != -1 && e->read_only == x->read_only &&
	    e->mount == x->mount;
}

/*
 * Finds the exports whose path leads to another directory than the one in the
 * jail. It was removed or moved away since. A child looks, because a path may
 * not answer; such an export stays as it is. Returns a flag per export.
 */
static bool *
find_replaced(const struct jail *jail, const struct jail_export *list, size_t n)
{
	struct jail_result r = { .replaced = must(calloc(n + 1, 1)) };
	int *roots = must(calloc(n + 1, sizeof(*roots)));
	struct jail_plan plan = { .roots = roots,
		.mount_space = -1,
		.user_space = -1,
		.add = list,
		.nadd = n };
	size_t i;

	for (i = 0; i < n; i++)
		roots[i] = jail_root(jail, list[i].path);
	if (run(&plan, &r) == 0)
		free(r.roots);
	else
		log_warn("jail: cannot look for exports that were replaced");
	for (i = 0; i < n; i++)
		if (r.replaced[i])
			log_info("export %s: another directory is there now, "
				 "or none",
			    list[i].path);
	free(roots);
	return r.replaced;
}

/* The difference between the mounted list and the new one. */
struct jail_change {
	struct jail_export *add; /* sorted by path */
	size_t *place; /* index of each in the new list */
	size_t nadd;
	const char **remove;
	size_t nremove;
};

/*
 * Does the change mount or unmount a directory above path? Then path must be
 * mounted again.
 */
static bool
is_shaken(const struct jail_change *c, const char *path)
{
	size_t i;

	for (i = 0; i < c->nadd; i++)
		if (is_above(c->add[i].path, path))
			return true;
	for (i = 0; i < c->nremove; i++)
		if (is_above(c->remove[i], path))
			return true;
	return false;
}

/*
 * Fills in c. First come the paths that are not in the new list. Both lists are
 * sorted, so an export is compared before the exports nested in it.
 */
static void
compare(const struct jail *jail, const struct jail_export *list, size_t n,
    struct jail_change *c)
{
	bool *replaced = find_replaced(jail, list, n);
	size_t i, j;

	c->add = must(calloc(n + 1, sizeof(*c->add)));
	c->place = must(calloc(n + 1, sizeof(*c->place)));
	c->remove = must(calloc(jail->n + 1, sizeof(*c->remove)));
	for (i = j = 0; i < jail->n; i++) {
		while (j < n && strcmp(list[j].path, jail->list[i].path) < 0)
			j++;
		if ((j == n || strcmp(list[j].path, jail->list[i].path) != 0) &&
		    jail->list[i].root != -1)
			c->remove[c->nremove++] = jail->list[i].path;
	}
	for (i = 0; i < n; i++) {
		struct jail_entry *old = jail_find(jail, list[i].path);

		if (same(old, &list[i]) && !replaced[i] &&
		    !is_shaken(c, list[i].path))
			continue;
		c->place[c->nadd] = i;
		c->add[c->nadd++] = list[i];
		if (old != NULL && old->root != -1)
			c->remove[c->nremove++] = old->path;
	}
	free(replaced);
}

/* Replaces the jail's list. An export that stays keeps its descriptor. */
static void
swap(struct jail *jail, const struct jail_export *list, size_t n,
    const struct jail_change *c, const int *roots)
{
	struct jail_entry *fresh = new_entries(list, n), *old;
	size_t i;

	for (i = 0; i < c->nadd; i++) {
		fresh[c->place[i]].root = roots[i];
		old = jail_find(jail, c->add[i].path);
		if (old != NULL)
			close_fd(&old->root);
	}
	for (i = 0; i < n; i++) {
		old = jail_find(jail, list[i].path);
		if (fresh[i].root == -1 && old != NULL) {
			fresh[i].root = old->root;
			old->root = -1;
		}
	}
	free_entries(jail->list, jail->n);
	jail->list = fresh;
	jail->n = n;
}

int
jail_update(struct jail *jail, const struct jail_export *list, size_t n)
{
	struct jail_change c = { .nadd = 0 };
	struct jail_result r = { .roots = NULL };
	struct jail_plan plan = { .user = jail->kind == JAIL_USER,
		.mount_space = jail->mount_space,
		.user_space = jail->user_space };
	int failed = 0;

	compare(jail, list, n, &c);
	plan.add = c.add;
	plan.nadd = c.nadd;
	plan.remove = c.remove;
	plan.nremove = c.nremove;
	if (jail->mount_space != -1)
		failed = run(&plan, &r);
	else {
		r.roots = must(calloc(c.nadd + 1, sizeof(*r.roots)));
		open_plain(c.add, c.nadd, r.roots);
	}
	if (failed == 0) {
		swap(jail, list, n, &c, r.roots);
		jail->needs_restart = c.nadd > 0 && jail->kind != JAIL_MOUNTS;
		if (jail->kind == JAIL_CHROOT && c.nadd > 0)
			fall_back(jail, list, n);
		free(r.roots);
	} else
		log_warn("jail: cannot change the exports' mounts: the old "
			 "exports stay");
	free(c.add);
	free(c.place);
	free(c.remove);
	return failed;
}

bool
jail_needs_restart(const struct jail *jail)
{
	return jail->needs_restart;
}

int
jail_root(const struct jail *jail, const char *path)
{
	const struct jail_entry *e = jail_find(jail, path);

	return e != NULL ? e->root : -1;
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
	free_entries(jail->list, jail->n);
	close_fd(&jail->mount_space);
	close_fd(&jail->user_space);
	close_fd(&jail->directory);
	free(jail);
}

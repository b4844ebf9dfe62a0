/* SPDX-License-Identifier: ISC */
/*
 * Looks at the paths of exports, each on a thread of its own: a filesystem that
 * does not answer hangs that thread alone. A directory that is there is cloned
 * as a mount, which no process sees yet. The process ends after the last answer.
 * Runs in: short-lived children of mountd's and nfsd's parent.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "confine/jail_build.h"
#include "confine/jail_mount.h"
#include "confine/mountinfo.h"

#define STACK (256 * 1024) /* a few paths lie on it */

struct looker {
	const struct jail_plan *plan;
	const struct mountinfo *mounts;
	size_t which;
	pthread_t thread;
	bool started;
};

/* Is the directory the root of a mount? */
static bool
is_mount_root(int fd)
{
	struct statx sx;

	return statx(fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, STATX_TYPE,
		   &sx) == 0 &&
	    (sx.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

/*
 * Opens the directory, its clone, and the root of that; without mounts, only
 * the first. The clone is not among the mounts, so its type is that of the
 * directory. Returns 0, or -1 with errno.
 */
static int
open_it(const struct looker *l, struct jail_found *found, int fds[2],
    const char **type)
{
	const struct jail_plan *plan = l->plan;
	const struct jail_export *e = &plan->list[l->which];
	int at = jail_path_open(e->path);

	if (at == -1)
		return -1;
	errno = ENODEV;
	if (!e->mountpoint || is_mount_root(at)) {
		jail_path_name(at, found->real);
		*type = mountinfo_type(l->mounts, fh_fs_mount(at));
		if (plan->mount_space != -1)
			fds[1] = jail_mount_clone(at, e->read_only);
		if (plan->mount_space == -1 || fds[1] != -1)
			fds[0] = jail_mount_open(fds[1] != -1 ? fds[1] : at);
	}
	close_keep_errno(at);
	return fds[0] == -1 ? -1 : 0;
}

static void *
look_at(void *arg)
{
	const struct looker *l = arg;
	const struct jail_plan *plan = l->plan;
	struct jail_found *found = calloc(1, sizeof(*found));
	struct fh_ask ask = { .kernel = plan->mount_space != -1 && !plan->user,
		.wish = plan->list[l->which].handles };
	int fds[2] = { -1, -1 };

	if (found == NULL)
		jail_fail(plan);
	found->word.which = (uint32_t)l->which;
	if (open_it(l, found, fds, &ask.type) == 0 &&
	    fh_fs_look(&found->root, fds[0], &ask) == 0)
		jail_say(plan, JAIL_SAY_FOUND, &found->word, sizeof(*found),
		    fds, fds[1] != -1 ? 2 : 1);
	else {
		found->word.error = errno;
		jail_say(plan, JAIL_SAY_ABSENT, &found->word,
		    sizeof(found->word), NULL, 0);
	}
	if (fds[0] != -1)
		close(fds[0]);
	if (fds[1] != -1)
		close(fds[1]);
	free(found);
	return NULL;
}

/* Without a thread the path is looked at here, and the others wait for it. */
static void
start_look(struct looker *l)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	l->started = pthread_create(&l->thread, &attr, look_at, l) == 0;
	pthread_attr_destroy(&attr);
	if (!l->started)
		(void)look_at(l);
}

void
jail_look(const struct jail_plan *plan)
{
	struct looker *list = calloc(plan->n + 1, sizeof(*list));
	struct jail_word done = { 0, 0 };
	struct mountinfo mounts;
	size_t i;

	if (list == NULL)
		jail_fail(plan);
	/* A plain user may mount only in namespaces of that user. */
	if (plan->user && plan->mount_space != -1 &&
	    (setns(plan->user_space, CLONE_NEWUSER) == -1 ||
		jail_mount_unshare() == -1))
		jail_fail(plan);
	mountinfo_read(&mounts);
	for (i = 0; i < plan->n; i++) {
		if (!plan->wanted[i])
			continue;
		list[i].plan = plan;
		list[i].mounts = &mounts;
		list[i].which = i;
		start_look(&list[i]);
	}
	for (i = 0; i < plan->n; i++)
		if (list[i].started)
			pthread_join(list[i].thread, NULL);
	jail_say(plan, JAIL_SAY_DONE, &done, sizeof(done), NULL, 0);
	_exit(0);
}

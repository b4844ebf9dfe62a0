/* SPDX-License-Identifier: ISC */
/*
 * Setup and exports from a parent to its role: this program starts itself as
 * "taker", which reports what it received. Then a parent that sends wrong
 * messages.
 * Runs in: tests only.
 */
#include <sys/stat.h>

#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/log.h"
#include "base/util.h"
#include "process/daemon.h"
#include "process/role_exports.h"
#include "slack.h"
#include "tap.h"

#define EXPORTS (ROLE_ROOTS_MAX + 6) /* more roots than one message carries */
#define GONE	5 /* the export whose directory is missing */
#define SETUP	0x7465726e

enum { SAY_REPORT = ROLE_MESSAGES, MESSAGES };

struct setup {
	uint32_t word;
};

struct report {
	uint32_t setup;
	size_t n, nroots, nsubs;
	bool gone; /* no root for the missing export */
	ino_t last; /* inode number of the last root */
	struct submount sub;
	ino_t sub_ino;
};

static char dir[] = "/tmp/tern-role.XXXXXX";
static const struct daemon d = { .name = "test_role_exports" };
static struct event_base *base;
static struct report got;
static int reports;

static ino_t
inode(int fd)
{
	struct stat st;

	return fstat(fd, &st) == -1 ? 0 : st.st_ino;
}

static int
remove_one(const char *path, const struct stat *st UNUSED, int type UNUSED,
    struct FTW *ftw UNUSED)
{
	return remove(path);
}

/* The directories of all exports but one, and the file that names them. */
static void
make_exports(struct exports_file *file, struct jail_export *list)
{
	static const struct exports_hooks quiet;
	static char paths[EXPORTS][64];
	char name[64];
	FILE *f;
	int i;

	if (mkdtemp(dir) == NULL)
		BAIL_OUT("no directory");
	(void)snprintf(name, sizeof(name), "%s/exports", dir);
	f = fopen(name, "w");
	for (i = 0; f != NULL && i < EXPORTS; i++) {
		(void)snprintf(paths[i], sizeof(paths[i]), "%s/%03d", dir, i);
		(void)fprintf(f, "%s *\n", paths[i]);
		if (i != GONE && mkdir(paths[i], 0755) == -1)
			BAIL_OUT("%s", paths[i]);
		list[i] = (struct jail_export){ .path = paths[i] };
	}
	if (f == NULL || fclose(f) == EOF ||
	    !exports_load(file, name, NULL, &quiet))
		BAIL_OUT("no exports");
}

static void
report(void *arg, const struct role_list *list)
{
	struct report r = { .n = list->conf->n, .nsubs = list->nsubs };
	const struct role_exports *in = arg;
	size_t i;

	r.setup = ((struct setup *)in->setup)->word;
	for (i = 0; i < list->conf->n; i++)
		r.nroots += list->roots[i].fd != -1;
	r.gone = list->roots[GONE].fd == -1;
	r.last = inode(list->roots[list->conf->n - 1].fd);
	if (list->nsubs > 0) {
		r.sub = list->subs[0];
		r.sub_ino = inode(list->subs[0].root.fd);
	}
	(void)ipc_send(ROLE_CHANNEL, SAY_REPORT, &r, sizeof(r), NULL, 0);
}

/* clang-format off */
static const struct ipc_row role_rows[MESSAGES] = {
	ROLE_EXPORTS_ROWS(struct setup),
};

static void on_report(void *, struct ipc_message *);
static void on_serves(void *, struct ipc_message *);
static const struct ipc_row parent_rows[MESSAGES] = {
	[ROLE_SERVES] = { "serves", 0, 0, 0, 0, on_serves },
	[SAY_REPORT] = { "report", sizeof(struct report), sizeof(struct report), 0, 0, on_report },
};
/* clang-format on */

static const struct ipc_table role_table = { role_rows, nitems(role_rows) };
static const struct ipc_table parent_table = { parent_rows,
	nitems(parent_rows) };

static int
taker(struct role *role)
{
	struct setup setup = { 0 };
	static struct role_exports in = { .serve = report };

	in.setup = &setup;
	in.arg = &in;
	in.channel = role->channel;
	while (true) /* ends with its parent */
		role_exports_receive(&in, &role_table);
	return 1;
}

static void
on_report(void *arg, struct ipc_message *m)
{
	if (!role_has_been_ready(arg))
		role_is_ready(arg);
	memcpy(&got, m->data, sizeof(got));
	reports++;
}

static void
on_serves(void *arg, struct ipc_message *m UNUSED)
{
	role_acknowledged(arg);
	(void)event_base_loopbreak(base);
}

/* Runs the loop until the role acknowledges, some seconds at most. */
static void
wait_report(void)
{
	struct timeval limit = { .tv_sec = 5 * TEST_SLACK };

	(void)event_base_loopexit(base, &limit);
	(void)event_base_dispatch(base);
}

/* On a slow machine some paths answer late. */
static void
wait_for_all(struct jail *jail, const struct jail_export *list)
{
	struct pollfd p = { .events = POLLIN };
	int tries = 20;

	while ((p.fd = jail_late_fd(jail)) != -1 && tries-- > 0) {
		(void)poll(&p, 1, 5000);
		jail_late(jail);
		(void)jail_update(jail, list, EXPORTS, JAIL_CHANGED);
	}
}

static void
test_both_ends(void)
{
	static struct jail_export list[EXPORTS];
	static struct submounts subs = { .n = 1 };
	struct role_spec spec = { .name = "taker", .messages = &parent_table };
	struct exports_file file = { .packed = -1 };
	const struct setup setup = { .word = SETUP };
	struct role_child *child;
	struct jail *jail;

	make_exports(&file, list);
	jail = jail_new(list, EXPORTS, geteuid() != 0);
	wait_for_all(jail, list);
	subs.list[0] = (struct submount){ .index = 3,
		.id = 77,
		.path = "/inside",
		.root = *jail_facts(jail, list[7].path) };
	base = event_base_new();
	child = role_start(base, &d, &spec);
	(void)role_send(child, ROLE_SETUP, &setup, sizeof(setup), NULL, 0);
	role_exports_send(child, &file, jail, &subs);
	wait_report();
	cmp_ok(reports, "==", 1, "a list of exports is served");
	ok(role_is_current(child), "and acknowledged");
	cmp_ok(got.setup, "==", SETUP, "the setup came first");
	cmp_ok(got.n, "==", EXPORTS, "the list has all exports");
	ok(got.nroots == EXPORTS - 1 && got.gone,
	    "each export has a root, except the missing one");
	ok(got.last != 0 &&
		got.last == inode(jail_root(jail, list[EXPORTS - 1].path)),
	    "each root belongs to its export");
	ok(got.nsubs == 1 && got.sub.index == 3 && got.sub.id == 77,
	    "the list has the submount");
	is(got.sub.path, "/inside", "the submount has its path");
	ok(got.sub_ino == inode(subs.list[0].root.fd),
	    "the submount has its root");
	role_exports_send(child, &file, jail, NULL);
	ok(!role_is_current(child), "the next one is owed");
	wait_report();
	cmp_ok(reports, "==", 2, "the next list is served");
	ok(got.nroots == EXPORTS - 1 && got.nsubs == 0,
	    "it does not have the submount of the list before");
	role_expect_end(child);
	role_free(child);
	jail_free(jail);
	exports_file_clear(&file);
	event_base_free(base);
}

/* A role between two messages, with exports_n exports so far (0: none). */
static struct role_exports *
between(size_t exports_n)
{
	static struct role_exports in;
	static struct exports ex;

	in.next.conf = exports_n > 0 ? &ex : NULL;
	ex.n = exports_n;
	memset(in.next.roots, -1, sizeof(in.next.roots));
	in.next.nsubs = 0;
	return &in;
}

static void
say(struct role_exports *in, uint32_t type, const void *data, size_t len,
    size_t nfds)
{
	int pair[2], fds[2] = { STDIN_FILENO, STDIN_FILENO };

	if (ipc_pair(pair) == -1 ||
	    ipc_send(pair[0], type, data, len, fds, nfds) == -1)
		BAIL_OUT("channel");
	in->channel = pair[1];
	role_exports_receive(in, &role_table);
}

static void
test_nonsense(void)
{
	const struct role_roots one = { .n = 1, .index = { 1 } };
	const struct role_roots twice = { .n = 2, .index = { 0, 0 } };
	const struct role_roots far = { .n = 1, .index = { 9 } };
	const struct submount sub = { .index = 2 }, beyond = { .index = 9 };
	struct role_exports *in;

	in = between(3);
	say(in, ROLE_ROOTS, &one, sizeof(one), 1);
	say(in, ROLE_SUBMOUNT, &sub, sizeof(sub), 1);
	ok(in->next.roots[1].fd != -1 && in->next.nsubs == 1,
	    "a root and a submount are accepted");
	dies_ok({ say(in, ROLE_ROOTS, &one, sizeof(one), 1); },
	    "the same root in a second message");
	dies_ok({ say(in, ROLE_EXPORTS, NULL, 0, 1); },
	    "exports before the last list is complete");
	dies_ok({ say(between(3), ROLE_ROOTS, &twice, sizeof(twice), 2); },
	    "the same root twice");
	dies_ok({ say(between(3), ROLE_ROOTS, &one, sizeof(one), 2); },
	    "more descriptors than roots");
	dies_ok({ say(between(3), ROLE_ROOTS, &far, sizeof(far), 1); },
	    "a root of no export");
	dies_ok({ say(between(3), ROLE_SUBMOUNT, &beyond, sizeof(sub), 1); },
	    "a submount of no export");
	in = between(3);
	in->next.nsubs = SUBMOUNTS_MAX;
	dies_ok({ say(in, ROLE_SUBMOUNT, &sub, sizeof(sub), 1); },
	    "a submount too many");
	dies_ok({ say(between(0), ROLE_EXPORTS, NULL, 0, 1); },
	    "exports that cannot be unpacked");
	dies_ok({ say(between(0), ROLE_ROOTS, &one, sizeof(one), 1); },
	    "roots without exports");
	dies_ok({ say(between(0), ROLE_SUBMOUNT, &sub, sizeof(sub), 1); },
	    "a submount without exports");
	dies_ok({ say(between(0), ROLE_SERVE, NULL, 0, 0); },
	    "an end without exports");
	dies_ok({ say(between(0), ROLE_SETUP, "x", 1, 0); },
	    "a setup of another size");
}

int
main(int argc, char *argv[])
{
	static const struct role_row roles[] = { { "taker", taker } };

	log_init("test_role_exports");
	role_dispatch(argc, argv, roles, nitems(roles));
	plan(NO_PLAN);
	test_both_ends();
	test_nonsense();
	(void)nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	done_testing();
}

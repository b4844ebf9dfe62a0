/* SPDX-License-Identifier: ISC */
/*
 * Starts and feeds the tls roles: see parent_tls.h.
 * Runs in: nfsd parent.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "nfsd/parent/parent_tls.h"
#include "nfsd/tls/context.h"
#include "nfsd/tls/kernel.h"
#include "process/reload.h"

#define TLS_USER      "_nfsd-tls"
#define WATCH_SECONDS 5 /* a change must be as old before it counts */
#define DAY	      86400

_Static_assert(PARENT_TLS_FILES == TLS_FILES, "the same files");

/* The path of a file; NULL: none. */
static const char *
path_of(const struct nfsd *n, enum tls_file file)
{
	const char *const paths[TLS_FILES] = { [TLS_CERT] = n->tls_cert,
		[TLS_KEY] = n->tls_key,
		[TLS_CA] = n->tls_ca,
		[TLS_CRL] = n->tls_crl };

	return paths[file];
}

/* Opens one file. Returns -1 and logs if it cannot be a file of TLS. */
static int
open_file(const char *path, bool secret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd == -1 || fstat(fd, &st) == -1) {
		log_warn("%s", path);
		if (fd != -1)
			close(fd);
		return -1;
	}
	if (!S_ISREG(st.st_mode)) {
		log_warnx("%s: not a file", path);
		close(fd);
		return -1;
	}
	if (secret && (st.st_mode & 077) != 0)
		log_warnx("%s: other users may read the key: chmod 600", path);
	return fd;
}

/* Opens all files that are configured. Returns false if one is missing. */
static bool
open_files(const struct nfsd *n, int fds[TLS_FILES])
{
	const char *path;
	bool all = true;
	size_t i;

	for (i = 0; i < TLS_FILES; i++) {
		path = path_of(n, (enum tls_file)i);
		fds[i] =
		    path == NULL || !all ? -1 : open_file(path, i == TLS_KEY);
		all = all && (path == NULL || fds[i] != -1);
	}
	return all;
}

static void
close_files(const int fds[TLS_FILES])
{
	size_t i;

	for (i = 0; i < TLS_FILES; i++)
		if (fds[i] != -1)
			close(fds[i]);
}

/* Passes the files to a role, or tells it that they are missing. */
static void
send_files(struct parent_tls *t, struct role_child *role)
{
	struct nfsd_tls_files m;
	int fds[TLS_FILES], list[TLS_FILES];
	size_t i, n = 0;

	m.has_files = open_files(t->n, fds);
	m.has_ca = fds[TLS_CA] != -1;
	m.has_crl = fds[TLS_CRL] != -1;
	for (i = 0; i < TLS_FILES && m.has_files; i++)
		if (fds[i] != -1)
			list[n++] = fds[i];
	if (role_send(role, NFSD_TLS_FILES, &m, sizeof(m), list, n))
		role_owes(role);
	close_files(fds);
}

static void
look(const struct nfsd *n, struct parent_tls_mark marks[TLS_FILES])
{
	const char *path;
	struct stat st;
	size_t i;

	memset(marks, 0, sizeof(*marks) * TLS_FILES);
	for (i = 0; i < TLS_FILES; i++) {
		path = path_of(n, (enum tls_file)i);
		if (path == NULL || stat(path, &st) == -1)
			continue;
		marks[i].dev = st.st_dev;
		marks[i].ino = st.st_ino;
		marks[i].size = st.st_size;
		marks[i].mtime = st.st_mtim;
	}
}

void
parent_tls_reload(struct parent_tls *t)
{
	unsigned int i;

	if (!t->on)
		return;
	t->told[0] = '\0';
	look(t->n, t->seen);
	t->rejudge = memcmp(&t->seen[TLS_CA], &t->sent[TLS_CA],
			 sizeof(t->seen[0])) != 0 ||
	    memcmp(&t->seen[TLS_CRL], &t->sent[TLS_CRL], sizeof(t->seen[0])) !=
		0;
	memcpy(t->sent, t->seen, sizeof(t->sent));
	for (i = 0; i < t->n->setup.workers; i++)
		send_files(t, t->roles[i]);
}

/* Logs at 30, 7 and 1 days, and when it is too late. */
static void
warn_of_end(struct parent_tls *t, size_t i, int64_t now)
{
	static const enum tls_file files[NFSD_TLS_ENDS] = { TLS_CERT, TLS_CA,
		TLS_CRL };
	static const int marks[] = { 0, 1, 7, 30 };
	int64_t left = t->ends[i] - now;
	size_t m;

	for (m = 0; m < nitems(marks) && left > (int64_t)marks[m] * DAY;)
		m++;
	if (t->ends[i] == 0 || m == nitems(marks) || t->warned[i] <= marks[m])
		return;
	t->warned[i] = marks[m];
	if (left <= 0)
		log_warnx("%s: no longer valid: renew it; clients are refused",
		    path_of(t->n, files[i]));
	else
		log_warnx("%s: valid for %d more days: renew it",
		    path_of(t->n, files[i]), (int)(left / DAY));
}

static void
watch_files(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct parent_tls *t = arg;
	struct parent_tls_mark now[TLS_FILES];
	size_t i;

	look(t->n, now);
	if (memcmp(now, t->sent, sizeof(now)) != 0 &&
	    memcmp(now, t->seen, sizeof(now)) == 0) {
		log_info("tls: the files have changed: loading them");
		parent_tls_reload(t);
	}
	memcpy(t->seen, now, sizeof(now));
	for (i = 0; i < NFSD_TLS_ENDS; i++)
		warn_of_end(t, i, (int64_t)clock_wall().tv_sec);
}

void
parent_tls_connect(struct parent_tls *t, unsigned int i)
{
	struct role_child *worker = t->on ? t->worker(t->arg, i) : NULL;
	int pair[2];

	if (worker == NULL || role_channel(worker) == -1 || !t->loaded[i] ||
	    role_channel(t->roles[i]) == -1)
		return;
	/* The worker must never wait for its role; it may not set the flag. */
	if (ipc_pair(pair) == -1 || fcntl(pair[1], F_SETFL, O_NONBLOCK) == -1)
		fatal("channel");
	(void)role_send(t->roles[i], NFSD_TLS_CHANNEL, NULL, 0, &pair[0], 1);
	(void)role_send(worker, NFSD_TLS_CHANNEL, NULL, 0, &pair[1], 1);
	close(pair[0]);
	close(pair[1]);
}

void
parent_tls_accuse(struct parent_tls *t, unsigned int i)
{
	if (t->on)
		role_restart(t->roles[i],
		    "it sent its worker a malformed verdict and may be "
		    "compromised");
}

static void
tls_started(void *arg, struct role_child *child)
{
	struct parent_tls *t = arg;
	const struct nfsd_tls_setup m = { .uid = t->uid,
		.gid = t->gid,
		.strict = t->n->setup.strict,
		.rootless = t->n->setup.rootless,
		.kernel = t->n->setup.tls.kernel };

	t->roles[role_index(child)] = child;
	t->loaded[role_index(child)] = false;
	role_becomes(child, t->uid);
	(void)role_send(child, ROLE_SETUP, &m, sizeof(m), NULL, 0);
	send_files(t, child);
}

static void
on_tls_ready(void *arg, struct ipc_message *m UNUSED)
{
	struct parent_tls *t = role_arg(arg);

	role_is_ready(arg);
	t->changed(t->arg);
}

static bool
all_loaded(const struct parent_tls *t)
{
	unsigned int i;

	for (i = 0; i < t->n->setup.workers; i++)
		if (!t->loaded[i])
			return false;
	return true;
}

/* A new end gets new warnings. */
static void
note_ends(struct parent_tls *t, const int64_t ends[NFSD_TLS_ENDS])
{
	size_t i;

	for (i = 0; i < NFSD_TLS_ENDS; i++)
		if (t->ends[i] != ends[i]) {
			t->ends[i] = ends[i];
			t->warned[i] = INT_MAX;
		}
}

/* Every role finds the same mistake: one line is enough. */
static void
tell_mistake(struct parent_tls *t, bool has_old, const char *why)
{
	if (!t->serving)
		fatal_config("tls: %s", why);
	if (strcmp(t->told, why) == 0)
		return;
	(void)strlcpy(t->told, why, sizeof(t->told));
	log_warnx("tls: %s: %s", why,
	    has_old ? "the files in use so far stay in use" :
		      "TLS is not offered until this is corrected");
}

/* A role says if the files are in use. */
static void
on_loaded(void *arg, struct ipc_message *m)
{
	struct parent_tls *t = role_arg(arg);
	unsigned int i = role_index(arg);
	struct nfsd_tls_loaded in;
	char why[sizeof(in.why) * 2];

	role_acknowledged(arg);
	memcpy(&in, m->data, sizeof(in));
	in.why[sizeof(in.why) - 1] = '\0';
	(void)log_text(why, sizeof(why), in.why, strlen(in.why));
	if (in.why[0] == '\0') {
		note_ends(t, in.ends);
		/* A certificate without connection may be revoked too. */
		if (t->rejudge)
			proven_clear(t->proven);
		if (!t->loaded[i]) {
			t->loaded[i] = true;
			parent_tls_connect(t, i);
		}
		t->serving = t->serving || all_loaded(t);
	} else
		tell_mistake(t, t->loaded[i], why);
	t->changed(t->arg);
}

/* clang-format off */
static const struct ipc_row rows[NFSD_MESSAGES] = {
	[NFSD_READY]      = { "ready",  0, 0, 0, 0, on_tls_ready },
	[ROLE_PONG]       = { "pong",   sizeof(struct role_pong), sizeof(struct role_pong), 0, 0, role_answered },
	[NFSD_TLS_LOADED] = { "loaded", sizeof(struct nfsd_tls_loaded), sizeof(struct nfsd_tls_loaded), 0, 0, on_loaded },
};
/* clang-format on */

static const struct ipc_table messages = { rows, nitems(rows) };

void
parent_tls_prepare(struct parent_tls *t, struct nfsd *n)
{
	bool *kernel = &n->setup.tls.kernel;

	t->n = n;
	t->on = n->tls_cert != NULL;
	if (!t->on)
		return;
	daemon_role_user(&n->d, TLS_USER, &t->uid, &t->gid);
	*kernel = n->tls != NFSD_TLS_RELAY && tls_kernel_works();
	if (n->tls == NFSD_TLS_KERNEL && !*kernel)
		fatal_config(
		    "-o tls=kernel: this kernel has no TLS: modprobe tls "
		    "(%s)",
		    strerror(errno));
	if (*kernel)
		log_info("tls: the kernel encrypts and decrypts");
	else
		log_info("tls: the tls process encrypts and decrypts%s",
		    n->tls == NFSD_TLS_RELAY ? "" :
					       ", as the kernel has no TLS");
}

void
parent_tls_start(struct parent_tls *t, struct event_base *base,
    struct reload *reload)
{
	const struct timeval often = { .tv_sec = WATCH_SECONDS };
	unsigned int i;

	if (!t->on)
		return;
	look(t->n, t->sent);
	memcpy(t->seen, t->sent, sizeof(t->seen));
	for (i = 0; i < t->n->setup.workers; i++) {
		t->specs[i] = (struct role_spec){ .name = "tls",
			.index = i,
			.started = tls_started,
			.messages = &messages,
			.arg = t };
		t->roles[i] = role_start(base, &t->n->d, &t->specs[i]);
		reload_add(reload, t->roles[i]);
	}
	t->on_watch = event_new(base, -1, EV_PERSIST, watch_files, t);
	if (t->on_watch == NULL || event_add(t->on_watch, &often) == -1)
		fatalx("event: out of memory");
}

void
parent_tls_stop(struct parent_tls *t)
{
	unsigned int i;

	for (i = 0; t->on && i < t->n->setup.workers; i++)
		role_expect_end(t->roles[i]);
}

void
parent_tls_free(struct parent_tls *t)
{
	unsigned int i;

	for (i = 0; t->on && i < t->n->setup.workers; i++)
		role_free(t->roles[i]);
	if (t->on_watch != NULL)
		event_free(t->on_watch);
}

bool
parent_tls_check(const struct nfsd *n)
{
	struct tls_context context;
	const char *why = NULL;
	int fds[TLS_FILES];

	if (n->tls_cert == NULL)
		return true;
	if (!open_files(n, fds))
		why = "a file is missing";
	else
		why = tls_context_load(&context, fds);
	close_files(fds);
	if (why != NULL) {
		log_warnx("tls: %s", why);
		return false;
	}
	tls_context_clear(&context);
	return true;
}

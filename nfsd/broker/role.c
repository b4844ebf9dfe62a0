/* SPDX-License-Identifier: ISC */
/*
 * The broker as a process: the main thread listens to the parent, each of the
 * others serves one channel at a time. The number of threads is fixed when the
 * process starts, since making threads is forbidden afterwards: one for each
 * thread of each worker and of the locks role, spare ones for channels that hang
 * in a filesystem while their worker is restarted, and one that walks shared
 * exports at the start.
 * Runs in: nfsd broker.
 */
#include <sys/syscall.h>

#include <linux/capability.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "confine/jail.h"
#include "confine/sandbox.h"
#include "nfsd/broker/broker.h"
#include "nfsd/nfsd.h"
#include "process/role_exports.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_quotactl_fd
#define SYS_quotactl_fd 443
#endif
#define STACK	  (512 * 1024) /* the inode table keeps paths on it */
#define QUEUE_MAX ((NFSD_WORKERS_MAX + 3) * (NFSD_THREADS_MAX + 1))

/* clang-format off */
static const struct sandbox_call calls[] = {
	{ SYS_capget,            false, "rights for one question only" },
	{ SYS_capset,            false, "the same, and back" },
	{ SYS_faccessat2,        true,  "may the caller read it after all" },
	{ SYS_fchmodat,          true,  "set-id bits of a directory before Linux 6.6" },
	{ SYS_fchmodat2,         false, "set-id bits of a directory" },
	{ SYS_fgetxattr,         false, "may the caller read or execute it" },
	{ SYS_fremovexattr,      true,  "remove an ACL" },
	{ SYS_fsetxattr,         true,  "set an ACL, as its owner" },
#ifdef SYS_fstat
	{ SYS_fstat,             true,  "fstat of libc (newer glibc, musl)" },
#endif
	{ SYS_fsync,             false, "names and attributes of what no caller may open" },
	{ SYS_getdents64,        true,  "walk an export without kernel handles" },
	{ SYS_lgetxattr,         true,  "gfid of a link, path of a directory: GlusterFS" },
	{ SYS_linkat,            false, "LINK: only this process may link a descriptor" },
	{ SYS_lseek,             true,  "walk: start of a directory" },
	{ SYS_name_to_handle_at, false, "seal a descriptor" },
	{ SYS_newfstatat,        false, "type of an entry; fstat of libc" },
	{ SYS_open_by_handle_at, false, "open a checked handle" },
	{ SYS_openat,            false, "O_PATH of \".\"" },
	{ SYS_openat2,           true,  "walk below an export, never through links" },
	{ SYS_pread64,           false, "read new exports" },
	{ SYS_quotactl_fd,       false, "read a quota" },
	{ SYS_recvmsg,           false, "questions of workers" },
	{ SYS_sendmsg,           false, "answers" },
	{ SYS_setfsgid,          false, "act as the caller" },
	{ SYS_setfsuid,          false, "act as the caller" },
	{ SYS_setgroups,         false, "act as the caller" },
	{ SYS_setresuid,         false, "be the user of a quota, to read it" },
	{ SYS_statx,             false, "mount and birth of a file" },
	{ SYS_syncfs,            false, "the same of symbolic links and special files" },
};

/* Q_GETQUOTA of a user or of a group; only the effective user is ever changed. */
static const struct sandbox_choice choices[] = {
	{ SYS_quotactl_fd, { { 1, 1, 0x80000700 }, SANDBOX_ALONE }, "read a quota and change none" },
	{ SYS_setresuid,   { { 0, 0, UINT32_MAX }, { 2, 0, UINT32_MAX } }, "real and saved user stay" },
};

static const int squash_caps[] = { CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE };
static const int multi_caps[] = { CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE,
	CAP_SETUID, CAP_SETGID };
static const int root_caps[] = { CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE,
	CAP_SETUID, CAP_SETGID, CAP_FOWNER, CAP_FSETID };
/* Raised for one question at a time. */
static const int lent_caps[] = { CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID };
/* clang-format on */

/* The capabilities of each mode; a plain user has none to keep. */
static const struct {
	const int *caps;
	size_t ncaps;
} modes[] = {
	[MODE_SQUASH] = { squash_caps, nitems(squash_caps) },
	[MODE_MULTI] = { multi_caps, nitems(multi_caps) },
	[MODE_ROOT] = { root_caps, nitems(root_caps) },
};

static const char *const askers[NFSD_ASKERS] = {
	[NFSD_ASKER_WORKER] = "worker", [NFSD_ASKER_LOCKS] = "locks"
};

/* A channel that waits for a thread. */
struct waiting {
	int fd;
	struct nfsd_channels from;
	struct broker_tally *tally;
};

struct broker_role {
	struct role *role;
	struct broker *broker;
	struct nfsd_setup setup;
	struct role_exports incoming;
	pthread_mutex_t lock;
	pthread_cond_t more;
	pthread_cond_t started;
	pthread_cond_t listed; /* there are exports */
	bool has_list;
	unsigned int running;
	struct waiting queue[QUEUE_MAX];
	size_t n;
};

static struct waiting
next_channel(struct broker_role *b)
{
	struct waiting next;

	pthread_mutex_lock(&b->lock);
	while (b->n == 0)
		pthread_cond_wait(&b->more, &b->lock);
	next = b->queue[0];
	b->n--;
	memmove(b->queue, b->queue + 1, b->n * sizeof(b->queue[0]));
	pthread_mutex_unlock(&b->lock);
	return next;
}

/* Says that the thread has started, which makes system calls of its own. */
static void
say_running(struct broker_role *b)
{
	pthread_mutex_lock(&b->lock);
	b->running++;
	pthread_cond_signal(&b->started);
	pthread_mutex_unlock(&b->lock);
}

static void *
serve(void *arg)
{
	struct broker_role *b = arg;
	struct broker_channel *channel;
	struct nfsd_bad bad;
	struct waiting next;
	const char *why;

	say_running(b);
	for (;;) {
		next = next_channel(b);
		channel = broker_channel_new(b->broker, next.tally);
		if (channel == NULL)
			fatal("channel");
		if (next.from.asker == NFSD_ASKER_LOCKS)
			broker_channel_lock_only(channel);
		why = broker_serve(channel, next.fd);
		if (why != NULL) {
			log_warnx("%s %u: broke the broker's rules: %s",
			    askers[next.from.asker], next.from.worker, why);
			bad.asker = next.from.asker;
			bad.worker = next.from.worker;
			(void)ipc_send(b->role->channel, NFSD_BAD_WORKER, &bad,
			    sizeof(bad), NULL, 0);
		}
		broker_channel_free(channel);
		close(next.fd);
	}
	return NULL;
}

/* Walks once, at the start. The filter does not let a thread end. */
static void *
prepare(void *arg)
{
	struct broker_role *b = arg;

	say_running(b);
	pthread_mutex_lock(&b->lock);
	while (!b->has_list)
		pthread_cond_wait(&b->listed, &b->lock);
	pthread_mutex_unlock(&b->lock);
	broker_prepare(b->broker);
	pthread_mutex_lock(&b->lock);
	for (;;)
		pthread_cond_wait(&b->listed, &b->lock);
	return NULL;
}

static void
start_threads(struct broker_role *b)
{
	unsigned int each = b->setup.threads + 1, i, n;
	pthread_attr_t attr;
	pthread_t thread;
	int error;

	n = (b->setup.workers + 2) * each + 2 * LOCKS_SERVERS + 1;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (i = 0; i < n; i++) {
		error =
		    pthread_create(&thread, &attr, i == 0 ? prepare : serve, b);
		if (error != 0)
			fatalx("thread %u of %u: %s: use fewer (-t, -w)", i + 1,
			    n, strerror(error));
	}
	pthread_attr_destroy(&attr);
	/* A starting thread makes system calls that the filter will refuse. */
	pthread_mutex_lock(&b->lock);
	while (b->running < n)
		pthread_cond_wait(&b->started, &b->lock);
	pthread_mutex_unlock(&b->lock);
}

static void
serve_list(void *arg, const struct role_list *list)
{
	struct broker_role *b = arg;
	struct served_exports *x =
	    served_new(list->conf, list->roots, list->subs, list->nsubs);

	if (x == NULL)
		fatal("exports");
	broker_set_exports(b->broker, x);
	pthread_mutex_lock(&b->lock);
	b->has_list = true;
	pthread_cond_signal(&b->listed);
	pthread_mutex_unlock(&b->lock);
}

static void
on_channels(void *arg, struct ipc_message *m)
{
	struct broker_role *b = role_exports_arg(arg);
	struct broker_tally *tally;
	struct nfsd_channels in;
	size_t i, n;

	memcpy(&in, m->data, sizeof(in));
	if (in.asker >= NFSD_ASKERS)
		fatalx("parent: channels of an unknown role");
	pthread_mutex_lock(&b->lock);
	n = QUEUE_MAX - b->n < m->nfds ? QUEUE_MAX - b->n : m->nfds;
	tally = broker_tally_new((unsigned int)n);
	if (tally == NULL)
		fatal("channels");
	for (i = 0; i < n; i++) {
		b->queue[b->n].fd = m->fds[i];
		b->queue[b->n].tally = tally;
		b->queue[b->n++].from = in;
		m->fds[i] = -1;
	}
	pthread_cond_broadcast(&b->more);
	pthread_mutex_unlock(&b->lock);
}

static void
on_stop(void *arg UNUSED, struct ipc_message *m UNUSED)
{
	exit(0);
}

/* clang-format off */
static const struct ipc_row rows[NFSD_MESSAGES] = {
	ROLE_EXPORTS_ROWS(struct nfsd_setup),
	[NFSD_CHANNELS] = { "channels", sizeof(struct nfsd_channels), sizeof(struct nfsd_channels), 1, NFSD_THREADS_MAX + 1, on_channels },
	[NFSD_STOP]     = { "stop",     0, 0, 0, 0, on_stop },
};
/* clang-format on */

static const struct ipc_table messages = { rows, nitems(rows) };

static void
make_policy(struct sandbox_policy *policy, const struct nfsd_setup *setup)
{
	*policy = (struct sandbox_policy){ .role = "broker",
		.calls = calls,
		.ncalls = nitems(calls),
		.choices = choices,
		.nchoices = nitems(choices),
		.dies_with_parent = true,
		.no_landlock = true };
	nfsd_mode_rules(policy, setup->mode);
	if (setup->rootless)
		return;
	policy->caps = modes[setup->mode].caps;
	policy->ncaps = modes[setup->mode].ncaps;
}

/* Receives the setup; the exports and the channels may come at any time. */
static void
learn(struct broker_role *b)
{
	b->incoming.channel = b->role->channel;
	b->incoming.setup = &b->setup;
	b->incoming.serve = serve_list;
	b->incoming.arg = b;
	while (!b->incoming.has_setup)
		role_exports_receive(&b->incoming, &messages);
	b->broker = broker_new(&b->setup.keys, b->setup.mode);
	broker_set_user(b->broker, b->setup.uid);
	broker_manage_groups(b->broker,
	    groups_map(b->role->fds[NFSD_FD_GROUPS]));
}

int
nfsd_broker(struct role *role)
{
	static struct broker_role b = { .lock = PTHREAD_MUTEX_INITIALIZER,
		.more = PTHREAD_COND_INITIALIZER,
		.started = PTHREAD_COND_INITIALIZER,
		.listed = PTHREAD_COND_INITIALIZER };
	const struct nfsd_setup *setup = &b.setup;
	struct sandbox_policy policy;
	struct sandbox box;
	struct jail_view view;
	size_t i;

	b.role = role;
	learn(&b);
	jail_enter(&view, role->fds[NFSD_FD_JAIL]);
	make_policy(&policy, setup);
	sandbox_begin(&box, &policy, setup->strict);
	sandbox_set_root(&box, view.mounts, view.root);
	if (!setup->rootless)
		daemon_drop(setup->uid, setup->gid);
	if (setup->mode == MODE_SQUASH &&
	    cred_settle(setup->anonuid, setup->anongid) == -1)
		fatal("cannot act as user %u", (unsigned int)setup->anonuid);
	sandbox_enter(&box);
	for (i = 0; i < nitems(lent_caps); i++)
		(void)cred_right(lent_caps[i], false);
	start_threads(&b);
	sandbox_seal(&box);
	if (ipc_send(role->channel, NFSD_READY, NULL, 0, NULL, 0) == -1)
		fatal("parent");
	for (;;)
		role_exports_receive(&b.incoming, &messages);
}

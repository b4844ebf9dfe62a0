/* SPDX-License-Identifier: ISC */
/*
 * The resolver as a process: the main thread reads the parent's questions, the
 * others look names up, each one at a time.
 * Runs in: mountd resolver, nfsd resolver.
 */
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <netinet/in.h>

#include <fcntl.h>
#include <linux/netlink.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "confine/sandbox.h"
#include "process/daemon.h"
#include "resolve/resolve.h"

#define STACK	 (1024 * 1024)
#define DNS_PORT 53

/* clang-format off */
/* The calls of glibc's resolver and of common NSS modules. Another module's
 * call fails with EPERM, and so does its lookup. */
static const struct sandbox_call calls[] = {
	{ SYS_bind,       true,  "netlink: which address families there are" },
	{ SYS_connect,    true,  "a name server; nscd" },
	{ SYS_faccessat,  true,  "is there a service's socket" },
#ifdef SYS_fstat
	{ SYS_fstat,      true,  "resolv.conf (newer glibc, musl)" },
#endif
	{ SYS_geteuid,    true,  "NSS modules: whom they serve" },
	{ SYS_getsockname, true, "source address, to sort the answers" },
	{ SYS_getsockopt, true,  "has the connection failed" },
	{ SYS_ioctl,      true,  "size of the next datagram" },
	{ SYS_lseek,      true,  "files of names" },
	{ SYS_newfstatat, true,  "has resolv.conf changed" },
	{ SYS_openat,     true,  "resolv.conf, hosts and their like" },
#ifdef SYS_poll
	{ SYS_poll,       true,  "wait for a name server" },
#endif
	{ SYS_ppoll,      true,  "wait for a name server" },
#ifdef SYS_ppoll_time32
	{ SYS_ppoll_time32, true, "the same (32-bit machines)" },
#endif
	{ SYS_readlinkat, true,  "NSS modules: where a link leads" },
#ifdef SYS_recv
	{ SYS_recv,       true,  "answers of name servers (the name on armhf)" },
#endif
	{ SYS_recvfrom,   true,  "answers of name servers" },
	{ SYS_recvmsg,    false, "questions of the parent; netlink" },
	{ SYS_sendmmsg,   true,  "questions for both address families" },
	{ SYS_sendmsg,    false, "answers to the parent" },
	{ SYS_setsockopt, true,  "report an unreachable name server" },
	{ SYS_socket,     true,  "name servers and local services" },
	{ SYS_uname,      true,  "the domain of the machine" },
};

static const struct sandbox_choice choices[] = {
	{ SYS_getsockopt, {{ 1, 0, SOL_SOCKET }, { 2, 0, SO_ERROR }}, "has the connection failed" },
	{ SYS_ioctl,      {{ 1, 0, FIONREAD }, SANDBOX_ALONE}, "size of the next datagram" },
	{ SYS_setsockopt, {{ 1, 0, IPPROTO_IP }, { 2, 0, IP_RECVERR }}, "report an unreachable name server" },
	{ SYS_setsockopt, {{ 1, 0, IPPROTO_IPV6 }, { 2, 0, IPV6_RECVERR }}, "the same" },
	{ SYS_socket,     {{ 0, 0, AF_INET }, SANDBOX_ALONE}, "DNS" },
	{ SYS_socket,     {{ 0, 0, AF_INET6 }, SANDBOX_ALONE}, "DNS" },
	{ SYS_socket,     {{ 0, 0, AF_UNIX }, SANDBOX_ALONE}, "nscd and its like" },
	{ SYS_socket,     {{ 0, 0, AF_NETLINK }, { 2, 0, NETLINK_ROUTE }}, "which address families there are" },
};
/* clang-format on */

struct resolver_role {
	struct role *role;
	struct resolve_setup setup;
	bool has_setup;
	pthread_mutex_t lock;
	pthread_cond_t more;
	pthread_cond_t started;
	unsigned int running;
	unsigned int busy[RESOLVE_KINDS]; /* lookups under way */
	struct resolve_ask queue[RESOLVE_ASKED_MAX];
	size_t n;
};

/*
 * Lookups of a kind at a time. The C library expands one netgroup at a time, and
 * a directory of users that hangs must leave threads for hosts.
 */
static const unsigned int busy_max[RESOLVE_KINDS] = {
	[RESOLVE_HOST] = RESOLVE_THREADS,
	[RESOLVE_GROUP] = 1,
	[RESOLVE_UID] = RESOLVE_THREADS / 2,
};

/* Takes the first question that can be answered now. */
static struct resolve_ask
next_question(struct resolver_role *r)
{
	struct resolve_ask ask;
	size_t i;

	pthread_mutex_lock(&r->lock);
	for (;;) {
		for (i = 0; i < r->n; i++)
			if (r->busy[r->queue[i].kind] <
			    busy_max[r->queue[i].kind])
				break;
		if (i < r->n)
			break;
		pthread_cond_wait(&r->more, &r->lock);
	}
	ask = r->queue[i];
	r->n--;
	memmove(r->queue + i, r->queue + i + 1,
	    (r->n - i) * sizeof(r->queue[0]));
	r->busy[ask.kind]++;
	pthread_mutex_unlock(&r->lock);
	return ask;
}

static void
answer(struct resolver_role *r, enum resolve_message type, const void *data,
    size_t len)
{
	if (ipc_send(r->role->channel, type, data, len, NULL, 0) == -1)
		fatal("parent");
}

static void
answer_host(struct resolver_role *r, const struct resolve_ask *ask)
{
	struct resolve_answer found = { .id = ask->id };

	resolve_host(ask->name, &found);
	answer(r, RESOLVE_ANSWER, &found, sizeof(found));
}

static void
answer_group(struct resolver_role *r, const struct resolve_ask *ask)
{
	static struct resolve_members members; /* one thread at a time */

	members.id = ask->id;
	resolve_group(ask->name, &members);
	answer(r, RESOLVE_MEMBERS, &members, sizeof(members));
}

static void
answer_user(struct resolver_role *r, const struct resolve_ask *ask)
{
	struct resolve_groups groups = { .id = ask->id };

	resolve_user(ask->name, &groups);
	answer(r, RESOLVE_GROUPS, &groups, sizeof(groups));
}

static void (*const answers[RESOLVE_KINDS])(struct resolver_role *,
    const struct resolve_ask *) = {
	[RESOLVE_HOST] = answer_host,
	[RESOLVE_GROUP] = answer_group,
	[RESOLVE_UID] = answer_user,
};

static void *
serve(void *arg)
{
	struct resolver_role *r = arg;
	struct resolve_ask ask;

	pthread_mutex_lock(&r->lock);
	r->running++;
	pthread_cond_signal(&r->started);
	pthread_mutex_unlock(&r->lock);
	for (;;) {
		ask = next_question(r);
		answers[ask.kind](r, &ask);
		pthread_mutex_lock(&r->lock);
		r->busy[ask.kind]--;
		pthread_cond_broadcast(&r->more);
		pthread_mutex_unlock(&r->lock);
	}
	return NULL;
}

static void
start_threads(struct resolver_role *r)
{
	pthread_attr_t attr;
	pthread_t thread;
	unsigned int i;
	int error;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (i = 0; i < RESOLVE_THREADS; i++) {
		error = pthread_create(&thread, &attr, serve, r);
		if (error != 0)
			fatalx("thread: %s", strerror(error));
	}
	pthread_attr_destroy(&attr);
	/* A starting thread makes system calls that the filter will refuse. */
	pthread_mutex_lock(&r->lock);
	while (r->running < RESOLVE_THREADS)
		pthread_cond_wait(&r->started, &r->lock);
	pthread_mutex_unlock(&r->lock);
}

static void
on_setup(void *arg, struct ipc_message *m)
{
	struct resolver_role *r = arg;

	memcpy(&r->setup, m->data, sizeof(r->setup));
	r->has_setup = true;
}

static void
on_ask(void *arg, struct ipc_message *m)
{
	struct resolver_role *r = arg;
	struct resolve_ask *ask;

	pthread_mutex_lock(&r->lock);
	if (r->n == nitems(r->queue))
		fatalx("parent: too many questions");
	ask = &r->queue[r->n++];
	memcpy(ask, m->data, sizeof(*ask));
	ask->name[sizeof(ask->name) - 1] = '\0';
	if (ask->kind >= RESOLVE_KINDS)
		fatalx("parent: an unknown kind of question");
	pthread_cond_signal(&r->more);
	pthread_mutex_unlock(&r->lock);
}

static void
on_ping(void *arg, struct ipc_message *m UNUSED)
{
	const struct resolver_role *r = arg;

	role_pong(r->role->channel, ROLE_PONG);
}

/* clang-format off */
static const struct ipc_row rows[RESOLVE_MESSAGES] = {
	[ROLE_SETUP]  = { "setup", sizeof(struct resolve_setup), sizeof(struct resolve_setup), 0, 0, on_setup },
	[ROLE_PING]   = { "ping",  0, 0, 0, 0, on_ping },
	[RESOLVE_ASK] = { "ask",   sizeof(struct resolve_ask), sizeof(struct resolve_ask), 0, 0, on_ask },
};
/* clang-format on */

static const struct ipc_table messages = { rows, nitems(rows) };

static void
receive(struct resolver_role *r)
{
	const char *why = NULL;
	int n = ipc_serve(r->role->channel, &messages, r, &why);

	if (why != NULL)
		fatalx("parent: %s", why);
	if (n != 1)
		exit(0);
}

/* Below these are resolv.conf, hosts and what they link to. */
static size_t
open_paths(int paths[2])
{
	static const char *const names[2] = { "/etc", "/run" };
	size_t i, n = 0;

	for (i = 0; i < nitems(names); i++) {
		paths[n] = open(names[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
		n += paths[n] != -1;
	}
	return n;
}

int
resolve_role(struct role *role)
{
	static struct resolver_role r = { .lock = PTHREAD_MUTEX_INITIALIZER,
		.more = PTHREAD_COND_INITIALIZER,
		.started = PTHREAD_COND_INITIALIZER };
	int paths[2];
	struct sandbox_policy policy = { .role = "resolver",
		.calls = calls,
		.ncalls = nitems(calls),
		.choices = choices,
		.nchoices = nitems(choices),
		.dies_with_parent = true,
		.resolves = true,
		.file_rights = SANDBOX_FILES_READ,
		.paths = paths };
	struct sandbox box;

	r.role = role;
	while (!r.has_setup)
		receive(&r);
	sandbox_begin(&box, &policy, r.setup.strict);
	if (!r.setup.rootless)
		daemon_drop(r.setup.uid, r.setup.gid);
	policy.npaths = open_paths(paths);
	if (resolve_load_modules(r.setup.users))
		policy.tcp_port = DNS_PORT;
	sandbox_enter(&box);
	start_threads(&r);
	sandbox_seal(&box);
	if (ipc_send(role->channel, RESOLVE_READY, NULL, 0, NULL, 0) == -1)
		fatal("parent");
	for (;;)
		receive(&r);
}

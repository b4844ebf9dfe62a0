/* SPDX-License-Identifier: ISC */
/*
 * The tls role as a process. There is one for each worker. It alone has the
 * private key, which the parent passes as an open file. It has no other file,
 * no capability and no way to connect. It gets connections from its worker.
 * Runs in: nfsd tls.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <errno.h>
#include <linux/tls.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include <openssl/rand.h>

#include "base/log.h"
#include "base/util.h"
#include "confine/jail.h"
#include "confine/sandbox.h"
#include "nfsd/nfsd.h"
#include "nfsd/tls/session.h"

#ifndef SOL_TLS
#define SOL_TLS 282
#endif

/* Larger than a record, smaller than what relay.c keeps of replies. */
#define KEPT_APART (96 * 1024)

/* clang-format off */
static const struct sandbox_call calls[] = {
	{ SYS_pread64,    true,  "certificates and key, at a reload" },
#ifdef SYS_recv
	{ SYS_recv,       true,  "the same as recvfrom (the name on armhf)" },
#endif
	{ SYS_recvfrom,   false, "what clients and the worker send" },
	{ SYS_recvmsg,    false, "connections from the worker, files from the parent" },
	{ SYS_sendmsg,    false, "verdicts" },
	{ SYS_sendto,     false, "to clients and the worker" },
	{ SYS_setsockopt, true,  "kernel TLS: the keys of a connection; room in the relay" },
	{ SYS_shutdown,   true,  "a client that sends no more" },
	{ SYS_socketpair, true,  "the relay between a client and the worker" },
#ifdef SYS_time
	{ SYS_time,       true,  "dates of certificates, without vdso" },
#endif
};

static const struct sandbox_choice choices[] = {
	{ SYS_setsockopt, {{ 1, 0, IPPROTO_TCP }, { 2, 0, TCP_ULP }}, "kernel TLS" },
	{ SYS_setsockopt, {{ 1, 0, SOL_TLS }, { 2, 0, TLS_RX }}, "its keys" },
	{ SYS_setsockopt, {{ 1, 0, SOL_TLS }, { 2, 0, TLS_TX }}, "its keys" },
	{ SYS_setsockopt, {{ 1, 0, SOL_SOCKET }, { 2, 0, SO_SNDBUF }}, "room in the relay" },
	{ SYS_shutdown,   {{ 1, 0, SHUT_WR }, SANDBOX_ALONE}, "a client that sends no more" },
	{ SYS_socketpair, {{ 0, 0, AF_UNIX }, { 1, 0, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC }}, "no other sockets" },
};

static const struct sandbox_limit limits[] = {
	{ RLIMIT_NPROC, 0, "no new process" },
};
/* clang-format on */

static const struct sandbox_policy policy = {
	.role = "tls",
	.calls = calls,
	.ncalls = nitems(calls),
	.dies_with_parent = true,
	.choices = choices,
	.nchoices = nitems(choices),
	.limits = limits,
	.nlimits = nitems(limits),
};

struct tls_role {
	struct role *role;
	struct event_base *base;
	struct nfsd_tls_setup setup;
	bool has_setup, sealed;
	struct tls_server *server;
	struct nfsd_tls_loaded loaded; /* of the first files */
	struct event *on_worker;
};

static void
on_setup(void *arg, struct ipc_message *m)
{
	struct tls_role *t = arg;

	memcpy(&t->setup, m->data, sizeof(t->setup));
	t->has_setup = true;
}

static void
report(struct tls_role *t)
{
	if (ipc_send(t->role->channel, NFSD_TLS_LOADED, &t->loaded,
		sizeof(t->loaded), NULL, 0) == -1)
		fatal("parent");
}

/* New files. If one is wrong, the old ones stay in use. */
static void
on_files(void *arg, struct ipc_message *m)
{
	struct tls_role *t = arg;
	int fds[TLS_FILES] = { -1, -1, -1, -1 };
	struct nfsd_tls_files in;
	struct tls_context next;
	const char *why = "a file cannot be opened";

	memcpy(&in, m->data, sizeof(in));
	memset(&t->loaded, 0, sizeof(t->loaded));
	if (in.has_files) {
		if (m->nfds != 2u + in.has_ca + in.has_crl)
			fatalx("parent: wrong number of files");
		fds[TLS_CERT] = m->fds[0];
		fds[TLS_KEY] = m->fds[1];
		if (in.has_ca)
			fds[TLS_CA] = m->fds[2];
		if (in.has_crl)
			fds[TLS_CRL] = m->fds[m->nfds - 1];
		why = tls_context_load(&next, fds);
	}
	if (why == NULL) {
		t->loaded.ends[0] = next.ends[TLS_CERT];
		t->loaded.ends[1] = next.ends[TLS_CA];
		t->loaded.ends[2] = next.ends[TLS_CRL];
		tls_server_use(t->server, &next);
	} else
		(void)snprintf(t->loaded.why, sizeof(t->loaded.why), "%s", why);
	if (t->sealed)
		report(t);
}

static void
on_stop(void *arg UNUSED, struct ipc_message *m UNUSED)
{
	exit(0);
}

/*
 * A worker that ends loses all its connections. After any other error, such as a
 * descriptor that could not be received, the role ends too: the parent starts
 * another one and connects it.
 */
static void
on_worker(evutil_socket_t fd, short what UNUSED, void *arg)
{
	struct tls_role *t = arg;
	const char *why = NULL;
	int r = ipc_serve((int)fd, &tls_server_messages, t->server, &why);

	if (r == 1 || (r == -1 && errno == EAGAIN))
		return;
	if (why != NULL)
		fatalx("worker: broke the rules: %s", why);
	event_free(t->on_worker);
	t->on_worker = NULL;
	tls_server_connect(t->server, -1);
}

static void
on_channel(void *arg, struct ipc_message *m)
{
	struct tls_role *t = arg;

	if (t->on_worker != NULL)
		event_free(t->on_worker);
	tls_server_connect(t->server, m->fds[0]);
	t->on_worker =
	    event_new(t->base, m->fds[0], EV_READ | EV_PERSIST, on_worker, t);
	m->fds[0] = -1;
	if (t->on_worker == NULL || event_add(t->on_worker, NULL) == -1)
		fatalx("event: out of memory");
}

static void
on_ping(void *arg, struct ipc_message *m UNUSED)
{
	const struct tls_role *t = arg;

	role_pong(t->role->channel, ROLE_PONG);
}

/* clang-format off */
static const struct ipc_row parent_rows[NFSD_MESSAGES] = {
	[ROLE_SETUP]       = { "setup",   sizeof(struct nfsd_tls_setup), sizeof(struct nfsd_tls_setup), 0, 0, on_setup },
	[ROLE_PING]        = { "ping",    0, 0, 0, 0, on_ping },
	[NFSD_TLS_FILES]   = { "files",   sizeof(struct nfsd_tls_files), sizeof(struct nfsd_tls_files), 0, TLS_FILES, on_files },
	[NFSD_TLS_CHANNEL] = { "channel", 0, 0, 1, 1, on_channel },
	[NFSD_STOP]        = { "stop",    0, 0, 0, 0, on_stop },
};
/* clang-format on */

static const struct ipc_table parent_table = { parent_rows,
	nitems(parent_rows) };

/* The parent is trusted: a malformed message is a bug. */
static void
receive(struct tls_role *t)
{
	const char *why = NULL;
	int r = ipc_serve(t->role->channel, &parent_table, t, &why);

	if (why != NULL)
		fatalx("parent: %s", why);
	if (r != 1)
		exit(0);
}

static void
on_parent(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	receive(arg);
}

/*
 * Setup and files arrive before the sandbox closes. OpenSSL reads no
 * configuration, and takes its first random numbers now.
 */
static void
learn(struct tls_role *t)
{
	unsigned char byte;

	if (OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) != 1 ||
	    RAND_bytes(&byte, 1) != 1)
		fatalx("OpenSSL: cannot start");
	while (!t->has_setup)
		receive(t);
	t->server = tls_server_new(t->base, t->setup.kernel);
	receive(t); /* the files */
}

int
nfsd_tls(struct role *role)
{
	static struct tls_role t;
	struct jail_view view;
	struct sandbox box;
	struct event *parent;

	/* What clients leave unread goes back to the kernel afterwards. */
	(void)mallopt(M_MMAP_THRESHOLD, KEPT_APART);
	t.role = role;
	t.base = daemon_events();
	learn(&t);
	(void)daemon_raise_files();
	jail_enter_empty(&view, NULL);
	sandbox_begin(&box, &policy, t.setup.strict);
	sandbox_set_root(&box, view.mounts, view.root);
	if (!t.setup.rootless)
		daemon_drop(t.setup.uid, t.setup.gid);
	sandbox_enter(&box);
	parent = event_new(t.base, role->channel, EV_READ | EV_PERSIST,
	    on_parent, &t);
	if (parent == NULL || event_add(parent, NULL) == -1)
		fatalx("event: out of memory");
	sandbox_seal(&box);
	t.sealed = true;
	if (ipc_send(role->channel, NFSD_READY, NULL, 0, NULL, 0) == -1)
		fatal("parent");
	report(&t);
	(void)event_base_dispatch(t.base);
	return 0;
}

/* SPDX-License-Identifier: ISC */
/*
 * The worker calls itself: see worker_check.h.
 * Runs in: nfsd worker (event loop).
 */
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "nfsd/nfsd.h"
#include "nfsd/wire/nfs.h"
#include "nfsd/worker/worker_check.h"
#include "rpc/msg.h"
#include "rpc/server.h"

#define AGAIN_MS   100 /* before a call that failed is repeated */
#define CALL_MAX   256 /* bytes */
#define LIST_COUNT 1024 /* bytes of names that READDIR asks for */
/* Where GETATTR's reply has the owner: after status, type, mode and links. */
#define OWNER_AT (RPC_REPLY_HEADER + 16)

/* A root that is being asked. */
struct check {
	LIST_ENTRY(check) entry;
	struct worker_checks *all;
	struct event *again;
	uint64_t number, until_ns; /* of the last request */
	struct nfsd_check_root root; /* export 0: NULL */
	uint32_t proc;
	struct rpc_cred cred;
};

static void call(struct check *);

void
worker_checks_init(struct worker_checks *w, struct event_base *base, int parent)
{
	w->base = base;
	w->parent = parent;
	LIST_INIT(&w->running);
}

static void
tell(struct check *c, enum nfsstat status)
{
	struct nfsd_checked m = { .number = c->number,
		.export_id = c->root.export_id,
		.status = (uint32_t)status };

	(void)ipc_send(c->all->parent, NFSD_CHECKED, &m, sizeof(m), NULL, 0);
	LIST_REMOVE(c, entry);
	event_free(c->again);
	free(c);
}

/* The call failed. Perhaps the exports are changing, or it was interrupted. */
static void
retry(struct check *c, enum nfsstat status)
{
	const struct timeval soon = { .tv_usec = AGAIN_MS * 1000 };

	if (clock_ns() + AGAIN_MS * 1000000ull > c->until_ns ||
	    event_add(c->again, &soon) == -1)
		tell(c, status);
}

/* An answer. ACCES is one as well: the caller may not list the root. */
static void
heard(struct check *c, const uint8_t *reply, size_t len)
{
	enum nfsstat status = NFSERR_SERVERFAULT;
	struct xdr_in x;

	if (c->proc == NFSPROC3_NULL) {
		tell(c, len == RPC_REPLY_HEADER ? NFS_OK : NFSERR_SERVERFAULT);
		return;
	}
	if (len > RPC_REPLY_HEADER) {
		xdr_in_init(&x, reply + RPC_REPLY_HEADER,
		    len - RPC_REPLY_HEADER);
		status = (enum nfsstat)xdr_get_u32(&x);
	}
	if (status != NFS_OK && status != NFSERR_ACCES) {
		retry(c, status);
		return;
	}
	if (c->proc == NFSPROC3_READDIR) {
		tell(c, NFS_OK);
		return;
	}
	if (status == NFS_OK && len > OWNER_AT + 8) {
		xdr_in_init(&x, reply + OWNER_AT, 8);
		c->cred.flavor = AUTH_SYS;
		c->cred.uid = xdr_get_u32(&x);
		c->cred.gid = xdr_get_u32(&x);
	}
	c->proc = NFSPROC3_READDIR;
	call(c);
}

static void
on_reply(const struct rpc_origin *o, const uint8_t *reply, size_t len)
{
	heard(o->transport, reply, len);
}

static size_t
put_call(const struct check *c, uint8_t out[CALL_MAX])
{
	const struct rpc_head head = { .xid = ++c->all->xid,
		.prog = NFS_PROGRAM,
		.vers = 3,
		.proc = c->proc };
	struct xdr_out x;

	xdr_out_init(&x, out, CALL_MAX);
	rpc_put_call(&x, &head, &c->cred);
	if (c->proc != NFSPROC3_NULL)
		xdr_put_opaque(&x, c->root.fh.bytes, sizeof(c->root.fh.bytes));
	if (c->proc == NFSPROC3_READDIR) {
		xdr_put_u64(&x, 0); /* from the first entry */
		xdr_put_u64(&x, 0); /* verifier */
		xdr_put_u32(&x, LIST_COUNT);
	}
	return x.len;
}

static void
call(struct check *c)
{
	const struct rpc_origin origin = { .reply = on_reply,
		.transport = c,
		.peer = { .from.family = AF_UNIX,
		    .to.family = AF_UNIX,
		    .max_reply = WORKER_CHECK_REPLY,
		    .kind = RPC_SELF } };
	uint8_t bytes[CALL_MAX];
	uint8_t *reply = c->all->reply;
	size_t len = put_call(c, bytes), got = 0;

	switch (rpc_serve(c->all->server, &origin, bytes, len, reply,
	    sizeof(c->all->reply), &got)) {
	case RPC_DEFERRED:
		break;
	case RPC_BUSY:
		retry(c, NFSERR_JUKEBOX);
		break;
	case RPC_ANSWERED:
		heard(c, reply, got);
		break;
	default:
		heard(c, reply, 0);
	}
}

static void
on_again(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	call(arg);
}

static struct check *
find(const struct worker_checks *w, uint16_t export_id)
{
	struct check *c;

	LIST_FOREACH (c, &w->running, entry)
		if (c->root.export_id == export_id)
			return c;
	return NULL;
}

static void
begin(struct worker_checks *w, const struct nfsd_check *m,
    const struct nfsd_check_root *root)
{
	struct check *c = find(w, root->export_id);
	bool running = c != NULL;

	if (!running) {
		c = calloc(1, sizeof(*c));
		if (c == NULL)
			fatal("check");
		c->all = w;
		c->again = evtimer_new(w->base, on_again, c);
		if (c->again == NULL)
			fatalx("event: out of memory");
		c->root = *root;
		c->proc =
		    root->export_id == 0 ? NFSPROC3_NULL : NFSPROC3_GETATTR;
		LIST_INSERT_HEAD(&w->running, c, entry);
	}
	c->number = m->number;
	c->until_ns = m->until_ns;
	if (!running)
		call(c);
}

bool
worker_check(struct worker_checks *w, struct rpc_server *server,
    const uint8_t *message, size_t len)
{
	const struct nfsd_check_root none = { .export_id = 0 };
	struct nfsd_check_root root;
	struct nfsd_check m;
	uint32_t i;

	memcpy(&m, message, sizeof(m));
	if (m.nroots > EXPORTS_MAX ||
	    len != sizeof(m) + m.nroots * sizeof(root))
		return false;
	w->server = server;
	begin(w, &m, &none);
	for (i = 0; i < m.nroots; i++) {
		memcpy(&root, message + sizeof(m) + i * sizeof(root),
		    sizeof(root));
		begin(w, &m, &root);
	}
	return true;
}

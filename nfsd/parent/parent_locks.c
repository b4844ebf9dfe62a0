/* SPDX-License-Identifier: ISC */
/*
 * Starts and connects the roles that serve locks: see parent_locks.h.
 *
 * When the table is lost, as the locks role or all of nfsd has ended, the state
 * number is raised on disk, and every client that held a lock is listed: nlm
 * tells it, and it may reclaim. As long as that is not on disk no client gets a
 * lock.
 * Runs in: nfsd parent.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/shm.h"
#include "base/util.h"
#include "mounts/forbid.h"
#include "nfsd/figures/figures.h"
#include "nfsd/parent/parent_groups.h"
#include "nfsd/parent/parent_locks.h"
#include "process/register.h"
#include "process/reload.h"

_Static_assert(LOCKS_SERVERS <= IPC_FDS_MAX && LOCKS_THREADS < IPC_FDS_MAX,
    "one message carries all channels");

#define RETRY_MS 1000 /* between tries to write to a disk that refused it */
#define TURN_MS	 100 /* between two looks at floating addresses that move */

void
parent_locks_connect(struct parent_locks *l)
{
	static const struct nfsd_channels m = { .asker = NFSD_ASKER_LOCKS };
	struct role_child *const to[2] = { l->broker(l->arg),
		l->roles[PARENT_LOCKS] };

	role_connect(to, NFSD_CHANNELS, LOCKS_SERVERS, &m, sizeof(m));
}

/* Connects the two roles, if both run. The last channel is that of events. */
static void
connect_locks(struct parent_locks *l)
{
	role_connect(l->roles, NFSD_LOCKS_CHANNELS, LOCKS_THREADS + 1, NULL, 0);
}

/* ---- the lists ---- */

/* Sends a message with a name behind it. */
static void
send_listed(struct role_child *role, const struct lock_book *b,
    const struct lock_client *c)
{
	uint8_t buf[LOCKS_LISTED_MAX];
	struct locks_listed listed = c->listed;
	size_t len = listed.client.name_len;

	listed.server = b->state.state;
	listed.floating = b->at.family != 0;
	memcpy(buf, &listed, sizeof(listed));
	memcpy(buf + sizeof(listed), c->name, len);
	(void)role_send(role, NFSD_LOCKS_LISTED, buf, sizeof(listed) + len,
	    NULL, 0);
}

/* Tells a role the state number of a list, and while grace lasts the clients. */
static void
send_book(struct role_child *role, const struct lock_book *b)
{
	struct locks_start m = { .at = b->at,
		.state = b->state.state,
		.grace = lock_book_grace(b) };
	size_t i;

	if (!role_runs(role))
		return;
	for (i = 0; m.grace > 0 && i < b->state.n; i++)
		m.n += b->state.clients[i].lost;
	if (m.n == 0)
		m.grace = 0;
	(void)role_send(role, NFSD_LOCKS_START, &m, sizeof(m), NULL, 0);
	for (i = 0; m.n > 0 && i < b->state.n; i++)
		if (b->state.clients[i].lost)
			send_listed(role, b, &b->state.clients[i]);
}

/* The first list takes back what was said before. */
static void
send_start(const struct parent_locks *l, struct role_child *role)
{
	size_t i;

	for (i = 0; i < l->books.n; i++)
		if (i == 0 || l->books.list[i].begun)
			send_book(role, &l->books.list[i]);
}

/* Begins a list while others are in use. */
static void
begin_book(struct parent_locks *l, struct lock_book *b)
{
	if (!b->here || b->leaving || !role_runs(l->roles[PARENT_LOCKS]) ||
	    !lock_book_begin(b, l->n->grace))
		return;
	send_book(l->roles[PARENT_LOCKS], b);
	send_book(l->roles[PARENT_NLM], b);
}

/* The table is lost, with what was to be freed of addresses that left. */
static void
begin(struct parent_locks *l)
{
	struct lock_book *b;
	size_t i;

	for (i = 0; i < l->books.n; i++) {
		b = &l->books.list[i];
		if (b->leaving)
			lock_book_close(b);
		if (b->here)
			(void)lock_book_begin(b, l->n->grace);
	}
}

/*
 * Goes on with floating addresses: one that came gets its list as soon as no
 * other head uses that, and one that left gives it up when its locks are freed.
 */
static void
turn(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	const struct timeval soon = { .tv_usec = TURN_MS * 1000 };
	struct parent_locks *l = arg;
	struct locks_left m = { .remain = 0 };
	struct lock_book *b;
	bool more = false;
	size_t i;

	for (i = 1; i < l->books.n; i++) {
		b = &l->books.list[i];
		if (b->leaving && role_runs(l->roles[PARENT_LOCKS])) {
			m.at = b->at;
			(void)role_send(l->roles[PARENT_LOCKS],
			    NFSD_LOCKS_LEAVE, &m, sizeof(m), NULL, 0);
		} else if (b->leaving)
			lock_book_close(b);
		if (b->here && !b->begun)
			begin_book(l, b);
		more |= b->leaving || (b->here && !b->begun);
	}
	if (more && event_add(l->on_turn, &soon) == -1)
		fatalx("locks: timer: out of memory");
}

void
parent_locks_address(struct parent_locks *l, const struct addr *at, bool here)
{
	struct lock_book *b = lock_books_at(&l->books, at);

	if (!here && l->roles[PARENT_NLM] != NULL)
		(void)role_send(l->roles[PARENT_NLM], NFSD_ADDRESS_LEFT, at,
		    sizeof(*at), NULL, 0);
	if (b == NULL || b->here == here || l->n->nolocks)
		return;
	b->here = here;
	if (!here)
		b->leaving = b->begun;
	if (!here && !b->begun)
		lock_book_close(b);
	turn(-1, 0, l);
}

/* ---- what the locks role says ---- */

static void
on_left(void *arg, struct ipc_message *m)
{
	struct parent_locks *l = role_arg(arg);
	struct locks_left in;
	struct lock_book *b;

	memcpy(&in, m->data, sizeof(in));
	b = lock_books_at(&l->books, &in.at);
	if (b == NULL || !b->leaving || in.remain > 0)
		return;
	lock_book_close(b);
	turn(-1, 0, l);
}

/* What clients of a list hear whose names were added to it. */
static enum locks_stat
save_book(struct parent_locks *l, struct lock_book *b)
{
	if (b->begun && !b->leaving)
		return lock_book_sync(b) ? LOCKS_GRANTED : LOCKS_NOLOCKS;
	if (b->at.family != 0)
		return LOCKS_GRACE; /* it comes, or has left */
	if (b->open && clock_ms() - b->tried_ms >= RETRY_MS)
		begin_book(l, b);
	/* Others may reclaim first. */
	return b->begun ? LOCKS_GRACE : LOCKS_NOLOCKS;
}

/*
 * Brings the clients that were added to disk, all that came together with one
 * sync of each list. If the table could not begin before, it begins now, and these
 * clients must ask again.
 */
static void
save_asked(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	enum locks_stat stats[LOCK_BOOKS_MAX];
	struct parent_locks *l = arg;
	struct nfsd_locks_saved m;
	bool wanted[LOCK_BOOKS_MAX] = { false };
	size_t i;

	for (i = 0; i < l->nasked; i++)
		wanted[l->asked[i].book] = true;
	for (i = 0; i < l->books.n; i++)
		if (wanted[i])
			stats[i] = save_book(l, &l->books.list[i]);
	for (i = 0; i < l->nasked; i++) {
		m.number = l->asked[i].number;
		m.stat = stats[l->asked[i].book];
		(void)role_send(l->roles[PARENT_LOCKS], NFSD_LOCKS_SAVED, &m,
		    sizeof(m), NULL, 0);
	}
	l->nasked = 0;
}

/* Is the length of a name what the rest of the message has? */
static bool
is_whole(const struct locks_client *c, size_t rest)
{
	return c->name_len == rest && rest <= LOCKS_TEXT_MAX &&
	    (c->kind == RPC_UDP || c->kind == RPC_TCP) && c->vers <= 4;
}

static void
on_client(void *arg, struct ipc_message *m)
{
	struct parent_locks *l = role_arg(arg);
	const struct timeval now = { 0 };
	struct nfsd_locks_client in;
	struct nfsd_locks_saved no = { .stat = LOCKS_NOLOCKS };
	struct lock_book *b;

	memcpy(&in, m->data, sizeof(in));
	if (!is_whole(&in.listed.client, m->len - sizeof(in))) {
		role_restart(arg, "sent a malformed client");
		return;
	}
	b = lock_books_for(&l->books, &in.listed.client.to);
	if (b->begun && !b->leaving &&
	    !lock_state_add(&b->state, &in.listed, m->data + sizeof(in))) {
		if (log_permit("locks", 0))
			log_warnx("%s: too many clients hold locks: no new one "
				  "gets any",
			    b->state.path);
		no.number = in.number;
		(void)role_send(arg, NFSD_LOCKS_SAVED, &no, sizeof(no), NULL,
		    0);
		return;
	}
	if (l->nasked == PARENT_LOCKS_ASKED)
		save_asked(-1, 0, l);
	l->asked[l->nasked].book = (size_t)(b - l->books.list);
	l->asked[l->nasked++].number = in.number;
	if (event_add(l->on_asked, &now) == -1)
		fatalx("locks: timer: out of memory");
}

static void
on_gone(void *arg, struct ipc_message *m)
{
	struct parent_locks *l = role_arg(arg);
	struct locks_listed in;
	struct lock_book *b;

	memcpy(&in, m->data, sizeof(in));
	b = lock_books_for(&l->books, &in.client.to);
	if (!is_whole(&in.client, m->len - sizeof(in)))
		role_restart(arg, "sent a malformed client");
	else if (b->begun && !b->leaving)
		lock_state_remove(&b->state, &in, m->data + sizeof(in));
}

static void
on_row(void *arg, struct ipc_message *m)
{
	struct parent_locks *l = role_arg(arg);
	const char *bad = lock_list_row(&l->list, m);

	if (bad != NULL)
		role_restart(arg, bad);
}

static void
on_dropped(void *arg, struct ipc_message *m)
{
	struct parent_locks *l = role_arg(arg);
	const char *bad = lock_list_dropped(&l->list, m);

	if (bad != NULL)
		role_restart(arg, bad);
}

static void
on_ready(void *arg, struct ipc_message *m UNUSED)
{
	struct parent_locks *l = role_arg(arg);

	role_is_ready(arg);
	l->changed(l->arg);
}

static void
on_serves(void *arg, struct ipc_message *m UNUSED)
{
	struct parent_locks *l = role_arg(arg);

	role_acknowledged(arg);
	l->changed(l->arg);
}

static void
locks_want_groups(void *arg, struct ipc_message *m)
{
	const struct parent_locks *l = role_arg(arg);
	uint32_t uid;

	memcpy(&uid, m->data, sizeof(uid));
	if (l->groups != NULL)
		parent_groups_want(l->groups, uid);
}

/* clang-format off */
static const struct ipc_row nlm_rows[NFSD_MESSAGES] = {
	[NFSD_READY]         = { "ready",   0, 0, 0, 0, on_ready },
	[ROLE_PONG]          = { "pong",    sizeof(struct role_pong), sizeof(struct role_pong), 0, 0, role_answered },
};

static const struct ipc_row locks_rows[NFSD_MESSAGES] = {
	[NFSD_READY]         = { "ready",   0, 0, 0, 0, on_ready },
	[ROLE_SERVES]        = { "serves",  0, 0, 0, 0, on_serves },
	[ROLE_PONG]          = { "pong",    sizeof(struct role_pong), sizeof(struct role_pong), 0, 0, role_answered },
	[NFSD_GROUPS]        = { "groups",  sizeof(uint32_t), sizeof(uint32_t), 0, 0, locks_want_groups },
	[NFSD_LOCKS_CLIENT]  = { "client",  sizeof(struct nfsd_locks_client), sizeof(struct nfsd_locks_client) + LOCKS_TEXT_MAX, 0, 0, on_client },
	[NFSD_LOCKS_GONE]    = { "gone",    sizeof(struct locks_listed), LOCKS_LISTED_MAX, 0, 0, on_gone },
	[NFSD_LOCKS_ROW]     = { "row",     0, LOCKS_ROW_MAX, 0, 0, on_row },
	[NFSD_LOCKS_DROPPED] = { "dropped", sizeof(uint32_t), sizeof(uint32_t), 0, 0, on_dropped },
	[NFSD_LOCKS_LEFT]    = { "left",    sizeof(struct locks_left), sizeof(struct locks_left), 0, 0, on_left },
};
/* clang-format on */

static const struct ipc_table nlm_table = { nlm_rows, nitems(nlm_rows) };
static const struct ipc_table locks_table = { locks_rows, nitems(locks_rows) };

/* ---- the roles ---- */

static size_t
inherit(void *arg, unsigned int index UNUSED, int fds[ROLE_FDS_MAX])
{
	const struct parent_locks *l = arg;

	fds[NFSD_LOCK_FD_STATS] = l->stats_fds[PARENT_LOCKS];
	fds[NFSD_LOCK_FD_SHARED] = l->shared;
	fds[NFSD_LOCK_FD_GROUPS] = parent_groups_fd(l->groups);
	return NFSD_LOCK_FD_SOCKETS;
}

static size_t
nlm_inherit(void *arg, unsigned int index, int fds[ROLE_FDS_MAX])
{
	const struct parent_locks *l = arg;
	size_t n = inherit(arg, index, fds);

	fds[NFSD_LOCK_FD_STATS] = l->stats_fds[PARENT_NLM];
	n += listen_fds(&l->sockets, fds + n, ROLE_FDS_MAX - n);
	return n + listen_fds(&l->status, fds + n, ROLE_FDS_MAX - n);
}

static struct nfsd_lock_setup
make_setup(const struct parent_locks *l)
{
	const struct nfsd_setup *s = &l->n->setup;
	struct nfsd_lock_setup out = { .mode = s->mode,
		.uid = s->uid,
		.gid = s->gid,
		.strict = s->strict,
		.rootless = s->rootless,
		.nolocks = l->n->nolocks,
		.nlock_sockets = (unsigned int)l->sockets.n,
		.limits = s->limits };

	memcpy(out.tls_domain, s->tls_domain, sizeof(out.tls_domain));
	return out;
}

static void
nlm_started(void *arg, struct role_child *child)
{
	struct parent_locks *l = arg;
	const struct nfsd_lock_setup m = make_setup(l);

	l->roles[PARENT_NLM] = child;
	role_becomes(child, m.uid);
	(void)role_send(child, ROLE_SETUP, &m, sizeof(m), NULL, 0);
	send_start(l, child);
	connect_locks(l);
}

static void
locks_started(void *arg, struct role_child *child)
{
	struct parent_locks *l = arg;
	struct nfsd_lock_setup m = make_setup(l);

	l->roles[PARENT_LOCKS] = child;
	role_becomes(child, m.uid);
	m.key = l->key;
	(void)role_send(child, ROLE_SETUP, &m, sizeof(m), NULL, 0);
	explicit_bzero(&m.key, sizeof(m.key));
	l->send_exports(l->arg, child);
	begin(l);
	send_start(l, child);
	send_start(l, l->roles[PARENT_NLM]);
	connect_locks(l);
	parent_locks_connect(l);
}

/* There is no role to answer. */
static void
locks_ended(void *arg, struct role_child *child UNUSED)
{
	struct parent_locks *l = arg;

	l->nasked = 0;
	lock_list_fail(&l->list);
}

/* For the list of locks: the role, if it runs. */
static struct role_child *
locks_role(void *arg)
{
	const struct parent_locks *l = arg;
	struct role_child *role = l->roles[PARENT_LOCKS];

	return role_runs(role) ? role : NULL;
}

static const char *
path_of(void *arg, uint16_t export_id)
{
	const struct parent_locks *l = arg;

	return l->path(l->arg, export_id);
}

void
parent_locks_exports(struct parent_locks *l)
{
	if (l->roles[PARENT_LOCKS] != NULL)
		l->send_exports(l->arg, l->roles[PARENT_LOCKS]);
}

void
parent_locks_accuse(struct parent_locks *l)
{
	if (l->roles[PARENT_LOCKS] != NULL)
		role_restart(l->roles[PARENT_LOCKS],
		    "it sent the broker a forged or malformed request and may "
		    "be compromised");
}

/* ---- start and end ---- */

static void
bind_sockets(struct parent_locks *l)
{
	struct daemon d = l->n->d;
	size_t i;

	for (i = 0; i < d.nlistens; i++)
		d.listens[i].at.port = 0;
	d.port = l->n->lock_port;
	d.port_option = "-o lock-port";
	listen_all(&l->sockets, &d,
	    l->n->status_port == 0 ? "nlm 1,3,4; nsm 1" : "nlm 1,3,4", false);
	if (l->n->status_port == 0)
		return;
	d.port = l->n->status_port;
	d.port_option = "-o status-port";
	listen_all(&l->status, &d, "nsm 1", false);
}

static void
make_stats(struct parent_locks *l)
{
	int i;

	for (i = 0; i < PARENT_LOCK_ROLES; i++) {
		l->stats_fds[i] = shm_new(sizeof(struct locks_stats));
		if (l->stats_fds[i] != -1)
			l->stats[i] = shm_map(l->stats_fds[i],
			    sizeof(struct locks_stats), false);
		if (l->stats[i] == NULL)
			fatal("statistics");
	}
}

void
parent_locks_prepare(struct parent_locks *l, struct nfsd *n)
{
	size_t i;

	l->n = n;
	bind_sockets(l);
	make_stats(l);
	lock_books_add(&l->books, NULL, n->state_dir);
	if (!n->nolocks)
		lock_book_open(&l->books.list[0]);
	for (i = 0; i < n->nfloating; i++)
		lock_books_add(&l->books, &n->floating_at[i], n->floating[i]);
}

/* clang-format off */
static const struct {
	enum parent_locks_role role;
	const char *name, *type, *help;
} counts[LOCKS_COUNTS] = {
	[LOCKS_COUNT_LOCKS]      = { PARENT_LOCKS, "locks", "gauge", "locks that clients hold" },
	[LOCKS_COUNT_WAITERS]    = { PARENT_LOCKS, "lock_waiters", "gauge", "locks that clients wait for" },
	[LOCKS_COUNT_SHARES]     = { PARENT_LOCKS, "lock_shares", "gauge", "shares that clients hold" },
	[LOCKS_COUNT_CLIENTS]    = { PARENT_LOCKS, "lock_clients", "gauge", "clients that hold locks" },
	[LOCKS_COUNT_GRACE]      = { PARENT_LOCKS, "lock_grace_seconds", "gauge", "seconds that clients may still reclaim" },
	[LOCKS_COUNT_RECLAIMED]  = { PARENT_LOCKS, "locks_reclaimed_total", "counter", "locks that were reclaimed" },
	[LOCKS_COUNT_GRANTS]     = { PARENT_LOCKS, "lock_grants_total", "counter", "waiting locks that were granted" },
	[LOCKS_COUNT_UNANSWERED] = { PARENT_LOCKS, "lock_grants_unanswered_total", "counter", "grants that their client never answered" },
	[LOCKS_COUNT_DEADLOCKS]  = { PARENT_LOCKS, "lock_deadlocks_total", "counter", "locks refused as they close a circle" },
	[LOCKS_COUNT_LIMITS]     = { PARENT_LOCKS, "lock_limits_total", "counter", "locks refused by a limit" },
	[LOCKS_COUNT_CALLBACKS]  = { PARENT_NLM, "lock_callbacks_total", "counter", "datagrams sent to clients" },
	[LOCKS_COUNT_SILENT]     = { PARENT_NLM, "lock_callbacks_failed_total", "counter", "clients that cannot be called back" },
	[LOCKS_COUNT_FORGED]     = { PARENT_NLM, "lock_forged_total", "counter", "answers and notifies that were not asked for" },
};
/* clang-format on */

void
parent_locks_text(const struct parent_locks *l, struct figures *f)
{
	char name[64];
	size_t i;

	for (i = 0; i < LOCKS_COUNTS; i++) {
		(void)snprintf(name, sizeof(name), "nfsd_%s", counts[i].name);
		figures_one(f, name, counts[i].type, counts[i].help,
		    atomic_load_explicit(&l->stats[counts[i].role]->counts[i],
			memory_order_relaxed));
	}
}

static void
prepare_registration(struct parent_locks *l, struct event_base *base)
{
	if (l->n->d.no_register)
		return;
	l->registration = register_new(base, l->n->d.socket);
	register_together(l->registration, "locks");
	register_program(l->registration, &nlm_program, &l->sockets);
	register_program(l->registration, &nsm_program,
	    l->status.n > 0 ? &l->status : &l->sockets);
}

void
parent_locks_start(struct parent_locks *l, struct event_base *base,
    struct reload *reload, struct control *control)
{
	int i;

	l->list.role = locks_role;
	l->list.path = path_of;
	l->list.arg = l;
	lock_list_start(&l->list, control);
	l->specs[PARENT_NLM] = (struct role_spec){ .name = "nlm",
		.inherit = nlm_inherit,
		.started = nlm_started,
		.messages = &nlm_table,
		.arg = l };
	l->specs[PARENT_LOCKS] = (struct role_spec){ .name = "locks",
		.inherit = inherit,
		.started = locks_started,
		.ended = locks_ended,
		.messages = &locks_table,
		.arg = l };
	l->on_asked = evtimer_new(base, save_asked, l);
	l->on_turn = evtimer_new(base, turn, l);
	if (l->on_asked == NULL || l->on_turn == NULL)
		fatalx("locks: timer: out of memory");
	prepare_registration(l, base);
	for (i = l->n->nolocks ? PARENT_NLM : PARENT_LOCKS; i >= 0; i--) {
		l->roles[i] = role_start(base, &l->n->d, &l->specs[i]);
		reload_add(reload, l->roles[i]);
	}
	if (l->n->nolocks)
		log_info("locks: switched off: clients that ask for one hear "
			 "so at once");
}

void
parent_locks_register(struct parent_locks *l)
{
	if (l->registration != NULL)
		register_start(l->registration);
}

void
parent_locks_stop(struct parent_locks *l, void (*done)(void *), void *arg)
{
	int i;

	for (i = 0; i < PARENT_LOCK_ROLES; i++)
		if (l->roles[i] != NULL)
			role_expect_end(l->roles[i]);
	if (l->registration != NULL)
		register_stop(l->registration, done, arg);
	else
		done(arg);
}

void
parent_locks_free(struct parent_locks *l)
{
	size_t b;
	int i;

	register_free(l->registration);
	for (i = 0; i < PARENT_LOCK_ROLES; i++)
		role_free(l->roles[i]);
	if (l->on_asked != NULL)
		event_free(l->on_asked);
	if (l->on_turn != NULL)
		event_free(l->on_turn);
	for (b = 0; b < l->books.n; b++)
		lock_book_close(&l->books.list[b]);
}

void
parent_locks_forbid(const struct nfsd *n, struct forbid *f)
{
	char path[PATH_MAX];
	size_t i;

	if (n->state_dir != NULL &&
	    snprintf(path, sizeof(path), "%s/%s", n->state_dir,
		LOCK_STATE_FILE) < (int)sizeof(path))
		forbid_add(f, path);
	for (i = 0; i < n->nfloating; i++)
		forbid_add_away(f, n->floating[i], LOCK_STATE_FILE);
}

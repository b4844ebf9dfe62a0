/* SPDX-License-Identifier: ISC */
/*
 * What the table needs of the world: the kernel's locks, threads, descriptors,
 * and messages. A system call on a file that may wait is made without the
 * mutex, so a filesystem that hangs holds up only its own files. So is one on a
 * file with many ranges, since the kernel searches them one by one.
 * Runs in: nfsd locks, tests, fuzzers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ipc.h"
#include "base/log.h"
#include "nfsd/broker/broker.h"
#include "nfsd/locks/server.h"
#include "nfsd/locks/state.h"
#include "nfsd/roles/proven.h"

#define MANY_RANGES 500 /* a call takes some 3 us, and more beyond */

/* A message to be sent when the mutex is free. */
struct outgoing {
	struct outgoing *next;
	uint32_t type;
	size_t len;
	uint8_t data[];
};

static void
refresh(struct locks_server *s)
{
	table_set_now(s->table, clock_ms() + 1);
}

void
server_lock(struct locks_server *s)
{
	pthread_mutex_lock(&s->lock);
	refresh(s);
}

/* Wakes the keepers if something is due sooner than they think. */
static void
wake_keepers(struct locks_server *s)
{
	uint64_t next;
	int slow;

	for (slow = 0; slow < 2; slow++) {
		next = table_next(s->table, slow);
		if (next != 0 &&
		    (s->waits_until[slow] == 0 || next < s->waits_until[slow]))
			pthread_cond_signal(&s->due[slow]);
	}
}

/* Takes what is in the queue. Those that send after this one find the rest. */
static struct outgoing *
take_all(struct locks_server *s, struct server_queue *q, bool event, int *fd)
{
	struct outgoing *first;

	pthread_mutex_lock(&s->lock);
	first = q->first;
	q->first = q->last = NULL;
	*fd = event ? s->events : s->parent;
	pthread_mutex_unlock(&s->lock);
	return first;
}

/*
 * Sends a queue without the mutex. A client that is gone and comes again must
 * be told to the parent in this order, whichever threads do it.
 */
static void
flush(struct locks_server *s, bool event)
{
	struct server_queue *q = &s->queues[event];
	struct outgoing *o, *next;
	int fd;

	pthread_mutex_lock(&q->sending);
	for (o = take_all(s, q, event, &fd); o != NULL; o = next) {
		next = o->next;
		/* A grant that is lost here is sent again later. */
		(void)ipc_send(fd, o->type, o->data, o->len, NULL, 0);
		free(o);
	}
	pthread_mutex_unlock(&q->sending);
}

/* The keeper closes files that a brief question has left. */
void
server_unlock_brief(struct locks_server *s)
{
	bool has_some = s->queues[1].first != NULL;

	if (s->nclosing > 0)
		pthread_cond_signal(&s->due[0]);
	wake_keepers(s);
	pthread_mutex_unlock(&s->lock);
	if (has_some)
		flush(s, true);
}

void
server_unlock(struct locks_server *s)
{
	bool has_some[2] = { s->queues[0].first != NULL,
		s->queues[1].first != NULL };
	int *closing = s->closing, i;
	size_t n = s->nclosing;

	s->closing = NULL;
	s->nclosing = s->room = 0;
	wake_keepers(s);
	pthread_mutex_unlock(&s->lock);
	for (i = 1; i >= 0; i--)
		if (has_some[i])
			flush(s, i);
	while (n > 0)
		close(closing[--n]);
	free(closing);
}

static bool
may_wait(const struct locks_file *f)
{
	return f->opened.slow || f->nranges > MANY_RANGES;
}

static int
set_lock(void *arg, const struct locks_file *f, enum kernel_lock kind,
    uint64_t start, uint64_t end)
{
	struct locks_server *s = arg;
	bool apart = may_wait(f);
	int result, saved;

	if (apart)
		pthread_mutex_unlock(&s->lock);
	result = kernel_set(f->opened.fd, kind, start, end);
	saved = errno;
	if (apart)
		server_lock(s);
	errno = saved;
	return result;
}

static bool
get_lock(void *arg, const struct locks_file *f, bool exclusive,
    struct kernel_found *found)
{
	struct locks_server *s = arg;
	bool apart = may_wait(f), result;

	if (apart)
		pthread_mutex_unlock(&s->lock);
	result = kernel_get(f->opened.fd, exclusive, found);
	if (apart)
		server_lock(s);
	return result;
}

static void
wait_busy(void *arg)
{
	struct locks_server *s = arg;

	pthread_cond_wait(&s->busy, &s->lock);
	refresh(s);
}

static void
wake_busy(void *arg)
{
	struct locks_server *s = arg;

	pthread_cond_broadcast(&s->busy);
}

/* The last close of a removed file may take long. */
static void
close_later(void *arg, int fd)
{
	struct locks_server *s = arg;
	size_t room = s->room == 0 ? 8 : 2 * s->room;
	int *more;

	if (s->nclosing == s->room) {
		more = realloc(s->closing, room * sizeof(*more));
		if (more == NULL) {
			close(fd);
			return;
		}
		s->closing = more;
		s->room = room;
	}
	s->closing[s->nclosing++] = fd;
}

static void
send_later(struct locks_server *s, bool event, uint32_t type, const void *data,
    size_t len)
{
	struct server_queue *q = &s->queues[event];
	struct outgoing *o = malloc(sizeof(*o) + len);

	if (o == NULL)
		return;
	*o = (struct outgoing){ .type = type, .len = len };
	memcpy(o->data, data, len);
	if (q->last != NULL)
		q->last->next = o;
	else
		q->first = o;
	q->last = o;
}

/*
 * May the client be told? An export may have changed since it asked, or demand TLS
 * of an address that has not used it for long.
 */
static bool
may_be_told(struct locks_server *s, const struct locks_grant *g)
{
	struct served_exports *x = active_use(&s->judge.active);
	const struct served_export *e =
	    x == NULL ? NULL : served_listed(x, fh_export_id(&g->fh));
	enum export_names names =
	    fh_is_utf16(&g->fh) ? NAMES_UTF16LE : NAMES_BYTES;
	struct peer_identity id;
	bool may;

	may = e != NULL &&
	    proven_client(s->proven, e->conf, &g->client.from, names,
		clock_ms(), &id) != NULL;
	active_done(x);
	return may;
}

/* A grant that is not told is freed, as one that the client does not confirm. */
static void
on_grant(void *arg, const void *message, size_t len)
{
	struct locks_server *s = arg;
	char text[ADDR_STRLEN];
	struct locks_grant g;

	memcpy(&g, message, sizeof(g));
	if (s->proven == NULL || may_be_told(s, &g))
		send_later(s, true, LOCKS_GRANT, message, len);
	else if (log_permit("locks call-back", addr_hash(&g.client.from)))
		log_info("locks: %s is not called back: its export does not "
			 "admit it, or not without TLS in the last 10 minutes",
		    addr_print(&g.client.from, text));
}

static void
on_gone(void *arg, const struct locks_listed *l, const char *name)
{
	uint8_t buf[LOCKS_LISTED_MAX];

	memcpy(buf, l, sizeof(*l));
	memcpy(buf + sizeof(*l), name, l->client.name_len);
	send_later(arg, false, NFSD_LOCKS_GONE, buf,
	    sizeof(*l) + l->client.name_len);
}

static void
on_limit(void *arg, const struct addr *from, const char *what)
{
	char text[ADDR_STRLEN];

	(void)arg;
	if (log_permit("locks limit", addr_hash(from)))
		log_warnx("%s: too many %s: it gets no lock",
		    addr_print(from, text), what);
}

/* A place for a thread that waits; there is one for each thread. */
static struct server_saving *
take_place(struct locks_server *s)
{
	size_t i = 0;

	while (s->saving[i].number != 0)
		i++;
	if (++s->number == 0)
		s->number = 1;
	s->saving[i] = (struct server_saving){ .number = s->number };
	return &s->saving[i];
}

/* Asks the parent to write down that a client has locks, and waits. */
static enum locks_stat
save(void *arg, const struct locks_listed *l, const char *name)
{
	struct locks_server *s = arg;
	uint8_t buf[sizeof(struct nfsd_locks_client) + LOCKS_TEXT_MAX];
	struct nfsd_locks_client m = { .listed = *l };
	struct timespec until = clock_after(SERVER_SAVE_MS);
	struct server_saving *mine;
	enum locks_stat stat;

	if (s->parent == -1)
		return LOCKS_GRANTED;
	mine = take_place(s);
	m.number = mine->number;
	memcpy(buf, &m, sizeof(m));
	memcpy(buf + sizeof(m), name, l->client.name_len);
	send_later(s, false, NFSD_LOCKS_CLIENT, buf,
	    sizeof(m) + l->client.name_len);
	pthread_mutex_unlock(&s->lock);
	flush(s, false);
	pthread_mutex_lock(&s->lock);
	while (!mine->answered &&
	    pthread_cond_clockwait(&s->saved, &s->lock, CLOCK_MONOTONIC,
		&until) == 0)
		continue;
	stat = mine->answered ? mine->stat : LOCKS_NOLOCKS;
	mine->number = 0;
	refresh(s);
	return stat;
}

void
server_saved(struct locks_server *s, const struct nfsd_locks_saved *m)
{
	size_t i;

	server_lock(s);
	for (i = 0; i < LOCKS_SERVERS; i++)
		if (m->number != 0 && s->saving[i].number == m->number) {
			s->saving[i].answered = true;
			s->saving[i].stat = (enum locks_stat)m->stat;
		}
	pthread_cond_broadcast(&s->saved);
	server_unlock(s);
}

/* A keeper that has nothing to do waits until it is woken. */
void
server_keep(struct locks_server *s, bool slow)
{
	struct timespec until;
	uint64_t now, next;

	server_lock(s);
	for (;;) {
		now = clock_ms() + 1;
		next = table_next(s->table, slow);
		if ((next != 0 && next <= now) || s->nclosing > 0) {
			refresh(s);
			if (next != 0 && next <= now)
				table_tick(s->table, slow);
			server_unlock(s);
			server_lock(s);
			continue;
		}
		s->waits_until[slow] = next;
		if (next == 0)
			pthread_cond_wait(&s->due[slow], &s->lock);
		else {
			until = clock_after((unsigned int)(next - now));
			pthread_cond_clockwait(&s->due[slow], &s->lock,
			    CLOCK_MONOTONIC, &until);
		}
	}
}

void
server_init(struct locks_server *s, const struct fh_subkey *key,
    const char *domain, struct locks_stats *stats, size_t files)
{
	const struct table_hooks hooks = { .set = set_lock,
		.get = get_lock,
		.wait = wait_busy,
		.wake = wake_busy,
		.close = close_later,
		.save = save,
		.gone = on_gone,
		.grant = on_grant,
		.limit = on_limit,
		.arg = s };

	memset(s, 0, sizeof(*s));
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->queues[0].sending, NULL);
	pthread_mutex_init(&s->queues[1].sending, NULL);
	pthread_cond_init(&s->busy, NULL);
	pthread_cond_init(&s->saved, NULL);
	pthread_cond_init(&s->due[0], NULL);
	pthread_cond_init(&s->due[1], NULL);
	s->parent = s->events = -1;
	s->stats = stats;
	judge_init(&s->judge, key, domain);
	hash_key_random(&s->key);
	s->table = table_new(&hooks, stats, files);
}

void
server_clear(struct locks_server *s)
{
	server_lock(s);
	table_free(s->table);
	s->table = table_new(&(struct table_hooks){ .arg = s }, NULL, 0);
	server_unlock(s);
	table_free(s->table);
	judge_clear(&s->judge);
	pthread_mutex_destroy(&s->queues[0].sending);
	pthread_mutex_destroy(&s->queues[1].sending);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->busy);
	pthread_cond_destroy(&s->saved);
	pthread_cond_destroy(&s->due[0]);
	pthread_cond_destroy(&s->due[1]);
}

void
thread_init(struct locks_thread *t, struct locks_server *s,
    struct broker_client *broker)
{
	memset(t, 0, sizeof(*t));
	t->server = s;
	t->judge.judge = &s->judge;
	t->broker = broker;
	near_init(&t->near);
}

void
thread_clear(struct locks_thread *t)
{
	judge_release(&t->judge);
	broker_client_free(t->broker);
}

/*
 * A thread that has just begun to answer finds that its exports are stale. One
 * that has just ended looks by itself.
 */
void
thread_release(struct locks_thread *t)
{
	if (!atomic_load(&t->answers))
		(void)active_release(&t->server->judge.active, &t->judge.held);
}

/* SPDX-License-Identifier: ISC */
/*
 * nfsd -H: see parent_health.h.
 * Runs in: nfsd parent.
 */
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/number.h"
#include "base/util.h"
#include "confine/jail.h"
#include "exports/load.h"
#include "handle/fhandle_fs.h"
#include "nfsd/parent/control.h"
#include "nfsd/parent/parent_health.h"
#include "nfsd/wire/nfs.h"
#include "process/listen.h"

#define SECONDS_MAX 300
/* The answer leaves so long before the time is over, in milliseconds. */
#define ANSWER_MS 300
#define RETRY_MS  (2 * ANSWER_MS) /* and the workers give up so long before */

static void
end_request(struct health_request *q)
{
	event_free(q->on_deadline);
	free(q->ids);
	free(q->answered);
	memset(q, 0, sizeof(*q));
}

static const char *
path_of(const struct parent_health *h, uint16_t id)
{
	const struct export *e = exports_find_id(h->file->list, id);

	return e == NULL ? "(removed)" : e->path;
}

/* Ends it with an error. format is for the path of an export. */
static void
fail(struct health_request *q, const char *what, uint16_t export_id)
{
	struct control_request *r = control_find(q->health->control, q->number);
	char path[EXPORTS_PATH_MAX + 1];
	const char *text = path_of(q->health, export_id);

	if (r != NULL)
		control_fail(r, "export %s: %s",
		    log_text(path, sizeof(path), text, strlen(text)), what);
	end_request(q);
}

static void
fail_worker(struct health_request *q, unsigned int worker)
{
	struct control_request *r = control_find(q->health->control, q->number);
	struct role_child *child = q->health->worker(q->health->arg, worker);

	if (r != NULL)
		control_fail(r, "worker %u does not answer (process %d)",
		    worker, child == NULL ? -1 : (int)role_pid(child));
	end_request(q);
}

static bool *
answer_of(const struct health_request *q, unsigned int worker, size_t i)
{
	return &q->answered[worker * (q->nroots + 1) + i];
}

/* Time is over: a worker that does not answer is the reason, else an export. */
static void
on_deadline(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct health_request *q = arg;
	unsigned int w;
	size_t i;

	for (i = 0; i <= q->nroots; i++)
		for (w = 0; w < q->health->nworkers; w++) {
			if (*answer_of(q, w, i))
				continue;
			if (i == 0)
				fail_worker(q, w);
			else
				fail(q, "no answer", q->ids[i]);
			return;
		}
}

static void
succeed(struct health_request *q)
{
	const struct listen_set *s = q->health->sockets;
	struct control_request *r = control_find(q->health->control, q->number);
	unsigned long long ms = (clock_ns() - q->begun_ns) / 1000000;
	char text[ADDR_STRLEN];
	size_t i;

	for (i = 0; r != NULL && i < s->n; i++)
		if (!s->list[i].udp)
			control_print(r, "tcp %s\n",
			    addr_print(&s->list[i].at, text));
	if (r != NULL) {
		control_print(r,
		    "healthy: %u worker%s, %zu export%s, %llu ms\n",
		    q->health->nworkers, q->health->nworkers == 1 ? "" : "s",
		    q->nroots, q->nroots == 1 ? "" : "s", ms);
		control_end(r);
	}
	end_request(q);
}

/* The last status of an export that failed until the time was over. */
static void
fail_status(struct health_request *q, const struct nfsd_checked *m)
{
	char what[80];

	if (m->status == NFSERR_JUKEBOX)
		fail(q, "its filesystem does not answer or is not there",
		    (uint16_t)m->export_id);
	else {
		(void)snprintf(what, sizeof(what), "its root gives %s",
		    nfs_status_name((enum nfsstat)m->status));
		fail(q, what, (uint16_t)m->export_id);
	}
}

static void
take(struct health_request *q, unsigned int worker,
    const struct nfsd_checked *m)
{
	size_t i;

	for (i = 0; i <= q->nroots; i++)
		if (q->ids[i] == m->export_id)
			break;
	if (i > q->nroots || *answer_of(q, worker, i))
		return;
	if (m->status != NFS_OK) {
		if (i == 0)
			fail_worker(q, worker);
		else
			fail_status(q, m);
		return;
	}
	*answer_of(q, worker, i) = true;
	if (--q->waiting == 0)
		succeed(q);
}

/*
 * A worker asks an export once for all requests that wait, so an answer counts
 * for each of them that was begun before it.
 */
void
parent_health_checked(struct parent_health *h, unsigned int worker,
    const struct nfsd_checked *m)
{
	size_t i;

	for (i = 0; i < nitems(h->requests); i++)
		if (h->requests[i].number != 0 &&
		    h->requests[i].number <= m->number)
			take(&h->requests[i], worker, m);
}

/* A free place, perhaps that of a client that has gone. */
static struct health_request *
free_place(struct parent_health *h)
{
	size_t i;

	for (i = 0; i < nitems(h->requests); i++)
		if (h->requests[i].number != 0 &&
		    control_find(h->control, h->requests[i].number) == NULL)
			end_request(&h->requests[i]);
	for (i = 0; i < nitems(h->requests); i++)
		if (h->requests[i].number == 0)
			return &h->requests[i];
	return NULL;
}

/* The sealed root of an export. False: it is not there. */
static bool
seal(const struct parent_health *h, const struct export *e,
    struct nfsd_check_root *out)
{
	const struct fh_root *root = jail_facts(h->jail, e->path);
	struct fh_plain plain;

	if (root == NULL || jail_root(h->jail, e->path) == -1)
		return false;
	plain = fh_fs_plain_root(root, e->id, !exports_speaks(e, NAMES_BYTES));
	out->export_id = e->id;
	fh_seal(&out->fh, &plain, e->path, h->keys);
	return true;
}

/*
 * Seals all roots behind the message. Returns NULL, or the export that is not
 * there. One that has no client is left out.
 */
static const struct export *
seal_all(struct health_request *q, struct nfsd_check *m)
{
	struct nfsd_check_root *roots = (struct nfsd_check_root *)(m + 1);
	const struct exports *all = q->health->file->list;
	const struct export *e;
	size_t i;

	for (i = 0; i < all->n; i++) {
		e = &all->list[i];
		if (e->nclients == 0)
			continue;
		if (!seal(q->health, e, &roots[m->nroots]))
			return e;
		q->ids[++m->nroots] = e->id;
	}
	return NULL;
}

static void
send_checks(struct health_request *q, const struct nfsd_check *m)
{
	struct parent_health *h = q->health;
	size_t len = sizeof(*m) + m->nroots * sizeof(struct nfsd_check_root);
	struct role_child *child;
	unsigned int w;

	q->nroots = m->nroots;
	q->waiting = h->nworkers * (q->nroots + 1);
	for (w = 0; w < h->nworkers; w++) {
		child = h->worker(h->arg, w);
		if (child == NULL ||
		    !role_send(child, NFSD_CHECK, m, len, NULL, 0)) {
			fail_worker(q, w);
			return;
		}
	}
}

static void
ask_workers(struct health_request *q, uint64_t ms)
{
	struct parent_health *h = q->health;
	const struct timeval patience = { .tv_sec = (time_t)(ms / 1000),
		.tv_usec = (suseconds_t)(ms % 1000 * 1000) };
	size_t n = h->file->list->n;
	struct nfsd_check *m =
	    calloc(1, sizeof(*m) + n * sizeof(struct nfsd_check_root));
	const struct export *absent;

	q->ids = calloc(n + 1, sizeof(*q->ids));
	q->answered = calloc(h->nworkers * (n + 1), sizeof(*q->answered));
	q->on_deadline = evtimer_new(h->base, on_deadline, q);
	if (m == NULL || q->ids == NULL || q->answered == NULL ||
	    q->on_deadline == NULL ||
	    event_add(q->on_deadline, &patience) == -1)
		fatalx("health: out of memory");
	m->number = q->number;
	m->until_ns = q->begun_ns + (ms + ANSWER_MS - RETRY_MS) * 1000000;
	absent = seal_all(q, m);
	if (absent != NULL)
		fail(q, "its filesystem is not mounted or not there",
		    absent->id);
	else
		send_checks(q, m);
	free(m);
}

/* The request "health". */
static void
health(void *arg, struct control_request *r, const char *operand)
{
	struct parent_health *h = arg;
	struct health_request *q = free_place(h);
	long long seconds;

	if (number_read(operand, 1, SECONDS_MAX, &seconds) != NULL) {
		control_fail(r, "health: not a number from 1 to %d",
		    SECONDS_MAX);
		return;
	}
	if (q == NULL) {
		control_fail(r, "health: too many requests at once");
		return;
	}
	control_wait(r, (unsigned int)seconds);
	q->health = h;
	q->number = control_number(r);
	q->begun_ns = clock_ns();
	ask_workers(q, (uint64_t)seconds * 1000 - ANSWER_MS);
}

static const struct control_row rows[] = {
	{ "health", "SECONDS", false,
	    "does every worker answer, for every export?", health },
};

void
parent_health_start(struct parent_health *h)
{
	control_add(h->control, rows, nitems(rows), h);
}

void
parent_health_free(struct parent_health *h)
{
	size_t i;

	for (i = 0; i < nitems(h->requests); i++)
		if (h->requests[i].number != 0)
			end_request(&h->requests[i]);
}

/* SPDX-License-Identifier: ISC */
/*
 * The audit in the parent: see parent_audit.h.
 * Runs in: nfsd parent.
 */
#include <sys/socket.h>

#include <fcntl.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "nfsd/parent/parent_audit.h"
#include "nfsd/stats.h"

#define AT_ONCE 64 /* records of a worker, before others have a turn */
/* A worker may be this many bytes ahead: about 3,000 records. */
#define AHEAD_MAX  (2 * 1024 * 1024)
#define AHEAD_LAST 65536 /* records that are read at the end */

void
parent_audit_prepare(struct parent_audit *a, const struct nfsd *n)
{
	const char *what, *why;

	why = audit_sink_open(&a->sink, n->audit, &what);
	if (why != NULL)
		fatal_config("-o audit: %s: %s", what, why);
}

/* A second after the first loss: says how many changes were lost. */
static void
tell_lost(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct parent_audit *a = arg;

	if (a->lost > a->told)
		log_warnx("audit: %llu changes not logged: %s: %s",
		    (unsigned long long)(a->lost - a->told),
		    audit_sink_name(&a->sink), a->why);
	a->told = a->lost;
}

static void
take(struct parent_audit *a, const struct audit_record *r)
{
	const struct timeval second = { .tv_sec = 1 };
	const char *why = "more than it takes in a second";

	if (bucket_take(&a->bucket, audit_sink_rate(&a->sink), 1,
		clock_coarse_ms()))
		why = audit_sink_write(&a->sink, r);
	if (why == NULL) {
		stats_set(a->stats, STATS_AUDIT_LINES, ++a->written);
		return;
	}
	a->why = why;
	if (!evtimer_pending(a->on_second, NULL))
		(void)event_add(a->on_second, &second);
	stats_set(a->stats, STATS_AUDIT_LOST, ++a->lost);
}

/* A worker that sends something else can only spoil its own audit. */
static void
take_some(struct parent_audit *a, int fd, unsigned int most)
{
	uint8_t bytes[AUDIT_RECORD_MAX];
	struct audit_record r;
	unsigned int i;
	ssize_t n;

	for (i = 0; i < most; i++) {
		n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_TRUNC);
		if (n <= 0)
			break;
		if ((size_t)n <= sizeof(bytes) &&
		    audit_record_read(bytes, (size_t)n, &r))
			take(a, &r);
		else if (log_permit("bad audit", 0))
			log_warnx("audit: a worker sent what is no record");
	}
	audit_sink_rest(&a->sink);
}

static void
on_record(evutil_socket_t fd, short what UNUSED, void *arg)
{
	take_some(arg, fd, AT_ONCE);
}

/* Only root may set more than the usual size; less means more loss. */
static void
make_room(int fd)
{
	int size = AHEAD_MAX;

	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) ==
	    -1)
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size,
		    sizeof(size));
}

void
parent_audit_start(struct parent_audit *a, struct event_base *base,
    const struct nfsd *n, struct stats *stats)
{
	unsigned int i;
	int pair[2];

	a->stats = stats;
	a->on_second = evtimer_new(base, tell_lost, a);
	if (a->on_second == NULL)
		fatalx("audit: out of memory");
	for (i = 0; i < n->setup.workers; i++) {
		if (ipc_pair(pair) == -1)
			fatal("channel");
		a->ours[i] = pair[0];
		a->theirs[i] = pair[1];
		make_room(pair[1]);
		a->on_record[i] = event_new(base, pair[0], EV_READ | EV_PERSIST,
		    on_record, a);
		if (a->on_record[i] == NULL ||
		    event_add(a->on_record[i], NULL) == -1)
			fatalx("audit: out of memory");
	}
}

/* What the workers sent before they ended is recorded. */
void
parent_audit_stop(struct parent_audit *a, const struct nfsd *n)
{
	unsigned int i;

	for (i = 0; i < n->setup.workers; i++) {
		take_some(a, a->ours[i], AHEAD_LAST);
		event_free(a->on_record[i]);
		close(a->ours[i]);
		close(a->theirs[i]);
	}
	tell_lost(-1, 0, a);
	event_free(a->on_second);
}

int
parent_audit_fd(const struct parent_audit *a, unsigned int worker)
{
	return a->theirs[worker];
}

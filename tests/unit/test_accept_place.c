/* SPDX-License-Identifier: ISC */
/*
 * Which worker gets a connection: workers are filled evenly, a client that comes
 * back finds its worker, a slow or dead worker stops no other, and a crowd does
 * not make the table forget the others.
 * Links: nfsd
 * Runs in: tests.
 */
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "nfsd/accept/place.h"
#include "tap.h"

#define MAX	2000
#define WORKERS 64

static uint64_t now = 1000000;

static struct addr
from(uint32_t host, uint16_t port)
{
	struct addr a = { .family = AF_INET, .port = port };

	memcpy(a.bytes, &host, sizeof(host));
	return a;
}

static struct place *
begin(unsigned int workers)
{
	struct place *p = place_new(workers, MAX, 7);
	unsigned int i;

	if (p == NULL)
		BAIL_OUT("no memory");
	for (i = 0; i < workers; i++)
		place_worker(p, i, true, now);
	return p;
}

/* A connection that its worker takes. Returns its worker; WORKERS: none. */
static unsigned int
take(struct place *p, uint32_t host, uint16_t port, uint64_t *id)
{
	struct addr a = from(host, port);
	struct place_conn *c = place_add(p, &a, 3, now);
	unsigned int worker;

	if (c == NULL)
		return WORKERS;
	worker = c->worker;
	*id = c->id;
	if (place_next(p, worker) != c)
		return WORKERS;
	place_sent(p, c, now);
	return place_answer(p, worker, *id, true, now) == 3 ? worker : WORKERS;
}

static size_t
fullest(const struct place *p, unsigned int workers)
{
	size_t most = 0;
	unsigned int i;

	for (i = 0; i < workers; i++)
		if (place_count(p, i) > most)
			most = place_count(p, i);
	return most;
}

static void
test_balance(void)
{
	static const struct {
		unsigned int workers, connections, hosts;
	} rows[] = { { 2, 4, 1 }, { 8, 64, 1 }, { 8, 64, 64 }, { 64, 64, 1 },
		{ 64, 20000, 1000 } };
	static uint64_t ids[20000];
	static unsigned int at[20000];
	unsigned int i, j, n, seed = 1;
	struct place *p;

	for (i = 0; i < nitems(rows); i++) {
		p = begin(rows[i].workers);
		n = rows[i].connections;
		for (j = 0; j < n; j++)
			at[j] = take(p, j % rows[i].hosts, (uint16_t)(1 + j),
			    &ids[j]);
		cmp_ok((int)fullest(p, rows[i].workers),
		    "==", (int)((n + rows[i].workers - 1) / rows[i].workers),
		    "%u connections of %u clients fill %u workers evenly", n,
		    rows[i].hosts, rows[i].workers);
		/* Half of them end, by chance, and others come. */
		for (j = 0; j < n; j++) {
			seed = seed * 1103515245 + 12345;
			if ((seed >> 16) % 2 == 0)
				place_end(p, at[j], ids[j], now);
		}
		for (j = 0; j < n / 2; j++)
			(void)take(p, 5000 + j % rows[i].hosts,
			    (uint16_t)(1 + j), &ids[0]);
		ok(fullest(p, rows[i].workers) * rows[i].workers * 2 <=
			(size_t)n * 3 + (size_t)rows[i].workers * 2,
		    "and after half of them were replaced");
		place_free(p);
	}
}

static void
test_home(void)
{
	struct place *p = begin(4);
	uint64_t id, other;
	unsigned int i, worker;

	(void)take(p, 1, 1, &other);
	worker = take(p, 2, 700, &id);
	cmp_ok((int)worker, "==", 1,
	    "the second connection gets another worker");
	cmp_ok((int)take(p, 2, 700, &other), "==", 1,
	    "a client that is back before its end is noticed finds its worker");
	place_end(p, 1, other, now);
	place_end(p, worker, id, now);
	now += PLACE_HOME_MS - 1;
	for (i = 0; i < 9; i++)
		(void)take(p, 9, (uint16_t)(800 + i), &other);
	cmp_ok((int)take(p, 2, 700, &id), "==", 1,
	    "so does one that is back while its replies are remembered");
	place_end(p, 1, id, now);
	now += PLACE_HOME_MS + 1;
	ok(take(p, 2, 700, &id) != 1, "and not later");
	place_end(p, 3, id, now);
	ok(place_count(p, 0) + place_count(p, 1) + place_count(p, 2) +
		    place_count(p, 3) ==
		11,
	    "another worker cannot end its connection");
	place_free(p);
}

static void
test_trouble(void)
{
	struct addr a = from(1, 1), b = from(1, 2), d = from(1, 3);
	struct place *p = begin(2);
	struct place_conn *c, *e;
	uint64_t id, next;

	c = place_add(p, &a, 3, now);
	place_sent(p, c, now);
	(void)take(p, 1, 9, &id);
	now += PLACE_PATIENCE + 1;
	cmp_ok((int)take(p, 2, 1, &id) + (int)take(p, 2, 2, &id), "==", 2,
	    "a worker that does not take one gets no more");
	ok(place_answer(p, 0, c->id + 1, true, now) == -1 &&
		place_answer(p, 1, c->id, true, now) == -1,
	    "an answer for another connection is refused");
	place_worker(p, 0, false, now);
	cmp_ok((int)take(p, 3, 1, &next), "==", 1, "nor does a dead one");
	e = place_add(p, &a, 4, now);
	ok(e != NULL && e->worker == 0,
	    "a client that is back waits for the successor");
	ok(place_waiting(p) == 2, "so does what was sent and not taken");
	place_worker(p, 0, true, now);
	ok(place_next(p, 0) == c, "which gets the oldest first");
	place_sent(p, c, now);
	cmp_ok(place_answer(p, 0, 0, false, now), "==", 3,
	    "one that is refused is given back");
	place_sent(p, e, now);
	ok(place_answer(p, 0, e->id, true, now) == 4 && place_waiting(p) == 0,
	    "and the next is taken");
	cmp_ok((int)place_count(p, 0), "==", 1, "one is left there");

	place_worker(p, 0, false, now);
	place_worker(p, 1, false, now);
	cmp_ok((int)place_count(p, 1), "==", 0,
	    "the connections of a worker end with it");
	c = place_add(p, &b, 5, now);
	ok(c != NULL && place_next(p, c->worker) == c,
	    "without any worker connections wait");
	(void)place_add(p, &d, 6, now);
	place_free(p);
}

static void
test_bounds(void)
{
	struct place *p = begin(2);
	uint64_t id, honest;
	unsigned int i, at, worker;

	(void)take(p, 1, 1, &id);
	worker = take(p, 7, 7, &honest);
	place_end(p, worker, honest, now);
	for (i = 0; i < PLACE_ENDED_MAX + 5000; i++) {
		at = take(p, 8 + i / 60000, (uint16_t)i, &id);
		place_end(p, at, id, now);
	}
	(void)take(p, 1, 2, &id);
	cmp_ok((int)take(p, 7, 7, &honest), "==", (int)worker,
	    "a crowd does not make it forget the others");
	for (i = 0; i < 2 * MAX; i++)
		(void)take(p, 20, (uint16_t)i, &id);
	ok(place_count(p, 0) == MAX && place_count(p, 1) == MAX,
	    "no worker gets more than it may have");
	place_free(p);
}

int
main(void)
{
	plan(NO_PLAN);
	test_balance();
	test_home();
	test_trouble();
	test_bounds();
	done_testing();
}

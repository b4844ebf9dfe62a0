/* SPDX-License-Identifier: ISC */
/*
 * Counters of exports and clients: their sums, their bounds, and a reader that
 * believes nothing.
 * Links: nfsd
 * Runs in: tests.
 */
#include <stdlib.h>
#include <string.h>

#include "nfsd/stats.h"
#include "nfsd/usage.h"
#include "tap.h"

static struct stats stats;

static struct addr
client(unsigned int n)
{
	struct addr a = { .family = AF_INET, .port = (uint16_t)n };

	a.bytes[0] = 10;
	a.bytes[2] = (uint8_t)(n >> 8);
	a.bytes[3] = (uint8_t)n;
	return a;
}

static const struct usage_row *
find(const struct usage_row *rows, size_t n, const struct addr *from,
    uint32_t export, struct usage_row *copy)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (usage_copy(&rows[i], copy) && copy->export == export &&
		    addr_same_host(&copy->from, from))
			return &rows[i];
	return NULL;
}

static void
counting(void)
{
	const struct usage_call call = { .now_ns = 5,
		.ns = 3000,
		.bucket = 2,
		.read = 100,
		.kinds = USAGE_V3 | USAGE_TCP },
				failed = { .now_ns = 7,
					.failed = true,
					.refused = true,
					.kinds = USAGE_V2 | USAGE_UDP };
	struct addr one = client(1), two = client(2), none = { 0 };
	struct usage_memo memo = { 0 };
	struct usage_row row;

	usage_count(&stats.usage, &memo, &one, 9, &call);
	usage_count(&stats.usage, &memo, &one, 9, &failed);
	usage_count(&stats.usage, &memo, &two, 9, &call);
	usage_count(&stats.usage, &memo, &one, 0, &call);
	ok(find(stats.usage.exports, USAGE_EXPORTS, &none, 9, &row) != NULL &&
		row.counts[USAGE_CALLS] == 3 && row.counts[USAGE_READ] == 200 &&
		row.latency[2] == 2 && row.since == 5,
	    "an export has the calls of all its clients");
	ok(find(stats.usage.clients, USAGE_CLIENTS, &one, 9, &row) != NULL &&
		row.counts[USAGE_CALLS] == 2 && row.counts[USAGE_ERRORS] == 1 &&
		row.counts[USAGE_REFUSED] == 1 && row.from.port == 0 &&
		row.last == 7,
	    "a client has its own, from every port");
	cmp_ok(row.kinds, "==", USAGE_V2 | USAGE_V3 | USAGE_UDP | USAGE_TCP,
	    "and how it came");
	ok(find(stats.usage.exports, USAGE_EXPORTS, &none, 0, &row) == NULL,
	    "a call without an export has no row of an export");
}

static void
bounds(void)
{
	struct usage_call call = { .now_ns = 100 };
	struct addr busy = client(1), from;
	struct usage_memo memo = { 0 };
	struct usage_row row;
	unsigned int i;

	for (i = 0; i < 20 * USAGE_CLIENTS; i++) {
		call.now_ns++;
		from = client(i + 10);
		usage_count(&stats.usage, &memo, &from, 9, &call);
		call.now_ns++;
		usage_count(&stats.usage, &memo, &busy, 9, &call);
	}
	ok(find(stats.usage.clients, USAGE_CLIENTS, &busy, 9, &row) != NULL &&
		row.counts[USAGE_CALLS] > i,
	    "many clients displace no one that is active");
	ok(stats.usage.replaced > i - USAGE_CLIENTS - 10,
	    "those that made room are counted");
}

static void
distrust(void)
{
	uint8_t *bytes = (uint8_t *)&stats.usage;
	struct usage_recent call, calls[2] = { { .len = 3, .times = 1 } };
	struct usage_row row;
	size_t i, bad = 0;

	calls[0].from = client(3);
	for (i = 0; i < 3; i++)
		usage_note(&stats.usage, &calls[0]);
	ok(usage_copy_recent(&stats.usage.recent[0], &call) &&
		call.times == 3 && stats.usage.nrecent == 1,
	    "calls that are alike are one");
	stats.usage.clients[0].turn = 3;
	ok(!usage_copy(&stats.usage.clients[0], &row),
	    "a row that changes hands is not read");
	srandom(1);
	for (i = 0; i < sizeof(stats.usage); i++)
		bytes[i] = (uint8_t)random();
	for (i = 0; i < USAGE_CLIENTS; i++)
		bad += usage_copy(&stats.usage.clients[i], &row) &&
		    row.from.family != 0 && row.from.family != AF_INET &&
		    row.from.family != AF_INET6;
	for (i = 0; i < USAGE_RECENT; i++)
		bad += usage_copy_recent(&stats.usage.recent[i], &call) &&
		    (call.len > USAGE_NAME ||
			(call.from.family != AF_INET &&
			    call.from.family != AF_INET6));
	cmp_ok(bad, "==", 0, "of any bytes, what is read is well formed");
}

int
main(void)
{
	plan(NO_PLAN);
	counting();
	bounds();
	distrust();
	done_testing();
}

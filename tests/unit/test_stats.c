/* SPDX-License-Identifier: ISC */
/*
 * Counters, and the text that shows them.
 * Links: nfsd
 * Runs in: tests.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nfsd/figures/figures.h"
#include "nfsd/stats.h"
#include "tap.h"

static char text[STATS_TEXT_MAX];

static void
count(struct stats *s, uint32_t version, uint32_t procnum, struct usage_call c)
{
	c.bucket = stats_bucket(c.ns);
	stats_count(s, version, procnum, &c);
}

static void
buckets(void)
{
	uint64_t us;
	size_t bad = 0;

	for (us = 0; us < 100000; us++) {
		unsigned int b = stats_bucket(us * 1000 + 999);

		bad += us > (1u << b) || (b > 0 && us <= (1u << (b - 1)));
	}
	cmp_ok(bad, "==", 0, "a bucket holds up to its power of two");
	cmp_ok(stats_bucket(UINT64_MAX), "==", STATS_BUCKETS - 1,
	    "the last one holds the rest");
}

int
main(void)
{
	static struct stats one, two;
	const struct stats *both[] = { &one, &two };
	struct figures all = { .at = text, .size = sizeof(text) };
	struct figures few = { .at = text, .size = 100 };

	plan(NO_PLAN);
	buckets();
	count(&one, 3, NFSPROC3_READ,
	    (struct usage_call){ .ns = 3000, .read = 4096 });
	count(&two, 3, NFSPROC3_READ,
	    (struct usage_call){ .ns = 900000, .failed = true });
	count(&one, 2, NFSPROC2_GETATTR, (struct usage_call){ .ns = 10 });
	count(&one, 4, 1, (struct usage_call){ .ns = 10 });
	count(&one, 3, 1000, (struct usage_call){ .ns = 10 });
	stats_set(&one, STATS_CONNECTIONS, 3);
	stats_set(&two, STATS_CONNECTIONS, 4);
	stats_text(both, 2, &all);
	ok(all.len > 0 && strlen(text) == all.len, "the text is complete");
	like(text, "calls_total\\{version=\"3\",procedure=\"READ\"\\} 2\n",
	    "calls of all workers");
	like(text, "errors_total\\{version=\"3\",procedure=\"READ\"\\} 1\n",
	    "errors");
	like(text, "bytes_total\\{version=\"3\",procedure=\"READ\"\\} 4096\n",
	    "bytes");
	like(text, "procedure=\"READ\",le=\"4e-06\"\\} 1\n", "latency");
	like(text, "procedure=\"READ\",le=\"\\+Inf\"\\} 2\n",
	    "the last bucket has all calls");
	like(text, "version=\"2\",procedure=\"GETATTR\"\\} 1\n", "version 2");
	unlike(text, "COMMIT", "a procedure that was not called is left out");
	like(text, "tern_nfsd_connections 7\n", "connections of all workers");
	stats_text(both, 2, &few);
	ok(few.len < 100 && text[few.len] == '\0',
	    "a small buffer is not overrun");
	done_testing();
}

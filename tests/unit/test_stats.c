/* SPDX-License-Identifier: ISC */
/*
 * Counters, and the text that shows them.
 * Links: nfsd
 * Runs in: tests.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nfsd/nfsd.h"
#include "nfsd/stats.h"
#include "tap.h"

static char text[STATS_TEXT_MAX];

int
main(void)
{
	static struct stats one, two;
	const struct stats *both[] = { &one, &two };
	size_t len;

	plan(NO_PLAN);
	stats_count(&one, 3, NFSPROC3_READ, false, 4096, 3000);
	stats_count(&two, 3, NFSPROC3_READ, true, 0, 900000);
	stats_count(&one, 2, NFSPROC2_GETATTR, false, 0, 10);
	stats_count(&one, 4, 1, false, 0, 10);
	stats_count(&one, 3, 1000, false, 0, 10);
	stats_set(&one, STATS_CONNECTIONS, 3);
	stats_set(&two, STATS_CONNECTIONS, 4);
	len = stats_text(both, 2, text, sizeof(text));
	ok(len > 0 && strlen(text) == len, "the text is complete");
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
	len = stats_text(both, 2, text, 100);
	ok(len < 100 && text[len] == '\0', "a small buffer is not overrun");
	ok(stats_print("/nonexistent") == 1, "-S fails without nfsd");
	done_testing();
}

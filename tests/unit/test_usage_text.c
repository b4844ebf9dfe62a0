/* SPDX-License-Identifier: ISC */
/*
 * Exports and clients as text for Prometheus: labels, sums of workers, and that
 * many rows give a text of bounded size with whole rows only.
 * Links: nfsd
 * Runs in: tests.
 */
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "exports/exports.h"
#include "nfsd/figures/figures.h"
#include "nfsd/figures/usage_text.h"
#include "tap.h"

static char text[STATS_TEXT_MAX];
static char longest[EXPORTS_PATH_MAX + 1];

static const char *
path_of(void *arg, uint16_t export_id)
{
	const char *all = arg;

	if (all != NULL)
		return all;
	return export_id == 7 ? "/srv/a" : NULL;
}

static void
count(struct stats *s, unsigned int client, uint32_t export, uint64_t now)
{
	const struct usage_call c = { .now_ns = now,
		.ns = 3000,
		.bucket = stats_bucket(3000),
		.read = 10 };
	struct usage_memo memo = { 0 };
	struct addr from = { .family = AF_INET,
		.bytes = { 10, (uint8_t)(client >> 16), (uint8_t)(client >> 8),
		    (uint8_t)client } };

	usage_count(&s->usage, &memo, &from, export, &c);
}

static size_t
lines(const char *word)
{
	const char *at = text;
	size_t n = 0;

	while ((at = strstr(at, word)) != NULL) {
		n++;
		at += strlen(word);
	}
	return n;
}

static void
labels(void)
{
	static const struct {
		const char *bytes, *label;
	} rows[] = {
		{ "/srv", "/srv" },
		{ "a\"b", "a\\\"b" },
		{ "a\\b", "a\\\\134b" },
		{ "a\nb\x7f", "a\\\\012b\\\\177" },
		{ "\xc3\xa9", "\xc3\xa9" },
		{ "\xc3", "\\\\303" },
		{ "\xc2\x80", "\\\\302\\\\200" },
		{ "", "" },
	};
	char out[FIGURES_LABEL(16)];
	size_t i;

	for (i = 0; i < nitems(rows); i++)
		is(figures_label(out, rows[i].bytes, strlen(rows[i].bytes)),
		    rows[i].label, "a label");
}

static void
sums(void)
{
	static struct stats one, two;
	const struct stats *both[] = { &one, &two };
	const struct usage_paths paths = { path_of, NULL };
	struct figures f = { .at = text, .size = sizeof(text) };

	count(&one, 1, 7, 1);
	count(&two, 1, 7, 2);
	count(&two, 2, 8, 3);
	count(&two, 3, 0, 4);
	usage_text(both, 2, &paths, &f);
	like(text, "export_calls_total\\{export=\"/srv/a\"\\} 2\n",
	    "an export of two workers");
	like(text, "export_calls_total\\{export=\"#8\"\\} 1\n",
	    "an export that is not listed now");
	like(text,
	    "client_read_bytes_total\\{client=\"10.0.0.1\",export=\"/srv/a\"\\} "
	    "20\n",
	    "a client of two workers");
	like(text,
	    "client_calls_total\\{client=\"10.0.0.3\",export=\"\"\\} 1\n",
	    "a client in no export");
	like(text,
	    "export_latency_seconds_bucket\\{export=\"/srv/a\",le=\"4e-06\""
	    "\\} 2\n",
	    "a histogram");
	like(text, "tern_nfsd_rows_left_out_total 0\n", "none is left out");
}

/* The counters of more clients than are shown, in exports with long names. */
static void
many(void)
{
	static struct stats s[4];
	const struct stats *list[] = { &s[0], &s[1], &s[2], &s[3] };
	const struct usage_paths none = { path_of, NULL },
				 all = { path_of, longest };
	struct figures f = { .at = text, .size = sizeof(text) };
	uint32_t i;

	for (i = 0; i < 4096; i++)
		count(&s[i % 4], i, 1 + i % 200, i + 1);
	usage_text(list, 4, &none, &f);
	cmp_ok(lines("client_calls_total{"), "==", USAGE_TEXT_CLIENTS,
	    "the clients that called last");
	ok(strstr(text, "client=\"10.0.15.255\"") != NULL, "with the last one");
	cmp_ok(lines("export_calls_total{"), "==", 200, "all exports");
	memset(longest, 0xff, sizeof(longest) - 1);
	f = (struct figures){ .at = text, .size = 200000 };
	usage_text(list, 4, &all, &f);
	ok(f.len < 200000, "a text of bounded size");
	cmp_ok(lines("export_latency_seconds_count{"),
	    "==", lines("export_calls_total{"), "has whole exports");
	cmp_ok(lines("export_latency_seconds_bucket{"),
	    "==", USAGE_BUCKETS * lines("export_calls_total{"),
	    "and whole histograms");
	like(text, "tern_nfsd_rows_left_out_total [1-9]",
	    "the others are counted");
}

int
main(void)
{
	plan(NO_PLAN);
	labels();
	sums();
	many();
	done_testing();
}

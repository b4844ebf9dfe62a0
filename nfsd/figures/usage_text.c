/* SPDX-License-Identifier: ISC */
/*
 * Exports and clients for Prometheus: see usage_text.h.
 * Runs in: nfsd parent.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "exports/exports.h"
#include "nfsd/figures/merged.h"
#include "nfsd/figures/usage_text.h"

#define LABEL_MAX     (FIGURES_LABEL(EXPORTS_PATH_MAX) + ADDR_STRLEN + 32)
#define LINE_MORE     120 /* bytes of a line beside its labels, at most */
#define SHARE	      3 / 4 /* of the text is for exports and clients */
#define EXPORT_COUNTS 5

/* clang-format off */
static const struct {
	const char *name, *help;
	enum usage_count count;
} counts[EXPORT_COUNTS] = {
	{ "calls_total",         "calls answered", USAGE_CALLS },
	{ "errors_total",        "calls answered with an error", USAGE_ERRORS },
	{ "refused_total",       "calls refused by client, handle or read-only export", USAGE_REFUSED },
	{ "read_bytes_total",    "bytes read", USAGE_READ },
	{ "written_bytes_total", "bytes written", USAGE_WRITTEN },
};
/* clang-format on */

/* The rows that are shown, the last used first. */
struct shown {
	const struct usage_row *rows[MERGED_MAX];
	size_t n;
	size_t room; /* bytes of text that are left for them */
	uint64_t left_out;
};

static uint64_t
value(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static int
by_last(const void *a, const void *b)
{
	uint64_t x = value(&(*(const struct usage_row *const *)a)->last);
	uint64_t y = value(&(*(const struct usage_row *const *)b)->last);

	return x < y ? 1 : x > y ? -1 : 0;
}

/* The labels of a row: its export, and its client if it has one. */
static const char *
labels(char out[LABEL_MAX], const struct usage_row *row,
    const struct usage_paths *paths)
{
	char from[ADDR_STRLEN], name[FIGURES_LABEL(EXPORTS_PATH_MAX)];
	const char *path = row->export > UINT16_MAX ?
	    NULL :
	    paths->path(paths->arg, (uint16_t)row->export);
	struct addr client = row->from;

	client.port = 0;
	if (path != NULL)
		(void)figures_label(name, path,
		    strnlen(path, EXPORTS_PATH_MAX));
	else if (row->export == 0)
		name[0] = '\0';
	else /* it is not listed now */
		(void)snprintf(name, sizeof(name), "#%u", row->export);
	if (row->from.family == 0)
		(void)snprintf(out, LABEL_MAX, "export=\"%s\"", name);
	else
		(void)snprintf(out, LABEL_MAX, "client=\"%s\",export=\"%s\"",
		    addr_print(&client, from), name);
	return out;
}

/* Keeps the rows that fit, with so many lines each. */
static void
cut(struct shown *s, size_t max, size_t lines, const struct usage_paths *paths)
{
	char text[LABEL_MAX];
	size_t i, need;

	qsort(s->rows, s->n, sizeof(s->rows[0]), by_last);
	for (i = 0; i < s->n && i < max; i++) {
		need = lines *
		    (strlen(labels(text, s->rows[i], paths)) + LINE_MORE);
		if (need > s->room)
			break;
		s->room -= need;
	}
	s->left_out += s->n - i;
	s->n = i;
}

static void
choose(struct shown *s, const struct merged *m, bool clients)
{
	size_t i;

	s->n = 0;
	for (i = 0; i < MERGED; i++)
		if (value(&m->rows[i].turn) != 0 &&
		    (m->rows[i].from.family != 0) == clients)
			s->rows[s->n++] = &m->rows[i];
}

static void
put_counts(struct figures *f, const struct shown *s, const char *of,
    const struct usage_paths *paths)
{
	char name[64], text[LABEL_MAX];
	size_t i, k;

	for (k = 0; k < EXPORT_COUNTS; k++) {
		(void)snprintf(name, sizeof(name), "nfsd_%s_%s", of,
		    counts[k].name);
		figures_head(f, name, "counter", counts[k].help);
		for (i = 0; i < s->n; i++)
			figures_put(f, "tern_%s{%s} %llu\n", name,
			    labels(text, s->rows[i], paths),
			    (unsigned long long)
				value(&s->rows[i]->counts[counts[k].count]));
	}
}

static void
put_latency(struct figures *f, const struct shown *s,
    const struct usage_paths *paths)
{
	uint64_t buckets[USAGE_BUCKETS];
	char text[LABEL_MAX];
	size_t i, k;

	figures_head(f, "nfsd_export_latency_seconds", "histogram",
	    "from call to reply");
	for (i = 0; i < s->n; i++) {
		const struct usage_row *row = s->rows[i];

		for (k = 0; k < USAGE_BUCKETS; k++)
			buckets[k] = value(&row->latency[k]);
		figures_histogram(f, "nfsd_export_latency_seconds",
		    labels(text, row, paths), buckets, USAGE_BUCKETS,
		    value(&row->counts[USAGE_CALLS]),
		    value(&row->counts[USAGE_NS]));
	}
}

void
usage_text(const struct stats *const *stats, size_t n,
    const struct usage_paths *paths, struct figures *f)
{
	static struct merged merged;
	static struct shown shown;

	merged_fill(&merged, stats, n);
	shown = (struct shown){ .room = (f->size - f->len) * SHARE,
		.left_out = merged.left_out };
	choose(&shown, &merged, false);
	cut(&shown, MERGED_MAX, EXPORT_COUNTS + USAGE_BUCKETS + 2, paths);
	put_counts(f, &shown, "export", paths);
	put_latency(f, &shown, paths);
	choose(&shown, &merged, true);
	cut(&shown, USAGE_TEXT_CLIENTS, EXPORT_COUNTS, paths);
	put_counts(f, &shown, "client", paths);
	figures_one(f, "nfsd_rows_left_out_total", "counter",
	    "exports and clients that made room for others", shown.left_out);
}

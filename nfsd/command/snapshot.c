/* SPDX-License-Identifier: ISC */
/*
 * Counters at one moment: see snapshot.h.
 * Runs in: nfsd -S.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "nfsd/command/ask.h"
#include "nfsd/command/snapshot.h"

/* Reads the next number of a line; 0 if there is none. */
static uint64_t
next_number(char **line)
{
	const char *word = strsep(line, " ");

	return word == NULL ? 0 : strtoull(word, NULL, 10);
}

static const char *
next_word(char **line)
{
	const char *word = strsep(line, " ");

	return word == NULL ? "-" : word;
}

/* "client ADDRESS EXPORT since last kinds counts latency", or an export's. */
static void
read_row(struct snapshot_row *row, const char *kind, char *line)
{
	char *latency;
	size_t i;

	if (strcmp(kind, "client") == 0)
		row->client = next_word(&line);
	row->export = next_word(&line);
	row->since_ms = next_number(&line);
	row->last_ms = next_number(&line);
	row->kinds = (uint32_t)next_number(&line);
	for (i = 0; i < USAGE_COUNTS; i++)
		row->counts[i] = next_number(&line);
	for (i = 0, latency = line; i < USAGE_BUCKETS && latency != NULL; i++)
		row->latency[i] = strtoull(strsep(&latency, ","), NULL, 10);
}

static size_t
count_lines(const char *text)
{
	size_t n = 0;

	for (; *text != '\0'; text++)
		n += *text == '\n';
	return n;
}

struct snapshot *
snapshot_take(const char *path)
{
	struct snapshot *s = calloc(1, sizeof(*s));
	char *next, *line;
	const char *kind;

	if (s == NULL)
		fatal("statistics");
	s->text = ask(path, "live");
	if (s->text == NULL) {
		free(s);
		return NULL;
	}
	s->rows = calloc(count_lines(s->text) + 1, sizeof(*s->rows));
	if (s->rows == NULL)
		fatal("statistics");
	next = s->text;
	while ((line = strsep(&next, "\n")) != NULL) {
		kind = next_word(&line);
		if (strcmp(kind, "tern") == 0) {
			(void)next_number(&line); /* the version of the text */
			s->now_ms = next_number(&line);
			s->workers = next_number(&line);
			s->connections = next_number(&line);
			s->waiting = next_number(&line);
			s->left_out = next_number(&line);
		} else if (*kind != '\0')
			read_row(&s->rows[s->n++], kind, line);
	}
	return s;
}

void
snapshot_free(struct snapshot *s)
{
	if (s == NULL)
		return;
	free(s->rows);
	free(s->text);
	free(s);
}

static bool
same(const struct snapshot_row *a, const struct snapshot_row *b)
{
	return (a->client == NULL) == (b->client == NULL) &&
	    strcmp(a->export, b->export) == 0 &&
	    (a->client == NULL || strcmp(a->client, b->client) == 0);
}

const struct snapshot_row *
snapshot_find(const struct snapshot *s, const struct snapshot_row *row)
{
	size_t i;

	for (i = 0; s != NULL && i < s->n; i++)
		if (same(&s->rows[i], row))
			return &s->rows[i];
	return NULL;
}

void
snapshot_since(struct snapshot *s, const struct snapshot *before)
{
	static const struct snapshot_row none;
	const struct snapshot_row *old;
	struct snapshot_row *row;
	size_t i, k;

	for (i = 0; i < s->n; i++) {
		row = &s->rows[i];
		old = snapshot_find(before, row);
		row->seconds = before == NULL ?
		    (double)row->since_ms / 1000 :
		    (double)(s->now_ms - before->now_ms) / 1000;
		/* A row that made room began again. */
		if (old == NULL ||
		    old->counts[USAGE_CALLS] > row->counts[USAGE_CALLS])
			old = &none;
		for (k = 0; k < USAGE_COUNTS; k++)
			row->in_counts[k] = row->counts[k] - old->counts[k];
		for (k = 0; k < USAGE_BUCKETS; k++)
			row->in_latency[k] = row->latency[k] - old->latency[k];
	}
}

double
snapshot_rate(const struct snapshot_row *row, enum usage_count what)
{
	return row->seconds <= 0 ? 0 :
				   (double)row->in_counts[what] / row->seconds;
}

unsigned long long
snapshot_percentile(const struct snapshot_row *row, unsigned int percent)
{
	uint64_t all = 0, below = 0;
	size_t i;

	for (i = 0; i < USAGE_BUCKETS; i++)
		all += row->in_latency[i];
	if (all == 0)
		return 0;
	for (i = 0; i < USAGE_BUCKETS - 1; i++) {
		below += row->in_latency[i];
		if (below * 100 >= all * percent)
			break;
	}
	return 1ULL << i;
}

static double
weight(const struct snapshot_row *row, enum snapshot_order order)
{
	switch (order) {
	case SNAPSHOT_BY_READ:
		return snapshot_rate(row, USAGE_READ);
	case SNAPSHOT_BY_WRITTEN:
		return snapshot_rate(row, USAGE_WRITTEN);
	case SNAPSHOT_BY_LATENCY:
		return (double)snapshot_percentile(row, 99);
	case SNAPSHOT_BY_ERRORS:
		return (double)row->counts[USAGE_ERRORS];
	case SNAPSHOT_BY_REFUSED:
		return (double)row->counts[USAGE_REFUSED];
	case SNAPSHOT_BY_NAME:
		return 0;
	case SNAPSHOT_BY_CALLS:
	case SNAPSHOT_ORDERS:
		break;
	}
	return snapshot_rate(row, USAGE_CALLS);
}

static int
compare(const void *left, const void *right)
{
	const struct snapshot_row *a = left, *b = right;
	int order;

	if ((a->client == NULL) != (b->client == NULL))
		return a->client == NULL ? -1 : 1;
	if (a->weight < b->weight || a->weight > b->weight)
		return a->weight < b->weight ? 1 : -1;
	order = a->client == NULL ? 0 : strcmp(a->client, b->client);
	return order != 0 ? order : strcmp(a->export, b->export);
}

void
snapshot_sort(struct snapshot *s, enum snapshot_order order)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		s->rows[i].weight = weight(&s->rows[i], order);
	qsort(s->rows, s->n, sizeof(*s->rows), compare);
}

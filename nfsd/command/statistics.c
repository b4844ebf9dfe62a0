/* SPDX-License-Identifier: ISC */
/*
 * nfsd -S: the table of the procedures, made from the text of the request
 * "stats", and what happens in each interval.
 * Runs in: nfsd -S.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"
#include "nfsd/command/ask.h"
#include "nfsd/command/live.h"
#include "nfsd/command/recent.h"
#include "nfsd/command/snapshot.h"
#include "nfsd/command/statistics.h"
#include "nfsd/command/table.h"
#include "nfsd/control.h"
#include "nfsd/stats.h"

/* The counters of a procedure. */
struct row {
	char name[16];
	uint32_t version;
	uint64_t calls, errors, bytes, ns;
};

/*
 * Returns the row for the labels {version="3",procedure="READ"} of a line, or
 * NULL.
 */
static struct row *
row_of(struct row *rows, size_t *n, const char *labels)
{
	char name[16];
	unsigned int version;
	size_t i;

	if (sscanf(labels, "{version=\"%u\",procedure=\"%15[A-Z]\"", &version,
		name) != 2)
		return NULL;
	for (i = 0; i < *n; i++)
		if (rows[i].version == version &&
		    strcmp(rows[i].name, name) == 0)
			return &rows[i];
	if (*n == STATS_PROCS)
		return NULL;
	rows[i].version = version;
	memcpy(rows[i].name, name, sizeof(name));
	return &rows[(*n)++];
}

#define HANDLES "tern_nfsd_handles_info{"

/* Writes a counter that belongs to no procedure. */
static void
put_counter(const char *line, bool json)
{
	const char *name = line + strlen("tern_nfsd_");
	int len = (int)strcspn(name, " ");

	if (json)
		printf("\"%.*s\":%s,", len, name, name + len + 1);
	else
		printf("%s\n", name);
}

/* Adds the value of a line to its row, or writes the line if it has none. */
static void
read_line(struct row *rows, size_t *n, const char *line, bool json)
{
	static const struct {
		const char *name;
		size_t offset;
	} fields[] = {
		{ "tern_nfsd_calls_total", offsetof(struct row, calls) },
		{ "tern_nfsd_errors_total", offsetof(struct row, errors) },
		{ "tern_nfsd_bytes_total", offsetof(struct row, bytes) },
	};
	const char *number = strrchr(line, ' ');
	struct row *row;
	uint64_t v;
	size_t i, len;

	for (i = 0; i < nitems(fields) && number != NULL; i++) {
		len = strlen(fields[i].name);
		if (strncmp(line, fields[i].name, len) != 0)
			continue;
		row = row_of(rows, n, line + len);
		v = strtoull(number, NULL, 10);
		if (row != NULL)
			memcpy((char *)row + fields[i].offset, &v, sizeof(v));
	}
	if (strncmp(line, "tern_nfsd_latency_seconds_sum", 29) == 0 &&
	    number != NULL && (row = row_of(rows, n, line + 29)) != NULL)
		row->ns = (uint64_t)(strtod(number, NULL) * 1e9);
	else if (line[0] != '#' &&
	    (strchr(line, '{') == NULL ||
		(!json && strncmp(line, HANDLES, strlen(HANDLES)) == 0)))
		put_counter(line, json);
}

static double
mean_us(const struct row *row)
{
	return row->calls == 0 ? 0 :
				 (double)row->ns / 1000.0 / (double)row->calls;
}

static void
print_table(const struct row *rows, size_t n)
{
	size_t i;

	printf("\n%-4s %-12s %12s %10s %14s %10s\n", "nfs", "procedure",
	    "calls", "errors", "bytes", "mean us");
	for (i = 0; i < n; i++)
		printf("%-4u %-12s %12llu %10llu %14llu %10.1f\n",
		    rows[i].version, rows[i].name,
		    (unsigned long long)rows[i].calls,
		    (unsigned long long)rows[i].errors,
		    (unsigned long long)rows[i].bytes, mean_us(&rows[i]));
}

static void
print_json(const struct row *rows, size_t n)
{
	size_t i;

	printf("\"procedures\":[");
	for (i = 0; i < n; i++)
		printf("%s{\"version\":%u,\"procedure\":\"%s\",\"calls\":%llu,"
		       "\"errors\":%llu,\"bytes\":%llu,\"mean_us\":%.1f}",
		    i == 0 ? "" : ",", rows[i].version, rows[i].name,
		    (unsigned long long)rows[i].calls,
		    (unsigned long long)rows[i].errors,
		    (unsigned long long)rows[i].bytes, mean_us(&rows[i]));
	printf("],");
}

/* All counters since the start, once. */
static int
print_once(const struct statistics *s)
{
	static struct row rows[STATS_PROCS];
	struct snapshot *now = s->json ? snapshot_take(s->path) : NULL;
	char *text = ask(s->path, "stats"), *line, *next = text;
	size_t n = 0;

	if (text == NULL || (s->json && now == NULL))
		return 1;
	if (s->json)
		printf("{");
	while ((line = strsep(&next, "\n")) != NULL)
		if (strncmp(line, "tern_nfsd_", 10) == 0)
			read_line(rows, &n, line, s->json);
	if (s->json) {
		print_json(rows, n);
		snapshot_since(now, NULL);
		json_snapshot(stdout, now);
		printf("}\n");
	} else
		print_table(rows, n);
	snapshot_free(now);
	free(text);
	return 0;
}

static void
pause_for(unsigned int seconds)
{
	struct timespec left = { .tv_sec = seconds };

	while (nanosleep(&left, &left) == -1 && errno == EINTR)
		continue;
}

static void
print_interval(struct snapshot *now, double seconds, bool json)
{
	if (!json) {
		table_print(stdout, now);
		return;
	}
	printf("{\"interval_s\":%.3f,", seconds);
	json_gauges(stdout, now);
	json_snapshot(stdout, now);
	printf("}\n");
}

/* What happened in each interval; the first one is the time since the start. */
static int
print_often(const struct statistics *s)
{
	struct snapshot *now, *before = NULL;
	unsigned int i;

	for (i = 0; s->count == 0 || i < s->count; i++) {
		if (i > 0)
			pause_for(s->seconds);
		now = snapshot_take(s->path);
		if (now == NULL)
			return 1;
		snapshot_since(now, before);
		snapshot_sort(now, SNAPSHOT_BY_CALLS);
		print_interval(now,
		    before == NULL ?
			0 :
			(double)(now->now_ms - before->now_ms) / 1000,
		    s->json);
		snapshot_free(before);
		before = now;
		if (fflush(stdout) == EOF)
			return 1;
	}
	snapshot_free(before);
	return 0;
}

/* nfsd keeps calls from the first question on. Without seconds, prints once. */
static int
print_files(const struct statistics *s)
{
	unsigned int count = s->seconds == 0 ? 1 : s->count, i;
	char *text = ask(s->path, "files");

	for (i = 0; text != NULL && (count == 0 || i < count); i++) {
		free(text);
		pause_for(s->seconds == 0 ? 1 : s->seconds);
		text = ask(s->path, "files");
		if (text != NULL)
			recent_print(stdout, text, s->json);
		if (fflush(stdout) == EOF)
			break;
	}
	if (text == NULL)
		return 1;
	free(text);
	return 0;
}

static int
end_client(const struct statistics *s)
{
	char request[CONTROL_REQUEST_MAX];
	char *text;

	(void)snprintf(request, sizeof(request), "end %s", s->end);
	text = ask(s->path, request);
	if (text == NULL)
		return 1;
	printf("%s", text);
	free(text);
	return 0;
}

int
statistics_run(const struct statistics *s)
{
	if (s->end != NULL)
		return end_client(s);
	if (s->files)
		return print_files(s);
	if (s->seconds == 0)
		return print_once(s);
	if (!s->json && s->count == 0 && isatty(STDIN_FILENO) &&
	    isatty(STDOUT_FILENO))
		return live_run(s->path, s->seconds);
	return print_often(s);
}

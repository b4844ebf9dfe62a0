/* SPDX-License-Identifier: ISC */
/*
 * Rows as lines of text: see table.h. All text of the answer is escaped, so it
 * can be printed on a terminal.
 * Runs in: nfsd -S.
 */
#include <string.h>

#include "base/clock.h"
#include "base/util.h"
#include "nfsd/command/snapshot.h"
#include "nfsd/command/table.h"

#define MIB  1048576.0
#define CELL ADDR_STRLEN /* bytes of a cell: the longest is an address */

/* "3s", "12m", "5h", "8d". */
static void
show_age(char out[CELL], uint64_t ms)
{
	unsigned long long s = ms / 1000;

	if (s < 100)
		(void)snprintf(out, CELL, "%llus", s);
	else if (s < 6000)
		(void)snprintf(out, CELL, "%llum", s / 60);
	else if (s < 360000)
		(void)snprintf(out, CELL, "%lluh", s / 3600);
	else
		(void)snprintf(out, CELL, "%llud", s / 86400);
}

/* "3", "2,3". */
static const char *
show_versions(uint32_t kinds)
{
	if ((kinds & USAGE_V2) == 0)
		return "3";
	return (kinds & USAGE_V3) == 0 ? "2" : "2,3";
}

/* "tcp", "tls", "udp,tcp". */
static const char *
show_transports(uint32_t kinds)
{
	bool udp = (kinds & USAGE_UDP) != 0;

	if ((kinds & USAGE_TLS) != 0)
		return udp ? "udp,tls" : "tls";
	if ((kinds & USAGE_TCP) == 0)
		return "udp";
	return udp ? "udp,tcp" : "tcp";
}

/* Microseconds of a bucket. */
static void
show_us(char out[CELL], unsigned long long us)
{
	if (us == 0)
		(void)snprintf(out, CELL, "-");
	else if (us < 10000)
		(void)snprintf(out, CELL, "%lluus", us);
	else if (us < 10000000)
		(void)snprintf(out, CELL, "%llums", us / 1000);
	else
		(void)snprintf(out, CELL, "%llus", us / 1000000);
}

static void
show_client(char out[CELL], const struct snapshot_row *row)
{
	(void)snprintf(out, CELL, "%s",
	    row->client == NULL ? "(all)" : row->client);
}

static void
show_since(char out[CELL], const struct snapshot_row *row)
{
	show_age(out, row->since_ms);
}

static void
show_nfs(char out[CELL], const struct snapshot_row *row)
{
	(void)snprintf(out, CELL, "%s", show_versions(row->kinds));
}

static void
show_by(char out[CELL], const struct snapshot_row *row)
{
	(void)snprintf(out, CELL, "%s", show_transports(row->kinds));
}

static void
show_calls(char out[CELL], const struct snapshot_row *row)
{
	(void)snprintf(out, CELL, "%.1f", snapshot_rate(row, USAGE_CALLS));
}

static void
show_read(char out[CELL], const struct snapshot_row *row)
{
	(void)snprintf(out, CELL, "%.2f", snapshot_rate(row, USAGE_READ) / MIB);
}

static void
show_written(char out[CELL], const struct snapshot_row *row)
{
	(void)snprintf(out, CELL, "%.2f",
	    snapshot_rate(row, USAGE_WRITTEN) / MIB);
}

static void
show_p50(char out[CELL], const struct snapshot_row *row)
{
	show_us(out, snapshot_percentile(row, 50));
}

static void
show_p99(char out[CELL], const struct snapshot_row *row)
{
	show_us(out, snapshot_percentile(row, 99));
}

static void
show_errors(char out[CELL], const struct snapshot_row *row)
{
	(void)snprintf(out, CELL, "%llu",
	    (unsigned long long)row->counts[USAGE_ERRORS]);
}

static void
show_refused(char out[CELL], const struct snapshot_row *row)
{
	(void)snprintf(out, CELL, "%llu",
	    (unsigned long long)row->counts[USAGE_REFUSED]);
}

/* The columns before the export. Negative: text begins at the left. */
/* clang-format off */
static const struct {
	const char *head;
	int width[TABLE_SIZES]; /* 0: left out */
	void (*show)(char out[CELL], const struct snapshot_row *);
} columns[] = {
	{ "client",   { [TABLE_WIDE] = -20, [TABLE_NARROW] = -16 }, show_client },
	{ "since",    { [TABLE_WIDE] = 5,   [TABLE_NARROW] = 0 },   show_since },
	{ "nfs",      { [TABLE_WIDE] = 4,   [TABLE_NARROW] = 0 },   show_nfs },
	{ "by",       { [TABLE_WIDE] = -8,  [TABLE_NARROW] = 0 },   show_by },
	{ "calls/s",  { [TABLE_WIDE] = 9,   [TABLE_NARROW] = 8 },   show_calls },
	{ "rd MiB/s", { [TABLE_WIDE] = 9,   [TABLE_NARROW] = 8 },   show_read },
	{ "wr MiB/s", { [TABLE_WIDE] = 9,   [TABLE_NARROW] = 8 },   show_written },
	{ "p50",      { [TABLE_WIDE] = 7,   [TABLE_NARROW] = 0 },   show_p50 },
	{ "p99",      { [TABLE_WIDE] = 7,   [TABLE_NARROW] = 6 },   show_p99 },
	{ "errors",   { [TABLE_WIDE] = 8,   [TABLE_NARROW] = 6 },   show_errors },
	{ "refused",  { [TABLE_WIDE] = 8,   [TABLE_NARROW] = 7 },   show_refused },
};
/* clang-format on */

/* Writes the heading, or a row. */
static void
write_cells(char out[TABLE_LINE], const struct snapshot_row *row,
    enum table_size size)
{
	char cell[CELL];
	size_t i, len = 0;
	int n;

	for (i = 0; i < nitems(columns) && len < TABLE_LINE; i++) {
		if (columns[i].width[size] == 0)
			continue;
		if (row == NULL)
			(void)snprintf(cell, sizeof(cell), "%s",
			    columns[i].head);
		else
			columns[i].show(cell, row);
		n = snprintf(out + len, TABLE_LINE - len, "%*s ",
		    columns[i].width[size], cell);
		len += n > 0 ? (size_t)n : 0;
	}
	if (len < TABLE_LINE)
		(void)snprintf(out + len, TABLE_LINE - len, " %s",
		    row == NULL ? "export" : row->export);
}

void
table_head(char out[TABLE_LINE], enum table_size size)
{
	write_cells(out, NULL, size);
}

void
table_line(char out[TABLE_LINE], const struct snapshot_row *row,
    enum table_size size)
{
	write_cells(out, row, size);
}

void
table_summary(char out[TABLE_LINE], const struct snapshot *s)
{
	char when[32] = "", more[64] = "";
	time_t now = clock_wall().tv_sec;
	struct tm tm;

	if (localtime_r(&now, &tm) != NULL)
		(void)strftime(when, sizeof(when), "%T", &tm);
	if (s->left_out > 0)
		(void)snprintf(more, sizeof(more), ", %llu clients left out",
		    (unsigned long long)s->left_out);
	(void)snprintf(out, TABLE_LINE,
	    "%s  %llu workers, %llu connections, %llu calls waiting%s", when,
	    (unsigned long long)s->workers, (unsigned long long)s->connections,
	    (unsigned long long)s->waiting, more);
}

void
table_print(FILE *to, const struct snapshot *s)
{
	char line[TABLE_LINE];
	size_t i;

	table_summary(line, s);
	fprintf(to, "%s\n", line);
	table_head(line, TABLE_WIDE);
	fprintf(to, "%s\n", line);
	for (i = 0; i < s->n; i++) {
		table_line(line, &s->rows[i], TABLE_WIDE);
		fprintf(to, "%s\n", line);
	}
	fprintf(to, "\n");
}

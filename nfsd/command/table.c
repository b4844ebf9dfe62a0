/* SPDX-License-Identifier: ISC */
/*
 * Rows as lines of text: see table.h. All text of the answer is escaped, so it
 * can be printed on a terminal.
 * Runs in: nfsd -S.
 */
#include <string.h>

#include "base/clock.h"
#include "nfsd/command/snapshot.h"
#include "nfsd/command/table.h"

#define MIB 1048576.0

/* "3s", "12m", "5h", "8d". */
static void
show_age(char out[16], uint64_t ms)
{
	unsigned long long s = ms / 1000;

	if (s < 100)
		(void)snprintf(out, 16, "%llus", s);
	else if (s < 6000)
		(void)snprintf(out, 16, "%llum", s / 60);
	else if (s < 360000)
		(void)snprintf(out, 16, "%lluh", s / 3600);
	else
		(void)snprintf(out, 16, "%llud", s / 86400);
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
show_us(char out[16], unsigned long long us)
{
	if (us == 0)
		(void)snprintf(out, 16, "-");
	else if (us < 10000)
		(void)snprintf(out, 16, "%lluus", us);
	else if (us < 10000000)
		(void)snprintf(out, 16, "%llums", us / 1000);
	else
		(void)snprintf(out, 16, "%llus", us / 1000000);
}

void
table_head(char out[TABLE_LINE])
{
	(void)snprintf(out, TABLE_LINE,
	    "%-20s %5s %4s %-8s %9s %9s %9s %7s %7s %8s %8s  %s", "client",
	    "since", "nfs", "by", "calls/s", "read MB/s", "writ MB/s", "p50",
	    "p99", "errors", "refused", "export");
}

void
table_line(char out[TABLE_LINE], const struct snapshot_row *row)
{
	char age[16], p50[16], p99[16];

	show_age(age, row->since_ms);
	show_us(p50, snapshot_percentile(row, 50));
	show_us(p99, snapshot_percentile(row, 99));
	(void)snprintf(out, TABLE_LINE,
	    "%-20s %5s %4s %-8s %9.1f %9.2f %9.2f %7s %7s %8llu %8llu  %s",
	    row->client == NULL ? "(all)" : row->client, age,
	    show_versions(row->kinds), show_transports(row->kinds),
	    snapshot_rate(row, USAGE_CALLS),
	    snapshot_rate(row, USAGE_READ) / MIB,
	    snapshot_rate(row, USAGE_WRITTEN) / MIB, p50, p99,
	    (unsigned long long)row->counts[USAGE_ERRORS],
	    (unsigned long long)row->counts[USAGE_REFUSED], row->export);
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
	table_head(line);
	fprintf(to, "%s\n", line);
	for (i = 0; i < s->n; i++) {
		table_line(line, &s->rows[i]);
		fprintf(to, "%s\n", line);
	}
	fprintf(to, "\n");
}

/* SPDX-License-Identifier: ISC */
/*
 * A snapshot as JSON (RFC 8259). Paths and names are any bytes. What is UTF-8 is
 * written as it is, and every other byte as a backslash and three octal digits,
 * which a reader of JSON sees as four characters.
 * Runs in: nfsd -S.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/name.h"
#include "base/text.h"
#include "base/util.h"
#include "nfsd/command/snapshot.h"
#include "nfsd/command/table.h"

static void
put_byte(FILE *to, unsigned char c)
{
	if (c == '"' || c == '\\')
		fprintf(to, "\\%c", c);
	else if (c < ' ' || c == 0x7f)
		fprintf(to, "\\u%04x", c);
	else if (c < 0x80)
		fputc(c, to);
	else
		fprintf(to, "\\\\%03o", c);
}

void
json_word(FILE *to, const char *word)
{
	char *plain = strdup(word);
	const uint8_t *at;
	size_t left, n;
	uint32_t c;

	if (plain == NULL)
		fatal("statistics");
	text_unescape(plain);
	fputc('"', to);
	at = (const uint8_t *)plain;
	for (left = strlen(plain); left > 0; at += n, left -= n) {
		n = *at < 0x80 ? 1 : name_get_utf8(at, left, &c);
		if (n > 1)
			fwrite(at, 1, n, to);
		else {
			n = 1;
			put_byte(to, *at);
		}
	}
	fputc('"', to);
	free(plain);
}

static void
put_kinds(FILE *to, uint32_t kinds)
{
	static const struct {
		uint32_t bit;
		const char *text;
	} transports[] = {
		{ USAGE_UDP, "udp" },
		{ USAGE_TCP, "tcp" },
		{ USAGE_TLS, "tls" },
	};
	const char *comma = "";
	size_t i;

	fprintf(to, "\"versions\":[%s%s%s],\"transports\":[",
	    (kinds & USAGE_V2) != 0 ? "2" : "",
	    (kinds & USAGE_V2) != 0 && (kinds & USAGE_V3) != 0 ? "," : "",
	    (kinds & USAGE_V3) != 0 ? "3" : "");
	for (i = 0; i < nitems(transports); i++)
		if ((kinds & transports[i].bit) != 0) {
			fprintf(to, "%s\"%s\"", comma, transports[i].text);
			comma = ",";
		}
	fprintf(to, "],");
}

static void
put_row(FILE *to, const struct snapshot_row *row)
{
	static const char *const names[USAGE_COUNTS] = {
		[USAGE_CALLS] = "calls",
		[USAGE_ERRORS] = "errors",
		[USAGE_REFUSED] = "refused",
		[USAGE_READ] = "read_bytes",
		[USAGE_WRITTEN] = "written_bytes",
		[USAGE_NS] = "busy_ns",
	};
	size_t i;

	fprintf(to, "{");
	if (row->client != NULL) {
		fprintf(to, "\"client\":");
		json_word(to, row->client);
		fprintf(to, ",");
	}
	fprintf(to, "\"export\":");
	if (strcmp(row->export, "-") == 0)
		fprintf(to, "null");
	else
		json_word(to, row->export);
	fprintf(to, ",\"since_s\":%.3f,\"last_s\":%.3f,",
	    (double)row->since_ms / 1000, (double)row->last_ms / 1000);
	put_kinds(to, row->kinds);
	for (i = 0; i < USAGE_COUNTS; i++)
		fprintf(to, "\"%s\":%llu,\"%s_per_s\":%.3f,", names[i],
		    (unsigned long long)row->counts[i], names[i],
		    snapshot_rate(row, (enum usage_count)i));
	fprintf(to, "\"p50_us\":%llu,\"p99_us\":%llu}",
	    snapshot_percentile(row, 50), snapshot_percentile(row, 99));
}

static void
put_rows(FILE *to, const struct snapshot *s, bool clients)
{
	const char *comma = "";
	size_t i;

	for (i = 0; i < s->n; i++)
		if ((s->rows[i].client != NULL) == clients) {
			fprintf(to, "%s", comma);
			put_row(to, &s->rows[i]);
			comma = ",";
		}
}

void
json_gauges(FILE *to, const struct snapshot *s)
{
	fprintf(to, "\"connections\":%llu,\"calls_waiting\":%llu,",
	    (unsigned long long)s->connections, (unsigned long long)s->waiting);
}

void
json_snapshot(FILE *to, const struct snapshot *s)
{
	fprintf(to, "\"workers\":%llu,\"clients_left_out\":%llu,\"exports\":[",
	    (unsigned long long)s->workers, (unsigned long long)s->left_out);
	put_rows(to, s, false);
	fprintf(to, "],\"clients\":[");
	put_rows(to, s, true);
	fprintf(to, "]");
}

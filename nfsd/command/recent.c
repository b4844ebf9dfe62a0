/* SPDX-License-Identifier: ISC */
/*
 * The last calls: see recent.h.
 * Runs in: nfsd -S --files.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "nfsd/command/recent.h"

static int
newer(const void *left, const void *right)
{
	const struct recent_call *a = left, *b = right;

	return a->age_ms < b->age_ms ? -1 : a->age_ms > b->age_ms;
}

/* Finds the name of the call's file in another call. */
static void
name_from_others(struct recent_call *calls, size_t n, struct recent_call *c)
{
	size_t i;

	if (strcmp(c->name, "-") != 0 || strcmp(c->fileid, "0") == 0)
		return;
	for (i = 0; i < n; i++)
		if (strcmp(calls[i].procedure, "LOOKUP") == 0 &&
		    strcmp(calls[i].status, "OK") == 0 &&
		    strcmp(calls[i].fileid, c->fileid) == 0 &&
		    strcmp(calls[i].export, c->export) == 0) {
			c->name = calls[i].name;
			return;
		}
}

/* "call AGE TIMES ADDRESS UID EXPORT VERSION PROCEDURE STATUS FILEID NAME". */
static bool
read_call(struct recent_call *c, char *line)
{
	const char **words[] = { &c->client, &c->uid, &c->export, &c->version,
		&c->procedure, &c->status, &c->fileid, &c->name };
	const char *word = strsep(&line, " ");
	size_t i;

	if (strcmp(word, "call") != 0 || line == NULL)
		return false;
	c->age_ms = strtoull(strsep(&line, " "), NULL, 10);
	if (line == NULL)
		return false;
	c->times = strtoull(strsep(&line, " "), NULL, 10);
	for (i = 0; i < nitems(words); i++) {
		*words[i] = strsep(&line, " ");
		if (*words[i] == NULL)
			return false;
	}
	return true;
}

struct recent_call *
recent_read(char *text, size_t *n)
{
	struct recent_call *calls;
	size_t lines = 1, i;
	char *line;

	for (i = 0; text[i] != '\0'; i++)
		lines += text[i] == '\n';
	*n = 0;
	calls = calloc(lines, sizeof(*calls));
	if (calls == NULL)
		return NULL;
	while ((line = strsep(&text, "\n")) != NULL)
		if (*n < lines && read_call(&calls[*n], line))
			++*n;
	qsort(calls, *n, sizeof(*calls), newer);
	for (i = 0; i < *n; i++)
		name_from_others(calls, *n, &calls[i]);
	return calls;
}

void
recent_line(char out[TABLE_LINE], const struct recent_call *c)
{
	char file[64];

	(void)snprintf(file, sizeof(file), "inode %s", c->fileid);
	(void)snprintf(out, TABLE_LINE,
	    "%5.1fs %5llux %-15s uid %-6s %s %-11s %-6s %s  %s",
	    (double)c->age_ms / 1000, c->times, c->client, c->uid, c->version,
	    c->procedure, c->status, c->export,
	    strcmp(c->name, "-") != 0	    ? c->name :
		strcmp(c->fileid, "0") != 0 ? file :
					      "");
}

static void
print_json(FILE *to, const struct recent_call *c)
{
	fprintf(to, "{\"age_s\":%.3f,\"times\":%llu,\"client\":",
	    (double)c->age_ms / 1000, c->times);
	json_word(to, c->client);
	fprintf(to, ",\"uid\":%s,\"export\":", c->uid);
	json_word(to, c->export);
	fprintf(to, ",\"version\":%s,\"procedure\":", c->version);
	json_word(to, c->procedure);
	fprintf(to, ",\"status\":");
	json_word(to, c->status);
	fprintf(to, ",\"fileid\":%s,\"name\":", c->fileid);
	json_word(to, c->name);
	fprintf(to, "}");
}

void
recent_print(FILE *to, char *text, bool json)
{
	size_t n, i;
	struct recent_call *calls = recent_read(text, &n);
	char line[TABLE_LINE];

	if (calls == NULL)
		fatal("statistics");
	if (json)
		fprintf(to, "{\"calls\":[");
	for (i = 0; i < n; i++)
		if (json) {
			fprintf(to, "%s", i == 0 ? "" : ",");
			print_json(to, &calls[i]);
		} else {
			recent_line(line, &calls[i]);
			fprintf(to, "%s\n", line);
		}
	if (n == 0 && !json && isatty(fileno(to)))
		fprintf(to, "no calls");
	fprintf(to, json ? "]}\n" : "\n");
	free(calls);
}

/* SPDX-License-Identifier: ISC */
/*
 * Inside the exports parser: what exports/parse.c (lines), exports/option.c
 * (options), exports/host.c (clients) and exports/finish.c share. Nobody else
 * includes this.
 * Runs in: wherever exports_parse() does.
 */
#ifndef EXPORTS_PARSE_H
#define EXPORTS_PARSE_H

#include "base/util.h"
#include "exports/exports.h"

#define EXPORTS_REPORTS_MAX   100 /* then the parser says so and stops */
#define EXPORTS_ADDRESSES_MAX 16 /* of one host name */
#define EXPORTS_OPTIONS_MAX   64 /* rows of the option table */

struct exports_parser {
	const struct exports_hooks *hooks;
	int reports;
	bool failed; /* an error was reported */
	/* Options that mean nothing here: bit = row; where the first was. */
	uint64_t idle;
	int idle_line, idle_column;
};

/* What an option list says, before it becomes a client entry. */
struct exports_draft {
	struct export_options options;
	char *aliases[EXPORTS_ALIASES_MAX]; /* owned */
	size_t naliases;
	bool has_fsid;
	uint32_t fsid;
	/* For warnings within one list: row that last spoke, by group. */
	const char *spoke[EXPORTS_OPTIONS_MAX];
};

/* Tells the caller of exports_parse(); an error makes the parse fail. */
void exports_report(struct exports_parser *, enum exports_severity, int line,
    int column, const char *fmt, ...) PRINTF_LIKE(5, 6);

/* The defaults: ro, root_squash, sync, secure, anonymous 65534. */
void exports_draft_init(struct exports_draft *);
/* False: out of memory; then the copy is empty. */
bool exports_draft_copy(struct exports_draft *, const struct exports_draft *);
void exports_draft_clear(struct exports_draft *);
/* Applies one option ("ro", "anonuid=99"); what is wrong is reported. */
void exports_option(struct exports_parser *, struct exports_draft *,
    const char *text, int line, int column);
/* The one warning about options that mean nothing here. */
void exports_option_idle(struct exports_parser *);
bool exports_options_equal(const struct export_options *,
    const struct export_options *);

/* A client as written: its prefixes; a host name may have several. */
struct exports_host {
	bool any;
	struct addr net[EXPORTS_ADDRESSES_MAX];
	unsigned int plen[EXPORTS_ADDRESSES_MAX];
	size_t n;
};

/* False when nothing can be matched; then it has been reported. */
bool exports_host(struct exports_parser *, struct exports_host *,
    const char *text, int line, int column);

/* Sorts, numbers and checks the list as a whole. */
void exports_finish(struct exports_parser *, struct exports *);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * Inside the exports parser: what parse.c (lines) shares with option.c, host.c
 * (clients), finish.c (the list as a whole) and report.c. Only these files
 * include this.
 * Runs in: wherever exports_parse() does.
 */
#ifndef EXPORTS_PARSE_H
#define EXPORTS_PARSE_H

#include "base/util.h"
#include "exports/exports.h"

#define EXPORTS_REPORTS_MAX   100 /* the last report says that it stops */
#define EXPORTS_ADDRESSES_MAX 512 /* of one host name or netgroup */
#define EXPORTS_OPTIONS_MAX   64 /* rows of the option table */

/* A place in a file. */
struct exports_at {
	int line, column; /* from 1 */
	const struct exports_source *source;
};

/* At the start of a line, this byte and a name begin the next file. */
#define EXPORTS_MARK '\001'

struct exports_parser {
	const struct exports_hooks *hooks;
	int reports;
	bool failed; /* an error was reported */
	/* Options without effect, a bit for each row; place of the first. */
	uint64_t idle;
	struct exports_at idle_at;
};

/* An option list, before it becomes a client entry. */
struct exports_draft {
	struct export_options options;
	char *aliases[EXPORTS_ALIASES_MAX]; /* owned */
	size_t naliases;
	bool has_fsid;
	uint32_t fsid;
	bool has_handles;
	enum fh_naming handles;
	/* The last option of each group in this list, for warnings. */
	const char *spoke[EXPORTS_OPTIONS_MAX];
};

/* report.c: both call the hook of exports_parse(). After an error there is no
 * list. */
extern const struct exports_at exports_top; /* the first character */
void exports_error(struct exports_parser *, struct exports_at, const char *fmt,
    ...) PRINTF_LIKE(3, 4);
void exports_warning(struct exports_parser *, struct exports_at,
    const char *fmt, ...) PRINTF_LIKE(3, 4);

/* option.c */
/* Sets the defaults: ro, root_squash, sync, secure, anonymous 65534. */
void exports_draft_init(struct exports_draft *);
/* Returns false if there is no memory; the copy is then empty. */
bool exports_draft_copy(struct exports_draft *, const struct exports_draft *);
void exports_draft_clear(struct exports_draft *);
/* Applies one option ("ro", "anonuid=99") and reports what is wrong. */
void exports_option(struct exports_parser *, struct exports_draft *,
    const char *text, struct exports_at);
/* Warns of the options without effect. */
void exports_option_idle(struct exports_parser *);
bool exports_options_equal(const struct export_options *,
    const struct export_options *);

/*
 * host.c: which hosts a client matches: a certificate, any host, or prefixes. A host name
 * may have several of those.
 */
struct exports_host {
	enum export_cert cert; /* 0: no certificate */
	uint8_t fingerprint[PEER_FINGERPRINT];
	bool any;
	struct addr net[EXPORTS_ADDRESSES_MAX];
	unsigned int plen[EXPORTS_ADDRESSES_MAX];
	size_t n;
};

/* Fills in a client. Returns false, after a report, if it is none. A name
 * without address is a client that matches no host. */
bool exports_host(struct exports_parser *, struct exports_host *,
    const char *text, struct exports_at);

/* finish.c: sorts the list, sets ids and checks the list as a whole. */
void exports_finish(struct exports_parser *, struct exports *);

#endif

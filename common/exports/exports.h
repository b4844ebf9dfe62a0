/* SPDX-License-Identifier: ISC */
/*
 * The export list: who may have what. Built by exports/parse.c from text,
 * then never changed; a reload builds a new list and swaps. Pure: no files, no
 * lookups, no logging, no clock.
 * Runs in: mountd (all roles), nfsd (all roles), tests, fuzzers.
 */
#ifndef EXPORTS_H
#define EXPORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

#define EXPORTS_PATH_MAX    1024 /* MNTPATHLEN */
#define EXPORTS_MAX	    1024
#define EXPORTS_CLIENTS_MAX 4096
#define EXPORTS_ALIASES_MAX 16
#define EXPORTS_TEXT_MAX    (1024 * 1024)
#define EXPORTS_ANON	    65534

enum export_names { NAMES_BYTES, NAMES_UTF16LE };

/* What one client of one export gets. Booleans are the non-default first. */
struct export_options {
	bool rw;
	bool no_root_squash;
	bool all_squash;
	bool insecure;
	bool async;
	bool crossmnt;
	bool nohide;
	bool subtree_check;
	bool mountpoint; /* serve only while something is mounted there */
	bool fold; /* names match without case and NFC/NFD form */
	bool fileid32; /* fold file numbers to 32 bits */
	enum export_names names;
	uint32_t anonuid;
	uint32_t anongid;
	uint32_t readsize; /* 0: the server's own limit */
	uint32_t writesize;
};

/* One client of an export: a prefix, or everybody. */
struct export_client {
	struct addr net;
	unsigned int plen;
	bool any; /* "*" */
	int line; /* where it was written */
	int column;
	char *text; /* as it was written: "10.0.0.0/8", "host.example" */
	struct export_options options;
	char *aliases[EXPORTS_ALIASES_MAX];
	size_t naliases;
};

struct export
{
	char *path; /* absolute, cleaned: no "//", ".", "..", no end slash */
	uint16_t id; /* from fsid= or a hash of the path; never 0 */
	bool has_fsid;
	uint32_t fsid;
	int line; /* first line that names it */
	/* Most specific first: the first match decides. */
	struct export_client *clients;
	size_t nclients;
};

struct exports {
	struct export *list; /* sorted by path */
	size_t n;
	uint16_t *by_id; /* indices into list, ascending by id */
};

enum exports_severity { EXPORTS_ERROR, EXPORTS_WARNING };

/* Hooks of the parser; arg is passed through. */
struct exports_hooks {
	/* One problem; several may be reported for one text. */
	void (*report)(void *arg, enum exports_severity, int line, int column,
	    const char *message);
	/*
	 * Addresses of a host name: fills at most max, returns how many, 0
	 * when unknown. NULL: names are errors.
	 */
	size_t (*resolve)(void *arg, const char *name, struct addr *,
	    size_t max);
	void *arg;
};

/* A new list, or NULL when anything was an error. Free with exports_free(). */
struct exports *exports_parse(const char *text, size_t len,
    const struct exports_hooks *);
void exports_free(struct exports *);

const struct export *exports_find_id(const struct exports *, uint16_t id);
/* By exact path (cleaned by the caller with exports_clean_path()). */
const struct export *exports_find_path(const struct exports *, const char *);
/* The longest export path that is path or an ancestor of it. */
const struct export *exports_find_above(const struct exports *, const char *);
/* Pure string clean-up into out; false: not absolute, too long, has "..". */
bool exports_clean_path(const char *path, size_t len,
    char out[EXPORTS_PATH_MAX + 1]);
/*
 * The client entry that decides for this host, or NULL: not allowed. An export
 * may show two faces, one for each dialect: for each, the most specific entry
 * that speaks it decides.
 */
const struct export_client *exports_client(const struct export *,
    const struct addr *host, enum export_names);
/* Does any client of the export speak this dialect? */
bool exports_speaks(const struct export *, enum export_names);
/* May any client enter what is mounted inside? */
bool exports_crossmnt(const struct export *);
/* Does the port rule ("secure") hold? */
bool exports_port_ok(const struct export_client *, const struct addr *host);

/* Where a path asked for in MNT leads. */
struct exports_place {
	const struct export *export; /* NULL: no export there */
	const struct export_client *client; /* NULL: not for this host */
	const char *alias; /* the alias that was used, or NULL */
	const char *below; /* what is left: "" or "sub/dir"; inside path */
};

/*
 * Finds the export of a cleaned path: an alias of this host in this dialect
 * when one fits at least as far as the export paths do.
 */
struct exports_place exports_place(const struct exports *, const char *path,
    const struct addr *host, enum export_names);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * The export list: which client may use which directory, and how. parse.c
 * builds it from text, and it never changes afterwards; a reload builds a new
 * list. Pure: no files, no lookups, no logging, no clock.
 * Runs in: mountd (all roles), nfsd (all roles), tests, fuzzers.
 */
#ifndef EXPORTS_H
#define EXPORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "exports/idmap.h"
#include "handle/fstype.h"
#include "rpc/identity.h"

#define EXPORTS_PATH_MAX    1024 /* MNTPATHLEN */
#define EXPORTS_MAX	    1024
#define EXPORTS_CLIENTS_MAX 4096
#define EXPORTS_ALIASES_MAX 16
#define EXPORTS_TEXT_MAX    (1024 * 1024)
#define EXPORTS_ANON	    65534

struct exports_source;

enum export_names { NAMES_BYTES, NAMES_UTF16LE };
/* What is on disk before a client is told so. */
enum export_sync { SYNC_ALL, SYNC_DATA, SYNC_NONE };

/* What one client of one export gets. A boolean is true if not the default. */
struct export_options {
	bool rw;
	bool no_root_squash;
	bool all_squash;
	bool insecure;
	bool crossmnt;
	bool nohide;
	bool subtree_check;
	bool mountpoint; /* served only if something is mounted there */
	bool fold; /* names match regardless of case and NFC/NFD form */
	bool fileid32; /* inode numbers are reduced to 32 bits */
	bool setid; /* files may get set-user-ID and set-group-ID bits */
	bool no_auth_nlm; /* locks need no right to the file */
	bool audit; /* changes are logged */
	bool certuser; /* calls act as the user in the certificate */
	enum export_names names;
	enum peer_security xprtsec; /* what the connection must be at least */
	enum export_sync sync;
	uint32_t anonuid, anongid;
	uint32_t readsize; /* 0: the server's own limit */
	uint32_t writesize;
	struct id_map uids, gids; /* numbers that differ on the client */
};

/* How an entry names a certificate; the first one that matches decides. */
enum export_cert {
	CERT_FINGERPRINT = 1, /* cert:sha256:HEX */
	CERT_NAME, /* cert:laptop.example.org */
	CERT_ANY /* cert:* */
};

/* A client entry of an export: a certificate, a prefix or all addresses. */
struct export_client {
	enum export_cert cert; /* 0: an address */
	uint8_t fingerprint[PEER_FINGERPRINT];
	struct addr net;
	unsigned int plen;
	bool any; /* "*" */
	const struct exports_source *source;
	int line; /* its place in the file */
	int column;
	char *text; /* as in the file: "10.0.0.0/8", "cert:host.example" */
	bool again; /* a further address of a host that is in the list */
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
	enum fh_naming handles; /* how they name files; FH_BY_ANY: not said */
	const struct exports_source *source;
	int line; /* first line that names it */
	/* Most specific first; the first match decides. */
	struct export_client *clients;
	size_t nclients;
};

struct exports {
	struct export *list; /* sorted by path */
	size_t n;
	uint16_t *by_id; /* indices into list, ascending by id */
	struct exports_source *sources; /* owned; the last one first */
	struct export_user *users; /* see exports/users.h */
	size_t nusers;
};

#define EXPORTS_LATER SIZE_MAX

enum exports_severity { EXPORTS_ERROR, EXPORTS_WARNING };

/* Hooks of the parser; arg is passed through. */
struct exports_hooks {
	/* Called once for each problem. file NULL: the exports file. */
	void (*report)(void *arg, enum exports_severity, const char *file,
	    int line, int column, const char *message);
	/*
	 * Stores at most max addresses of a host name. Returns how many; 0 if
	 * the name is unknown; EXPORTS_LATER if it is being looked up. NULL:
	 * host names are errors.
	 */
	size_t (*resolve)(void *arg, const char *name, struct addr *,
	    size_t max);
	void *arg;
};

/* Returns a new list, or NULL after an error. Free it with exports_free(). */
struct exports *exports_parse(const char *text, size_t len,
    const struct exports_hooks *);
void exports_free(struct exports *);

const struct export *exports_find_id(const struct exports *, uint16_t id);
/* Finds an exact path, which exports_clean_path() has cleaned. */
const struct export *exports_find_path(const struct exports *, const char *);
/* Finds the longest export path that is path or an ancestor of it. */
const struct export *exports_find_above(const struct exports *, const char *);
/* Cleans a path as text. Returns false: not absolute, too long, has "..". */
bool exports_clean_path(const char *path, size_t len,
    char out[EXPORTS_PATH_MAX + 1]);
/* Does any client entry of the export have this dialect? */
bool exports_speaks(const struct export *, enum export_names);
/* May any client enter filesystems that are mounted inside? */
bool exports_crossmnt(const struct export *);

#endif

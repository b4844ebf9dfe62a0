/* SPDX-License-Identifier: ISC */
/*
 * The resolver: a role that looks up names for its parent, so that no answer of
 * a name server is parsed by root. It has a user of its own, no capability and
 * no file that other users may not read. Unlike other roles it keeps the
 * network and runs the machine's NSS modules.
 *
 * A question is a kind and a name. The answer for a host is its addresses, for a
 * netgroup the names of its hosts, which are asked for next, and for a user (its
 * number) its groups.
 * Runs in: mountd resolver, nfsd resolver; their parents (the messages).
 */
#ifndef RESOLVE_H
#define RESOLVE_H

#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "exports/load.h"
#include "process/role_exports.h"

#define RESOLVE_USER	     "_tern-resolve"
#define RESOLVE_NAME_MAX     256 /* with its end */
#define RESOLVE_ITEMS_MAX    16
#define RESOLVE_MEMBERS_TEXT 32768 /* names of one netgroup */
#define RESOLVE_GROUPS_MAX   1024 /* of one user */
#define RESOLVE_THREADS	     8 /* lookups at a time */
#define RESOLVE_ASKED_MAX    64 /* questions without answer */

enum resolve_message {
	RESOLVE_ASK = ROLE_MESSAGES, /* struct resolve_ask */
	RESOLVE_READY, /* from here on to the parent */
	RESOLVE_ANSWER, /* struct resolve_answer, of a host */
	RESOLVE_MEMBERS, /* struct resolve_members, of a netgroup */
	RESOLVE_GROUPS, /* struct resolve_groups, of a user */
	RESOLVE_MESSAGES
};

enum resolve_kind { RESOLVE_HOST, RESOLVE_GROUP, RESOLVE_UID, RESOLVE_KINDS };

/* What is known of a name. */
enum resolve_status {
	RESOLVE_FOUND,
	RESOLVE_NONE, /* there is no such name, or it has no address */
	RESOLVE_LATER /* the name servers did not say */
};

struct resolve_setup {
	uid_t uid;
	gid_t gid;
	bool strict;
	bool rootless;
	bool users; /* groups of users are asked for */
};

struct resolve_ask {
	uint32_t id; /* comes back in the answer */
	uint32_t kind;
	char name[RESOLVE_NAME_MAX];
};

struct resolve_answer {
	uint32_t id;
	uint32_t status;
	uint32_t n;
	struct addr host[RESOLVE_ITEMS_MAX];
};

/* The hosts of a netgroup: n names, each with its end. */
struct resolve_members {
	uint32_t id;
	uint32_t status;
	uint32_t n;
	char text[RESOLVE_MEMBERS_TEXT];
};

struct resolve_groups {
	uint32_t id;
	uint32_t status;
	uint32_t gid; /* primary */
	uint32_t n;
	uint32_t gids[RESOLVE_GROUPS_MAX]; /* the primary one too */
};

/* lookup.c: waits for the answers, and fills in all but the id. */
void resolve_host(const char *name, struct resolve_answer *);
/* The same for a netgroup, without its "@". One thread at a time. */
void resolve_group(const char *name, struct resolve_members *);
/* The same for the groups of a user, by its number. */
void resolve_user(const char *number, struct resolve_groups *);
/*
 * Answers names here and now, for a check of the exports by an administrator.
 * Runs in: mountd -n, nfsd -n.
 */
extern const struct exports_names resolve_now;

/* The role "resolver". */
int resolve_role(struct role *);
/*
 * Loads the NSS modules of the lines of hosts and netgroups, and with users those
 * of users and groups, so that later lookups load no code.
 * Returns whether all of them are known to speak only DNS and to local services.
 * Runs in: resolver, before it is sealed.
 */
bool resolve_load_modules(bool users);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * The resolver: a role that looks up names for its parent, so that no answer of
 * a name server is parsed by root. It has a user of its own, no capability and
 * no file that other users may not read. Unlike other roles it keeps the
 * network and runs the machine's NSS modules.
 *
 * A question is a kind and a name; an answer is a list of items of fixed size.
 * More kinds may come, such as the groups of a user.
 * Runs in: mountd resolver, nfsd resolver; their parents (the messages).
 */
#ifndef RESOLVE_H
#define RESOLVE_H

#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "process/role_exports.h"

#define RESOLVE_USER	  "_tern-resolve"
#define RESOLVE_NAME_MAX  256 /* with its end */
#define RESOLVE_ITEMS_MAX 16
#define RESOLVE_THREADS	  8 /* lookups at a time */
#define RESOLVE_ASKED_MAX 64 /* questions without answer */

enum resolve_message {
	RESOLVE_ASK = ROLE_MESSAGES, /* struct resolve_ask */
	RESOLVE_READY, /* from here on to the parent */
	RESOLVE_ANSWER, /* struct resolve_answer */
	RESOLVE_MESSAGES
};

enum resolve_kind { RESOLVE_HOST };

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
};

struct resolve_ask {
	uint32_t id; /* comes back in the answer */
	uint32_t kind;
	char name[RESOLVE_NAME_MAX];
};

struct resolve_answer {
	uint32_t id;
	uint32_t kind;
	uint32_t status;
	uint32_t n;
	struct addr host[RESOLVE_ITEMS_MAX];
};

/* The role "resolver". */
int resolve_role(struct role *);
/*
 * Loads the NSS modules of the hosts line, so that later lookups load no code.
 * Returns whether all of them are known to speak only DNS and to local services.
 * Runs in: resolver, before it is sealed.
 */
bool resolve_load_modules(void);

#endif

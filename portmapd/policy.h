/* SPDX-License-Identifier: ISC */
/*
 * Which user may register which program. User names are looked up once, at the
 * start; later only ids are compared. The kernel tells the user of a caller
 * (SO_PEERCRED); the credentials in a call are ignored.
 * Runs in: portmapd.
 */
#ifndef POLICY_H
#define POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POLICY_RULES_MAX 64

struct policy_rule {
	uint32_t uid;
	uint32_t prog;
};

struct policy {
	struct policy_rule rules[POLICY_RULES_MAX];
	size_t n;
	bool has_master;
	uint32_t master; /* may register any program, as root may */
};

/*
 * Sets the built-in rules: root may register any program, _mountd MOUNT, _nfsd
 * NFS, statd STATUS. A user that does not exist gets no rule.
 */
void policy_init(struct policy *);
/*
 * Adds the rule "user:program". user is a name or number, program a number.
 * Returns NULL, or what is wrong with text.
 */
const char *policy_add(struct policy *, const char *text);
/* Gives a user the permissions of root: the plain user who started portmapd. */
void policy_set_master(struct policy *, uint32_t uid);
bool policy_allows(const struct policy *, uint32_t uid, uint32_t prog);
/* May this user register any program? */
bool policy_knows(const struct policy *, uint32_t uid);
/* May this user remove entries of other users? */
bool policy_is_master(const struct policy *, uint32_t uid);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * Who may register which program. Users are looked up once, at start; later
 * only numbers are compared. Nothing depends on what a caller says about
 * itself: the user comes from the kernel (SO_PEERCRED).
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
	uint32_t master; /* a plain user who started us may register anything */
};

/*
 * The rules everybody has: root anything, _mountd MOUNT, _nfsd NFS, statd
 * STATUS. A user that does not exist gives no rule.
 */
void policy_init(struct policy *);
/*
 * Adds "user:program"; user is a name or number, program a number. NULL, or
 * what is wrong with text.
 */
const char *policy_add(struct policy *, const char *text);
/* Started by a plain user: that user takes root's place. */
void policy_set_master(struct policy *, uint32_t uid);
bool policy_allows(const struct policy *, uint32_t uid, uint32_t prog);
/* May this user remove what others registered? */
bool policy_is_master(const struct policy *, uint32_t uid);

#endif

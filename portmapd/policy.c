/* SPDX-License-Identifier: ISC */
/*
 * The rules of registration: a list of users and programs.
 * Runs in: portmapd.
 */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "portmapd/pmap.h"
#include "portmapd/policy.h"

/* The kernel's overflowuid: any user outside portmapd's user namespace. */
#define NOBODY_WE_KNOW 65534

static const struct {
	const char *user;
	uint32_t prog;
} builtin[] = {
	{ "_mountd", 100005 },
	{ "_nfsd", 100003 },
	/* Debian's rpc.statd drops root before it registers. */
	{ "statd", 100024 },
};

static bool
policy_add_rule(struct policy *p, uint32_t uid, uint32_t prog)
{
	if (p->n == POLICY_RULES_MAX)
		return false;
	p->rules[p->n].uid = uid;
	p->rules[p->n].prog = prog;
	p->n++;
	return true;
}

void
policy_init(struct policy *p)
{
	const struct passwd *pw;
	size_t i;

	memset(p, 0, sizeof(*p));
	for (i = 0; i < nitems(builtin); i++)
		if ((pw = getpwnam(builtin[i].user)) != NULL)
			(void)policy_add_rule(p, pw->pw_uid, builtin[i].prog);
}

static bool
read_user(const char *text, uint32_t *uid)
{
	const struct passwd *pw;
	const char *bad;
	long long n;

	if ((pw = getpwnam(text)) != NULL) {
		*uid = pw->pw_uid;
		return true;
	}
	n = strtonum(text, 0, UINT32_MAX - 1, &bad);
	*uid = (uint32_t)n;
	return bad == NULL;
}

const char *
policy_add(struct policy *p, const char *text)
{
	const char *colon, *bad;
	char user[64];
	uint32_t uid;
	long long prog;

	if (text == NULL || (colon = strchr(text, ':')) == NULL ||
	    colon == text || (size_t)(colon - text) >= sizeof(user))
		return "not of the form user:program";
	memcpy(user, text, (size_t)(colon - text));
	user[colon - text] = '\0';
	if (!read_user(user, &uid))
		return "no such user (make it with useradd --system)";
	prog = strtonum(colon + 1, 1, UINT32_MAX, &bad);
	if (bad != NULL)
		return "the program is not a number from 1 to 4294967295";
	if (prog == PMAP_PROG)
		return "100000 is portmapd itself";
	if (!policy_add_rule(p, uid, (uint32_t)prog))
		return "too many rules";
	return NULL;
}

void
policy_set_master(struct policy *p, uint32_t uid)
{
	p->has_master = true;
	p->master = uid;
}

bool
policy_is_master(const struct policy *p, uint32_t uid)
{
	return uid == 0 || (p->has_master && uid == p->master);
}

bool
policy_knows(const struct policy *p, uint32_t uid)
{
	size_t i;

	if (uid == NOBODY_WE_KNOW)
		return false;
	for (i = 0; i < p->n && p->rules[i].uid != uid;)
		i++;
	return i < p->n || policy_is_master(p, uid);
}

bool
policy_allows(const struct policy *p, uint32_t uid, uint32_t prog)
{
	size_t i;

	if (prog == PMAP_PROG || uid == NOBODY_WE_KNOW)
		return false;
	if (policy_is_master(p, uid))
		return true;
	for (i = 0; i < p->n; i++)
		if (p->rules[i].uid == uid && p->rules[i].prog == prog)
			return true;
	return false;
}

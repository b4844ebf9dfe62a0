/* SPDX-License-Identifier: ISC */
/*
 * See users.h. getpwent(3) lists the users of /etc/passwd and those of a
 * directory service that permits listing.
 * Runs in: mountd parent, nfsd parent (read); nfsd worker (find).
 */
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "exports/users.h"

bool
exports_wants_users(const struct exports *ex)
{
	size_t i, j;

	for (i = 0; i < ex->n; i++)
		for (j = 0; j < ex->list[i].nclients; j++)
			if (ex->list[i].clients[j].options.certuser)
				return true;
	return false;
}

/* The first groups of a user; a call has room for so many. */
static void
read_groups(struct export_user *u)
{
	gid_t gids[EXPORTS_USER_GROUPS];
	int n = EXPORTS_USER_GROUPS, i;

	if (getgrouplist(u->name, u->gid, gids, &n) == -1)
		n = EXPORTS_USER_GROUPS;
	for (i = 0; i < n; i++)
		u->gids[i] = gids[i];
	u->ngids = (uint32_t)n;
}

static int
compare_users(const void *a, const void *b)
{
	const struct export_user *x = a, *y = b;

	return strcmp(x->name, y->name);
}

size_t
exports_users_read(struct export_user **users)
{
	struct export_user *list = NULL, *more;
	const struct passwd *pw;
	size_t n = 0;

	setpwent();
	while (n < EXPORTS_USERS_MAX && (pw = getpwent()) != NULL) {
		if (strlen(pw->pw_name) >= EXPORTS_USER_NAME)
			continue;
		more = reallocarray(list, n + 1, sizeof(*list));
		if (more == NULL)
			break;
		list = more;
		memset(&list[n], 0, sizeof(*list));
		memcpy(list[n].name, pw->pw_name, strlen(pw->pw_name));
		list[n].uid = pw->pw_uid;
		list[n].gid = pw->pw_gid;
		n++;
	}
	endpwent();
	*users = list;
	if (n > 1)
		qsort(list, n, sizeof(*list), compare_users);
	for (size_t i = 0; i < n; i++)
		read_groups(&list[i]);
	return n;
}

const struct export_user *
exports_user(const struct exports *ex, const char *name, size_t len)
{
	struct export_user wanted = { .uid = 0 };

	if (len == 0 || len >= sizeof(wanted.name) || ex->nusers == 0)
		return NULL;
	memcpy(wanted.name, name, len);
	return bsearch(&wanted, ex->users, ex->nusers, sizeof(wanted),
	    compare_users);
}

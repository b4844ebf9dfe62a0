/* SPDX-License-Identifier: ISC */
/*
 * Lookups by the C library: the addresses of a host, the hosts of a netgroup, the
 * groups of a user.
 * Runs in: mountd resolver, nfsd resolver; mountd -n, nfsd -n.
 */
#include <sys/socket.h>

#include <grp.h>
#include <netdb.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "resolve/resolve.h"

#define ENTRY_MAX 4096 /* one entry of a netgroup */
#define USER_MAX  65536 /* one user */

static void
add_host(struct resolve_answer *to, const struct addrinfo *from)
{
	struct addr a;
	uint32_t i;

	if (!addr_from_sockaddr(&a, from->ai_addr, from->ai_addrlen))
		return;
	a.port = 0;
	for (i = 0; i < to->n; i++)
		if (addr_equal(&to->host[i], &a))
			return;
	if (to->n < RESOLVE_ITEMS_MAX)
		to->host[to->n++] = a;
}

void
resolve_host(const char *name, struct resolve_answer *to)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_DGRAM };
	struct addrinfo *list = NULL, *at;
	int error = getaddrinfo(name, NULL, &hints, &list);

	to->n = 0;
	to->status = error == EAI_NONAME || error == EAI_NODATA ? RESOLVE_NONE :
								  RESOLVE_LATER;
	if (error != 0)
		return;
	for (at = list; at != NULL; at = at->ai_next)
		add_host(to, at);
	freeaddrinfo(list);
	to->status = to->n > 0 ? RESOLVE_FOUND : RESOLVE_NONE;
}

/*
 * An entry without a host means every host to other servers. Here it means
 * none, as "-" does: an empty field would open the export to strangers.
 */
void
resolve_group(const char *name, struct resolve_members *to)
{
	char *host, *user, *domain, entry[ENTRY_MAX];
	size_t used = 0, len;

	to->n = 0;
	to->status = RESOLVE_LATER; /* or there is none: it looks the same */
	memset(to->text, 0, sizeof(to->text));
	if (setnetgrent(name) == 1) {
		to->status = RESOLVE_NONE;
		while (getnetgrent_r(&host, &user, &domain, entry,
			   sizeof(entry)) == 1) {
			len = host == NULL ? 0 : strlen(host);
			if (len == 0 || strcmp(host, "-") == 0 ||
			    len >= RESOLVE_NAME_MAX ||
			    len + 1 > sizeof(to->text) - used)
				continue;
			memcpy(to->text + used, host, len + 1);
			used += len + 1;
			to->n++;
			to->status = RESOLVE_FOUND;
		}
	}
	endnetgrent();
}

/*
 * The C library says nothing if a service of groups fails: the user then has
 * those of the others.
 */
void
resolve_user(const char *number, struct resolve_groups *to)
{
	struct passwd user, *found = NULL;
	int n = RESOLVE_GROUPS_MAX, error;
	char text[USER_MAX];

	_Static_assert(sizeof(gid_t) == sizeof(to->gids[0]), "one type");
	to->n = 0;
	to->gid = UINT32_MAX;
	to->status = RESOLVE_NONE;
	error = getpwuid_r((uid_t)strtoul(number, NULL, 10), &user, text,
	    sizeof(text), &found);
	/* ENOENT too: LDAP, SSSD and winbind say it while their daemon is down. */
	if (error != 0)
		to->status = RESOLVE_LATER;
	if (found == NULL)
		return;
	/* If there are more, n is their number and the first ones are here. */
	(void)getgrouplist(user.pw_name, user.pw_gid, to->gids, &n);
	to->n = n > RESOLVE_GROUPS_MAX ? RESOLVE_GROUPS_MAX : (uint32_t)n;
	to->gid = user.pw_gid;
	to->status = RESOLVE_FOUND;
}

/* Appends the addresses of a host to out. Returns how many there are then. */
static size_t
add_now(const char *name, struct addr *out, size_t n, size_t max)
{
	struct resolve_answer a = { 0 };
	uint32_t i;

	resolve_host(name, &a);
	for (i = 0; i < a.n && n < max; i++)
		out[n++] = a.host[i];
	return n;
}

static size_t
find_now(void *arg UNUSED, const char *name, struct addr *out, size_t max)
{
	static struct resolve_members m;
	const char *member = m.text;
	size_t n = 0;
	uint32_t i;

	if (*name != '@')
		return add_now(name, out, 0, max);
	resolve_group(name + 1, &m);
	for (i = 0; i < m.n; i++, member += strlen(member) + 1)
		n = add_now(member, out, n, max);
	return n;
}

const struct exports_names resolve_now = { find_now, NULL, true };

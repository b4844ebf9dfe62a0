/* SPDX-License-Identifier: ISC */
/*
 * The mount list: an array in order of age. Short enough to be searched from
 * end to end, because MNT is rare.
 * Runs in: mountd worker (event loop).
 */
#include <stdlib.h>
#include <string.h>

#include "mountd/worker/mount_list.h"

struct mount_list {
	struct mount_entry entries[MOUNT_LIST_MAX];
	size_t n;
};

struct mount_list *
mount_list_new(void)
{
	return calloc(1, sizeof(struct mount_list));
}

static void
remove_at(struct mount_list *l, size_t i)
{
	free(l->entries[i].path);
	l->n--;
	memmove(&l->entries[i], &l->entries[i + 1],
	    (l->n - i) * sizeof(l->entries[0]));
}

void
mount_list_free(struct mount_list *l)
{
	if (l == NULL)
		return;
	while (l->n > 0)
		remove_at(l, l->n - 1);
	free(l);
}

/* The place of an entry, or n. */
static size_t
find(const struct mount_list *l, const struct addr *host, const char *path)
{
	size_t i;

	for (i = 0; i < l->n; i++) {
		if (addr_same_host(&l->entries[i].host, host) &&
		    strcmp(l->entries[i].path, path) == 0)
			break;
	}
	return i;
}

/* How many entries the host has, and where the oldest is. */
static size_t
count(const struct mount_list *l, const struct addr *host, size_t *oldest)
{
	size_t i, mine = 0;

	for (i = l->n; i > 0; i--) {
		if (addr_same_host(&l->entries[i - 1].host, host)) {
			*oldest = i - 1;
			mine++;
		}
	}
	return mine;
}

bool
mount_list_is_full(const struct mount_list *l, const struct addr *host)
{
	size_t oldest;

	return l->n == MOUNT_LIST_MAX ||
	    count(l, host, &oldest) >= MOUNT_LIST_HOST_MAX;
}

/* Makes room for one more entry of this host. */
static void
make_room(struct mount_list *l, const struct addr *host)
{
	size_t oldest = 0;

	if (count(l, host, &oldest) >= MOUNT_LIST_HOST_MAX)
		remove_at(l, oldest);
	else if (l->n == MOUNT_LIST_MAX)
		remove_at(l, 0);
}

bool
mount_list_add(struct mount_list *l, const struct addr *host, const char *path)
{
	struct mount_entry e = { .host = *host };

	if (find(l, host, path) < l->n)
		return false;
	e.host.port = 0;
	e.path = strdup(path);
	if (e.path == NULL)
		return false;
	make_room(l, host);
	l->entries[l->n++] = e;
	return true;
}

bool
mount_list_remove(struct mount_list *l, const struct addr *host,
    const char *path)
{
	size_t i = find(l, host, path);

	if (i == l->n)
		return false;
	remove_at(l, i);
	return true;
}

bool
mount_list_remove_all(struct mount_list *l, const struct addr *host)
{
	size_t i = 0, before = l->n;

	while (i < l->n) {
		if (addr_same_host(&l->entries[i].host, host))
			remove_at(l, i);
		else
			i++;
	}
	return l->n != before;
}

size_t
mount_list_rows(const struct mount_list *l, const struct addr *host,
    const struct mount_entry **rows, size_t max)
{
	size_t i, n = 0;

	for (i = 0; i < l->n && n < max; i++) {
		if (host == NULL || addr_same_host(&l->entries[i].host, host))
			rows[n++] = &l->entries[i];
	}
	return n;
}

/* SPDX-License-Identifier: ISC */
/*
 * The mount list: an array, oldest entry first. Searches are linear, because
 * MNT is rare.
 * Runs in: mountd worker (event loop and file threads).
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "mountd/worker/mount_list.h"

struct mount_list {
	pthread_mutex_t lock;
	struct mount_entry entries[MOUNT_LIST_MAX];
	size_t n;
};

struct mount_list *
mount_list_new(void)
{
	struct mount_list *l = calloc(1, sizeof(*l));

	if (l != NULL)
		pthread_mutex_init(&l->lock, NULL);
	return l;
}

static void
remove_mount(struct mount_list *l, size_t i)
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
		remove_mount(l, l->n - 1);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

/* Returns the index of an entry, or n. */
static size_t
find_mount(const struct mount_list *l, const struct addr *host,
    const char *path)
{
	size_t i;

	for (i = 0; i < l->n; i++) {
		if (addr_same_host(&l->entries[i].host, host) &&
		    strcmp(l->entries[i].path, path) == 0)
			break;
	}
	return i;
}

/* Returns the host's number of entries and stores the index of its oldest. */
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

/* Makes room for an entry of this host. Returns true if it evicted another. */
static bool
make_room(struct mount_list *l, const struct addr *host)
{
	size_t oldest = 0;

	if (count(l, host, &oldest) >= MOUNT_LIST_HOST_MAX)
		remove_mount(l, oldest);
	else if (l->n == MOUNT_LIST_MAX)
		remove_mount(l, 0);
	else
		return false;
	return true;
}

bool
mount_list_add(struct mount_list *l, const struct addr *host, const char *path,
    bool *evicted)
{
	struct mount_entry e = { .host = *host, .path = strdup(path) };
	bool is_new;

	*evicted = false;
	if (e.path == NULL)
		return false;
	e.host.port = 0;
	pthread_mutex_lock(&l->lock);
	is_new = find_mount(l, host, path) == l->n;
	if (is_new) {
		*evicted = make_room(l, host);
		l->entries[l->n++] = e;
	}
	pthread_mutex_unlock(&l->lock);
	if (!is_new)
		free(e.path);
	return is_new;
}

bool
mount_list_remove(struct mount_list *l, const struct addr *host,
    const char *path)
{
	size_t i;
	bool found;

	pthread_mutex_lock(&l->lock);
	i = find_mount(l, host, path);
	found = i < l->n;
	if (found)
		remove_mount(l, i);
	pthread_mutex_unlock(&l->lock);
	return found;
}

bool
mount_list_remove_all(struct mount_list *l, const struct addr *host)
{
	size_t i = 0, before;
	bool found;

	pthread_mutex_lock(&l->lock);
	before = l->n;
	while (i < l->n) {
		if (addr_same_host(&l->entries[i].host, host))
			remove_mount(l, i);
		else
			i++;
	}
	found = l->n != before;
	pthread_mutex_unlock(&l->lock);
	return found;
}

void
mount_list_copy(struct mount_list *l, const struct addr *host,
    struct mount_dump *out)
{
	size_t i, len, used = 0;

	out->nrows = 0;
	pthread_mutex_lock(&l->lock);
	for (i = 0; i < l->n; i++) {
		if (host != NULL && !addr_same_host(&l->entries[i].host, host))
			continue;
		len = strlen(l->entries[i].path) + 1;
		if (len > sizeof(out->text) - used)
			break;
		out->rows[out->nrows].host = l->entries[i].host;
		out->rows[out->nrows++].path =
		    memcpy(out->text + used, l->entries[i].path, len);
		used += len;
	}
	pthread_mutex_unlock(&l->lock);
}

size_t
mount_list_count(struct mount_list *l)
{
	size_t n;

	pthread_mutex_lock(&l->lock);
	n = l->n;
	pthread_mutex_unlock(&l->lock);
	return n;
}

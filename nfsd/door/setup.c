/* SPDX-License-Identifier: ISC */
/*
 * See setup.h.
 * Runs in: nfsd worker, tests.
 */
#include <stdlib.h>

#include "base/log.h"
#include "nfsd/door/guess.h"
#include "nfsd/door/setup.h"
#include "nfsd/door/state.h"

struct door *
door_new(const struct door_settings *settings)
{
	struct door *door = calloc(1, sizeof(*door));
	unsigned int i;

	if (door == NULL)
		fatal("door");
	active_init(&door->active);
	door->mode = settings->mode;
	door->mknod = settings->mknod;
	if (settings->domain != NULL && settings->domain[0] != '\0' &&
	    (door->domain = strdup(settings->domain)) == NULL)
		fatal("door");
	door->key = settings->key;
	door->verifier = &door->own_verifier;
	door->nthreads = settings->threads > DOOR_THREADS_MAX ?
	    DOOR_THREADS_MAX :
	    settings->threads;
	door->cache = cache_new(settings->files);
	door->notes = handle_cache_new(settings->notes);
	door->listings = listings_new();
	sync_share_init(&door->syncs);
	door->guesses = guesses_new();
	for (i = 0; i <= door->nthreads; i++) {
		door->threads[i].door = door;
		door->threads[i].index = i;
	}
	return door;
}

void
door_free(struct door *door)
{
	unsigned int i;

	if (door == NULL)
		return;
	for (i = 0; i <= door->nthreads; i++) {
		active_done(atomic_load(&door->threads[i].held.list));
		broker_client_free(door->threads[i].broker);
	}
	cache_free(door->cache);
	handle_cache_free(door->notes);
	listings_free(door->listings);
	sync_share_clear(&door->syncs);
	guesses_free(door->guesses);
	active_clear(&door->active);
	free(door->domain);
	free(door);
}

void
door_set_broker(struct door *door, unsigned int thread,
    struct broker_client *client)
{
	door->threads[thread].broker = client;
}

void
door_replace_broker(struct door *door, unsigned int thread, int fd)
{
	broker_client_replace(door->threads[thread].broker, fd);
}

struct door_thread *
door_thread(struct door *door, unsigned int index)
{
	return &door->threads[index <= door->nthreads ? index : 0];
}

void
door_set_files(struct door *door, size_t files)
{
	cache_set_limit(door->cache, files);
}

bool
door_give_files(struct door *door)
{
	return cache_evict(door->cache, DOOR_EVICT_AT_ONCE) > 0;
}

static void
sweep(void *arg)
{
	struct door *door = arg;

	cache_sweep(door->cache);
	handle_cache_trim(door->notes);
}

void
door_start_janitor(struct door *door)
{
	cache_start_janitor(door->cache, sweep, door);
}

void
door_stats(struct door *door, struct door_stats *stats)
{
	cache_stats(door->cache, &stats->files);
	handle_cache_stats(door->notes, &stats->notes);
	listings_stats(door->listings, &stats->listings);
}

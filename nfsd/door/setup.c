/* SPDX-License-Identifier: ISC */
/*
 * See setup.h.
 * Runs in: nfsd worker, tests.
 */
#include <stdlib.h>

#include "base/log.h"
#include "nfsd/cache/warm.h"
#include "nfsd/door/setup.h"
#include "nfsd/door/state.h"

struct door *
door_new(const struct door_settings *settings)
{
	struct door *door = calloc(1, sizeof(*door));
	unsigned int i;

	if (door == NULL)
		fatal("door");
	judge_init(&door->judge, &settings->key, settings->domain);
	door->mode = settings->mode;
	door->mknod = settings->mknod;
	door->verifier = &door->own_verifier;
	door->nthreads = settings->threads > DOOR_THREADS_MAX ?
	    DOOR_THREADS_MAX :
	    settings->threads;
	door->cache = cache_new(settings->files);
	door->notes = handle_cache_new(settings->notes);
	door->listings = listings_new();
	door->warm = warm_new();
	for (i = 0; i <= door->nthreads; i++) {
		door->threads[i].door = door;
		door->threads[i].judge.judge = &door->judge;
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
		active_done(atomic_load(&door->threads[i].judge.held.list));
		broker_client_free(door->threads[i].broker);
		free(door->threads[i].batch.list);
	}
	cache_free(door->cache);
	handle_cache_free(door->notes);
	listings_free(door->listings);
	warm_free(door->warm);
	judge_clear(&door->judge);
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

void
door_manage_groups(struct door *door, const struct groups_table *table,
    void (*ask)(void *arg, uint32_t uid), void *arg)
{
	door->judge.groups.table = table;
	door->judge.groups.ask = ask;
	door->judge.groups.arg = arg;
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

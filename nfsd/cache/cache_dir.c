/* SPDX-License-Identifier: ISC */
/*
 * See cache_dir.h.
 * Runs in: nfsd worker.
 */
#include <string.h>

#include "base/util.h"
#include "nfsd/cache/cache_dir.h"

void
cache_dir_init(struct cache_dir *d)
{
	memset(d, 0, sizeof(*d));
	memset(d->fds, -1, sizeof(d->fds));
}

size_t
cache_dir_empty(struct cache_dir *d, int fds[CACHE_STREAMS])
{
	size_t i, n = 0;

	for (i = 0; i < CACHE_STREAMS; i++) {
		if (d->fds[i] != -1)
			fds[n++] = d->fds[i];
		d->fds[i] = -1;
	}
	return n;
}

size_t
cache_dir_change(struct cache_dir *d, const struct timespec *ctime,
    int fds[CACHE_STREAMS])
{
	if (same_time(&d->ctime, ctime))
		return 0;
	d->ctime = *ctime;
	return cache_dir_empty(d, fds);
}

/* Which stream to lend; CACHE_STREAMS: a new one. */
static size_t
choose_stream(const struct cache_dir *d, uint64_t want)
{
	size_t i, open = 0, any = CACHE_STREAMS, done = CACHE_STREAMS;

	for (i = 0; i < CACHE_STREAMS; i++) {
		if (d->fds[i] == -1)
			continue;
		if (d->at[i] == want)
			return i;
		if (d->at[i] == CACHE_ANYWHERE)
			done = i;
		any = i;
		open++;
	}
	if (done != CACHE_STREAMS)
		return done;
	return open + d->lent < CACHE_STREAMS ? CACHE_STREAMS : any;
}

int
cache_dir_lend(struct cache_dir *d, uint64_t want, uint64_t *at)
{
	size_t i = choose_stream(d, want);
	int fd;

	d->lent++;
	if (i == CACHE_STREAMS)
		return -1;
	fd = d->fds[i];
	*at = d->at[i];
	d->fds[i] = -1;
	return fd;
}

bool
cache_dir_return(struct cache_dir *d, int fd, uint64_t at)
{
	size_t i = 0;

	d->lent--;
	while (i < CACHE_STREAMS && d->fds[i] != -1)
		i++;
	if (fd == -1 || i == CACHE_STREAMS)
		return false;
	d->fds[i] = fd;
	d->at[i] = at;
	return true;
}

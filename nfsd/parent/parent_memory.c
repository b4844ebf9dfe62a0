/* SPDX-License-Identifier: ISC */
/*
 * Shared memory: see parent_memory.h.
 * Runs in: nfsd parent.
 */
#include <string.h>

#include "base/log.h"
#include "base/shm.h"
#include "nfsd/parent/parent_memory.h"
#include "rpc/reply_cache.h"

static void
make_shared(struct parent_memory *m)
{
	m->fd = shm_new(sizeof(*m->shared));
	if (m->fd != -1)
		m->shared = shm_map(m->fd, sizeof(*m->shared), true);
	if (m->shared == NULL)
		fatal("shared memory");
	hash_key_random(&m->shared->proofs.key);
	hash_key_random(&m->shared->proven.key);
}

/* A worker that is killed leaves its replies here. The others look there too. */
void
parent_memory_make(struct parent_memory *m, unsigned int workers)
{
	unsigned int i;

	make_shared(m);
	m->n = workers;
	for (i = 0; i < workers; i++) {
		m->replies[i] = shm_new(reply_cache_memory(NFSD_REPLIES));
		if (m->replies[i] == -1)
			fatal("replies of worker %u", i);
		m->readers[i] = shm_reader(m->replies[i]);
	}
}

void
parent_memory_inherit(const struct parent_memory *m, unsigned int worker,
    int fds[ROLE_FDS_MAX])
{
	unsigned int i;

	fds[NFSD_FD_SHARED] = m->fd;
	fds[NFSD_FD_REPLIES] = m->replies[worker];
	for (i = 0; i < NFSD_WORKERS_MAX; i++)
		fds[NFSD_FD_SIBLINGS + i] =
		    i < m->n && i != worker ? m->readers[i] : -1;
}

bool
parent_memory_is_read(const struct parent_memory *m)
{
	unsigned int i;

	for (i = 0; i < m->n; i++)
		if (m->readers[i] == -1)
			return false;
	return true;
}

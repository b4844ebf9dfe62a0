/* SPDX-License-Identifier: ISC */
/*
 * Finds groups in the table that the parent writes. A call of a user who was
 * never looked up waits for the lookup, in a file thread. All others go on with
 * what is known, so a directory that hangs delays only users that it never told
 * about, and those for a second.
 * Runs in: nfsd worker (event loop and file threads), nfsd locks.
 */
#include <pthread.h>
#include <time.h>

#include "base/clock.h"
#include "exports/client.h"
#include "nfsd/judge/groups.h"

bool
judge_manage(struct judge_groups *own, const struct export_options *options,
    struct cred *cred)
{
	struct groups g = { .gids = cred->gids };
	enum groups_state state;
	bool old;

	if (cred->uid == 0)
		return true; /* no_root_squash: may use every group */
	if (cred->uid == options->anonuid) {
		cred_manage(cred, options, NULL);
		return true;
	}
	state = groups_find(own->table, cred->uid, &g, &old);
	if (old)
		own->ask(own->arg, cred->uid);
	if (state == GROUPS_UNKNOWN && atomic_load(&own->table->silent) == 0)
		return false;
	cred_manage(cred, options, state == GROUPS_KNOWN ? &g : NULL);
	return true;
}

/* Nothing signals it: the answer appears in memory that is only read here. */
static void
nap(uint64_t ms)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t never = PTHREAD_COND_INITIALIZER;
	uint64_t until_ns = clock_ns() + ms * 1000000;
	const struct timespec until = { .tv_sec =
					    (time_t)(until_ns / 1000000000),
		.tv_nsec = (long)(until_ns % 1000000000) };

	pthread_mutex_lock(&lock);
	pthread_cond_clockwait(&never, &lock, CLOCK_MONOTONIC, &until);
	pthread_mutex_unlock(&lock);
}

bool
judge_await(struct judge_groups *own, const struct export_options *options,
    struct cred *cred)
{
	const uint32_t gid = cred->gid; /* of the call */
	uint64_t until = clock_ms() + JUDGE_GROUPS_MS, ms;
	bool known = false, may;

	may = atomic_fetch_add(&own->waiting, 1) < JUDGE_WAITING_MAX;
	for (ms = 1; may && !known && clock_ms() < until; ms *= 2) {
		nap(ms);
		cred->gid = gid;
		known = judge_manage(own, options, cred);
	}
	atomic_fetch_sub(&own->waiting, 1);
	if (may && !known)
		cred_manage(cred, options, NULL);
	return may;
}

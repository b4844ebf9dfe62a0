/* SPDX-License-Identifier: ISC */
/*
 * The rights of the callers that used a file last.
 * Runs in: nfsd worker.
 */
#include <string.h>

#include "base/util.h"
#include "nfsd/door/entry.h"

bool
grant_find(const struct grant grants[CACHE_GRANTS], uint64_t caller,
    const struct timespec *ctime, int asked, int *granted)
{
	const struct grant *g;
	size_t i;

	for (i = 0; i < CACHE_GRANTS; i++) {
		g = &grants[i];
		if (g->caller == caller && same_time(&g->ctime, ctime) &&
		    (g->asked & asked) == asked) {
			*granted = g->granted & asked;
			return true;
		}
	}
	return false;
}

void
grant_note(struct grant grants[CACHE_GRANTS], uint64_t caller,
    const struct timespec *ctime, int asked, int granted)
{
	struct grant *g = &grants[0];
	size_t i;

	for (i = 0; i < CACHE_GRANTS && grants[i].caller != caller; i++)
		continue;
	if (i < CACHE_GRANTS)
		g = &grants[i];
	else
		memmove(&grants[1], &grants[0],
		    (CACHE_GRANTS - 1) * sizeof(*g));
	if (g->caller != caller || !same_time(&g->ctime, ctime))
		g->asked = g->granted = 0;
	g->caller = caller;
	g->ctime = *ctime;
	g->asked |= (uint8_t)asked;
	g->granted = (uint8_t)((g->granted & ~asked) | granted);
}

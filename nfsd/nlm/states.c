/* SPDX-License-Identifier: ISC */
/*
 * State numbers by address: see nlm/states.h.
 * Runs in: nfsd nlm, tests.
 */
#include "base/util.h"
#include "nfsd/nlm/states.h"

static size_t
find(const struct nlm_states *s, const struct addr *at)
{
	size_t i = 0;

	while (i < s->n && !addr_same_host(&s->floating[i].at, at))
		i++;
	return i;
}

int32_t
nlm_state(const struct nlm_states *s, const struct addr *to)
{
	size_t i = find(s, to);

	return i < s->n ? s->floating[i].state : s->own;
}

void
nlm_set_state(struct nlm_states *s, const struct addr *at, int32_t state)
{
	size_t i = find(s, at);

	if (at->family == 0) {
		s->own = state;
		return;
	}
	if (i == nitems(s->floating))
		return;
	s->floating[i].at = *at;
	s->floating[i].state = state;
	if (i == s->n)
		s->n++;
}

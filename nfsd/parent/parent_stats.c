/* SPDX-License-Identifier: ISC */
/*
 * Statistics in the parent: see parent_stats.h.
 * Runs in: nfsd parent.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/shm.h"
#include "base/util.h"
#include "nfsd/parent/control.h"
#include "nfsd/parent/parent_locks.h"
#include "nfsd/parent/parent_stats.h"

/* Appends when the files of TLS end. */
static size_t
add_ends(const struct parent_stats *s, size_t len)
{
	static const char *const names[NFSD_TLS_ENDS] = { "certificate",
		"client_ca", "crl" };
	size_t i;
	int n;

	for (i = 0; s->tls_ends != NULL && i < NFSD_TLS_ENDS; i++) {
		if (s->tls_ends[i] == 0)
			continue;
		n = snprintf(s->text + len, STATS_TEXT_MAX - len,
		    "# HELP tern_nfsd_tls_%s_expires_seconds when it ends, in "
		    "seconds since 1970\n"
		    "# TYPE tern_nfsd_tls_%s_expires_seconds gauge\n"
		    "tern_nfsd_tls_%s_expires_seconds %lld\n",
		    names[i], names[i], names[i], (long long)s->tls_ends[i]);
		if (n > 0 && (size_t)n < STATS_TEXT_MAX - len)
			len += (size_t)n;
	}
	return len;
}

/* The request "stats". */
static void
answer(void *arg, struct control_request *r, const char *operand UNUSED)
{
	struct parent_stats *s = arg;
	size_t len = stats_text(s->workers, s->n + 1, s->text, STATS_TEXT_MAX);

	len = add_ends(s, len);
	len += parent_locks_text(s->locks, s->text + len, STATS_TEXT_MAX - len);
	control_write(r, s->text, len);
	control_end(r);
}

static const struct control_row rows[] = {
	{ "stats", NULL, false, "counters in the format of Prometheus",
	    answer },
};

void
parent_stats_start(struct parent_stats *s, struct control *control,
    const struct nfsd *n)
{
	unsigned int i;

	s->n = n->setup.workers;
	for (i = 0; i < s->n; i++) {
		s->fds[i] = shm_new(sizeof(struct stats));
		if (s->fds[i] == -1 ||
		    (s->workers[i] = shm_map(s->fds[i], sizeof(struct stats),
			 false)) == NULL)
			fatal("statistics");
	}
	s->own = calloc(1, sizeof(*s->own));
	s->workers[s->n] = s->own;
	s->text = malloc(STATS_TEXT_MAX);
	if (s->text == NULL || s->own == NULL)
		fatal("statistics");
	control_add(control, rows, nitems(rows), s);
}

void
parent_stats_stop(struct parent_stats *s)
{
	free(s->text);
	free(s->own);
}

int
parent_stats_fd(const struct parent_stats *s, unsigned int worker)
{
	return s->fds[worker];
}

void
parent_stats_log(const struct parent_stats *s)
{
	stats_log(s->workers, s->n);
}

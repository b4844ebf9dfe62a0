/* SPDX-License-Identifier: ISC */
/*
 * Statistics in the parent: see parent_stats.h.
 * Runs in: nfsd parent.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/shm.h"
#include "base/util.h"
#include "confine/jail.h"
#include "exports/load.h"
#include "handle/fhandle_fs.h"
#include "nfsd/figures/figures.h"
#include "nfsd/figures/mountd_text.h"
#include "nfsd/parent/control.h"
#include "nfsd/parent/parent_locks.h"
#include "nfsd/parent/parent_stats.h"
#include "process/register.h"
#include "process/reload.h"

/* When the files of TLS end. */
static void
put_ends(const struct parent_stats *s, struct figures *f)
{
	static const char *const names[NFSD_TLS_ENDS] = {
		"nfsd_tls_certificate_expires_seconds",
		"nfsd_tls_client_ca_expires_seconds",
		"nfsd_tls_crl_expires_seconds"
	};
	size_t i;

	for (i = 0; s->tls_ends != NULL && i < NFSD_TLS_ENDS; i++)
		if (s->tls_ends[i] > 0)
			figures_one(f, names[i], "gauge",
			    "when it ends, in seconds since 1970",
			    (uint64_t)s->tls_ends[i]);
}

/* One line for each process: broker, workers, and what else runs. */
static void
put_roles(const struct reload *r, struct figures *f)
{
	size_t i;

	figures_head(f, "nfsd_role_up", "gauge",
	    "1 if the process runs and serves the exports in use");
	for (i = 0; i < r->n; i++)
		figures_put(f,
		    "tern_nfsd_role_up{role=\"%s\",index=\"%u\"} %d\n",
		    role_name(r->roles[i]), role_index(r->roles[i]),
		    role_is_current(r->roles[i]));
	figures_head(f, "nfsd_role_starts_total", "counter",
	    "how often the process was started");
	for (i = 0; i < r->n; i++)
		figures_put(f,
		    "tern_nfsd_role_starts_total{role=\"%s\",index=\"%u\"} "
		    "%u\n",
		    role_name(r->roles[i]), role_index(r->roles[i]),
		    role_starts(r->roles[i]));
}

/* The fingerprint that "mountd -n" prints. */
static void
put_handles(const struct parent_stats *s, struct figures *f)
{
	const struct exports *ex = s->file->list;
	char path[FIGURES_LABEL(EXPORTS_PATH_MAX)];
	const struct fh_root *root;
	const struct export *e;

	figures_head(f, "nfsd_handles_info", "gauge",
	    "key, number, path and kind of the handles of an export");
	for (e = ex->list; e < ex->list + ex->n; e++) {
		root = jail_facts(s->jail, e->path);
		figures_put(f,
		    "tern_nfsd_handles_info{key=\"%08x\",id=\"%u\",path=\"%s\","
		    "kind=\"%s\"} 1\n",
		    s->keys->print, e->id,
		    figures_label(path, e->path, strlen(e->path)),
		    root == NULL ? "absent" : fh_naming_names[root->fs.naming]);
	}
}

void
parent_stats_text(struct parent_stats *s, struct figures *f)
{
	stats_text(s->workers, s->n + 1, f);
	put_ends(s, f);
	parent_locks_text(s->locks, f);
	put_roles(s->roles, f);
	put_handles(s, f);
	figures_one(f, "nfsd_start_time_seconds", "gauge",
	    "when nfsd was started, in seconds since 1970", s->since);
	mountd_text(s->mountd, f);
	usage_text(s->workers, s->n, &s->paths, f);
}

/* The request "stats". */
static void
answer(void *arg, struct control_request *r, const char *operand UNUSED)
{
	struct parent_stats *s = arg;
	struct figures f = { .at = s->text, .size = STATS_TEXT_MAX };

	parent_stats_text(s, &f);
	control_write(r, s->text, f.len);
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
	s->since = (uint64_t)clock_wall().tv_sec;
	(void)register_beside(n->d.socket, TALLY_NAME, s->mountd,
	    sizeof(s->mountd));
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

/* SPDX-License-Identifier: ISC */
/*
 * What mountd has done: see mountd_text.h.
 * Runs in: nfsd parent.
 */
#include "base/util.h"
#include "nfsd/figures/figures.h"
#include "nfsd/figures/mountd_text.h"
#include "tally/tally.h"

/* The same in all versions. */
static const char *const procedures[TALLY_PROCS] = { "NULL", "MNT", "DUMP",
	"UMNT", "UMNTALL", "EXPORT", "EXPORTALL", "PATHCONF" };

static void
put_procedures(struct figures *f, const char *name, const char *help,
    _Atomic uint64_t counts[TALLY_VERSIONS][TALLY_PROCS],
    _Atomic uint64_t calls[TALLY_VERSIONS][TALLY_PROCS])
{
	unsigned int v, i;

	figures_head(f, name, "counter", help);
	for (v = 0; v < TALLY_VERSIONS; v++)
		for (i = 0; i < TALLY_PROCS; i++)
			if (calls[v][i] > 0)
				figures_put(f,
				    "tern_%s{version=\"%u\",procedure=\"%s\"} "
				    "%llu\n",
				    name, v + 1, procedures[i],
				    (unsigned long long)counts[v][i]);
}

void
mountd_text(const char *path, struct figures *f)
{
	struct tally t;
	bool up = tally_read(path, &t);

	figures_one(f, "mountd_up", "gauge", "1 if mountd runs", up);
	if (!up)
		return;
	put_procedures(f, "mountd_calls_total", "calls answered", t.calls,
	    t.calls);
	put_procedures(f, "mountd_errors_total", "calls answered with an error",
	    t.errors, t.calls);
	figures_one(f, "mountd_mounts_granted_total", "counter",
	    "mounts granted", t.granted);
	figures_one(f, "mountd_mounts_refused_total", "counter",
	    "mounts refused", t.refused);
	figures_one(f, "mountd_exports", "gauge", "exports", t.exports);
	figures_one(f, "mountd_mounts_listed", "gauge",
	    "mounts that showmount -a lists", t.listed);
}

/* SPDX-License-Identifier: ISC */
/*
 * What runs now: see parent_live.h.
 * Runs in: nfsd parent.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "nfsd/figures/merged.h"
#include "nfsd/parent/control.h"
#include "nfsd/parent/parent_live.h"
#include "nfsd/parent/parent_stats.h"
#include "rpc/rpc.h"

#define WATCH_NS UINT64_C(15000000000) /* calls are kept for so long */
#define WORD_MAX (4 * EXPORTS_PATH_MAX + 1)

static uint64_t
value(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/* Writes a text as one word: blanks and what is not ASCII are escaped. */
static const char *
word(char out[WORD_MAX], const void *bytes, size_t len)
{
	const unsigned char *in = bytes;
	size_t i, n = 0;

	for (i = 0; i < len && n + TEXT_ESCAPED < WORD_MAX; i++)
		if (in[i] <= ' ' || in[i] >= 0x7f || in[i] == '\\') {
			text_escape(out + n, in[i]);
			n += TEXT_ESCAPED;
		} else
			out[n++] = (char)in[i];
	out[n] = '\0';
	return n == 0 ? "-" : out;
}

/* The path of an export as a word, or its number if it is not listed now. */
static const char *
export_word(const struct parent_live *l, uint32_t export, char out[WORD_MAX])
{
	const char *path =
	    export > UINT16_MAX ? NULL : l->path(l->arg, (uint16_t) export);

	if (export == 0)
		return "-";
	if (path != NULL)
		return word(out, path, strlen(path));
	(void)snprintf(out, WORD_MAX, "#%u", export);
	return out;
}

static void
put_latency(struct control_request *r, const _Atomic uint64_t *latency)
{
	size_t i, n = USAGE_BUCKETS;

	while (n > 1 && value(&latency[n - 1]) == 0)
		n--;
	for (i = 0; i < n; i++)
		control_print(r, "%s%llu", i == 0 ? " " : ",",
		    (unsigned long long)value(&latency[i]));
	control_print(r, "\n");
}

static void
put_counts(struct control_request *r, const struct usage_row *row)
{
	size_t i;

	for (i = 0; i < USAGE_COUNTS; i++)
		control_print(r, " %llu",
		    (unsigned long long)value(&row->counts[i]));
	put_latency(r, row->latency);
}

/* Milliseconds since a time of a worker. */
static unsigned long long
age_ms(uint64_t now_ns, uint64_t at_ns)
{
	return at_ns > now_ns ? 0 : (now_ns - at_ns) / 1000000;
}

static void
put_row(const struct parent_live *l, struct control_request *r,
    const struct usage_row *row, uint64_t now)
{
	char path[WORD_MAX], from[ADDR_STRLEN];
	const char *export = export_word(l, row->export, path);

	if (row->from.family == 0)
		control_print(r, "export %s %llu %llu %u", export,
		    age_ms(now, row->since), age_ms(now, row->last),
		    (unsigned int)row->kinds);
	else
		control_print(r, "client %s %s %llu %llu %u",
		    addr_print(&row->from, from), export,
		    age_ms(now, row->since), age_ms(now, row->last),
		    (unsigned int)row->kinds);
	put_counts(r, row);
}

/* The request "live". nfsd/command/snapshot.c reads it. */
static void
live(void *arg, struct control_request *r, const char *operand UNUSED)
{
	static struct merged merged;
	const struct parent_live *l = arg;
	uint64_t now = clock_ns(), connections = 0, waiting = 0;
	unsigned int i;
	size_t k;

	for (i = 0; i < l->stats->n; i++) {
		const struct stats *s = l->stats->workers[i];

		connections += value(&s->gauges[STATS_CONNECTIONS]);
		waiting += value(&s->gauges[STATS_IN_FLIGHT]);
	}
	merged_fill(&merged, l->stats->workers, l->stats->n);
	control_print(r, "tern 1 %llu %u %llu %llu %llu\n",
	    (unsigned long long)(now / 1000000), l->stats->n,
	    (unsigned long long)connections, (unsigned long long)waiting,
	    (unsigned long long)merged.left_out);
	for (k = 0; k < MERGED; k++)
		if (value(&merged.rows[k].turn) != 0)
			put_row(l, r, &merged.rows[k], now);
	control_end(r);
}

static const char *
procedure_name(uint32_t version, uint32_t procedure)
{
	const struct rpc_vers *vers;

	if (version < 2 || version > 3)
		return "?";
	vers = &nfs_program.vers[version - 2];
	return procedure < vers->nprocs && vers->procs[procedure].name != NULL ?
	    vers->procs[procedure].name :
	    "?";
}

/* The request "files": the last calls, and more of them from now on. */
static void
files(void *arg, struct control_request *r, const char *operand UNUSED)
{
	const struct parent_live *l = arg;
	char path[WORD_MAX], name[WORD_MAX], from[ADDR_STRLEN];
	struct usage_recent c;
	uint64_t now = clock_ns();
	unsigned int i;
	size_t k;

	atomic_store(&l->shared->watch_until, now + WATCH_NS);
	for (i = 0; i < l->stats->n; i++)
		for (k = 0; k < USAGE_RECENT; k++) {
			if (!usage_copy_recent(&l->stats->workers[i]
						    ->usage.recent[k],
				&c))
				continue;
			c.from.port = 0;
			control_print(r,
			    "call %llu %u %s %u %s %u %s %s %llu %s\n",
			    age_ms(now, c.at_ns), c.times,
			    addr_print(&c.from, from), c.uid,
			    export_word(l, c.export, path), c.version,
			    procedure_name(c.version, c.procedure),
			    nfs_status_name((enum nfsstat)c.status),
			    (unsigned long long)c.fileid,
			    word(name, c.name, c.len));
		}
	control_end(r);
}

/* The request "end": answered when all workers have. */
static void
end(void *arg, struct control_request *r, const char *operand)
{
	struct parent_live *l = arg;
	struct nfsd_end m = { .number = control_number(r) };
	struct role_child *worker;
	unsigned int i, k;

	if (!addr_parse(&m.from, operand) || m.from.port != 0) {
		control_fail(r, "end: not an IPv4 or IPv6 address");
		return;
	}
	for (k = 0; k < PARENT_LIVE_ENDS; k++)
		if (l->ends[k].number == 0 ||
		    control_find(l->control, l->ends[k].number) == NULL)
			break;
	if (k == PARENT_LIVE_ENDS) {
		control_fail(r, "end: too many requests at once");
		return;
	}
	l->ends[k].number = m.number;
	l->ends[k].waiting = l->ends[k].ended = 0;
	for (i = 0; i < l->stats->n; i++) {
		worker = l->worker(l->arg, i);
		if (worker != NULL &&
		    role_send(worker, NFSD_END, &m, sizeof(m), NULL, 0))
			l->ends[k].waiting++;
	}
	if (l->ends[k].waiting == 0)
		control_fail(r, "end: no worker runs");
}

void
parent_live_ended(struct parent_live *l, const struct nfsd_ended *m)
{
	struct control_request *r;
	unsigned int k;

	for (k = 0; k < PARENT_LIVE_ENDS; k++)
		if (m->number != 0 && l->ends[k].number == m->number)
			break;
	if (k == PARENT_LIVE_ENDS || l->ends[k].waiting == 0)
		return;
	l->ends[k].ended += m->ended;
	if (--l->ends[k].waiting != 0)
		return;
	l->ends[k].number = 0;
	r = control_find(l->control, m->number);
	if (r == NULL)
		return;
	control_print(r, "%u connections ended\n", l->ends[k].ended);
	control_end(r);
}

static const struct control_row rows[] = {
	{ "end", "ADDRESS", true, "end the connections of this client", end },
	{ "files", NULL, false, "the last calls, with users and names", files },
	{ "live", NULL, false, "counters of exports and clients, for nfsd -S",
	    live },
};

void
parent_live_start(struct parent_live *l)
{
	control_add(l->control, rows, nitems(rows), l);
}

/* SPDX-License-Identifier: ISC */
/*
 * Counters as text: the exposition format of Prometheus, and log lines. See
 * stats.h.
 * Runs in: nfsd parent.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "nfsd/figures/figures.h"
#include "nfsd/stats.h"
#include "rpc/rpc.h"

/* clang-format off */
static const struct {
	const char *name, *type, *help;
} gauges[STATS_GAUGES] = {
	[STATS_CONNECTIONS]    = { "connections", "gauge", "TCP connections" },
	[STATS_IN_FLIGHT]      = { "calls_waiting", "gauge", "calls on file threads" },
	[STATS_FILES]          = { "descriptors", "gauge", "files kept open" },
	[STATS_FILE_HITS]      = { "descriptor_cache_hits_total", "counter", "handles whose file was open" },
	[STATS_FILE_MISSES]    = { "descriptor_cache_misses_total", "counter", "handles the broker opened" },
	[STATS_FILE_EVICTIONS] = { "descriptor_cache_evictions_total", "counter", "files closed to make room" },
	[STATS_NOTE_HITS]      = { "handle_cache_hits_total", "counter", "handles found in the cache" },
	[STATS_NOTE_MISSES]    = { "handle_cache_misses_total", "counter", "handles missing in the cache" },
	[STATS_LISTING_HITS]   = { "listing_cache_hits_total", "counter", "listings of unchanged directories" },
	[STATS_LISTING_MISSES] = { "listing_cache_misses_total", "counter", "listings read from the directory" },
	[STATS_REPLY_HITS]     = { "reply_cache_hits_total", "counter", "repeated calls answered from the cache" },
	[STATS_REPLY_BUSY]     = { "reply_cache_dropped_total", "counter", "repeated calls that came while the first one ran" },
	[STATS_REPLY_MISSES]   = { "reply_cache_misses_total", "counter", "calls missing in the cache" },
	[STATS_LATE]           = { "late_calls_total", "counter", "calls that ran on a file thread" },
	[STATS_AUDIT_LINES]    = { "audit_lines_total", "counter", "changes that were recorded" },
	[STATS_AUDIT_LOST]     = { "audit_lost_total", "counter", "changes that were not recorded" },
	[STATS_TLS_HANDSHAKES] = { "tls_handshakes_total", "counter", "connections that asked for TLS" },
	[STATS_TLS_SESSIONS]   = { "tls_sessions", "gauge", "connections that use TLS" },
	[STATS_TLS_IN]         = { "tls_received_bytes_total", "counter", "bytes of calls inside TLS" },
	[STATS_TLS_OUT]        = { "tls_sent_bytes_total", "counter", "bytes of replies inside TLS" },
	[STATS_TLS_BAD_PROTOCOL]    = { "tls_failed_protocol_total", "counter", "handshakes without TLS 1.3 or a common algorithm" },
	[STATS_TLS_BAD_CERTIFICATE] = { "tls_failed_certificate_total", "counter", "handshakes whose client certificate was refused" },
	[STATS_TLS_BAD_PEER]        = { "tls_failed_client_total", "counter", "handshakes that the client gave up" },
	[STATS_TLS_BAD_HERE]        = { "tls_failed_server_total", "counter", "handshakes that failed for want of memory or keys" },
	[STATS_TLS_BAD_TIME]        = { "tls_failed_time_total", "counter", "handshakes not done in time" },
	[STATS_TLS_BAD_LIMIT]       = { "tls_failed_limit_total", "counter", "handshakes refused by a limit" },
};
/* clang-format on */

/* The counters of a procedure, of all workers together. */
struct sum {
	const char *name;
	uint32_t version;
	uint64_t calls, errors, bytes, ns, latency[STATS_BUCKETS];
};

static uint64_t
value(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static void
add_proc(struct sum *sum, const struct stats_proc *p)
{
	size_t i;

	sum->calls += value(&p->calls);
	sum->errors += value(&p->errors);
	sum->bytes += value(&p->bytes);
	sum->ns += value(&p->ns);
	for (i = 0; i < STATS_BUCKETS; i++)
		sum->latency[i] += value(&p->latency[i]);
}

/*
 * Sums the counters of every procedure that was called. Returns their number.
 */
static size_t
add_up(const struct stats *const *stats, size_t n, struct sum sums[STATS_PROCS])
{
	size_t used = 0, i;
	uint32_t v, proc;

	for (v = 0; v < nfs_program.nvers; v++)
		for (proc = 0; proc < nfs_program.vers[v].nprocs; proc++) {
			const struct rpc_vers *vers = &nfs_program.vers[v];
			struct sum *sum = &sums[used];

			memset(sum, 0, sizeof(*sum));
			sum->name = vers->procs[proc].name;
			sum->version = vers->vers;
			for (i = 0; i < n; i++)
				add_proc(sum,
				    sum->version == 2 ?
					&stats[i]->procs2[proc] :
					&stats[i]->procs3[proc]);
			if (sum->name != NULL && sum->calls > 0)
				used++;
		}
	return used;
}

static void
put_counter(struct figures *f, const struct sum *sums, size_t n,
    const char *name, const char *help, size_t offset)
{
	uint64_t v;
	size_t i;

	figures_head(f, name, "counter", help);
	for (i = 0; i < n; i++) {
		memcpy(&v, (const char *)&sums[i] + offset, sizeof(v));
		figures_put(f,
		    "tern_%s{version=\"%u\",procedure=\"%s\"} %llu\n", name,
		    sums[i].version, sums[i].name, (unsigned long long)v);
	}
}

static void
put_latency(struct figures *f, const struct sum *s)
{
	char labels[64];

	(void)snprintf(labels, sizeof(labels),
	    "version=\"%u\",procedure=\"%s\"", s->version, s->name);
	figures_histogram(f, "nfsd_latency_seconds", labels, s->latency,
	    STATS_BUCKETS, s->calls, s->ns);
}

static uint64_t
sum_gauge(const struct stats *const *stats, size_t n, size_t gauge)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		sum += value(&stats[i]->gauges[gauge]);
	return sum;
}

void
stats_text(const struct stats *const *stats, size_t n, struct figures *f)
{
	static struct sum sums[STATS_PROCS];
	size_t used = add_up(stats, n, sums), i;
	char name[64];

	put_counter(f, sums, used, "nfsd_calls_total", "calls answered",
	    offsetof(struct sum, calls));
	put_counter(f, sums, used, "nfsd_errors_total",
	    "calls answered with an error", offsetof(struct sum, errors));
	put_counter(f, sums, used, "nfsd_bytes_total", "bytes read or written",
	    offsetof(struct sum, bytes));
	figures_head(f, "nfsd_latency_seconds", "histogram",
	    "from call to reply");
	for (i = 0; i < used; i++)
		put_latency(f, &sums[i]);
	for (i = 0; i < STATS_GAUGES; i++) {
		(void)snprintf(name, sizeof(name), "nfsd_%s", gauges[i].name);
		figures_one(f, name, gauges[i].type, gauges[i].help,
		    sum_gauge(stats, n, i));
	}
}

/*
 * Returns the bucket, in microseconds, that this share of the calls does not
 * exceed.
 */
static unsigned long long
percentile(const struct sum *s, unsigned int percent)
{
	uint64_t below = 0;
	size_t i;

	for (i = 0; i < STATS_BUCKETS - 1; i++) {
		below += s->latency[i];
		if (below * 100 >= s->calls * percent)
			break;
	}
	return 1ULL << i;
}

void
stats_log(const struct stats *const *stats, size_t n)
{
	static struct sum sums[STATS_PROCS];
	size_t used = add_up(stats, n, sums), i;
	const struct sum *s;

	for (i = 0; i < used; i++) {
		s = &sums[i];
		log_info("statistics: nfs %u %s: %llu calls, %llu errors, "
			 "%llu bytes, mean %llu us, p99 %llu us",
		    s->version, s->name, (unsigned long long)s->calls,
		    (unsigned long long)s->errors, (unsigned long long)s->bytes,
		    (unsigned long long)(s->ns / s->calls / 1000),
		    percentile(s, 99));
	}
	for (i = 0; i < STATS_GAUGES; i++)
		log_info("statistics: %s: %llu", gauges[i].name,
		    (unsigned long long)sum_gauge(stats, n, i));
}

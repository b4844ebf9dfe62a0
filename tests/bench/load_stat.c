/* SPDX-License-Identifier: ISC */
/*
 * Measurements besides operations: latencies, and the CPU time and memory of
 * the servers' processes. CPU time comes from the process clocks in
 * nanoseconds, not from ticks.
 * Runs in: the load generator.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "load.h"

#define SUB	 64 /* buckets in each power of two */
#define BUCKETS	 (40 * SUB)
#define PIDS_MAX 4096

struct load_times {
	uint64_t count[BUCKETS];
	uint64_t n;
};

uint64_t
load_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct load_times *
load_times_new(void)
{
	return calloc(1, sizeof(struct load_times));
}

void
load_times_clear(struct load_times *t)
{
	memset(t, 0, sizeof(*t));
}

static unsigned int
bucket_of(uint64_t ns)
{
	unsigned int shift;

	if (ns < SUB)
		return (unsigned int)ns;
	shift = 63u - (unsigned int)__builtin_clzll(ns) - 6;
	return shift * SUB + (unsigned int)(ns >> shift);
}

void
load_times_add(struct load_times *t, uint64_t ns)
{
	unsigned int b = bucket_of(ns);

	t->count[b < BUCKETS ? b : BUCKETS - 1]++;
	t->n++;
}

double
load_times_us(const struct load_times *t, double part)
{
	uint64_t want = (uint64_t)((double)t->n * part), seen = 0;
	unsigned int b;

	if (want >= t->n)
		want = t->n > 0 ? t->n - 1 : 0;
	for (b = 0; b < BUCKETS - 1; b++)
		if ((seen += t->count[b]) > want)
			break;
	if (b < SUB)
		return b / 1000.0;
	return (double)((uint64_t)(b % SUB + SUB) << (b / SUB - 1)) / 1000.0;
}

uint64_t
load_own_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/*
 * The kernel adds to its sum when a process leaves the CPU. So this one leaves
 * it first.
 */
uint64_t
load_others_ns(void)
{
	const struct timespec short_while = { 0, 1 };
	unsigned long long ns = 0;
	FILE *f = fopen("/proc/schedstat", "r");
	char line[512];

	nanosleep(&short_while, NULL);
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "cpu0 %*u %*u %*u %*u %*u %*u %llu", &ns) == 1)
			break;
	if (f == NULL || ns == 0)
		errx(1, "/proc/schedstat has no time of cpu0");
	fclose(f);
	return (uint64_t)ns - load_own_ns();
}

/* Appends the children of a process. Returns the new number of pids. */
static size_t
add_children(int pid, int *pids, size_t n)
{
	char path[64];
	FILE *f;
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	if ((f = fopen(path, "r")) == NULL)
		return n;
	while (n < PIDS_MAX && fscanf(f, "%d", &child) == 1)
		pids[n++] = child;
	fclose(f);
	return n;
}

static uint64_t
rss_of(int pid)
{
	unsigned long pages = 0, resident = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	if ((f = fopen(path, "r")) == NULL)
		return 0;
	if (fscanf(f, "%lu %lu", &pages, &resident) != 2)
		resident = 0;
	fclose(f);
	return resident * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
}

struct load_usage
load_usage_of(const int *roots, size_t nroots)
{
	struct load_usage u = { 0, 0, 0 };
	int pids[PIDS_MAX];
	struct timespec t;
	clockid_t clock;
	size_t i, n;

	for (n = 0; n < nroots; n++)
		pids[n] = roots[n];
	for (i = 0; i < n; i++) {
		n = add_children(pids[i], pids, n);
		if (clock_getcpuclockid(pids[i], &clock) != 0 ||
		    clock_gettime(clock, &t) != 0)
			continue;
		u.cpu_ns +=
		    (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
		u.rss_kib += rss_of(pids[i]);
		u.processes++;
	}
	return u;
}

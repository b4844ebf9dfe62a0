/* SPDX-License-Identifier: ISC */
/*
 * The clocks. Everything that is measured or that expires uses the monotonic
 * clock, which cannot be set back. The wall clock is only compared with the
 * times of files, and printed. The coarse clocks advance with the kernel's
 * tick, every 1 to 10 ms, and are the cheapest to read.
 * Runs in: every process.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Nanoseconds of the monotonic clock. */
static inline uint64_t
clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline uint64_t
clock_ms(void)
{
	return clock_ns() / 1000000;
}

/* Milliseconds, coarse. Never 0: callers use 0 for "no time". */
static inline uint64_t
clock_coarse_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000 +
	    1;
}

/*
 * Returns the time ms milliseconds from now, for pthread_cond_clockwait(3) with
 * CLOCK_MONOTONIC.
 */
static inline struct timespec
clock_after(unsigned int ms)
{
	uint64_t at = clock_ns() + (uint64_t)ms * 1000000;
	struct timespec ts = { .tv_sec = (time_t)(at / 1000000000),
		.tv_nsec = (long)(at % 1000000000) };

	return ts;
}

/* Returns the CPU time of all threads of another process; 0: it has ended. */
static inline uint64_t
clock_cpu_ns(pid_t pid)
{
	struct timespec used;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 ||
	    clock_gettime(clock, &used) == -1)
		return 0;
	return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

#define CLOCK_SETTLED_MS                                                       \
	20 /* a ctime older than this is the last of its tick */
#define CLOCK_COARSE_MS                                                        \
	2020 /* the same where times are whole seconds, or two */

/* Would a change of the file at this time, or later, show in its ctime? */
static inline bool
clock_settled(const struct timespec *ctime, const struct timespec *at)
{
	return (int64_t)(at->tv_sec - ctime->tv_sec) * 1000 +
	    (at->tv_nsec - ctime->tv_nsec) / 1000000 >
	    (ctime->tv_nsec == 0 ? CLOCK_COARSE_MS : CLOCK_SETTLED_MS);
}

/* The wall clock, coarse: filesystems use it for the times of files. */
static inline struct timespec
clock_wall(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return now;
}

#endif

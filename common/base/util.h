/* SPDX-License-Identifier: ISC */
/*
 * Small helpers for every file. They have no state.
 * Runs in: every process.
 */
#ifndef BASE_UTIL_H
#define BASE_UTIL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#define nitems(a) (sizeof(a) / sizeof((a)[0]))

#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))
#define NO_RETURN		__attribute__((noreturn))
#define UNUSED			__attribute__((unused))

static inline bool
same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* Closes a descriptor unless it is -1. Keeps errno, for use after a failure. */
static inline void
close_keep_errno(int fd)
{
	int saved = errno;

	if (fd != -1)
		close(fd);
	errno = saved;
}

#endif

/* SPDX-License-Identifier: ISC */
/*
 * Faults for the shipped objects: allocations fail and the wall clock jumps
 * when a test says so. Linked into the programs of build/faulty only. Every
 * process of a daemon maps the page of the test (TERN_FAULTY names the file) at
 * its start, before it enters its sandbox.
 *
 * The definitions of malloc and clock_gettime here suffice: libraries such as
 * libevent call them too. glibc's functions do the work.
 * Runs in: tests, every process of a daemon.
 */
#include <sys/mman.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* The layout in which tests/abuse/faults.py packs it. */
struct page {
	_Atomic uint64_t count; /* allocations, of all processes */
	_Atomic uint64_t fail_at; /* this one fails; 0: none */
	_Atomic uint64_t fail_all; /* and so do all later ones */
	_Atomic int64_t shift; /* seconds added to the wall clock */
};

static struct page *page;

static void __attribute__((constructor)) map_page(void)
{
	const char *path = getenv("TERN_FAULTY");
	void *at;
	int fd;

	if (path == NULL || (fd = open(path, O_RDWR | O_CLOEXEC)) == -1)
		return;
	at = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
	    0);
	close(fd);
	if (at != MAP_FAILED)
		page = at;
}

static bool
fails(void)
{
	uint64_t n, at;

	if (page == NULL)
		return false;
	n = atomic_fetch_add(&page->count, 1) + 1;
	at = atomic_load(&page->fail_at);
	if (at == 0 || n < at || (n > at && atomic_load(&page->fail_all) == 0))
		return false;
	errno = ENOMEM;
	return true;
}

#include "../alloc_hooks.h" /* here: it asks fails() */

/* Uses the system call: the library's function is replaced by this one. */
int
clock_gettime(clockid_t clock, struct timespec *ts)
{
	int result = (int)syscall(SYS_clock_gettime, clock, ts);

	if (result == 0 && page != NULL &&
	    (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		ts->tv_sec += atomic_load(&page->shift);
	return result;
}

time_t
time(time_t *out)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	if (out != NULL)
		*out = ts.tv_sec;
	return ts.tv_sec;
}

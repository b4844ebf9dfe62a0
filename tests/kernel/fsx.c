/* SPDX-License-Identifier: ISC */
/*
 * Random work on one file against a copy in memory: reads, writes, truncations
 * up and down, mapped reads and writes, appends, closing and opening, syncing,
 * dropping the cache. Every byte read must be the byte that was written last.
 *
 *	fsx FILE [OPERATIONS [SEED [SIZE]]]
 *
 * Prints the seed and, at the first difference, the last operations; exit 1.
 * Runs in: the guest of the kernel tests.
 */
#include <sys/mman.h>
#include <sys/stat.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIZE_MAX_DEFAULT (512 * 1024)
#define CHUNK_MAX	 (80 * 1024)
#define TRAIL		 32

static const char *path;
static int fd = -1;
static uint8_t *model, *scratch;
static size_t size, size_max = SIZE_MAX_DEFAULT;
static uint64_t state;
static char trail[TRAIL][80];
static unsigned long step;

static uint32_t
rnd(uint32_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return below == 0 ? 0 : (uint32_t)(state >> 33) % below;
}

static void
note(const char *what, size_t at, size_t len)
{
	snprintf(trail[step % TRAIL], sizeof(trail[0]), "%lu %s at %zu len %zu",
	    step, what, at, len);
}

static void
fail(const char *what)
{
	unsigned long i;

	printf("fsx: %s: %s\n", what, errno != 0 ? strerror(errno) : "differs");
	for (i = step < TRAIL ? 0 : step - TRAIL + 1; i <= step; i++)
		printf("fsx: %s\n", trail[i % TRAIL]);
	exit(1);
}

static void
compare(const uint8_t *got, size_t at, size_t len)
{
	size_t i;

	for (i = 0; i < len && got[i] == model[at + i]; i++)
		;
	if (i < len) {
		printf("fsx: offset %zu is %02x, not %02x\n", at + i, got[i],
		    model[at + i]);
		errno = 0;
		fail("wrong byte");
	}
}

static void
reopen(void)
{
	if (fd != -1 && close(fd) == -1)
		fail("close");
	if ((fd = open(path, O_RDWR | O_CREAT, 0644)) == -1)
		fail("open");
}

static void
do_read(void)
{
	size_t at = rnd((uint32_t)size_max), len = 1 + rnd(CHUNK_MAX);
	size_t want = at >= size ? 0 : size - at < len ? size - at : len;
	ssize_t n;

	note("read", at, len);
	if ((n = pread(fd, scratch, len, (off_t)at)) == -1)
		fail("read");
	if ((size_t)n != want) {
		errno = 0;
		fail("read of another length");
	}
	compare(scratch, at, want);
}

static void
fill(uint8_t *to, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		to[i] = (uint8_t)rnd(256);
}

static void
put(size_t at, size_t len)
{
	fill(scratch, len);
	if (pwrite(fd, scratch, len, (off_t)at) != (ssize_t)len)
		fail("write");
	memcpy(model + at, scratch, len);
	if (at + len > size)
		size = at + len;
}

static void
do_write(void)
{
	size_t at = rnd((uint32_t)size_max), len = 1 + rnd(CHUNK_MAX);

	if (len > size_max - at)
		len = size_max - at;
	note("write", at, len);
	put(at, len);
}

static void
do_append(void)
{
	size_t len = 1 + rnd(4000);

	if (len > size_max - size)
		return;
	note("append", size, len);
	put(size, len);
}

static void
do_truncate(void)
{
	size_t to = rnd((uint32_t)size_max);

	note("truncate", to, 0);
	if (ftruncate(fd, (off_t)to) == -1)
		fail("truncate");
	if (to < size)
		memset(model + to, 0, size - to);
	size = to;
}

static void
do_map(void)
{
	bool writing = rnd(2) != 0;
	size_t at, len;
	uint8_t *map;

	if (size == 0)
		return;
	at = rnd((uint32_t)size);
	len = 1 + rnd((uint32_t)(size - at));
	note(writing ? "map write" : "map read", at, len);
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		fail("mmap");
	if (writing) {
		fill(map + at, len);
		memcpy(model + at, map + at, len);
		if (rnd(2) != 0 && msync(map, size, MS_SYNC) == -1)
			fail("msync");
	} else {
		compare(map + at, at, len);
	}
	if (munmap(map, size) == -1)
		fail("munmap");
}

static void
do_reopen(void)
{
	note("reopen", 0, 0);
	reopen();
}

static void
do_sync(void)
{
	note("fsync", 0, 0);
	if (fsync(fd) == -1)
		fail("fsync");
}

/* Drops the cache, so that the next reads come from the server. */
static void
do_forget(void)
{
	note("forget", 0, 0);
	if (fsync(fd) == -1)
		fail("fsync");
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

static void
do_size(void)
{
	struct stat st;

	note("stat", 0, 0);
	if (stat(path, &st) == -1)
		fail("stat");
	if ((size_t)st.st_size != size) {
		printf("fsx: size is %lld, not %zu\n", (long long)st.st_size,
		    size);
		errno = 0;
		fail("size");
	}
}

static void (*const work[])(void) = { do_read, do_read, do_read, do_write,
	do_write, do_write, do_append, do_truncate, do_map, do_reopen, do_sync,
	do_forget, do_size };

int
main(int argc, char *argv[])
{
	unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
	unsigned long seed = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;

	if (argc < 2)
		errx(2, "usage: fsx FILE [OPERATIONS [SEED [SIZE]]]");
	if (argc > 4)
		size_max = strtoul(argv[4], NULL, 10);
	path = argv[1];
	state = seed;
	model = calloc(1, size_max);
	scratch = malloc(size_max + CHUNK_MAX);
	if (model == NULL || scratch == NULL)
		err(2, "no memory");
	unlink(path);
	reopen();
	for (step = 0; step < count; step++)
		work[rnd(sizeof(work) / sizeof(work[0]))]();
	do_forget();
	reopen();
	if (pread(fd, scratch, size_max, 0) != (ssize_t)size)
		fail("last read");
	compare(scratch, 0, size);
	do_size();
	close(fd);
	printf("fsx: %lu operations, seed %lu, all equal\n", count, seed);
	return 0;
}

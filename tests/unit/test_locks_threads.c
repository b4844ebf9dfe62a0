/* SPDX-License-Identifier: ISC */
/*
 * Many threads lock and unlock a few files of a slow filesystem, whose system
 * calls are made without the mutex, while others grant, free clients and list.
 * At the end nothing is left, neither in the table nor in the kernel.
 * Links: nfsd
 * Runs in: tests.
 */
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "nfsd/locks/server.h"
#include "tap.h"

#define THREADS 8
#define FILES	3
#define TIMES	3000

static struct locks_server server;
static char paths[FILES][32];
static _Atomic unsigned int granted, blocked;

static struct locks_ask
ask_of(unsigned int thread, unsigned int file)
{
	struct locks_ask a = {
		.client = { .from = { .family = AF_INET,
				.bytes = { 10, 0, 0, (uint8_t)(thread / 2) } },
		    .vers = 4,
		    .kind = RPC_TCP,
		    .name_len = 4 },
		.svid = (int32_t)thread,
		.fh = { .bytes = { 0x51, 1, 0, 0, (uint8_t)file } }
	};

	return a;
}

static void
ask_lock(struct locks_ask *a, unsigned int file)
{
	struct table_ask q = { a, (const uint8_t *)"name",
		(const uint8_t *)"" };
	struct table_opened o = { .dev = 1,
		.ino = file,
		.writable = true,
		.slow = file != 0,
		.fd = open(paths[file], O_RDWR | O_CLOEXEC) };
	enum locks_stat stat;

	server_lock(&server);
	stat = table_lock(server.table, &q, &o);
	server_unlock(&server);
	if (o.fd != -1)
		close(o.fd);
	granted += stat == LOCKS_GRANTED;
	blocked += stat == LOCKS_BLOCKED;
}

static void
ask_unlock(struct locks_ask *a)
{
	struct table_ask q = { a, (const uint8_t *)"name",
		(const uint8_t *)"" };

	server_lock(&server);
	(void)table_unlock(server.table, &q);
	server_unlock(&server);
}

static void
ask_free(struct locks_ask *a)
{
	struct table_ask q = { a, (const uint8_t *)"name",
		(const uint8_t *)"" };

	a->proven = true;
	server_lock(&server);
	(void)table_free_client(server.table, &q);
	server_unlock(&server);
}

static void
ignore_row(void *arg UNUSED, const struct locks_row *row UNUSED,
    size_t len UNUSED)
{
}

static void
look_at_all(void)
{
	size_t part;
	bool more = true;

	for (part = 0; more; part++) {
		server_lock(&server);
		more = table_rows(server.table, part, ignore_row, NULL);
		server_unlock(&server);
	}
}

static void *
work(void *arg)
{
	unsigned int me = *(unsigned int *)arg, seed = me + 1, i, file;
	struct locks_ask a;

	for (i = 0; i < TIMES; i++) {
		file = (unsigned int)rand_r(&seed) % FILES;
		a = ask_of(me, file);
		a.offset = (unsigned int)rand_r(&seed) % 64;
		a.length = 1 + (unsigned int)rand_r(&seed) % 16;
		a.exclusive = rand_r(&seed) % 2 == 0;
		a.block = rand_r(&seed) % 2 == 0;
		if (rand_r(&seed) % 2 == 0)
			ask_lock(&a, file);
		else
			ask_unlock(&a);
		if (i % 500 == 499)
			ask_free(&a);
		if (i % 1000 == 999)
			look_at_all();
	}
	return NULL;
}

static void *
keep(void *arg)
{
	server_keep(&server, arg != NULL);
	return NULL;
}

static void
start_keepers(void)
{
	static pthread_t keepers[2];

	if (pthread_create(&keepers[0], NULL, keep, NULL) != 0 ||
	    pthread_create(&keepers[1], NULL, keep, &server) != 0)
		errx(1, "threads");
}

static uint64_t
count(enum locks_count what)
{
	return atomic_load(&server.stats->counts[what]);
}

int
main(void)
{
	static struct locks_stats stats;
	struct kernel_found found = { .end = RANGE_LAST };
	struct fh_subkey key = { { 0 } };
	unsigned int numbers[THREADS], i, free_files = 0;
	pthread_t threads[THREADS];
	struct locks_ask a;
	int fd;

	plan(NO_PLAN);
	for (i = 0; i < FILES; i++) {
		(void)snprintf(paths[i], sizeof(paths[i]),
		    "/tmp/test-locks.XXXXXX");
		fd = mkstemp(paths[i]);
		if (fd == -1)
			err(1, "%s", paths[i]);
		close(fd);
	}
	server_init(&server, &key, NULL, &stats, 1000);
	start_keepers();
	for (i = 0; i < THREADS; i++) {
		numbers[i] = i;
		pthread_create(&threads[i], NULL, work, &numbers[i]);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	ok(granted > TIMES / 10 && blocked > TIMES / 10, "%u locks, %u waiters",
	    granted, blocked);
	for (i = 0; i < THREADS; i++) {
		a = ask_of(i, 0);
		ask_free(&a);
	}
	for (i = 0; i < 1000 && count(LOCKS_COUNT_LOCKS) > 0; i++)
		usleep(10000); /* the keeper of slow files frees the rest */
	ok(count(LOCKS_COUNT_LOCKS) == 0 && count(LOCKS_COUNT_WAITERS) == 0,
	    "nothing is left in the table");
	for (i = 0; i < FILES; i++) {
		fd = open(paths[i], O_RDWR | O_CLOEXEC);
		free_files += !kernel_get(fd, true, &found);
		close(fd);
		(void)unlink(paths[i]);
	}
	cmp_ok(free_files, "==", FILES, "nor in the kernel");
	done_testing();
}

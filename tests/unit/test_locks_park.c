/* SPDX-License-Identifier: ISC */
/*
 * The table of locks while a filesystem is unmounted: its descriptors are closed,
 * what clients hold stays in the table, and the kernel gets it when the filesystem
 * is back. Links: nfsd
 * Runs in: tests.
 */
#include <string.h>

#include "base/util.h"
#include "nfsd/locks/state.h"
#include "tap.h"

#define OLD_FD	7
#define NEW_FD	8
#define OLD_DEV 1
#define NEW_DEV 2

static struct locks_table *t;
static int closed; /* the last descriptor; 0: none */
static unsigned int grants, sets; /* calls of the kernel */
static enum kernel_lock kernel[2]; /* of the first bytes of NEW_FD */
static bool unmount; /* while a thread is in the kernel */

static bool
is_gone(void *arg UNUSED, const struct table_opened *o)
{
	return o->root == OLD_DEV;
}

static void
park(void)
{
	table_park(t, is_gone, NULL);
}

static int
on_set(void *arg UNUSED, const struct locks_file *f, enum kernel_lock kind,
    uint64_t start, uint64_t end)
{
	uint64_t i;

	sets++;
	for (i = start; f->opened.fd == NEW_FD && i <= end && i < 2; i++)
		kernel[i] = kind;
	if (unmount)
		park();
	return 0;
}

static bool
on_get(void *arg UNUSED, const struct locks_file *f UNUSED,
    bool exclusive UNUSED, struct kernel_found *found UNUSED)
{
	return false;
}

static void
on_close(void *arg UNUSED, int fd)
{
	closed = fd;
}

static void
on_grant(void *arg UNUSED, const void *message UNUSED, size_t len UNUSED)
{
	grants++;
}

static void
fresh(void)
{
	static const struct table_hooks hooks = { .set = on_set,
		.get = on_get,
		.close = on_close,
		.grant = on_grant };

	table_free(t);
	t = table_new(&hooks, NULL, 100);
	table_set_now(t, 1000);
	closed = 0;
	grants = 0;
	memset(kernel, 0, sizeof(kernel));
}

static struct locks_ask
asked(uint8_t host, uint64_t offset, uint8_t file)
{
	return (struct locks_ask){
		.client = { .from = { .family = AF_INET,
				.bytes = { 10, 0, 0, host } },
		    .vers = 4,
		    .kind = RPC_TCP,
		    .name_len = 4 },
		.fh = { .bytes = { 0x51, file } },
		.svid = 1,
		.offset = offset,
		.length = 1,
		.block = true,
		.exclusive = true
	};
}

static struct table_ask
question(const struct locks_ask *ask)
{
	return (struct table_ask){ ask, (const uint8_t *)"host",
		(const uint8_t *)"" };
}

/* One byte of a file with this descriptor, on the old or the new device. */
static enum locks_stat
lock_file(uint8_t host, uint64_t offset, uint8_t file, int fd)
{
	struct locks_ask ask = asked(host, offset, file);
	struct table_ask q = question(&ask);
	dev_t dev = fd == NEW_FD ? NEW_DEV : OLD_DEV;
	struct table_opened o = {
		.fd = fd, .dev = dev, .ino = 5, .root = dev, .writable = true
	};

	return table_lock(t, &q, &o);
}

static enum locks_stat
lock(uint8_t host, uint64_t offset, int fd)
{
	return lock_file(host, offset, 1, fd);
}

static enum locks_stat
unlock(uint8_t host, uint64_t offset)
{
	struct locks_ask ask = asked(host, offset, 1);
	struct table_ask q = question(&ask);

	return table_unlock(t, &q);
}

static void
stays(void)
{
	fresh();
	ok(lock(1, 0, OLD_FD) == LOCKS_GRANTED &&
		lock(1, 1, OLD_FD) == LOCKS_GRANTED,
	    "a client locks two bytes");
	park();
	cmp_ok(closed, "==", OLD_FD, "unmounted: the descriptor is closed");
	closed = 0;
	park();
	cmp_ok(closed, "==", 0, "once");
	sets = 0;
	ok(unlock(1, 1) == LOCKS_GRANTED && sets == 0,
	    "the client can unlock, and the kernel is not asked");
	ok(lock(2, 0, -1) == LOCKS_GRACE,
	    "a call that came a moment before is to come again");
	ok(lock(2, 0, NEW_FD) == LOCKS_BLOCKED,
	    "mounted again, as another device: the lock is held");
	ok(kernel[0] == KERNEL_WRITE && kernel[1] == KERNEL_NONE,
	    "the kernel has what is left of it");
	ok(unlock(1, 0) == LOCKS_GRANTED && grants == 1,
	    "and its end is told to the client that waits");
}

static void
waits(void)
{
	fresh();
	ok(lock(1, 0, OLD_FD) == LOCKS_GRANTED &&
		lock(2, 0, OLD_FD) == LOCKS_BLOCKED,
	    "a client waits for another");
	park();
	sets = 0;
	ok(unlock(1, 0) == LOCKS_GRANTED && grants == 1 && sets == 0,
	    "meanwhile the other unlocks: it is granted, in the table");
	ok(lock(3, 1, NEW_FD) == LOCKS_GRANTED && kernel[0] == KERNEL_WRITE,
	    "mounted again, the kernel has it too");
}

static void
another(void)
{
	fresh();
	(void)lock(1, 0, OLD_FD);
	park();
	ok(lock_file(2, 0, 2, OLD_FD) == LOCKS_GRANTED,
	    "the same numbers of another disk are another file");
	closed = 0;
	ok(unlock(1, 0) == LOCKS_GRANTED && closed == 0,
	    "the end of a parked file closes nothing");
}

static void
busy(void)
{
	fresh();
	unmount = true;
	(void)lock(1, 0, OLD_FD);
	unmount = false;
	cmp_ok(closed, "==", OLD_FD,
	    "unmounted while a thread is in the kernel: closed afterwards");
	ok(lock(2, 0, NEW_FD) == LOCKS_BLOCKED, "the lock was granted");
}

int
main(void)
{
	plan(NO_PLAN);
	stays();
	waits();
	another();
	busy();
	table_free(t);
	done_testing();
}

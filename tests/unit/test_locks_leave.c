/* SPDX-License-Identifier: ISC */
/*
 * The table of locks while addresses of this server come and go: clients of one
 * address lose what they hold when it leaves, and no others. Grace for the clients
 * of an address that comes begins beside what the table has. Links: nfsd
 * Runs in: tests.
 */
#include <string.h>

#include "base/util.h"
#include "nfsd/locks/state.h"
#include "tap.h"

static struct locks_table *t;
static uint64_t now;
static unsigned int saves, gone;
static enum locks_stat answer; /* of the parent */
static bool hangs; /* the kernel, while it unlocks */
static const struct addr floating = { .family = AF_INET,
	.bytes = { 10, 0, 9, 100 } };
static struct {
	bool in_save, in_set; /* the address leaves meanwhile */
	uint32_t remain; /* locks, as the table says */
} leaving;

static void
advance(uint64_t ms)
{
	now += ms;
	table_set_now(t, now);
	table_tick(t, false);
}

/* A filesystem that hangs does so without the mutex: another thread goes on. */
static int
on_set(void *arg UNUSED, const struct locks_file *f UNUSED,
    enum kernel_lock kind, uint64_t start UNUSED, uint64_t end UNUSED)
{
	if (hangs && kind == KERNEL_NONE)
		advance(2 * TABLE_IDLE_MS);
	if (leaving.in_set)
		leaving.remain = table_leave(t, &floating);
	return 0;
}

static bool
on_get(void *arg UNUSED, const struct locks_file *f UNUSED,
    bool exclusive UNUSED, struct kernel_found *found UNUSED)
{
	return false;
}

static enum locks_stat
on_save(void *arg UNUSED, const struct locks_listed *l UNUSED,
    const char *name UNUSED)
{
	saves++;
	if (leaving.in_save)
		leaving.remain = table_leave(t, &floating);
	return answer;
}

static void
on_gone(void *arg UNUSED, const struct locks_listed *l UNUSED,
    const char *name UNUSED)
{
	gone++;
}

static void
fresh(void)
{
	static const struct table_hooks hooks = {
		.set = on_set, .get = on_get, .save = on_save, .gone = on_gone
	};

	table_free(t);
	t = table_new(&hooks, NULL, 100);
	now = 1000;
	table_set_now(t, now);
	saves = gone = 0;
	answer = LOCKS_GRANTED;
}

static struct addr
address(uint8_t last)
{
	return (struct addr){ .family = AF_INET, .bytes = { 10, 0, 9, last } };
}

static struct locks_client
client(uint8_t from, uint8_t to)
{
	return (struct locks_client){ .from = address(from),
		.to = address(to),
		.vers = 4,
		.kind = RPC_TCP,
		.name_len = 4 };
}

/* svid 1 of a client asks for one byte. */
static enum locks_stat
lock(uint8_t from, uint8_t to, uint64_t offset, bool reclaim)
{
	struct locks_ask ask = { .client = client(from, to),
		.fh = { .bytes = { 0x51, 1 } },
		.svid = 1,
		.offset = offset,
		.length = 1,
		.exclusive = true,
		.monitored = true,
		.reclaim = reclaim };
	struct table_ask q = { &ask, (const uint8_t *)"host", NULL };
	struct table_opened o = {
		.fd = 7, .dev = 1, .ino = 1, .writable = true
	};

	return table_lock(t, &q, &o);
}

static void
list(uint8_t from, uint8_t to)
{
	struct locks_listed l = { .client = client(from, to) };

	table_listed(t, &l, "host");
}

static void
two_addresses(void)
{
	fresh();
	ok(lock(1, 100, 0, false) == LOCKS_GRANTED, "a client locks");
	ok(lock(1, 101, 0, false) == LOCKS_DENIED,
	    "by another address it is another client: Linux has two owners "
	    "with this number");
	ok(lock(1, 101, 1, false) == LOCKS_GRANTED && saves == 2,
	    "which is saved for itself");
}

static void
leaves(void)
{
	struct addr at = address(100);

	fresh();
	ok(lock(1, 100, 0, false) == LOCKS_GRANTED &&
		lock(2, 100, 1, false) == LOCKS_GRANTED &&
		lock(1, 101, 2, false) == LOCKS_GRANTED,
	    "three locks");
	cmp_ok(table_leave(t, &at), "==", 2, "two of them are to be freed");
	table_tick(t, false);
	cmp_ok(table_leave(t, &at), "==", 0, "and are");
	ok(lock(3, 101, 0, false) == LOCKS_GRANTED &&
		lock(3, 101, 1, false) == LOCKS_GRANTED,
	    "others can lock there");
	ok(lock(3, 101, 2, false) == LOCKS_DENIED, "the third is held");
	saves = 0;
	answer = LOCKS_GRACE;
	ok(lock(1, 100, 9, false) == LOCKS_GRACE && saves == 1,
	    "a late call does not lock: the parent is asked again");
	advance(2 * TABLE_IDLE_MS);
	cmp_ok(gone, "==", 0, "the list keeps the clients, for another head");
}

static void
comes(void)
{
	struct addr at = address(100);

	fresh();
	ok(lock(3, 101, 0, false) == LOCKS_GRANTED, "a client holds a lock");
	list(1, 100);
	table_grace(t, 45);
	ok(lock(3, 101, 1, false) == LOCKS_GRACE, "then an address comes");
	ok(lock(1, 100, 0, true) == LOCKS_DENIED,
	    "what is held stays, a reclaim finds it");
	ok(lock(1, 100, 5, true) == LOCKS_GRANTED, "and what is free");
	advance(5000);
	list(2, 102);
	table_grace(t, 45);
	ok(lock(1, 100, 6, true) == LOCKS_GRANTED,
	    "another address comes: those of the first reclaim");
	advance(41000);
	ok(lock(3, 101, 1, false) == LOCKS_GRACE, "grace is longer");
	table_grace(t, 1);
	advance(2000);
	ok(lock(3, 101, 1, false) == LOCKS_GRACE, "and not shorter");
	advance(15000);
	ok(lock(3, 101, 1, false) == LOCKS_GRANTED && gone == 1,
	    "one did not come: it is over");
	fresh();
	list(1, 100);
	table_grace(t, 45);
	cmp_ok(table_leave(t, &at), "==", 0, "it leaves before");
	ok(lock(3, 101, 1, false) == LOCKS_GRANTED && gone == 0,
	    "grace is over, and no client is taken from the list");
}

/* Two of its ranges have another's between them: the kernel is called twice. */
static void
leaves_slowly(void)
{
	struct addr at = address(1);

	fresh();
	ok(lock(1, 100, 0, false) == LOCKS_GRANTED &&
		lock(2, 100, 2, false) == LOCKS_GRANTED &&
		lock(1, 100, 4, false) == LOCKS_GRANTED,
	    "a client locks on both sides of another");
	cmp_ok(table_drop(t, &at), "==", 1, "it is to be freed");
	hangs = true;
	table_tick(t, false);
	hangs = false;
	cmp_ok(gone, "==", 0, "it stays until the kernel has unlocked all");
	ok(lock(3, 101, 0, false) == LOCKS_GRANTED &&
		lock(3, 101, 4, false) == LOCKS_GRANTED,
	    "then its ranges are free");
	advance(2 * TABLE_IDLE_MS);
	cmp_ok(gone, "==", 1, "and it is gone");
}

/*
 * The address leaves while a call waits for the parent, or for the kernel. The
 * parent asks again until nothing remains, and closes the list then.
 */
static void
leaves_meanwhile(void)
{
	fresh();
	leaving.in_save = true;
	ok(lock(1, 100, 0, false) == LOCKS_GRANTED && leaving.remain > 0,
	    "an address leaves while a client is listed: its lock remains");
	leaving.in_save = false;
	(void)table_leave(t, &floating);
	advance(2 * TABLE_IDLE_MS);
	ok(lock(3, 101, 0, false) == LOCKS_GRANTED, "and is freed later");
	fresh();
	leaving.in_set = true;
	ok(lock(1, 100, 0, false) == LOCKS_GRANTED && leaving.remain > 0,
	    "it leaves while the kernel locks: the lock remains");
	leaving.in_set = false;
	advance(2 * TABLE_IDLE_MS);
	ok(lock(3, 101, 0, false) == LOCKS_GRANTED, "and is freed later");
	fresh();
	(void)lock(1, 100, 0, false);
	(void)table_leave(t, &floating);
	leaving.in_set = true;
	leaving.remain = 0;
	table_tick(t, false);
	leaving.in_set = false;
	cmp_ok(leaving.remain, ">", 0, "while the kernel unlocks it remains");
	cmp_ok(table_leave(t, &floating), "==", 0, "then it does not");
}

int
main(void)
{
	plan(NO_PLAN);
	two_addresses();
	leaves();
	leaves_slowly();
	comes();
	leaves_meanwhile();
	table_free(t);
	done_testing();
}

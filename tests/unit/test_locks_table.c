/* SPDX-License-Identifier: ISC */
/*
 * The table of locks: limits, restarts of clients, shares, call-backs, grace,
 * the last byte of a file: what random steps rarely reach. Links: nfsd
 * Runs in: tests.
 */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "nfsd/locks/state.h"
#include "tap.h"

/* What the hooks saw. */
static struct {
	bool refuse_save, foreign; /* a local program has everything */
	enum kernel_lock at[64]; /* of the first bytes */
	struct locks_grant grant; /* the last */
	unsigned int grants, gone, limits, closed, saves;
} world;

static struct locks_table *t;
static struct locks_ask ask;
static const char *name, *owner;
static uint64_t now, inode;

static int
on_set(void *arg UNUSED, const struct locks_file *f UNUSED,
    enum kernel_lock kind, uint64_t start, uint64_t end)
{
	uint64_t i;

	if (world.foreign && kind != KERNEL_NONE) {
		errno = EAGAIN;
		return -1;
	}
	for (i = start; i <= end && i < nitems(world.at); i++)
		world.at[i] = kind;
	return 0;
}

static bool
on_get(void *arg UNUSED, const struct locks_file *f UNUSED,
    bool exclusive UNUSED, struct kernel_found *found UNUSED)
{
	return world.foreign;
}

static void
on_close(void *arg UNUSED, int fd UNUSED)
{
	world.closed++;
}

static enum locks_stat
on_save(void *arg UNUSED, const struct locks_listed *l UNUSED,
    const char *who UNUSED)
{
	world.saves++;
	return world.refuse_save ? LOCKS_NOLOCKS : LOCKS_GRANTED;
}

static void
on_gone(void *arg UNUSED, const struct locks_listed *l UNUSED,
    const char *who UNUSED)
{
	world.gone++;
}

static void
on_grant(void *arg UNUSED, const void *message, size_t len)
{
	memcpy(&world.grant, message, sizeof(world.grant));
	if (len !=
	    sizeof(world.grant) + world.grant.client.name_len +
		world.grant.owner_len)
		BAIL_OUT("a grant of another length");
	world.grants++;
}

static void
on_limit(void *arg UNUSED, const struct addr *from UNUSED,
    const char *what UNUSED)
{
	world.limits++;
}

static const struct table_hooks hooks = { .set = on_set,
	.get = on_get,
	.close = on_close,
	.save = on_save,
	.gone = on_gone,
	.grant = on_grant,
	.limit = on_limit };

static void
fresh(void)
{
	table_free(t);
	memset(&world, 0, sizeof(world));
	t = table_new(&hooks, NULL, 100000);
	now = 1000;
	table_set_now(t, now);
}

/* A client; the question is an exclusive LOCK of the whole file by svid 1. */
static void
as(uint8_t host, const char *client, uint32_t kind)
{
	memset(&ask, 0, sizeof(ask));
	ask.client.from.family = AF_INET;
	ask.client.from.bytes[0] = 10;
	ask.client.from.bytes[3] = host;
	ask.client.from.port = 700;
	ask.client.vers = 4;
	ask.client.kind = kind;
	ask.client.name_len = (uint32_t)strlen(client);
	ask.fh.bytes[0] = 0x51;
	ask.fh.bytes[1] = 1;
	ask.svid = 1;
	ask.exclusive = ask.monitored = true;
	ask.owner_len = 4;
	name = client;
	owner = "ownr";
	inode = 1;
}

static void
as_host(uint8_t host)
{
	as(host, "host", RPC_TCP);
}

static struct table_ask
question(void)
{
	return (struct table_ask){ &ask, (const uint8_t *)name,
		(const uint8_t *)owner };
}

static struct table_opened
opened(void)
{
	return (struct table_opened){
		.fd = 7, .dev = 1, .ino = (ino_t)inode, .writable = true
	};
}

static enum locks_stat
lock(uint64_t offset, uint64_t length)
{
	struct table_ask q = question();
	struct table_opened o = opened();

	ask.offset = offset;
	ask.length = length;
	return table_lock(t, &q, &o);
}

static enum locks_stat
unlock(uint64_t offset, uint64_t length)
{
	struct table_ask q = question();

	ask.offset = offset;
	ask.length = length;
	return table_unlock(t, &q);
}

static enum locks_stat
test(uint64_t offset, uint64_t length, struct locks_answer *a)
{
	uint8_t who[LOCKS_TEXT_MAX];
	struct table_ask q = question();
	struct table_opened o = opened();

	ask.offset = offset;
	ask.length = length;
	memset(a, 0, sizeof(*a));
	return table_test(t, &q, &o, a, who);
}

static enum locks_stat
cancel(uint64_t offset, uint64_t length)
{
	struct table_ask q = question();

	ask.offset = offset;
	ask.length = length;
	return table_cancel(t, &q);
}

static enum locks_stat
share(uint32_t mode, uint32_t access)
{
	struct table_ask q = question();
	struct table_opened o = opened();

	ask.share_mode = mode;
	ask.share_access = access;
	return table_share(t, &q, &o);
}

static enum locks_stat
free_client(int32_t state, bool proven)
{
	struct table_ask q = question();

	ask.state = state;
	ask.proven = proven;
	return table_free_client(t, &q);
}

static uint64_t
seen(enum locks_count what)
{
	return atomic_load(&t->stats->counts[what]);
}

/* Does all that is due until then. */
static void
advance(uint64_t ms)
{
	uint64_t until = now + ms, next;

	while ((next = table_next(t, false)) != 0 && next <= until) {
		now = next > now ? next : now;
		table_set_now(t, now);
		table_tick(t, false);
	}
	now = until;
	table_set_now(t, now);
}

static void
edges(void)
{
	struct locks_answer a;

	fresh();
	as_host(1);
	ok(lock((uint64_t)1 << 63, 1) == LOCKS_FBIG &&
		lock(UINT64_MAX, 1) == LOCKS_FBIG &&
		lock(0, UINT64_MAX) == LOCKS_FBIG &&
		lock(RANGE_LAST, 2) == LOCKS_FBIG,
	    "beyond the last byte: FBIG");
	ok(lock(RANGE_LAST, 1) == LOCKS_GRANTED &&
		lock(5, RANGE_LAST - 4) == LOCKS_GRANTED,
	    "the last byte of a file can be locked");
	as_host(2);
	ok(test(RANGE_LAST, 0, &a) == LOCKS_DENIED && a.offset == 5 &&
		a.length == 0,
	    "a lock to the end has length 0");
	ok(test(4, 1, &a) == LOCKS_GRANTED, "the byte before it is free");
	as_host(1);
	ok(unlock(UINT64_MAX, 0) == LOCKS_FBIG &&
		unlock(6, 0) == LOCKS_GRANTED && seen(LOCKS_COUNT_LOCKS) == 1,
	    "an unlock to the end leaves one byte");
	ok(unlock(0, 0) == LOCKS_GRANTED && world.closed == 1,
	    "the descriptor is closed after the last unlock");
	ok(unlock(0, 0) == LOCKS_GRANTED, "an unlock of nothing is granted");
	ask.svid = -1;
	ok(lock(0, 0) == LOCKS_GRANTED && unlock(0, 0) == LOCKS_GRANTED,
	    "an svid may be negative");
}

/* A reader comes first, then an owner that may write. */
static void
better(void)
{
	struct table_opened o = opened();
	struct table_ask q;

	fresh();
	as_host(1);
	ask.exclusive = false;
	ask.length = 10;
	q = question();
	o.writable = false;
	ok(table_lock(t, &q, &o) == LOCKS_GRANTED && o.fd == -1,
	    "a descriptor that cannot write serves a reader");
	as_host(2);
	ask.offset = 20;
	ask.length = 10;
	q = question();
	o = opened();
	o.writable = false;
	ok(table_lock(t, &q, &o) == LOCKS_ROFS, "it serves no writer");
	memset(world.at, 0, sizeof(world.at));
	ok(lock(20, 10) == LOCKS_GRANTED && world.closed == 1 &&
		world.at[0] == KERNEL_READ && world.at[20] == KERNEL_WRITE,
	    "one that can takes its place, with the locks of the reader");
}

static void
handles(void)
{
	fresh();
	as_host(1);
	(void)lock(0, 10);
	as_host(2);
	ask.fh.bytes[9] = 1;
	ok(lock(0, 10) == LOCKS_DENIED, "two handles of one file meet");
	inode = 2;
	ask.fh.bytes[9] = 2;
	ok(lock(0, 10) == LOCKS_GRANTED, "another file does not");
	inode = 3;
	ok(lock(0, 10) == LOCKS_NOLOCKS,
	    "a handle that leads elsewhere by now gets no lock");
}

/* An owner waits for a shared lock over bytes that it has exclusively. */
static void
lessening(void)
{
	struct locks_reply reply = { .stat = LOCKS_GRANTED };

	fresh();
	as_host(2);
	(void)lock(10, 10);
	as_host(1);
	(void)lock(0, 10);
	ask.exclusive = false;
	ask.block = true;
	ok(lock(5, 15) == LOCKS_BLOCKED, "half of it is another's: it waits");
	as_host(2);
	(void)unlock(10, 10);
	ok(world.grants == 1 && world.at[5] == KERNEL_WRITE &&
		world.at[12] == KERNEL_READ,
	    "granted, the kernel keeps what is exclusive");
	as_host(3);
	ask.exclusive = false;
	ask.block = true;
	ok(lock(5, 5) == LOCKS_BLOCKED, "a third one waits for a part of it");
	memcpy(reply.cookie, world.grant.cookie, sizeof(reply.cookie));
	table_reply(t, &reply);
	advance(10);
	ok(world.at[4] == KERNEL_WRITE && world.at[5] == KERNEL_READ,
	    "confirmed, the kernel has it shared");
	ok(world.grants == 2, "and the third one is granted its part");
}

static void
call_backs(void)
{
	static const unsigned int at[] = { 0, 1000, 3000, 7000, 15000 };
	struct locks_reply reply = { .stat = LOCKS_DENIED };
	unsigned int i, good = 0;

	fresh();
	as_host(1);
	(void)lock(0, 0);
	as_host(2);
	ask.block = true;
	ok(lock(0, 0) == LOCKS_BLOCKED && lock(0, 0) == LOCKS_BLOCKED &&
		seen(LOCKS_COUNT_WAITERS) == 1,
	    "the same question again makes no second waiter");
	ok(table_next(t, false) == 0, "nothing is due while it waits");
	as_host(1);
	(void)unlock(0, 0);
	for (i = 0; i < nitems(at); i++) {
		good += world.grants == i + 1 && world.grant.tries == i;
		advance((i + 1 < nitems(at) ? at[i + 1] : 29999) - at[i]);
	}
	cmp_ok(good, "==", nitems(at),
	    "call-backs at once, after 1, 3, 7 and 15 s");
	ok(lock(0, 0) == LOCKS_DENIED, "meanwhile no other gets it");
	advance(1);
	ok(seen(LOCKS_COUNT_UNANSWERED) == 1 && lock(0, 0) == LOCKS_GRANTED,
	    "after 30 s without answer it is free");
	as_host(2);
	ask.block = true;
	(void)lock(0, 0);
	as_host(1);
	(void)unlock(0, 0);
	table_reply(t, &reply);
	advance(5);
	ok(lock(0, 0) == LOCKS_DENIED, "a guessed cookie changes nothing");
	memcpy(reply.cookie, world.grant.cookie, sizeof(reply.cookie));
	table_reply(t, &reply);
	advance(5);
	ok(lock(0, 0) == LOCKS_GRANTED, "a client that declines frees it");
}

static void
cancelling(void)
{
	fresh();
	as_host(1);
	(void)lock(0, 0);
	as_host(2);
	ask.block = true;
	(void)lock(0, 0);
	as_host(3);
	ok(cancel(0, 0) == LOCKS_GRANTED && seen(LOCKS_COUNT_WAITERS) == 1,
	    "another client's CANCEL cancels nothing");
	as_host(2);
	ok(cancel(0, 0) == LOCKS_GRANTED && seen(LOCKS_COUNT_WAITERS) == 0,
	    "CANCEL of a waiter");
	ask.block = true;
	(void)lock(0, 0);
	as_host(1);
	(void)unlock(0, 0);
	as_host(2);
	ok(cancel(0, 0) == LOCKS_GRANTED && seen(LOCKS_COUNT_LOCKS) == 0,
	    "CANCEL of a lock that is granted and not confirmed frees it");
	(void)lock(0, 0);
	ok(cancel(0, 0) == LOCKS_DENIED && seen(LOCKS_COUNT_LOCKS) == 1,
	    "CANCEL of a lock that the owner has is denied");
	as_host(3);
	ask.block = true;
	(void)lock(0, 0);
	(void)unlock(0, 0);
	cmp_ok(seen(LOCKS_COUNT_WAITERS), "==", 0, "UNLOCK of a waiter");
}

static void
foreign(void)
{
	unsigned int polls = 0;
	uint64_t next;

	fresh();
	world.foreign = true;
	as_host(1);
	ok(lock(0, 0) == LOCKS_DENIED, "a local program is in the way");
	ask.block = true;
	ok(lock(0, 0) == LOCKS_BLOCKED && table_next(t, false) == now + 50,
	    "a waiter for it tries again after 50 ms");
	while (now < 11000 && (next = table_next(t, false)) != 0) {
		advance(next - now);
		polls++;
	}
	ok(polls >= 13 && polls <= 16, "then less often: %u times in 10 s",
	    polls);
	world.foreign = false;
	advance(1000);
	cmp_ok(world.grants, "==", 1, "it is granted within a second");
	(void)lock(0, 0);
	(void)unlock(0, 0);
	advance(TABLE_IDLE_MS);
	ok(table_next(t, false) == 0 && world.gone == 1,
	    "then nothing is due, and the client is off the list");
}

static void
deadlocks(void)
{
	fresh();
	as_host(1);
	(void)lock(0, 1);
	as_host(2);
	(void)lock(1, 1);
	as_host(3);
	(void)lock(2, 1);
	ask.block = true;
	ok(lock(0, 1) == LOCKS_BLOCKED, "the third waits for the first");
	as_host(2);
	ask.block = true;
	ok(lock(2, 1) == LOCKS_BLOCKED, "the second for the third");
	as_host(1);
	ask.block = true;
	ok(lock(1, 1) == LOCKS_DEADLOCK, "the first for the second: no");
	inode = 2;
	ask.fh.bytes[4] = 1;
	ok(lock(1, 1) == LOCKS_GRANTED, "in another file it gets a lock");
}

/* A client was restarted: what is believed, and what that frees. */
static void
restarts(void)
{
	fresh();
	as_host(1);
	ask.state = 3;
	(void)lock(0, 1);
	as_host(2);
	ok(free_client(5, true) == LOCKS_GRANTED &&
		seen(LOCKS_COUNT_LOCKS) == 1,
	    "a notify from another address frees nothing");
	as_host(1);
	ok(free_client(3, true) == LOCKS_GRANTED &&
		seen(LOCKS_COUNT_LOCKS) == 1,
	    "a notify with the state of its last lock is a repeat");
	ok(free_client(5, false) == LOCKS_BLOCKED &&
		seen(LOCKS_COUNT_LOCKS) == 1,
	    "one that is not proven frees nothing, and says there is");
	ok(free_client(5, true) == LOCKS_GRANTED &&
		seen(LOCKS_COUNT_LOCKS) == 0,
	    "a notify with another state frees");
	ok(free_client(5, false) == LOCKS_GRANTED, "then there is nothing");
	ask.state = 5;
	(void)lock(0, 1);
	as(1, "other", RPC_TCP);
	ok(free_client(7, true) == LOCKS_GRANTED &&
		seen(LOCKS_COUNT_LOCKS) == 0,
	    "an unknown name means the only one of its address");
	as_host(1);
	(void)lock(0, 1);
	as(1, "another", RPC_UDP);
	(void)lock(1, 1);
	as(1, "other", RPC_TCP);
	ok(free_client(9, true) == LOCKS_GRANTED &&
		seen(LOCKS_COUNT_LOCKS) == 2,
	    "if that has two, it frees nothing");
	as_host(1);
	ok(free_client(0, true) == LOCKS_GRANTED &&
		seen(LOCKS_COUNT_LOCKS) == 1,
	    "FREE_ALL frees whatever the state");
	ask.client.from.bytes[3] = 1;
	cmp_ok(table_drop(t, &ask.client.from), "==", 1,
	    "an administrator drops the rest of the address");
	advance(10);
	cmp_ok(seen(LOCKS_COUNT_LOCKS), "==", 0, "it is gone");
}

static void
new_states(void)
{
	fresh();
	as_host(1);
	ask.state = 3;
	(void)lock(0, 1);
	ask.state = 5;
	ask.svid = 2;
	ok(lock(1, 1) == LOCKS_GRANTED && seen(LOCKS_COUNT_LOCKS) == 1,
	    "a LOCK by TCP with another state tells of a restart");
	ask.client.from.port = 1024;
	ask.state = 7;
	ok(lock(4, 1) == LOCKS_GRANTED && seen(LOCKS_COUNT_LOCKS) == 2,
	    "from a port of a user it does not");
	fresh();
	as(1, "host", RPC_UDP);
	ask.state = 3;
	(void)lock(0, 1);
	ask.state = 5;
	ask.svid = 2;
	ok(lock(1, 1) == LOCKS_GRANTED && seen(LOCKS_COUNT_LOCKS) == 2,
	    "nor by UDP, where it may be forged");
	ok(free_client(5, true) == LOCKS_GRANTED &&
		seen(LOCKS_COUNT_LOCKS) == 1,
	    "the notify then frees what is older");
}

static void
shares(void)
{
	struct table_ask q;

	fresh();
	as_host(1);
	ok(share(2, 1) == LOCKS_GRANTED, "reads, denies writing");
	as_host(2);
	ok(share(0, 1) == LOCKS_GRANTED, "another reads");
	owner = "othr";
	ok(share(0, 2) == LOCKS_DENIED && share(1, 1) == LOCKS_DENIED,
	    "another writes, or denies reading: no");
	ok(share(4, 1) == LOCKS_FAILED && share(0, 7) == LOCKS_FAILED,
	    "modes that do not exist fail");
	ok(lock(0, 0) == LOCKS_GRANTED, "shares do not conflict with locks");
	(void)unlock(0, 0);
	as_host(1);
	ok(share(0, 1) == LOCKS_GRANTED && seen(LOCKS_COUNT_SHARES) == 2,
	    "a second share of the same owner replaces the first");
	as_host(3);
	ok(share(0, 2) == LOCKS_GRANTED, "then writing is not denied");
	q = question();
	ok(table_unshare(t, &q) == LOCKS_GRANTED, "UNSHARE");
	ok(table_unshare(t, &q) == LOCKS_GRANTED &&
		seen(LOCKS_COUNT_SHARES) == 2,
	    "and again");
}

/* Lists a client as the parent does. */
static void
list(uint8_t host)
{
	struct locks_listed l = { .state = 3 };

	as_host(host);
	l.client = ask.client;
	table_listed(t, &l, name);
}

static void
grace(void)
{
	struct locks_listed l = { .state = 3 };

	fresh();
	table_grace(t, 45);
	as_host(3);
	ok(lock(0, 0) == LOCKS_GRANTED, "no grace if no client held a lock");
	fresh();
	list(1);
	list(2);
	table_grace(t, 45);
	as_host(1);
	ok(lock(0, 1) == LOCKS_GRACE, "grace: no new lock");
	ask.reclaim = true;
	ok(lock(0, 1) == LOCKS_GRANTED && world.saves == 1,
	    "a listed client reclaims, and is listed again");
	as_host(3);
	ask.reclaim = true;
	ok(lock(5, 1) == LOCKS_GRACE, "a client that held none does not");
	as(1, "other", RPC_TCP);
	ask.reclaim = true;
	ok(lock(5, 1) == LOCKS_GRACE, "nor another name at its address");
	advance(20000);
	as_host(1);
	ok(lock(9, 1) == LOCKS_GRACE, "one client was not heard: it lasts");
	as_host(2);
	l.client = ask.client;
	table_heard(t, &l, name);
	advance(TABLE_QUIET_MS - 1000);
	as_host(1);
	ok(lock(9, 1) == LOCKS_GRACE, "it was heard: it has time to reclaim");
	advance(1000);
	ok(lock(9, 1) == LOCKS_GRANTED && world.gone == 1,
	    "it reclaims nothing: grace ends early");
	ask.reclaim = true;
	ok(lock(11, 1) == LOCKS_GRACE, "a reclaim after grace");
	fresh();
	list(1);
	table_grace(t, 45);
	advance(44000);
	as_host(2);
	ok(lock(0, 1) == LOCKS_GRACE, "a client that stays away");
	advance(1000);
	ok(lock(0, 1) == LOCKS_GRANTED, "is waited for 45 s");
}

static void
limits(void)
{
	unsigned int i;

	fresh();
	as_host(1);
	for (i = 0; lock(2 * i, 1) == LOCKS_GRANTED; i++)
		continue;
	cmp_ok(i, "==", TABLE_FILE_RANGES, "ranges of a file");
	ok(unlock(0, 1) == LOCKS_GRANTED, "one can be unlocked");
	inode = 2;
	ask.fh.bytes[4] = 1;
	for (; lock(2 * i, 1) == LOCKS_GRANTED; i++)
		continue;
	/* The one that was unlocked counts no more. */
	cmp_ok(i, "==", TABLE_CLIENT_LOCKS + 1, "locks of a client");
	as_host(2);
	inode = 2;
	ask.fh.bytes[4] = 1;
	ok(lock(1, 1) == LOCKS_GRANTED, "another client goes on");
	ok(world.limits >= 2, "the log says so");
	fresh();
	as_host(1);
	(void)lock(0, 0);
	as_host(2);
	ask.block = true;
	for (i = 0; i < 2 * TABLE_CLIENT_WAITERS; i++) {
		ask.svid = (int32_t)i;
		if (lock(0, 0) != LOCKS_BLOCKED)
			break;
	}
	cmp_ok(i, "==", TABLE_CLIENT_WAITERS, "waiters of a client");
	as_host(1);
	ok(unlock(0, 0) == LOCKS_GRANTED && world.grants == 1,
	    "one of them gets the lock");
	world.refuse_save = true;
	as_host(4);
	ok(lock(1, 1) == LOCKS_NOLOCKS,
	    "a client that cannot be listed gets no lock");
	world.refuse_save = false;
	ask.monitored = false;
	inode = 9;
	ask.fh.bytes[4] = 9;
	i = world.saves;
	ok(lock(1, 1) == LOCKS_GRANTED && world.saves == i,
	    "one that is not monitored need not be");
}

static void
many_names(void)
{
	char text[16];
	unsigned int i;

	fresh();
	for (i = 0; i < 2 * TABLE_HOST_CLIENTS; i++) {
		(void)snprintf(text, sizeof(text), "name%u", i);
		as(1, text, RPC_UDP);
		if (lock(2 * i, 1) != LOCKS_GRANTED)
			break;
	}
	cmp_ok(i, "==", TABLE_HOST_CLIENTS, "names of one address");
	as_host(2);
	ok(lock(1, 1) == LOCKS_GRANTED, "another address goes on");
	fresh();
	as_host(1);
	ask.owner_len = LOCKS_TEXT_MAX;
	owner = calloc(1, LOCKS_TEXT_MAX);
	for (i = 0; i < 2000; i++) {
		ask.svid = (int32_t)i;
		if (lock(2 * i, 1) != LOCKS_GRANTED)
			break;
	}
	cmp_ok(i, "==", TABLE_CLIENT_TEXT / LOCKS_TEXT_MAX,
	    "bytes of owners of a client");
	free((void *)(uintptr_t)owner);
}

static void
count_row(void *arg, const struct locks_row *row, size_t len)
{
	unsigned int *n = arg;

	if (row->what <= LOCKS_ROW_SHARE && row->inode == 1 &&
	    len == sizeof(*row) + row->client.name_len)
		n[row->what]++;
}

static void
rows(void)
{
	unsigned int n[3] = { 0 };
	size_t part;

	fresh();
	as_host(1);
	(void)lock(0, 1);
	(void)lock(5, 1);
	(void)share(0, 1);
	as_host(2);
	ask.block = true;
	(void)lock(0, 1);
	for (part = 0; table_rows(t, part, count_row, n); part++)
		continue;
	ok(n[LOCKS_ROW_LOCK] == 2 && n[LOCKS_ROW_WAITS] == 1 &&
		n[LOCKS_ROW_SHARE] == 1,
	    "every lock, waiter and share has a row");
}

static void
memory(void)
{
	const unsigned int n = TABLE_FILE_RANGES - 1;
	size_t before;
	double each[2];
	unsigned int i;

	fresh();
	as_host(1);
	(void)lock(1, 1);
	before = mallinfo2().uordblks;
	for (i = 0; i < n; i++)
		(void)lock(2 * i + 4, 1);
	each[0] = (double)(mallinfo2().uordblks - before) / n;
	fresh();
	as_host(1);
	owner = "123@host.example.org";
	ask.owner_len = (uint32_t)strlen(owner);
	before = mallinfo2().uordblks;
	for (i = 0; i < n; i++) {
		ask.svid = (int32_t)i;
		(void)lock(2 * i, 1);
	}
	each[1] = (double)(mallinfo2().uordblks - before) / n;
	skip(mallinfo2().uordblks == 0, 1, "this malloc does not count");
	ok(each[0] < 200 && each[1] < 200,
	    "bytes a lock: %.0f, %.0f with an owner each", each[0], each[1]);
	end_skip;
}

int
main(void)
{
	plan(NO_PLAN);
	edges();
	better();
	handles();
	lessening();
	call_backs();
	cancelling();
	foreign();
	deadlocks();
	restarts();
	new_states();
	shares();
	grace();
	limits();
	many_names();
	rows();
	memory();
	table_free(t);
	done_testing();
}

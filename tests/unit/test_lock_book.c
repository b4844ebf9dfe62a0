/* SPDX-License-Identifier: ISC */
/*
 * Lists of clients with locks by address: which list is whose, and that two
 * processes never use the list of a floating address at once. Links: nfsd
 * Runs in: tests.
 */
#include <sys/stat.h>

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nfsd/disk/lock_book.h"
#include "tap.h"

static char dir[] = "/tmp/test-lock-book.XXXXXX";
static char floating[64], file[96];

static struct locks_listed
client(const struct addr *to)
{
	struct locks_listed l = { .client = { .to = *to, .vers = 4 } };

	if (!addr_parse(&l.client.from, "10.0.0.7"))
		errx(1, "address");
	return l;
}

static void
make(struct lock_books *b, const struct addr *at)
{
	memset(b, 0, sizeof(*b));
	lock_books_add(b, NULL, dir);
	lock_books_add(b, at, floating);
}

static void
whose(struct lock_books *b, const struct addr *at, const struct addr *to)
{
	ok(lock_books_for(b, at) == &b->list[1] &&
		lock_books_at(b, at) == &b->list[1],
	    "a floating address has its list");
	ok(lock_books_for(b, to) == &b->list[0] && lock_books_at(b, to) == NULL,
	    "others share one");
	ok(b->list[0].here && !b->list[1].here, "and are here");
}

static void
moves(const struct addr *at)
{
	struct lock_books one, two;
	struct locks_listed l = client(at);
	int32_t state;

	make(&one, at);
	make(&two, at);
	ok(lock_book_begin(&one.list[1], 45), "one head begins");
	cmp_ok(lock_book_grace(&one.list[1]), ">", 40, "with grace");
	state = one.list[1].state.state;
	ok(lock_state_add(&one.list[1].state, &l, "") &&
		lock_book_sync(&one.list[1]),
	    "a client is added");
	ok(!lock_book_begin(&two.list[1], 45) && !two.list[1].begun,
	    "another head cannot");
	lock_book_close(&one.list[1]);
	cmp_ok(lock_book_grace(&one.list[1]), "==", 0, "the first gives up");
	ok(lock_book_begin(&two.list[1], 45), "now it can");
	cmp_ok(two.list[1].state.state, "==", state + 2,
	    "with the next number");
	ok(two.list[1].state.n == 1 && two.list[1].state.clients[0].lost,
	    "and the client is to be told");
	lock_book_close(&two.list[1]);
	(void)chmod(floating, 0770);
	ok(!lock_book_begin(&one.list[1], 45), "not if others can write there");
	(void)chmod(floating, 0700);
	ok(lock_book_begin(&one.list[1], 45), "it can be tried again");
	lock_book_close(&one.list[1]);
}

static void
own(void)
{
	struct lock_books one, two;
	struct addr none = { .family = 0 };

	make(&one, &none);
	make(&two, &none);
	ok(!lock_book_begin(&one.list[0], 45),
	    "the own list is opened at the start, or never");
	lock_book_open(&one.list[0]);
	lock_book_open(&two.list[0]);
	ok(one.list[0].open && !two.list[0].open, "by one nfsd");
	ok(lock_book_begin(&one.list[0], 45), "which begins");
	lock_book_close(&one.list[0]);
}

int
main(void)
{
	struct lock_books b;
	struct addr at, to;

	plan(NO_PLAN);
	if (mkdtemp(dir) == NULL || !addr_parse(&at, "fd00::100") ||
	    !addr_parse(&to, "10.0.0.1"))
		err(1, "%s", dir);
	(void)snprintf(floating, sizeof(floating), "%s/fd00::100", dir);
	(void)snprintf(file, sizeof(file), "%s/" LOCK_STATE_FILE, floating);
	make(&b, &at);
	whose(&b, &at, &to);
	ok(!lock_book_begin(&b.list[1], 45), "no directory: it waits");
	if (mkdir(floating, 0700) == -1)
		err(1, "%s", floating);
	moves(&at);
	own();
	(void)unlink(file);
	(void)rmdir(floating);
	(void)snprintf(file, sizeof(file), "%s/" LOCK_STATE_FILE, dir);
	(void)unlink(file);
	(void)rmdir(dir);
	done_testing();
}

/* SPDX-License-Identifier: ISC */
/*
 * Lists of clients with locks by address: see lock_book.h.
 * Runs in: nfsd parent.
 */
#include <sys/stat.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "nfsd/disk/lock_book.h"

void
lock_books_add(struct lock_books *b, const struct addr *at, const char *dir)
{
	struct lock_book *new = &b->list[b->n++];

	*new = (struct lock_book){ .dir = dir, .here = at == NULL };
	new->state.dir = new->state.log = -1;
	if (at != NULL)
		new->at = *at;
}

struct lock_book *
lock_books_at(struct lock_books *b, const struct addr *at)
{
	size_t i;

	for (i = 1; i < b->n; i++)
		if (addr_same_host(&b->list[i].at, at))
			return &b->list[i];
	return NULL;
}

struct lock_book *
lock_books_for(struct lock_books *b, const struct addr *to)
{
	struct lock_book *found = lock_books_at(b, to);

	return found != NULL ? found : &b->list[0];
}

/* Says once why a list cannot be used. */
static void
tell(struct lock_book *b, const char *why)
{
	char at[ADDR_STRLEN];

	if (!b->told)
		log_warnx("locks of clients of %s: %s: %s: they wait",
		    addr_print(&b->at, at), b->dir, why);
	b->told = true;
}

static void
tell_refused(struct lock_book *b)
{
	if (!b->told)
		log_warn("%s: clients get no locks until it can be written",
		    b->state.path);
	b->told = true;
}

static void
tell_written(struct lock_book *b)
{
	if (b->told)
		log_info("%s: it can be written again", b->state.path);
	b->told = false;
}

void
lock_book_open(struct lock_book *b)
{
	b->open = lock_state_open(&b->state, b->dir);
	if (b->open)
		return;
	if (errno == EWOULDBLOCK)
		log_warnx("locks: %s: another nfsd uses it: no locks are "
			  "served: name another directory with -o state",
		    b->dir);
	else
		log_warn("locks: %s: no locks are served: make the directory, "
			 "or name another with -o state",
		    b->dir);
}

/* A user that can write there could add clients that may reclaim locks. */
static bool
is_safe(const char *dir)
{
	struct stat st;

	return lstat(dir, &st) == -1 ||
	    (!S_ISLNK(st.st_mode) && (st.st_mode & 022) == 0 &&
		(st.st_uid == 0 || st.st_uid == geteuid()));
}

static bool
open_floating(struct lock_book *b)
{
	if (!is_safe(b->dir)) {
		tell(b, "other users can write it, or it is a symbolic link");
		return false;
	}
	b->open = lock_state_open(&b->state, b->dir);
	if (!b->open)
		tell(b,
		    errno == EWOULDBLOCK ? "another head uses it" :
					   strerror(errno));
	return b->open;
}

bool
lock_book_begin(struct lock_book *b, unsigned int grace)
{
	char at[ADDR_STRLEN];

	b->begun = false;
	b->tried_ms = clock_ms();
	if (!b->open && (b->at.family == 0 || !open_floating(b)))
		return false;
	if (!lock_state_raise(&b->state)) {
		tell_refused(b);
		return false;
	}
	tell_written(b);
	b->begun = true;
	b->grace_until_ms = clock_ms() + (uint64_t)grace * 1000;
	if (b->at.family != 0)
		log_info("locks: %s is here: its list is %s",
		    addr_print(&b->at, at), b->state.path);
	if (b->state.n > 0)
		log_info("locks: state %d: %zu clients held locks: they are "
			 "told, and may reclaim them for %u s",
		    b->state.state, b->state.n, grace);
	return true;
}

bool
lock_book_sync(struct lock_book *b)
{
	bool good = lock_state_sync(&b->state);

	if (good)
		tell_written(b);
	else
		tell_refused(b);
	return good;
}

void
lock_book_close(struct lock_book *b)
{
	char at[ADDR_STRLEN];

	if (b->open && b->at.family != 0)
		log_info("locks: %s left: another head may use %s",
		    addr_print(&b->at, at), b->state.path);
	if (b->open)
		lock_state_close(&b->state);
	b->open = b->begun = b->leaving = b->told = false;
}

uint32_t
lock_book_grace(const struct lock_book *b)
{
	uint64_t now = clock_ms();

	return !b->begun || now >= b->grace_until_ms ?
	    0 :
	    (uint32_t)((b->grace_until_ms - now + 999) / 1000);
}

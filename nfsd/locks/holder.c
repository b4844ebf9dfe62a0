/* SPDX-License-Identifier: ISC */
/*
 * What one owner has in one file. Its ranges are those of POSIX: a new one
 * replaces what it overlaps, joins neighbours of its kind and splits others.
 * Runs in: nfsd locks, tests, fuzzers.
 */
#include <stdlib.h>
#include <string.h>

#include "nfsd/locks/parts.h"

static struct holder **
place(struct locks_table *t, const struct locks_file *f,
    const struct table_client *c, int32_t svid)
{
	uint64_t h = hash_mix((uintptr_t)f ^ hash_mix((uintptr_t)c) ^
	    hash_mix((uint64_t)(uint32_t)svid));

	return &t->holders[h % HOLDER_BUCKETS];
}

struct holder *
holder_find(struct locks_table *t, const struct locks_file *f,
    const struct table_client *c, int32_t svid)
{
	struct holder *h = *place(t, f, c, svid);

	while (h != NULL && (h->file != f || !is_owner(h, c, svid)))
		h = h->next;
	return h;
}

struct holder *
holder_make(struct locks_table *t, struct locks_file *f, const struct wanted *w,
    const uint8_t *owner, size_t owner_len, bool tentative)
{
	struct holder *h = calloc(1, sizeof(*h) + owner_len), **at;

	if (h == NULL)
		return NULL;
	h->file = f;
	h->client = w->client;
	h->svid = w->svid;
	h->since = (uint32_t)(t->now / 1000);
	h->tentative = tentative;
	h->owner_len = (unsigned int)owner_len & 0xffff;
	if (owner_len > 0)
		memcpy(h->owner, owner, owner_len);
	w->client->text += (uint32_t)owner_len;
	TAILQ_INSERT_TAIL(&w->client->holders, h, of_client);
	if (!tentative) {
		at = place(t, f, w->client, w->svid);
		h->next = *at;
		*at = h;
	}
	return h;
}

void
holder_end(struct locks_table *t, struct holder *h)
{
	struct holder **at;

	if (h->own != NULL)
		return;
	if (!h->tentative) {
		at = place(t, h->file, h->client, h->svid);
		while (*at != h)
			at = &(*at)->next;
		*at = h->next;
	}
	TAILQ_REMOVE(&h->client->holders, h, of_client);
	h->client->text -= h->owner_len;
	free(h);
}

bool
ranges_make(struct range *spare[2])
{
	spare[0] = malloc(sizeof(*spare[0]));
	spare[1] = malloc(sizeof(*spare[1]));
	if (spare[0] != NULL && spare[1] != NULL)
		return true;
	ranges_drop(spare);
	return false;
}

void
ranges_drop(struct range *spare[2])
{
	free(spare[0]);
	free(spare[1]);
	spare[0] = spare[1] = NULL;
}

static struct range *
use_spare(struct range *spare[2])
{
	size_t i = spare[0] == NULL;
	struct range *r = spare[i];

	spare[i] = NULL;
	return r;
}

static void
add_range(struct locks_table *t, struct holder *h, struct range *r)
{
	r->holder = h;
	r->rank = table_random(t) & 0x7fffffff;
	range_insert(&h->file->ranges, &h->own, r);
	h->file->nranges++;
	client_add_locks(t, h->client, 1);
	table_count(t, LOCKS_COUNT_LOCKS, 1);
}

static void
drop_range(struct locks_table *t, struct holder *h, struct range *r)
{
	range_remove(&h->file->ranges, &h->own, r);
	h->file->nranges--;
	client_add_locks(t, h->client, -1);
	table_count(t, LOCKS_COUNT_LOCKS, -1);
}

/* Puts back what of a range lies outside. Needs a spare if that is two parts. */
static void
keep_rest(struct locks_table *t, struct holder *h, struct range *r,
    const struct wanted *w, struct range *spare[2])
{
	struct range *left = r->start < w->start ? r : NULL, *right = NULL;

	if (r->end > w->end) {
		right = left == NULL ? r : use_spare(spare);
		*right = *r;
		right->start = w->end + 1;
		add_range(t, h, right);
	}
	if (left != NULL) {
		left->end = w->start - 1;
		add_range(t, h, left);
	} else if (right == NULL)
		free(r);
}

/* Makes the new range include one of the same kind. */
static void
join(struct locks_table *t, struct holder *h, struct range *r,
    struct wanted *grown)
{
	if (r->start < grown->start)
		grown->start = r->start;
	if (r->end > grown->end)
		grown->end = r->end;
	drop_range(t, h, r);
	free(r);
}

static void
join_neighbours(struct locks_table *t, struct holder *h, struct wanted *grown)
{
	struct range *r;

	if (grown->start > 0) {
		r = range_own_first(h->own, grown->start - 1, grown->start - 1);
		if (r != NULL && r->exclusive == grown->exclusive)
			join(t, h, r, grown);
	}
	if (grown->end < RANGE_LAST) {
		r = range_own_first(h->own, grown->end + 1, grown->end + 1);
		if (r != NULL && r->exclusive == grown->exclusive)
			join(t, h, r, grown);
	}
}

/*
 * One spare for the new range and one for the second half of a range that it
 * splits: both can be needed.
 */
void
holder_set(struct locks_table *t, struct holder *h, const struct wanted *w,
    struct range *spare[2])
{
	struct wanted grown = *w;
	struct range *r, *new = use_spare(spare);

	while ((r = range_own_first(h->own, w->start, w->end)) != NULL) {
		if (r->exclusive == w->exclusive) {
			join(t, h, r, &grown);
			continue;
		}
		drop_range(t, h, r);
		keep_rest(t, h, r, w, spare);
	}
	join_neighbours(t, h, &grown);
	*new = (struct range){ .start = grown.start,
		.end = grown.end,
		.exclusive = w->exclusive };
	add_range(t, h, new);
}

uint32_t
holder_grows(const struct holder *h, const struct wanted *w)
{
	const struct range *r = range_own_first(h->own, w->start, w->end);

	if (r == NULL)
		return 1;
	if (r->exclusive == w->exclusive)
		return 0;
	return (r->start < w->start ? 1u : 0u) + (r->end > w->end ? 1u : 0u);
}

bool
holder_splits(const struct holder *h, uint64_t start, uint64_t end)
{
	const struct range *r = range_own_first(h->own, start, end);

	return r != NULL && r->start < start && r->end > end;
}

static bool
stop(void *arg, struct range *r)
{
	*(struct range **)arg = r;
	return false;
}

static bool
is_free(const struct locks_file *f, uint64_t start, uint64_t end)
{
	struct range *found = NULL;

	(void)range_visit(f->ranges, start, end, false, stop, &found);
	return found == NULL;
}

/*
 * The kernel unlocks what the owner had, unless another still has it. Where an
 * exclusive lock was, the same owner may have another one below it.
 */
static void
unlock_kernel(struct locks_table *t, struct locks_file *f,
    const struct wanted *gone)
{
	if (is_free(f, gone->start, gone->end))
		(void)file_set(t, f, KERNEL_NONE, gone->start, gone->end);
	else
		file_sync(t, f, gone->start, gone->end, gone->exclusive);
}

/* Takes out the first range within w; tells what of it is gone. */
static bool
clear_first(struct locks_table *t, struct holder *h, const struct wanted *w,
    struct range *spare[2], struct wanted *gone)
{
	struct range *r = range_own_first(h->own, w->start, w->end);

	if (r == NULL)
		return false;
	*gone =
	    (struct wanted){ .start = r->start > w->start ? r->start : w->start,
		    .end = r->end < w->end ? r->end : w->end,
		    .exclusive = r->exclusive };
	drop_range(t, h, r);
	keep_rest(t, h, r, w, spare);
	return true;
}

/*
 * One call of the kernel for many ranges, if no owner has a lock between them. The
 * kernel may take long, and a client without locks would be freed meanwhile.
 */
bool
holder_clear(struct locks_table *t, struct holder *h, uint64_t start,
    uint64_t end, struct range *spare[2])
{
	const struct wanted w = { .start = start, .end = end };
	struct wanted gone, next;
	struct locks_file *f = h->file;
	struct table_client *c = h->client;

	if (!clear_first(t, h, &w, spare, &gone))
		return false;
	client_pin(t, c);
	while (clear_first(t, h, &w, spare, &next)) {
		if (next.start == gone.end + 1 ||
		    is_free(f, gone.end + 1, next.start - 1)) {
			next.start = gone.start;
			next.exclusive = next.exclusive || gone.exclusive;
		} else
			unlock_kernel(t, f, &gone);
		gone = next;
	}
	holder_end(t, h);
	unlock_kernel(t, f, &gone);
	client_unpin(t, c);
	return true;
}

void
holder_forget(struct locks_table *t, struct holder *h)
{
	struct range *r;

	while ((r = h->own) != NULL) {
		drop_range(t, h, r);
		free(r);
	}
	holder_end(t, h);
}

void
holder_release(struct locks_table *t, struct holder *h)
{
	struct range *none[2] = { NULL, NULL };

	(void)holder_clear(t, h, 0, RANGE_LAST, none);
}

/* SPDX-License-Identifier: ISC */
/*
 * See durable.h. A slot is a file, directory, symbolic link or fifo that is
 * made, renamed within and across two directories, linked, changed and removed,
 * one call at a time. A name is "slot.count": each change gives another one. So
 * a listing of both directories tells which changes are there. All that were
 * answered must be; the one that was not answered may be.
 * Runs in: tests.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "durable.h"

#define SLOTS	  40
#define NAME_MAX  32
#define MODE_BASE 0700u /* the low six bits change */

enum kind { FILE_A, FILE_B, DIRECTORY, LINK_S, FIFO, KINDS };
enum {
	SETATTR = 2,
	LOOKUP = 3,
	CREATE = 8,
	MKDIR = 9,
	SYMLINK = 10,
	MKNOD = 11,
	REMOVE = 12,
	RMDIR = 13,
	RENAME = 14,
	LINK = 15,
	READDIR = 16
};
enum { OK = 0, NOENT = 2, EXIST = 17, JUKEBOX = 10008, NF3FIFO = 7 };

/* Names are counts, 0: none; also: a second name. */
struct state {
	uint32_t have, also;
	uint32_t mode;
};

struct slot {
	struct state is; /* answered */
	struct state next; /* asked for, if busy */
	bool busy;
	uint32_t last; /* count */
	struct state found;
	unsigned int nfound;
};

static struct slot slots[SLOTS];
static struct durable_fh dirs[2];
static bool promised;
static unsigned long changes, looks, lost, broken;

void
names_init(bool are_promised)
{
	promised = are_promised;
}

static const struct durable_fh *
dir_of(uint32_t count)
{
	return &dirs[count / 2 % 2];
}

static void
put_place(struct xdr_out *x, size_t k, uint32_t count)
{
	char name[NAME_MAX];

	(void)snprintf(name, sizeof(name), "%zu.%u", k, count);
	durable_put_fh(x, dir_of(count));
	xdr_put_string(x, name);
}

static void
put_mode(struct xdr_out *x, uint32_t mode)
{
	int i;

	xdr_put_u32(x, 1);
	xdr_put_u32(x, mode);
	for (i = 0; i < 5; i++)
		xdr_put_u32(x, 0);
}

/* Calls; any status but OK and JUKEBOX is an error of the server. */
static bool
done(uint32_t proc, const struct xdr_out *x, struct xdr_in *res)
{
	uint32_t status = durable_ask(proc, x, res);

	if (status == DURABLE_AWAY || status == JUKEBOX)
		return false;
	if (status != OK)
		errx(1, "names: procedure %u: status %u", proc, status);
	return true;
}

static bool
make_dir(const struct durable_fh *root, const char *name,
    struct durable_fh *dir)
{
	struct xdr_out x;
	struct xdr_in res;
	uint32_t status;

	durable_begin(&x);
	durable_put_fh(&x, root);
	xdr_put_string(&x, name);
	put_mode(&x, 0777);
	status = durable_ask(MKDIR, &x, &res);
	if (status != OK && status != EXIST)
		return false;
	durable_begin(&x);
	durable_put_fh(&x, root);
	xdr_put_string(&x, name);
	if (!done(LOOKUP, &x, &res))
		return false;
	durable_get_fh(&res, dir);
	return true;
}

bool
names_make_dirs(const struct durable_fh *root)
{
	return make_dir(root, "names0", &dirs[0]) &&
	    make_dir(root, "names1", &dirs[1]);
}

static bool
make(size_t k, const struct state *to)
{
	enum kind kind = k % KINDS;
	struct xdr_out x;
	struct xdr_in res;

	durable_begin(&x);
	put_place(&x, k, to->have);
	if (kind == FIFO)
		xdr_put_u32(&x, NF3FIFO);
	else if (kind != DIRECTORY && kind != LINK_S)
		xdr_put_u32(&x, kind == FILE_A ? 0 : 1); /* guarded */
	put_mode(&x, to->mode);
	if (kind == LINK_S)
		xdr_put_string(&x, "target");
	return done(kind == DIRECTORY ? MKDIR :
		kind == LINK_S	      ? SYMLINK :
		kind == FIFO	      ? MKNOD :
					CREATE,
	    &x, &res);
}

static bool
take_handle(size_t k, uint32_t count, struct durable_fh *fh)
{
	struct xdr_out x;
	struct xdr_in res;

	durable_begin(&x);
	put_place(&x, k, count);
	if (!done(LOOKUP, &x, &res))
		return false;
	durable_get_fh(&res, fh);
	return true;
}

/* From one state to the next by one call. */
static bool
change(size_t k, const struct state *from, const struct state *to)
{
	struct durable_fh fh;
	struct xdr_out x;
	struct xdr_in res;

	if (from->have == 0)
		return make(k, to);
	if (to->mode != from->mode || to->also > from->also) {
		if (!take_handle(k, from->have, &fh))
			return false;
		durable_begin(&x);
		durable_put_fh(&x, &fh);
		if (to->mode == from->mode) {
			put_place(&x, k, to->also);
			return done(LINK, &x, &res);
		}
		put_mode(&x, to->mode);
		xdr_put_u32(&x, 0);
		return done(SETATTR, &x, &res);
	}
	durable_begin(&x);
	put_place(&x, k, from->have);
	if (from->also != 0 || to->have == 0)
		return done(k % KINDS == DIRECTORY ? RMDIR : REMOVE, &x, &res);
	put_place(&x, k, to->have);
	return done(RENAME, &x, &res);
}

/* What to do next with a slot. */
static struct state
plan(size_t k, struct slot *s)
{
	enum kind kind = k % KINDS;
	struct state to = s->is;
	uint32_t dice = durable_random(8);

	s->last += 1 + durable_random(3);
	if (to.have == 0) {
		to.have = s->last;
		to.mode = kind == LINK_S ? 0777 : MODE_BASE;
	} else if (to.also != 0) {
		to.have = to.also;
		to.also = 0;
	} else if (dice == 0) {
		to.have = 0;
	} else if (dice == 1 && kind != DIRECTORY)
		to.also = s->last;
	else if (dice <= 3 && kind < LINK_S)
		to.mode = MODE_BASE | ((to.mode + 1 + durable_random(62)) & 63);
	else
		to.have = s->last;
	return to;
}

bool
names_change(void)
{
	size_t k = durable_random(SLOTS);
	struct slot *s = &slots[k];

	s->next = plan(k, s);
	s->busy = true;
	if (!change(k, &s->is, &s->next))
		return false;
	s->is = s->next;
	s->busy = false;
	changes++;
	return true;
}

static void
take_name(const char *name, unsigned int which)
{
	unsigned int k, count;
	struct slot *s;

	if (sscanf(name, "%u.%u", &k, &count) != 2 || k >= SLOTS)
		return; /* a dot */
	s = &slots[k];
	if (dir_of(count) != &dirs[which])
		errx(1, "%s is in the wrong directory", name);
	s->nfound++;
	if (s->found.have == 0 || count < s->found.have) {
		s->found.also = s->found.have;
		s->found.have = count;
	} else
		s->found.also = count;
}

/* Notes what one directory holds. */
static bool
list(unsigned int which)
{
	uint8_t verf[8] = { 0 };
	char name[NAME_MAX];
	uint64_t cookie = 0;
	struct xdr_out x;
	struct xdr_in res;
	struct slice s;

	do {
		durable_begin(&x);
		durable_put_fh(&x, &dirs[which]);
		xdr_put_u64(&x, cookie);
		xdr_put_fixed(&x, verf, sizeof(verf));
		xdr_put_u32(&x, 8192);
		if (!done(READDIR, &x, &res))
			return false;
		if (xdr_get_bool(&res))
			xdr_get_fixed(&res, (uint8_t[84]){ 0 }, 84);
		xdr_get_fixed(&res, verf, sizeof(verf));
		while (xdr_get_bool(&res)) {
			(void)xdr_get_u64(&res);
			s = xdr_get_opaque(&res, NAME_MAX - 1);
			memcpy(name, s.data, s.len);
			name[s.len] = '\0';
			cookie = xdr_get_u64(&res);
			take_name(name, which);
		}
	} while (!xdr_get_bool(&res));
	return true;
}

/* The mode of what was found; 0: not told. */
static bool
look_up(size_t k, struct state *found)
{
	struct durable_fh fh;
	struct xdr_out x;
	struct xdr_in res;

	if (found->have == 0)
		return true;
	durable_begin(&x);
	put_place(&x, k, found->have);
	if (!done(LOOKUP, &x, &res))
		return false;
	durable_get_fh(&res, &fh);
	if (xdr_get_bool(&res)) {
		(void)xdr_get_u32(&res);
		found->mode = xdr_get_u32(&res);
	}
	return true;
}

static bool
same(const struct state *a, const struct state *b)
{
	return a->have == b->have && a->also == b->also &&
	    (a->have == 0 || a->mode == b->mode);
}

/* Names in the order of a listing. */
static struct state
sorted(struct state s)
{
	uint32_t first = s.have;

	if (s.also != 0 && s.also < s.have) {
		s.have = s.also;
		s.also = first;
	}
	return s;
}

static void
judge(size_t k, struct slot *s)
{
	struct state is = sorted(s->is), next = sorted(s->next);

	if (s->nfound > 2 ||
	    (!same(&s->found, &is) && !(s->busy && same(&s->found, &next)))) {
		if (promised)
			printf("name %zu: %u %u %o, promised %u %u %o, "
			       "asked for %u %u %o%s\n",
			    k, s->found.have, s->found.also, s->found.mode,
			    is.have, is.also, is.mode, next.have, next.also,
			    next.mode, s->busy ? "" : " before");
		promised ? broken++ : lost++;
	}
	/* What is there now is what counts from here on. */
	s->is = s->found;
	s->busy = false;
}

bool
names_look(void)
{
	size_t k;

	for (k = 0; k < SLOTS; k++) {
		slots[k].nfound = 0;
		slots[k].found = (struct state){ 0 };
	}
	if (!list(0) || !list(1))
		return false;
	for (k = 0; k < SLOTS; k++)
		if (!look_up(k, &slots[k].found))
			return false;
	for (k = 0; k < SLOTS; k++)
		judge(k, &slots[k]);
	looks++;
	return true;
}

unsigned long
names_report(void)
{
	printf("%lu changes of names and attributes, looked at %lu times, "
	       "%lu lost, %lu broken promises\n",
	    changes, looks, lost, broken);
	return broken;
}

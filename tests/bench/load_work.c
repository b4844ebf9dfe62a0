/* SPDX-License-Identifier: ISC */
/*
 * The workloads choose the next request. Their names are those of the tables.
 * Runs in: the load generator.
 */
#include <stdio.h>
#include <string.h>

#include "load.h"

#define NAME_FILE "f%05u"

uint32_t
load_random(struct load *l, uint32_t below)
{
	l->state = l->state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(((l->state >> 32) * below) >> 32);
}

static const struct load_fh *
own_dir(const struct load *l, unsigned int conn)
{
	return &l->work_dir[conn % LOAD_DIRS];
}

static const struct load_fh *
own_file(const struct load *l, unsigned int conn, const struct load_slot *s)
{
	return &l->work_file[conn % LOAD_DIRS][s->number];
}

static void
next_null(struct load *l, unsigned int conn, struct load_slot *s)
{
	(void)l;
	(void)conn;
	s->op = LOAD_NULL;
}

static void
next_getattr(struct load *l, unsigned int conn, struct load_slot *s)
{
	(void)conn;
	s->op = LOAD_GETATTR;
	s->fh = &l->files[0];
}

static void
next_getattr10k(struct load *l, unsigned int conn, struct load_slot *s)
{
	(void)conn;
	s->op = LOAD_GETATTR;
	s->fh = &l->files[load_random(l, l->nfiles)];
}

/* A random one of the first files. */
static const struct load_fh *
some_file(struct load *l)
{
	return &l->files[load_random(l,
	    l->nfiles < LOAD_SOME ? l->nfiles : LOAD_SOME)];
}

static void
next_getattr1k(struct load *l, unsigned int conn, struct load_slot *s)
{
	(void)conn;
	s->op = LOAD_GETATTR;
	s->fh = some_file(l);
}

static void
next_lookup(struct load *l, unsigned int conn, struct load_slot *s)
{
	(void)conn;
	s->op = LOAD_LOOKUP;
	s->fh = &l->dir;
	snprintf(s->name, sizeof(s->name), NAME_FILE,
	    load_random(l, l->nfiles));
}

static void
next_access(struct load *l, unsigned int conn, struct load_slot *s)
{
	(void)conn;
	s->op = LOAD_ACCESS;
	s->fh = some_file(l);
}

static void
next_setattr(struct load *l, unsigned int conn, struct load_slot *s)
{
	s->op = LOAD_SETATTR;
	s->fh = own_file(l, conn, s);
	s->turn++;
}

static void
next_read_random(struct load *l, unsigned int conn, struct load_slot *s)
{
	uint32_t size = l->work->size;

	(void)conn;
	s->op = LOAD_READ;
	s->fh = &l->big;
	s->count = size;
	s->offset = (uint64_t)load_random(l, LOAD_BIG_SIZE / size - 1) * size;
}

/* The slots of a connection share one walk through the file. */
static void
next_read_seq(struct load *l, unsigned int conn, struct load_slot *s)
{
	uint32_t size = l->work->size, blocks = LOAD_BIG_SIZE / size - 1;

	s->op = LOAD_READ;
	s->fh = &l->big;
	s->count = size;
	s->offset =
	    (uint64_t)((s->turn * l->depth + s->number + conn * (blocks / 4)) %
		blocks) *
	    size;
	s->turn++;
}

static void
write_on(struct load *l, unsigned int conn, struct load_slot *s,
    uint32_t stable)
{
	uint32_t blocks = LOAD_WRITE_SPAN / l->work->size;

	s->fh = own_file(l, conn, s);
	s->count = l->work->size;
	s->stable = stable;
	s->op = LOAD_WRITE;
	if (stable == 0 && l->vers == 3 && s->turn % (blocks + 1) == blocks)
		s->op = LOAD_COMMIT;
	else
		s->offset =
		    (uint64_t)(s->turn % (blocks + 1) % blocks) * l->work->size;
	s->turn++;
}

static void
next_write(struct load *l, unsigned int conn, struct load_slot *s)
{
	write_on(l, conn, s, 0);
}

static void
next_write_sync(struct load *l, unsigned int conn, struct load_slot *s)
{
	write_on(l, conn, s, 2);
}

/* CREATE, WRITE of 2 KiB, REMOVE. */
static void
next_create(struct load *l, unsigned int conn, struct load_slot *s)
{
	snprintf(s->name, sizeof(s->name), "new%02u", s->number);
	switch (s->turn++ % 3) {
	case 0:
		s->op = LOAD_CREATE;
		s->fh = own_dir(l, conn);
		break;
	case 1:
		s->op = LOAD_WRITE;
		s->fh = &s->made;
		s->offset = 0;
		s->count = 2048;
		s->stable = 0;
		break;
	default:
		s->op = LOAD_REMOVE;
		s->fh = own_dir(l, conn);
	}
}

/* Renames to and fro. The first request makes the file. */
static void
next_rename(struct load *l, unsigned int conn, struct load_slot *s)
{
	const char *names = s->turn % 2 != 0 ? "ab" : "ba";

	s->op = s->turn++ == 0 ? LOAD_CREATE : LOAD_RENAME;
	s->fh = own_dir(l, conn);
	snprintf(s->name, sizeof(s->name), "%c%02u",
	    s->op == LOAD_CREATE ? 'a' : names[0], s->number);
	snprintf(s->to, sizeof(s->to), "%c%02u", names[1], s->number);
}

static void
next_list(struct load *l, unsigned int conn, struct load_slot *s)
{
	(void)conn;
	s->op = LOAD_LIST;
	s->fh = &l->dir;
}

/* A directory that one reply holds. */
static void
next_list_small(struct load *l, unsigned int conn, struct load_slot *s)
{
	(void)conn;
	s->op = LOAD_LIST;
	s->fh = &l->hundred;
}

/* Transfers of 4 to 128 KiB, small ones most often; what UDP can carry. */
static void
some_range(struct load *l, struct load_slot *s, uint32_t span)
{
	static const uint8_t kib[] = { 4, 4, 4, 4, 4, 4, 4, 4, 8, 8, 8, 8, 16,
		16, 32, 32, 32, 64, 64, 128 };

	s->count = 1024u * kib[load_random(l, sizeof(kib))];
	if (l->udp && s->count > 32768)
		s->count = 32768;
	s->offset = (uint64_t)load_random(l, span / s->count - 1) * s->count;
}

static void
next_read_some(struct load *l, unsigned int conn, struct load_slot *s)
{
	(void)conn;
	s->op = LOAD_READ;
	s->fh = &l->big;
	some_range(l, s, LOAD_BIG_SIZE);
}

static void
next_write_some(struct load *l, unsigned int conn, struct load_slot *s)
{
	s->op = LOAD_WRITE;
	s->fh = own_file(l, conn, s);
	s->stable = 0;
	some_range(l, s, LOAD_WRITE_SPAN);
}

static void
next_fsstat(struct load *l, unsigned int conn, struct load_slot *s)
{
	(void)conn;
	s->op = LOAD_FSSTAT;
	s->fh = &l->root;
}

/* A file that comes and goes. */
static void
next_make(struct load *l, unsigned int conn, struct load_slot *s)
{
	s->op = s->exists ? LOAD_REMOVE : LOAD_CREATE;
	s->exists = !s->exists;
	s->fh = own_dir(l, conn);
	snprintf(s->name, sizeof(s->name), "mix%u-%02u", conn, s->number);
}

/*
 * The calls of a busy file server in percent. They are nearly the shares of
 * SPEC SFS 2008, which has a READLINK for one FSSTAT and a READDIR for one
 * READDIRPLUS.
 */
static void
next_mix(struct load *l, unsigned int conn, struct load_slot *s)
{
	static const struct {
		uint32_t percent;
		void (*next)(struct load *, unsigned int, struct load_slot *);
	} parts[] = { { 26, next_getattr1k }, { 24, next_lookup },
		{ 18, next_read_some }, { 11, next_access },
		{ 10, next_write_some }, { 4, next_setattr },
		{ 3, next_list_small }, { 2, next_make }, { 2, next_fsstat } };
	uint32_t dice = load_random(l, 100);
	size_t i;

	for (i = 0; dice >= parts[i].percent; i++)
		dice -= parts[i].percent;
	parts[i].next(l, conn, s);
}

/* What a run leaves locked is in the way of no other workload or transport. */
static uint64_t
lock_place(const struct load *l, unsigned int work)
{
	return (uint64_t)(2 * work + l->udp) << 40;
}

/*
 * Each slot locks and unlocks a byte of its own. It keeps another lock: servers
 * begin and end to monitor a client with its first and last lock.
 */
static void
next_lock(struct load *l, unsigned int conn, struct load_slot *s)
{
	uint32_t turn = s->turn++;

	s->op = turn == 0 || turn % 2 == 1 ? LOAD_LOCK : LOAD_UNLOCK;
	s->fh = &l->files[0];
	s->owner = conn * LOAD_SLOTS_MAX + s->number;
	s->offset = lock_place(l, 0) + s->owner * 4u + (turn == 0 ? 2 : 0);
}

/* Each slot locks every second byte of a range, then unlocks them. */
static void
next_ranges(struct load *l, unsigned int conn, struct load_slot *s)
{
	uint32_t turn = s->turn++;

	s->op = turn / LOAD_RANGES % 2 == 0 ? LOAD_LOCK : LOAD_UNLOCK;
	s->fh = &l->big; /* no other workload has locks in it */
	s->owner = conn * LOAD_SLOTS_MAX + s->number;
	s->offset = lock_place(l, 1) + (uint64_t)s->owner * LOAD_RANGES * 2 +
	    (uint64_t)(turn % LOAD_RANGES) * 2;
}

/* clang-format off */
static const struct load_work works[] = {
	{ "null",        0, 0, next_null, "NULL" },
	{ "getattr",     0, 0, next_getattr, "GETATTR of one file" },
	{ "getattr10k",  LOAD_NEEDS_FILES, 0, next_getattr10k,
	  "GETATTR of random files of 10,000" },
	{ "lookup",      0, 0, next_lookup, "LOOKUP of 10,000 names" },
	{ "access",      LOAD_NEEDS_SOME, 0, next_access,
	  "ACCESS of 1,000 files" },
	{ "setattr",     LOAD_NEEDS_WORK, 0, next_setattr, "SETATTR of a mode" },
	{ "read4k",      0, 4096, next_read_random, "READ 4 KiB, random" },
	{ "read8k",      0, 8192, next_read_random, "READ 8 KiB, random" },
	{ "read64k",     0, 65536, next_read_seq, "READ 64 KiB in order" },
	{ "read1m",      0, 1u << 20, next_read_seq, "READ 1 MiB in order" },
	{ "write4k",     LOAD_NEEDS_WORK, 4096, next_write, "WRITE 4 KiB, unstable" },
	{ "write8k",     LOAD_NEEDS_WORK, 8192, next_write, "WRITE 8 KiB, unstable" },
	{ "write64k",    LOAD_NEEDS_WORK, 65536, next_write,
	  "WRITE 64 KiB, unstable" },
	{ "write4ksync", LOAD_NEEDS_WORK, 4096, next_write_sync,
	  "WRITE 4 KiB, FILE_SYNC" },
	{ "create",      LOAD_NEEDS_WORK, 2048, next_create,
	  "CREATE, WRITE 2 KiB, REMOVE" },
	{ "rename",      LOAD_NEEDS_WORK, 0, next_rename, "RENAME to and fro" },
	{ "readdirplus", LOAD_NEEDS_WHOLE, 0, next_list,
	  "scans of 10,000 entries; the unit is an entry" },
	{ "lock",        LOAD_NEEDS_LOCKS, 0, next_lock,
	  "LOCK and UNLOCK of a byte; -L names the port" },
	{ "ranges",      LOAD_NEEDS_LOCKS, 0, next_ranges,
	  "LOCK of 10,000 ranges, then UNLOCK of them" },
	{ "mix",         LOAD_NEEDS_SOME | LOAD_NEEDS_WORK | LOAD_NEEDS_WHOLE,
	  131072, next_mix, "the calls of a busy file server" },
};
/* clang-format on */

const struct load_work *
load_work_find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(works) / sizeof(works[0]); i++)
		if (strcmp(works[i].name, name) == 0)
			return &works[i];
	return NULL;
}

void
load_work_list(void)
{
	size_t i;

	for (i = 0; i < sizeof(works) / sizeof(works[0]); i++)
		printf("%-12s %s\n", works[i].name, works[i].what);
}
